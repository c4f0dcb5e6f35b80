//! Integer arithmetic of 16 and 32 bits, packed 16-bit integers, and carries. 64-bit arithmetic is in `integer64`.

use super::{carry, integer64, steps};
use crate::context::{Lower, Lowered};
use crate::source::{is_register, minus};
use oriole_hir::Instruction;
use oriole_ori::{Pseudo, Source, Value};
use oriole_ptx::word::Part;
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// The modifier of an unsigned 32-bit operation, if the type is unsigned.
pub(super) fn unsigned(ty: Type) -> &'static [Mod] {
    if ty.is_signed() { &[] } else { &[Mod::U32] }
}

/// SASS modifiers of packed adds; the signedness matters where they saturate.
fn parts_of(ty: Type, saturates: bool) -> Option<Vec<Mod>> {
    let parts = match ty {
        Type::U32 => Mod::_32,
        Type::U16x2 => Mod::_16x2,
        Type::S16x2 => Mod::S16x2,
        Type::U8x4 => Mod::U8x4,
        Type::S8x4 => Mod::S8x4,
        _ => return None,
    };
    Some(std::iter::once(parts).chain(saturates.then_some(Mod::ISAT)).collect())
}

/// `add` and `sub` of integers up to 32 bits and of packed 16-bit integers, without carry.
pub(crate) fn add_integer(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let subtract = i.opcode == Opcode::Sub;
    let a = cx.word(cx.operand(i, 1)?, ty)?;
    let b = cx.word(cx.operand(i, 2)?, ty)?;
    let saturates = i.modifiers.has(Word::Sat);
    if saturates && ty != Type::S32 || matches!(ty, Type::U8x4 | Type::S8x4) {
        let parts = parts_of(ty, saturates).ok_or_else(|| cx.unsupported_form(i))?;
        let [a, b] = [a, b].map(|it| cx.in_register(it));
        return add_parts(cx, i, &parts, a, if subtract { minus(b) } else { b });
    }
    if matches!(ty, Type::U16x2 | Type::S16x2) {
        let (a, b) = if is_register(&a) || subtract { (a, b) } else { (b, a) };
        let a = cx.in_register(a);
        let d = cx.result_word(cx.operand(i, 0)?, ty)?;
        // A negated immediate would have to be negated in halves.
        let b = if subtract { cx.in_register(b) } else { b };
        steps::add_halves(cx, d, a, b, subtract);
        return Ok(());
    }
    if saturates {
        let d = cx.result_word(cx.operand(i, 0)?, ty)?;
        add_saturating(cx, d, a, b, subtract);
        return Ok(());
    }
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    cx.add(d, a, if subtract { minus(b) } else { b });
    Ok(())
}

/// Packed add of two words.
fn add_parts(cx: &mut Lower<'_>, i: &Instruction, parts: &[Mod], a: Source, b: Source) -> Lowered {
    if !cx.takes(Op::VIADD, parts, 3) {
        return Err(cx.unsupported_form(i));
    }
    let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
    cx.op(Op::VIADD, parts, d, [a, b]);
    Ok(())
}

/// `clmad`.
pub(crate) fn multiply_without_carries(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let part = match i.modifiers.at() {
        Some(Part::Lo) => Mod::LO,
        Some(Part::Hi) => Mod::HI,
        Some(Part::Wide) | None => return Err(cx.unsupported_form(i)),
    };
    let mut sources = Vec::new();
    for index in 1..4 {
        let source = cx.pair(cx.operand(i, index)?, Type::U64)?;
        sources.push(cx.in_register(source));
    }
    let d = cx.result_pair(cx.operand(i, 0)?, Type::U64)?;
    cx.b.op(Op::CLMAD).m(part).to_tuple(d).from_all(sources).emit();
    Ok(())
}

/// `d <- a + b` (or `a - b`), clamped to the range of signed 32 bits.
pub(crate) fn add_saturating(cx: &mut Lower<'_>, d: Value, a: Source, b: Source, subtract: bool) {
    let a = cx.in_register(a);
    let b = cx.in_register(b);
    let sum = cx.b.r();
    cx.b.iadd3(sum, a.clone(), if subtract { minus(b.clone()) } else { b.clone() }, Source::rz());
    clamp_sum(cx, d, a, b, sum, subtract);
}

/// `d <- sum`, saturated: `sum` is `a + b`, possibly with a carry.
fn clamp_sum(cx: &mut Lower<'_>, d: Value, a: Source, b: Source, sum: Value, subtract: bool) {
    let [overflow, limit] = [cx.b.r(), cx.b.r()];
    // Overflow: both addends have one sign and the sum the other.
    let table = if subtract { 0x24 } else { 0x18 };
    cx.b.lop3(overflow, sum, a.clone(), b, table);
    let wrong = cx.b.p();
    cx.b.isetp(wrong, Mod::LT, false, overflow, Source::rz());
    cx.b.sar(limit, a, 31u32);
    let clamped = cx.b.r();
    cx.b.xor(clamped, limit, 0x7fff_ffffu32);
    cx.b.sel(d, clamped, sum, wrong);
}

/// `mul`, `mad` and `madc` of integers.
pub(crate) fn multiply(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    if i.modifiers.at() == Some(Part::Wide) {
        return multiply_wide(cx, i, ty);
    }
    if ty.bits() == 64 {
        return integer64::multiply_64(cx, i, ty);
    }
    let high = i.modifiers.at() == Some(Part::Hi);
    let has_addend = i.opcode != Opcode::Mul;
    let extra = i.modifiers.has(Word::Cc) || i.opcode == Opcode::Madc;
    let a = extended_if(cx, i, 1, ty, high)?;
    let b = extended_if(cx, i, 2, ty, high)?;
    let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
    let a = cx.in_register(a);
    let c = if has_addend { Some(cx.word(cx.operand(i, 3)?, ty)?) } else { None };
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    if !high && !extra {
        let c = c.unwrap_or_else(Source::rz);
        let c = if is_register(&b) { c } else { cx.in_register(c) };
        cx.b.imad(d, a, b, c);
        return Ok(());
    }
    let product = if has_addend { cx.b.r() } else { d };
    if !high {
        cx.b.imad(product, a, b, Source::rz());
    } else if ty.bits() == 16 {
        let whole = cx.b.r();
        cx.b.imad(whole, a, b, Source::rz());
        if ty.is_signed() {
            cx.b.sar(product, whole, 16u32);
        } else {
            cx.b.shr(product, whole, 16u32);
        }
    } else {
        cx.b.imad_hi(product, !ty.is_signed(), a, b, Source::rz());
    }
    let Some(c) = c else { return Ok(()) };
    if extra {
        let takes = i.opcode == Opcode::Madc;
        let gives = i.modifiers.has(Word::Cc);
        if i.modifiers.has(Word::Sat) {
            let (c, sum) = (cx.in_register(c), cx.b.r());
            carry::add_chain(cx, &[sum], &[product.into()], std::slice::from_ref(&c), false, takes, gives);
            clamp_sum(cx, d, product.into(), c, sum, false);
        } else {
            carry::add_chain(cx, &[d], &[product.into()], &[c], false, takes, gives);
        }
    } else if i.modifiers.has(Word::Sat) {
        add_saturating(cx, d, product.into(), c, false);
    } else {
        cx.add(d, product.into(), c);
    }
    Ok(())
}

fn extended_if(
    cx: &mut Lower<'_>,
    i: &Instruction,
    index: usize,
    ty: Type,
    condition: bool,
) -> Result<Source, crate::LowerError> {
    let operand = cx.operand(i, index)?;
    if condition { cx.extended(operand, ty) } else { cx.word(operand, ty) }
}

/// `mul.wide` and `mad.wide`.
fn multiply_wide(cx: &mut Lower<'_>, i: &Instruction, ty: Type) -> Lowered {
    let a = cx.extended(cx.operand(i, 1)?, ty)?;
    let b = cx.extended(cx.operand(i, 2)?, ty)?;
    let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
    let a = cx.in_register(a);
    let has_addend = i.opcode != Opcode::Mul;
    match ty.bits() {
        16 => {
            let wide = if ty.is_signed() { Type::S32 } else { Type::U32 };
            let c = if has_addend { cx.word(cx.operand(i, 3)?, wide)? } else { Source::rz() };
            let c = if is_register(&b) { c } else { cx.in_register(c) };
            let d = cx.result_word(cx.operand(i, 0)?, wide)?;
            cx.b.imad(d, a, b, c);
        }
        32 => {
            let wide = if ty.is_signed() { Type::S64 } else { Type::U64 };
            let c = if has_addend { cx.pair(cx.operand(i, 3)?, wide)? } else { Source::rz() };
            let d = cx.result_pair(cx.operand(i, 0)?, wide)?;
            cx.b.imad_wide(d, !ty.is_signed(), a, b, c);
        }
        _ => return Err(cx.unsupported_form(i)),
    }
    Ok(())
}

/// `mul24` and `mad24`: operands are the low 24 bits.
pub(crate) fn multiply_24(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let [a, b] = [1, 2].map(|index| low_24(cx, i, index, ty));
    let (a, b) = (a?, b?);
    let c = if i.opcode == Opcode::Mad24 { Some(cx.word(cx.operand(i, 3)?, ty)?) } else { None };
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    if i.modifiers.at() != Some(Part::Hi) {
        cx.b.imad(d, a, b, c.unwrap_or_else(Source::rz));
        return Ok(());
    }
    // Bits 16 to 47 of the 48-bit product.
    let whole = cx.b.pair();
    cx.b.imad_wide(whole, !ty.is_signed(), a, b, Source::rz());
    let product = if c.is_some() { cx.b.r() } else { d };
    cx.b.shf(product, &[Mod::R, Mod::U64], whole[0], 16u32, whole[1]);
    match c {
        None => {}
        Some(c) if i.modifiers.has(Word::Sat) => add_saturating(cx, d, product.into(), c, false),
        Some(c) => cx.add(d, product.into(), c),
    }
    Ok(())
}

fn low_24(cx: &mut Lower<'_>, i: &Instruction, index: usize, ty: Type) -> Result<Source, crate::LowerError> {
    let word = cx.word(cx.operand(i, index)?, ty)?;
    let word = cx.in_register(word);
    let d = cx.b.r();
    cx.op(Op::SGXT, unsigned(ty), d, [word, Source::imm(24)]);
    Ok(d.into())
}

/// `sad`.
pub(crate) fn sad(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    if ty.bits() == 64 {
        return integer64::sad_64(cx, i, ty);
    }
    let a = cx.extended(cx.operand(i, 1)?, ty)?;
    let b = cx.extended(cx.operand(i, 2)?, ty)?;
    let c = cx.word(cx.operand(i, 3)?, ty)?;
    let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
    let a = cx.in_register(a);
    let c = if is_register(&b) { c } else { cx.in_register(c) };
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    steps::add_distance(cx, unsigned(ty), d, a, b, c);
    Ok(())
}

/// `abs` of integers.
pub(crate) fn abs_integer(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    if ty.bits() == 64 {
        return integer64::abs_64(cx, i, ty);
    }
    let a = cx.extended(cx.operand(i, 1)?, ty)?;
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    cx.op(Op::IABS, &[], d, [a]);
    Ok(())
}

/// `neg` of integers.
pub(crate) fn neg_integer(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let a = cx.operand(i, 1)?;
    if ty.bits() == 64 {
        let a = cx.pair(a, ty)?;
        let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
        cx.pseudo(Pseudo::Add64, &[], d, [Source::rz(), a.negated()]);
        return Ok(());
    }
    let a = cx.word(a, ty)?;
    let a = cx.in_register(a);
    if ty == Type::S8x4 {
        return add_parts(cx, i, &[Mod::S8x4], minus(a), Source::rz());
    }
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    cx.b.iadd3(d, minus(a), Source::rz(), Source::rz());
    Ok(())
}

/// `min` and `max` of integers.
pub(crate) fn min_max_integer(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let min = i.opcode == Opcode::Min;
    if ty.bits() == 64 {
        let (a, b) = (cx.pair(cx.operand(i, 1)?, ty)?, cx.pair(cx.operand(i, 2)?, ty)?);
        let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
        let mods = [if ty.is_signed() { Mod::S64 } else { Mod::U64 }];
        cx.pseudo(if min { Pseudo::Min64 } else { Pseudo::Max64 }, &mods, d, [a, b]);
        return Ok(());
    }
    let a = cx.extended(cx.operand(i, 1)?, ty)?;
    let b = cx.extended(cx.operand(i, 2)?, ty)?;
    let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
    let a = cx.in_register(a);
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    let mut mods: Vec<Mod> = match ty {
        Type::U16x2 => vec![Mod::U16x2],
        Type::S16x2 => vec![Mod::S16x2],
        Type::U8x4 => vec![Mod::U8x4],
        Type::S8x4 => vec![Mod::S8x4],
        _ => unsigned(ty).to_vec(),
    };
    if i.modifiers.has(Word::Relu) {
        mods.push(Mod::RELU);
    }
    steps::min_max(cx, &mods, d, a, b, if min { Source::pt() } else { Source::not_pt() });
    Ok(())
}

/// `div` and `rem` of integers.
pub(crate) fn divide_integer(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let pseudo = if i.opcode == Opcode::Div { Pseudo::Divide } else { Pseudo::Remainder };
    if ty.bits() == 64 {
        let (a, b) = (cx.pair(cx.operand(i, 1)?, ty)?, cx.pair(cx.operand(i, 2)?, ty)?);
        let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
        let mods = [if ty.is_signed() { Mod::S64 } else { Mod::U64 }];
        cx.pseudo(pseudo, &mods, d, [a, b]);
        return Ok(());
    }
    let a = cx.extended(cx.operand(i, 1)?, ty)?;
    let a = cx.in_register(a);
    let b = cx.extended(cx.operand(i, 2)?, ty)?;
    let b = cx.in_register(b);
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    let mods = [if ty.is_signed() { Mod::S32 } else { Mod::U32 }];
    cx.pseudo(pseudo, &mods, [d], [a, b]);
    Ok(())
}

/// `dp4a` and `dp2a`.
pub(crate) fn dot_product(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (ta, tb) = (cx.ty(i, 0)?, cx.ty(i, 1)?);
    let a = cx.word(cx.operand(i, 1)?, Type::B32)?;
    let a = cx.in_register(a);
    let b = cx.word(cx.operand(i, 2)?, Type::B32)?;
    let b = cx.in_register(b);
    let c = cx.word(cx.operand(i, 3)?, Type::B32)?;
    let c = cx.in_register(c);
    let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
    let byte = |ty: Type| if ty.is_signed() { Mod::S8 } else { Mod::U8 };
    let second = if tb.is_signed() { Mod::S8_2 } else { Mod::U8_2 };
    let mods: Vec<Mod> = if i.opcode == Opcode::Dp4a {
        vec![Mod::_4A, byte(ta), second]
    } else {
        vec![
            Mod::_2A,
            if i.modifiers.at() == Some(Part::Hi) { Mod::HI } else { Mod::LO },
            if ta.is_signed() { Mod::S16 } else { Mod::U16 },
            second,
        ]
    };
    cx.op(Op::IDP, &mods, d, [a, b, c]);
    Ok(())
}
