//! The video instructions: scalar ones with a second operation, and SIMD ones on the halves or bytes of a word.

use super::steps;
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::imm;
use oriole_hir::{Instruction, Operand};
use oriole_ori::{Pseudo, Source, Value};
use oriole_ptx::word::{Bounds, Comparison, Scale, SecondOperation};
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// Operation of a video instruction on its two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    Add,
    Subtract,
    Distance,
    Minimum,
    Maximum,
    Average,
    Compare,
    ShiftLeft,
    ShiftRight,
}

/// Operation of a video instruction, and count of lanes in a word; `None` for other opcodes.
fn action(opcode: Opcode) -> Option<(Action, u32)> {
    Some(match opcode {
        Opcode::Vadd => (Action::Add, 1),
        Opcode::Vsub => (Action::Subtract, 1),
        Opcode::Vabsdiff => (Action::Distance, 1),
        Opcode::Vmin => (Action::Minimum, 1),
        Opcode::Vmax => (Action::Maximum, 1),
        Opcode::Vset => (Action::Compare, 1),
        Opcode::Vshl => (Action::ShiftLeft, 1),
        Opcode::Vshr => (Action::ShiftRight, 1),
        Opcode::Vadd2 => (Action::Add, 2),
        Opcode::Vsub2 => (Action::Subtract, 2),
        Opcode::Vabsdiff2 => (Action::Distance, 2),
        Opcode::Vmin2 => (Action::Minimum, 2),
        Opcode::Vmax2 => (Action::Maximum, 2),
        Opcode::Vset2 => (Action::Compare, 2),
        Opcode::Vavrg2 => (Action::Average, 2),
        Opcode::Vadd4 => (Action::Add, 4),
        Opcode::Vsub4 => (Action::Subtract, 4),
        Opcode::Vabsdiff4 => (Action::Distance, 4),
        Opcode::Vmin4 => (Action::Minimum, 4),
        Opcode::Vmax4 => (Action::Maximum, 4),
        Opcode::Vset4 => (Action::Compare, 4),
        Opcode::Vavrg4 => (Action::Average, 4),
        _ => return None,
    })
}

/// Width and index of the byte or half that a selector such as `b2` names.
fn part(selector: &str) -> Option<(u32, u32)> {
    let bits = if selector.starts_with('h') { 16 } else { 8 };
    Some((bits, u32::from(selector.as_bytes().get(1)?.checked_sub(b'0')?)))
}

/// Any video instruction.
pub(crate) fn video(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if i.opcode == Opcode::Vmad {
        return multiply_add_words(cx, i);
    }
    let Some((action, lanes)) = action(i.opcode) else { return Err(cx.unsupported_form(i)) };
    if lanes == 1 { video_scalar(cx, i, action) } else { video_lanes(cx, i, action, lanes) }
}

/// Types of destination and operands; `vset` has no destination type.
fn video_types(cx: &Lower<'_>, i: &Instruction, action: Action) -> Result<(Type, Type, Type), LowerError> {
    let shift = usize::from(action != Action::Compare);
    let a = cx.ty(i, shift)?;
    let b = cx.ty(i, shift + 1)?;
    Ok((if shift == 1 { cx.ty(i, 0)? } else { Type::U32 }, a, b))
}

/// A scalar instruction, computed in 64 bits, without overflow.
fn video_scalar(cx: &mut Lower<'_>, i: &Instruction, action: Action) -> Lowered {
    let (to, ta, tb) = video_types(cx, i, action)?;
    let a = wide_part(cx, i, 1, ta)?;
    let result = if matches!(action, Action::ShiftLeft | Action::ShiftRight) {
        let amount = part_of_word(cx, i, 2, tb)?;
        let amount = cx.in_register(amount);
        let limited = cx.b.r();
        if i.modifiers.at() == Some(Bounds::Wrap) {
            cx.b.and(limited, amount, 31u32);
        } else {
            steps::min_max(cx, &[Mod::U32], limited, amount, imm(32), Source::pt());
        }
        let d = cx.b.pair();
        if action == Action::ShiftLeft && i.modifiers.has(Word::Sat) {
            // Only 34 bits of the shifted value are used, the highest as the sign.
            let shifted = cx.b.pair();
            let raised = cx.b.r();
            cx.pseudo(Pseudo::Shl64, &[], shifted, [a, limited.into()]);
            cx.b.mov(d[0], shifted[0]);
            cx.b.shl(raised, shifted[1], 30u32);
            cx.b.sar(d[1], raised, 30u32);
        } else if action == Action::ShiftLeft {
            cx.pseudo(Pseudo::Shl64, &[], d, [a, limited.into()]);
        } else {
            let sign = if ta.is_signed() { Mod::S64 } else { Mod::U64 };
            cx.pseudo(Pseudo::Shr64, &[sign], d, [a, limited.into()]);
        }
        d
    } else {
        let b = wide_part(cx, i, 2, tb)?;
        video_wide(cx, i, action, a, b)?
    };
    let (register, target) = target(cx, i)?;
    let bits = target.map_or(32, |(bits, _)| bits);
    let clamps = i.modifiers.has(Word::Sat) && action != Action::Compare;
    let result = if clamps { clamp_wide(cx, result, to.is_signed(), bits) } else { result };
    if let Some((bits, number)) = target {
        return merge_part(cx, i, register, result[0], bits, number);
    }
    video_second(cx, i, to, result)
}

/// Clamps to the range of an integer of `bits` bits.
fn clamp_wide(cx: &mut Lower<'_>, value: [Value; 2], signed: bool, bits: u32) -> [Value; 2] {
    let (least, greatest) =
        if signed { (-1i64 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1i64 << bits) - 1) };
    let [least, greatest] =
        [least, greatest].map(|end: i64| cx.tuple([imm(end as u32), imm((end >> 32) as u32)]));
    let [raised, capped] = [cx.b.pair(), cx.b.pair()];
    cx.pseudo(Pseudo::Max64, &[Mod::S64], raised, [value.into(), least]);
    cx.pseudo(Pseudo::Min64, &[Mod::S64], capped, [raised.into(), greatest]);
    capped
}

/// The second operation of a scalar instruction, and the result.
fn video_second(cx: &mut Lower<'_>, i: &Instruction, to: Type, result: [Value; 2]) -> Lowered {
    match i.modifiers.at() {
        None => cx.write(cx.operand(i, 0)?, Type::B32, &[result[0].into()]),
        Some(SecondOperation::Add) => {
            let c = cx.word(cx.operand(i, 3)?, to)?;
            let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
            cx.add(d, result[0].into(), c);
            Ok(())
        }
        Some(which @ (SecondOperation::Min | SecondOperation::Max)) => {
            // Compared before the result is truncated to 32 bits, with the signedness of the result.
            let c = cx.widened(cx.operand(i, 3)?, to)?;
            let chosen = cx.b.pair();
            let pseudo = if which == SecondOperation::Min { Pseudo::Min64 } else { Pseudo::Max64 };
            let sign = if to.is_signed() { Mod::S64 } else { Mod::U64 };
            cx.pseudo(pseudo, &[sign], chosen, [result.into(), c]);
            cx.write(cx.operand(i, 0)?, Type::B32, &[chosen[0].into()])
        }
    }
}

/// An operand, or the part of it that a selector names, in 32 bits.
fn part_of_word(cx: &mut Lower<'_>, i: &Instruction, index: usize, ty: Type) -> Result<Source, LowerError> {
    match cx.operand(i, index)? {
        Operand::Selection { register, selector, .. } => {
            let word = cx.register(*register)[0];
            Ok(match part(selector) {
                Some((bits, number)) => lane_value(cx, word.into(), number, bits, ty.is_signed()).into(),
                None => word.into(),
            })
        }
        operand => cx.word(operand, ty),
    }
}

/// An operand without its selector.
fn whole_word(cx: &mut Lower<'_>, i: &Instruction, index: usize) -> Result<Source, LowerError> {
    match cx.operand(i, index)? {
        Operand::Selection { register, .. } => Ok(cx.register(*register)[0].into()),
        operand => cx.word(operand, Type::B32),
    }
}

/// [`part_of_word`] in 64 bits.
fn wide_part(cx: &mut Lower<'_>, i: &Instruction, index: usize, ty: Type) -> Result<Source, LowerError> {
    let low = part_of_word(cx, i, index, ty)?;
    let high = cx.sign_word(low.clone(), ty.is_signed());
    Ok(cx.tuple([low, high]))
}

/// The destination, and the written part of it: width, index.
fn target(cx: &Lower<'_>, i: &Instruction) -> Result<(Operand, Option<(u32, u32)>), LowerError> {
    Ok(match cx.operand(i, 0)? {
        Operand::Selection { register, selector, .. } => (Operand::Register(*register), part(selector)),
        whole => (whole.clone(), None),
    })
}

/// Writes the third operand with a part of it replaced.
fn merge_part(
    cx: &mut Lower<'_>,
    i: &Instruction,
    to: Operand,
    value: Value,
    bits: u32,
    number: u32,
) -> Lowered {
    let c = cx.word(cx.operand(i, 3)?, Type::B32)?;
    let c = cx.in_register(c);
    // Bytes 0 to 3 of the selector are those of `c`, 4 to 7 those of the result.
    let bytes = bits / 8;
    let new = if bytes == 2 { 0x54 } else { 4 };
    let mask = if bytes == 2 { 0xff } else { 0xf };
    let shift = 4 * bytes * number;
    let selector = 0x3210u32 & !(mask << shift) | new << shift;
    let d = cx.result_word(&to, Type::B32)?;
    cx.b.prmt(d, c, selector, value);
    Ok(())
}

/// `vmad`.
fn multiply_add_words(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let [_, ta, tb] = i.types[..] else { return Err(cx.unsupported_form(i)) };
    let negated = |cx: &Lower<'_>, index| {
        Ok::<_, LowerError>(matches!(cx.operand(i, index)?, Operand::Selection { negated: true, .. }))
    };
    let [minus_a, minus_b, minus_c] = [negated(cx, 1)?, negated(cx, 2)?, negated(cx, 3)?];
    let minus = minus_a != minus_b;
    let signed = ta.is_signed() || tb.is_signed() || minus || minus_c;
    let [a, b] = [part_of_word(cx, i, 1, ta)?, part_of_word(cx, i, 2, tb)?].map(|word| cx.value_of(word));
    let mut product = product_of_words(cx, a, ta.is_signed(), b, tb.is_signed());
    let clamps = i.modifiers.has(Word::Sat);
    if clamps && minus && !ta.is_signed() && !tb.is_signed() {
        // Beyond 62 bits the sign would be lost; the clamped result is the same.
        let limit = cx.tuple([imm(0), imm(1 << 30)]);
        let cut = cx.b.pair();
        cx.pseudo(Pseudo::Min64, &[Mod::U64], cut, [product.into(), limit]);
        product = cut;
    }
    let c = part_of_word(cx, i, 3, Type::U32)?;
    let high = cx.sign_word(c.clone(), signed);
    let c = cx.tuple([c, high]);
    let of = |value: Source, minus: bool| if minus { value.negated() } else { value };
    let mut sum = cx.b.pair();
    cx.pseudo(Pseudo::Add64, &[], sum, [of(product.into(), minus), of(c, minus_c)]);
    if i.modifiers.has(Word::Po) {
        let one = cx.tuple([imm(1), Source::rz()]);
        let more = cx.b.pair();
        cx.pseudo(Pseudo::Add64, &[], more, [sum.into(), one]);
        sum = more;
    }
    let amount = match i.modifiers.at() {
        None => 0,
        Some(Scale::Shr7) => 7u32,
        Some(Scale::Shr15) => 15,
    };
    if amount > 0 {
        let shifted = cx.b.pair();
        let sign = if signed { Mod::S64 } else { Mod::U64 };
        cx.pseudo(Pseudo::Shr64, &[sign], shifted, [sum.into(), imm(amount)]);
        sum = shifted;
    }
    let result = match clamps {
        true if signed => clamp_wide(cx, sum, true, 32),
        true => {
            let capped = cx.b.pair();
            let greatest = cx.tuple([imm(!0), Source::rz()]);
            cx.pseudo(Pseudo::Min64, &[Mod::U64], capped, [sum.into(), greatest]);
            capped
        }
        false => sum,
    };
    cx.write(cx.operand(i, 0)?, Type::B32, &[result[0].into()])
}

/// The 64-bit product of two words, each signed or unsigned.
fn product_of_words(cx: &mut Lower<'_>, a: Value, a_signed: bool, b: Value, b_signed: bool) -> [Value; 2] {
    let whole = cx.b.pair();
    if a_signed == b_signed {
        cx.b.imad_wide(whole, !a_signed, a, b, Source::rz());
        return whole;
    }
    let (signed, other) = if a_signed { (a, b) } else { (b, a) };
    cx.b.imad_wide(whole, true, a, b, Source::rz());
    // A negative factor was treated as one that is greater by 2^32.
    let [sign, excess, high] = [cx.b.r(), cx.b.r(), cx.b.r()];
    cx.b.sar(sign, signed, 31u32);
    cx.b.and(excess, sign, other);
    cx.b.iadd3(high, whole[1], Source::value(excess).negated(), Source::rz());
    [whole[0], high]
}

fn video_wide(
    cx: &mut Lower<'_>,
    i: &Instruction,
    action: Action,
    a: Source,
    b: Source,
) -> Result<[Value; 2], LowerError> {
    let d = cx.b.pair();
    match action {
        Action::Add => cx.pseudo(Pseudo::Add64, &[], d, [a, b]),
        Action::Subtract => cx.pseudo(Pseudo::Add64, &[], d, [a, b.negated()]),
        Action::Minimum => cx.pseudo(Pseudo::Min64, &[Mod::S64], d, [a, b]),
        Action::Maximum => cx.pseudo(Pseudo::Max64, &[Mod::S64], d, [a, b]),
        Action::Distance => {
            let [up, down] = [cx.b.pair(), cx.b.pair()];
            cx.pseudo(Pseudo::Add64, &[], up, [a.clone(), b.clone().negated()]);
            cx.pseudo(Pseudo::Add64, &[], down, [b, a.negated()]);
            cx.pseudo(Pseudo::Max64, &[Mod::S64], d, [up.into(), down.into()]);
        }
        Action::Compare => {
            let compare = video_comparison(cx, i)?;
            let p = cx.b.p();
            cx.pseudo(Pseudo::SetPredicate64, &[compare, Mod::S64], [p], [a, b]);
            cx.b.sel(d[0], Source::rz(), 1u32, Source::value(p).inverted());
            cx.b.mov(d[1], Source::rz());
        }
        _ => return Err(cx.unsupported_form(i)),
    }
    Ok(d)
}

fn video_comparison(cx: &Lower<'_>, i: &Instruction) -> Result<Mod, LowerError> {
    Ok(match i.modifiers.at() {
        Some(Comparison::Eq) => Mod::EQ,
        Some(Comparison::Ne) => Mod::NE,
        Some(Comparison::Lt) => Mod::LT,
        Some(Comparison::Le) => Mod::LE,
        Some(Comparison::Gt) => Mod::GT,
        Some(Comparison::Ge) => Mod::GE,
        _ => return Err(cx.unsupported_form(i)),
    })
}

/// An instruction on the halves or bytes of a word: each lane in 32 bits, saturated if requested, then truncated
/// and packed. With `.add` the lanes are accumulated onto the third operand.
fn video_lanes(cx: &mut Lower<'_>, i: &Instruction, action: Action, lanes: u32) -> Lowered {
    let (to, ta, tb) = video_types(cx, i, action)?;
    let width = 32 / lanes;
    let [a, b] = [whole_word(cx, i, 1)?, whole_word(cx, i, 2)?].map(|word| cx.in_register(word));
    let picks = [picks(cx, i, 1, lanes)?, picks(cx, i, 2, lanes)?];
    let (to_register, written) = written_lanes(cx, i)?;
    let whole = picks == [None, None] && written.is_none();
    let sum_up = i.modifiers.has(Word::Add);
    if cx.has(Op::VABSDIFF4)
        && action == Action::Distance
        && whole
        && lanes == 4
        && !to.is_signed()
        && !ta.is_signed()
        && !tb.is_signed()
        && !i.modifiers.has(Word::Sat)
    {
        let c = if sum_up { cx.word(cx.operand(i, 3)?, Type::B32)? } else { Source::rz() };
        let c = cx.in_register(c);
        let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
        let mods: &[Mod] = if sum_up { &[Mod::U8, Mod::ACC] } else { &[Mod::U8] };
        cx.op(Op::VABSDIFF4, mods, d, [a, b, c]);
        return Ok(());
    }
    let mut parts = Vec::new();
    for lane in 0..lanes {
        let [x, y] = [(0, ta), (1, tb)].map(|(of, ty): (usize, Type)| {
            let pick = picks[of].map_or(lane + of as u32 * lanes, |picks| picks[lane as usize].into());
            let word = if pick < lanes { a.clone() } else { b.clone() };
            lane_value(cx, word, pick % lanes, width, ty.is_signed())
        });
        let mut value = video_lane(cx, i, action, x, y)?;
        if i.modifiers.has(Word::Sat) && action != Action::Compare {
            let (least, greatest) = if to.is_signed() {
                (-(1i32 << (width - 1)), (1i32 << (width - 1)) - 1)
            } else {
                (0, ((1u32 << width) - 1) as i32)
            };
            let [raised, capped] = [cx.b.r(), cx.b.r()];
            steps::min_max(cx, &[], raised, value.into(), imm(least as u32), Source::not_pt());
            steps::min_max(cx, &[], capped, raised.into(), imm(greatest as u32), Source::pt());
            value = capped;
        }
        parts.push(Source::value(value));
    }
    if sum_up {
        let mut sum = cx.word(cx.operand(i, 3)?, Type::B32)?;
        let kept = parts
            .into_iter()
            .enumerate()
            .filter(|(lane, _)| written.is_none_or(|mask| mask >> lane & 1 != 0));
        for (_, part) in kept {
            let next = cx.b.r();
            cx.add(next, part, sum);
            sum = next.into();
        }
        return cx.write(&to_register, Type::B32, &[sum]);
    }
    let word = cx.join(parts, width);
    let Some(mask) = written else { return cx.write(&to_register, Type::B32, &[word]) };
    let c = cx.word(cx.operand(i, 3)?, Type::B32)?;
    let (c, word) = (cx.in_register(c), cx.in_register(word));
    let from = |byte: u32| if mask >> (byte * lanes / 4) & 1 != 0 { byte + 4 } else { byte };
    let selector = (0..4).fold(0, |selector, byte| selector | from(byte) << (4 * byte));
    let d = cx.result_word(&to_register, Type::B32)?;
    cx.b.prmt(d, c, selector, word);
    Ok(())
}

/// The parts that an operand's selector picks, that of the lowest lane first.
fn picks(cx: &Lower<'_>, i: &Instruction, index: usize, lanes: u32) -> Result<Option<[u8; 4]>, LowerError> {
    let Operand::Selection { selector, .. } = cx.operand(i, index)? else { return Ok(None) };
    let mut picks = [0; 4];
    for (lane, digit) in (0..lanes as usize).zip(selector.bytes().skip(1).rev()) {
        picks[lane] = digit - b'0';
    }
    Ok((!selector.is_empty()).then_some(picks))
}

/// The destination, and a mask of the lanes of it that are written.
fn written_lanes(cx: &Lower<'_>, i: &Instruction) -> Result<(Operand, Option<u32>), LowerError> {
    Ok(match cx.operand(i, 0)? {
        Operand::Selection { register, selector, .. } => {
            let mask = selector.bytes().skip(1).fold(0, |mask, digit| mask | 1 << (digit - b'0'));
            (Operand::Register(*register), Some(mask))
        }
        whole => (whole.clone(), None),
    })
}

/// One lane of a word, extended to 32 bits.
fn lane_value(cx: &mut Lower<'_>, word: Source, lane: u32, width: u32, signed: bool) -> Value {
    let byte = lane * width / 8;
    let selector = if width == 16 {
        let high = byte + 1;
        let fill = if signed { high | 8 } else { 7 };
        fill << 12 | fill << 8 | high << 4 | byte
    } else {
        let fill = if signed { byte | 8 } else { 7 };
        fill << 12 | fill << 8 | fill << 4 | byte
    };
    let d = cx.b.r();
    cx.b.prmt(d, word, imm(selector), Source::rz());
    d
}

fn video_lane(
    cx: &mut Lower<'_>,
    i: &Instruction,
    action: Action,
    x: Value,
    y: Value,
) -> Result<Value, LowerError> {
    let d = cx.b.r();
    match action {
        Action::Add => cx.b.iadd3(d, x, y, Source::rz()),
        Action::Subtract => cx.b.iadd3(d, x, Source::value(y).negated(), Source::rz()),
        Action::Minimum => steps::min_max(cx, &[], d, x.into(), y.into(), Source::pt()),
        Action::Maximum => steps::min_max(cx, &[], d, x.into(), y.into(), Source::not_pt()),
        Action::Distance => {
            let difference = cx.b.r();
            cx.b.iadd3(difference, x, Source::value(y).negated(), Source::rz());
            cx.op(Op::IABS, &[], d, [difference.into()]);
        }
        Action::Average => {
            // Rounded away from zero: add one before halving, unless the sum is negative.
            let [sum, sign, rounded] = [cx.b.r(), cx.b.r(), cx.b.r()];
            cx.b.iadd3(sum, x, y, Source::rz());
            cx.b.sar(sign, sum, 31u32);
            cx.b.iadd3(rounded, sum, 1u32, sign);
            cx.b.sar(d, rounded, 1u32);
        }
        Action::Compare => {
            let compare = video_comparison(cx, i)?;
            let p = cx.b.p();
            cx.b.isetp(p, compare, false, x, y);
            cx.b.sel(d, Source::rz(), 1u32, Source::value(p).inverted());
        }
        Action::ShiftLeft | Action::ShiftRight => return Err(cx.unsupported_form(i)),
    }
    Ok(d)
}
