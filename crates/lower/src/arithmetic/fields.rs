//! Bit fields: extract, insert, find, count, reverse and permute. Logic and shifts are in `bits`.

use super::bits::{self, SELECT};
use super::integer::unsigned;
use super::integer64::signedness_64;
use super::steps;
use crate::context::{Lower, Lowered};
use crate::source::{imm, is_register};
use oriole_hir::Instruction;
use oriole_ori::{Pseudo, Source, SourceKind, Value};
use oriole_ptx::word::{Bounds, PermuteMode};
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// `bfe`.
pub(crate) fn extract_field(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let position = bits::byte_amount(cx, cx.operand(i, 2)?)?;
    let length = bits::byte_amount(cx, cx.operand(i, 3)?)?;
    if ty.bits() == 64 {
        return extract_field_64(cx, i, ty, position, length);
    }
    let a = cx.word(cx.operand(i, 1)?, ty)?;
    let a = if is_register(&position) { a } else { cx.in_register(a) };
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    // Positions beyond the word give sign or zero, as the clamped shift does.
    let shifted = cx.b.r();
    if ty.is_signed() {
        cx.b.sar(shifted, a, position);
    } else {
        cx.b.shr(shifted, a, position);
    }
    cx.op(Op::SGXT, unsigned(ty), d, [shifted.into(), length]);
    Ok(())
}

/// A 64-bit field: shifted to the top, then down again, so that the sign extends.
fn extract_field_64(
    cx: &mut Lower<'_>,
    i: &Instruction,
    ty: Type,
    position: Source,
    length: Source,
) -> Lowered {
    let a = cx.pair(cx.operand(i, 1)?, ty)?;
    let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
    let shifted = cx.b.pair();
    cx.pseudo(Pseudo::Shr64, &[signedness_64(ty)], shifted, [a, position]);
    // 64 - length, at least 0: the unwanted bits above the field.
    let (length, rest) = (cx.in_register(length), cx.b.r());
    let clamped = cx.b.r();
    steps::min_max(cx, &[Mod::U32], clamped, length, Source::imm(64), Source::pt());
    cx.b.iadd3(rest, Source::value(clamped).negated(), 64u32, Source::rz());
    let top = cx.b.pair();
    cx.pseudo(Pseudo::Shl64, &[], top, [shifted.into(), rest.into()]);
    cx.pseudo(Pseudo::Shr64, &[signedness_64(ty)], d, [top.into(), rest.into()]);
    Ok(())
}

/// `bfi`.
pub(crate) fn insert_field(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let position = bits::byte_amount(cx, cx.operand(i, 3)?)?;
    let length = bits::byte_amount(cx, cx.operand(i, 4)?)?;
    if ty.bits() == 64 {
        let a = cx.pair(cx.operand(i, 1)?, ty)?;
        let b = cx.pair(cx.operand(i, 2)?, ty)?;
        let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
        let ones = cx.tuple([imm(!0), imm(!0)]);
        let [outside, low, mask, field] = [cx.b.pair(), cx.b.pair(), cx.b.pair(), cx.b.pair()];
        cx.pseudo(Pseudo::Shl64, &[], outside, [ones, length]);
        bits::logic_64(cx, low, Source::rz(), outside.into(), Source::rz(), 0x33);
        cx.pseudo(Pseudo::Shl64, &[], mask, [low.into(), position.clone()]);
        cx.pseudo(Pseudo::Shl64, &[], field, [a, position]);
        bits::logic_64(cx, d, mask.into(), field.into(), b, SELECT);
        return Ok(());
    }
    let a = cx.word(cx.operand(i, 1)?, ty)?;
    let a = cx.in_register(a);
    let b = cx.word(cx.operand(i, 2)?, ty)?;
    let b = cx.in_register(b);
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    let [mask, field] = [cx.b.r(), cx.b.r()];
    let start = cx.in_register(position.clone());
    cx.op(Op::BMSK, &[], mask, [start, length]);
    cx.b.shl(field, a, position);
    cx.b.lop3(d, mask, field, b, SELECT);
    Ok(())
}

/// `bfind`.
pub(crate) fn find_bit(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let shift = i.modifiers.has(Word::Shiftamt);
    let mut mods = unsigned(ty).to_vec();
    if shift {
        mods.push(Mod::SH);
    }
    if ty.bits() == 32 {
        let a = cx.word(cx.operand(i, 1)?, ty)?;
        let d = cx.result_word(cx.operand(i, 0)?, Type::U32)?;
        cx.op(Op::FLO, &mods, d, [a]);
        return Ok(());
    }
    let words = cx.words(cx.operand(i, 1)?, ty)?;
    let (low, high) = (cx.in_register(words[0].clone()), cx.in_register(words[1].clone()));
    // In a signed value the bits that differ from the sign count.
    let low = if ty.is_signed() {
        let sign = cx.sign_word(high.clone(), true);
        let d = cx.b.r();
        cx.b.xor(d, low, sign);
        d.into()
    } else {
        low
    };
    let d = cx.result_word(cx.operand(i, 0)?, Type::U32)?;
    let [in_high, in_low, moved] = [cx.b.r(), cx.b.r(), cx.b.r()];
    let [found_high, found_low] = [cx.b.p(), cx.b.p()];
    cx.op(Op::FLO, &mods, in_high, [high]);
    let low_mods: &[Mod] = if shift { &[Mod::U32, Mod::SH] } else { &[Mod::U32] };
    cx.op(Op::FLO, low_mods, in_low, [low]);
    cx.b.isetp(found_high, Mod::NE, true, in_high, imm(!0));
    // A position counts from bit 0, a shift amount from bit 63.
    let (to_move, other, found) =
        if shift { (in_low, in_high, found_low) } else { (in_high, in_low, found_high) };
    cx.b.iadd3(moved, to_move, 32u32, Source::rz());
    if shift {
        cx.b.isetp(found, Mod::NE, true, in_low, imm(!0));
        let low_part = cx.b.r();
        cx.b.sel(low_part, moved, imm(!0), found);
        cx.b.sel(d, other, low_part, found_high);
    } else {
        cx.b.sel(d, moved, other, found_high);
    }
    Ok(())
}

/// `clz`.
pub(crate) fn count_leading_zeros(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let words = cx.words(cx.operand(i, 1)?, ty)?;
    let d = cx.result_word(cx.operand(i, 0)?, Type::U32)?;
    let position = cx.b.r();
    if ty.bits() == 32 {
        cx.op(Op::FLO, &[Mod::U32], position, [words[0].clone()]);
        cx.b.iadd3(d, Source::value(position).negated(), 31u32, Source::rz());
        return Ok(());
    }
    let (low, high) = (cx.in_register(words[0].clone()), cx.in_register(words[1].clone()));
    let in_high = cx.b.p();
    let [word, base] = [cx.b.r(), cx.b.r()];
    cx.b.isetp(in_high, Mod::NE, true, high.clone(), Source::rz());
    cx.b.sel(word, high, low, in_high);
    cx.op(Op::FLO, &[Mod::U32], position, [word.into()]);
    let thirty_one = cx.in_register(imm(31));
    cx.b.sel(base, thirty_one, 63u32, in_high);
    cx.b.iadd3(d, base, Source::value(position).negated(), Source::rz());
    Ok(())
}

/// `popc`.
pub(crate) fn count_bits(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let words = cx.words(cx.operand(i, 1)?, ty)?;
    let d = cx.result_word(cx.operand(i, 0)?, Type::U32)?;
    if ty.bits() == 32 {
        cx.op(Op::POPC, &[], d, [words[0].clone()]);
    } else {
        let counts = cx.b.pair();
        cx.op(Op::POPC, &[], counts[0], [words[0].clone()]);
        cx.op(Op::POPC, &[], counts[1], [words[1].clone()]);
        cx.b.iadd3(d, counts[0], counts[1], Source::rz());
    }
    Ok(())
}

/// `brev`.
pub(crate) fn reverse_bits(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let words = cx.words(cx.operand(i, 1)?, ty)?;
    if ty.bits() == 32 {
        let d = cx.result_word(cx.operand(i, 0)?, ty)?;
        cx.op(Op::BREV, &[], d, [words[0].clone()]);
        return Ok(());
    }
    let reversed = cx.b.pair();
    cx.op(Op::BREV, &[], reversed[0], [words[1].clone()]);
    cx.op(Op::BREV, &[], reversed[1], [words[0].clone()]);
    cx.write(cx.operand(i, 0)?, ty, &reversed.map(Source::value))
}

/// `bmsk` and `szext`.
pub(crate) fn mask_or_extend(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let a = cx.word(cx.operand(i, 1)?, Type::B32)?;
    let a = cx.in_register(a);
    let b = cx.word(cx.operand(i, 2)?, Type::B32)?;
    let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
    let mut mods = Vec::new();
    if i.modifiers.at() == Some(Bounds::Wrap) {
        mods.push(Mod::W);
    }
    if i.opcode == Opcode::Szext {
        mods.extend_from_slice(unsigned(ty));
        cx.op(Op::SGXT, &mods, d, [a, b]);
    } else {
        cx.op(Op::BMSK, &mods, d, [a, b]);
    }
    Ok(())
}

/// `prmt`.
pub(crate) fn permute(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = Type::B32;
    let a = cx.word(cx.operand(i, 1)?, ty)?;
    let a = cx.in_register(a);
    let b = cx.word(cx.operand(i, 2)?, ty)?;
    let selector = cx.word(cx.operand(i, 3)?, ty)?;
    // Only the low 16 bits select; the hardware ignores the others, and the form has no bits for them.
    let selector = match selector.kind {
        SourceKind::Imm(bits) => imm(bits & 0xffff),
        _ => selector,
    };
    let b = if is_register(&selector) { b } else { cx.in_register(b) };
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    let mods: Vec<Mod> = i
        .modifiers
        .at()
        .map(|mode| match mode {
            PermuteMode::F4e => Mod::F4E,
            PermuteMode::B4e => Mod::B4E,
            PermuteMode::Rc8 => Mod::RC8,
            PermuteMode::Ecl => Mod::ECL,
            PermuteMode::Ecr => Mod::ECR,
            PermuteMode::Rc16 => Mod::RC16,
        })
        .into_iter()
        .collect();
    cx.op(Op::PRMT, &mods, d, [a, selector, b]);
    Ok(())
}

/// `fns`: the position of the n-th set bit of a mask, counted upward or downward from a base.
///
/// Counting down is counting up in the reversed mask. The bits below the base are cleared; then a binary search
/// with population counts of the lower half finds the n-th.
pub(crate) fn find_nth_set(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let mask = cx.word(cx.operand(i, 1)?, Type::B32)?;
    let mask = cx.in_register(mask);
    let base = cx.word(cx.operand(i, 2)?, Type::B32)?;
    let base = cx.in_register(base);
    let offset = cx.word(cx.operand(i, 3)?, Type::S32)?;
    let offset = cx.in_register(offset);
    let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
    let [down, zero] = [cx.b.p(), cx.b.p()];
    cx.b.isetp(down, Mod::LT, false, offset.clone(), Source::rz());
    cx.b.isetp(zero, Mod::EQ, false, offset.clone(), Source::rz());
    let [reversed, oriented, far, start, count, one] =
        [cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r()];
    cx.op(Op::BREV, &[], reversed, [mask.clone()]);
    cx.b.sel(oriented, reversed, mask, down);
    cx.b.iadd3(far, base.clone().negated(), 31u32, Source::rz());
    cx.b.sel(start, far, base, down);
    cx.op(Op::IABS, &[], count, [offset]);
    cx.b.mov(one, imm(1));
    // An offset of zero selects the bit at the base itself: only that bit is kept.
    let [above, single, kept, wanted, left] = [cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r()];
    let ones = cx.in_register(imm(!0));
    cx.b.shl(above, ones, start);
    cx.b.shl(single, one, start);
    cx.b.sel(kept, single, above, zero);
    cx.b.sel(wanted, one, count, zero);
    cx.b.and(left, kept, oriented);
    let total = cx.b.r();
    cx.op(Op::POPC, &[], total, [left.into()]);
    let enough = cx.b.p();
    cx.b.isetp(enough, Mod::GE, false, total, wanted);
    let (mut rest, mut need, mut place): (Value, Value, Source) = (left, wanted, Source::rz());
    for half in [16u32, 8, 4, 2, 1] {
        let [low, count, shifted, fewer, next, needed, further, placed] =
            [cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r()];
        cx.op(Op::SGXT, &[Mod::U32], low, [rest.into(), Source::imm(half)]);
        cx.op(Op::POPC, &[], count, [low.into()]);
        let in_upper = cx.b.p();
        cx.b.isetp(in_upper, Mod::LT, true, count, need);
        cx.b.shr(shifted, rest, half);
        cx.b.iadd3(fewer, need, Source::value(count).negated(), Source::rz());
        cx.b.sel(next, shifted, rest, in_upper);
        cx.b.sel(needed, fewer, need, in_upper);
        cx.b.iadd3(further, place.clone(), half, Source::rz());
        cx.b.sel(placed, further, place, in_upper);
        (rest, need, place) = (next, needed, placed.into());
    }
    let [mirrored, found] = [cx.b.r(), cx.b.r()];
    cx.b.iadd3(mirrored, place.clone().negated(), 31u32, Source::rz());
    cx.b.sel(found, mirrored, place, down);
    cx.b.sel(d, found, imm(!0), enough);
    Ok(())
}
