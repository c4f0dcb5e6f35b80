//! `createpolicy`: cache policies as the words that the memory system reads instead of a descriptor.
//!
//! The low word is zero. The high word of a policy for a fraction of the accesses has the kind above the fraction, in
//! sixteenths less one. That of a policy for a range has the kind, the unit of the range, its start, and the count of
//! units with the primary kind.

use super::place::{self, whole_address};
use crate::arithmetic;
use crate::context::{Lower, Lowered};
use crate::source::imm;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{Pseudo, Source, SourceKind, Value};
use oriole_ptx::word::CachePriority;
use oriole_ptx::{Space, Type, Word};
use oriole_sass::{Mod, Op};

/// Positions of the fraction, and of the kind above it, in the high word.
const FRACTION_SHIFT: u32 = 20;
const FRACTION_MASK: u32 = 0xf;

/// Scale of a fraction: slightly less than the count of its steps.
const FRACTION_STEPS: f32 = 15.99;

/// Added to either kind for the secondary kind `evict_first`.
const FIRST_BESIDE: u32 = 0x10;

/// The kind of a policy for an empty range.
const EMPTY_RANGE: u32 = 0x180;

/// The least unit of a range is 4 KiB; as a rule a range has 128 units.
const LEAST_UNIT: u32 = 12;
const UNITS_LOG: u32 = 7;
const UNITS_MASK: u32 = 0x7f;

/// The kinds of a policy for a fraction and of one for a range.
fn kind(primary: CachePriority) -> (u32, u32) {
    match primary {
        CachePriority::L2EvictUnchanged => (0x100, 0x180),
        CachePriority::L2EvictFirst => (0x120, 0x1a0),
        CachePriority::L2EvictLast => (0x140, 0x1c0),
        CachePriority::L2EvictNormal => (0x160, 0x1e0),
    }
}

/// `createpolicy` in all its forms.
pub(crate) fn create_policy(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if i.modifiers.has(Word::Cvt) {
        let words = cx.words(cx.operand(i, 1)?, Type::B64)?;
        return cx.write(cx.operand(i, 0)?, Type::B64, &words);
    }
    let Some(primary) = i.modifiers.at::<CachePriority>() else { return Err(cx.unsupported_form(i)) };
    // A second `evict_first` is the secondary kind; alone it is the primary one.
    let firsts = i.modifiers.iter().filter(|&word| word == Word::L2EvictFirst).count();
    let beside = if firsts > usize::from(primary == CachePriority::L2EvictFirst) { FIRST_BESIDE } else { 0 };
    let (of_fraction, of_range) = kind(primary);
    let high = if i.modifiers.has(Word::Fractional) {
        fraction_policy(cx, i, of_fraction | beside)?
    } else {
        range_policy(cx, i, of_range | beside)?
    };
    cx.write(cx.operand(i, 0)?, Type::B64, &[Source::rz(), high])
}

fn fraction_policy(cx: &mut Lower<'_>, i: &Instruction, kind: u32) -> Result<Source, crate::LowerError> {
    let fraction = match i.operands.get(1) {
        None => imm(FRACTION_MASK),
        Some(&Operand::Immediate(Immediate::F32(bits))) => {
            imm((f32::from_bits(bits) * FRACTION_STEPS) as u32 & FRACTION_MASK)
        }
        Some(operand) => {
            let fraction = cx.word(operand, Type::F32)?;
            let [scaled, whole, cut] = [cx.b.r(), cx.b.r(), cx.b.r()];
            cx.b.float(Op::FMUL, &[], scaled, [fraction, imm(FRACTION_STEPS.to_bits())]);
            cx.op(Op::F2I, &[Mod::U32, Mod::TRUNC, Mod::NTZ], whole, [scaled.into()]);
            cx.b.and(cut, whole, FRACTION_MASK);
            cut.into()
        }
    };
    if let SourceKind::Imm(steps) = fraction.kind {
        return Ok(imm((kind | steps) << FRACTION_SHIFT));
    }
    let [both, high] = [cx.b.r(), cx.b.r()];
    cx.b.or(both, fraction, kind);
    cx.b.shl(high, both, FRACTION_SHIFT);
    Ok(high.into())
}

/// The high word of a policy for a range: its start, the bytes of the primary kind, the bytes in total.
fn range_policy(cx: &mut Lower<'_>, i: &Instruction, kind: u32) -> Result<Source, crate::LowerError> {
    let space = i.space.unwrap_or(Space::Generic);
    let place = place::place_of(cx, cx.operand(i, 1)?, space)?;
    let start = whole_address(cx, place).base;
    let first = cx.word(cx.operand(i, 2)?, Type::U32)?;
    let total = cx.word(cx.operand(i, 3)?, Type::U32)?;
    let [first, total] = [cx.in_register(first), cx.in_register(total)];
    let unit = range_unit(cx, total.clone());
    // The end of the first part, rounded up to a unit.
    let [one_unit, beyond, last] = [cx.b.r(), cx.b.r(), cx.b.pair()[0]];
    let one = cx.in_register(imm(1));
    cx.b.shl(one_unit, one, unit);
    cx.b.iadd3(last, first, imm(!0), one_unit);
    let (end, distance) = (cx.b.pair(), cx.tuple([last.into(), Source::rz()]));
    cx.pseudo(Pseudo::Add64, &[], end, [Source::values(start.clone()), distance]);
    let from = units_of(cx, [start[0], start[1]], unit);
    let to = units_of(cx, end, unit);
    let count = cx.b.pair();
    cx.pseudo(Pseudo::Add64, &[], count, [to.into(), Source::from(from).negated()]);
    let few = cx.b.p();
    let most = cx.tuple([imm(UNITS_MASK), Source::rz()]);
    cx.pseudo(Pseudo::SetPredicate64, &[Mod::LT, Mod::U64], [few], [count.into(), most]);
    let counted = cx.b.r();
    let most = cx.in_register(imm(UNITS_MASK));
    cx.b.sel(counted, count[0], most, few);
    // The fields, from the top: kind and unit, start, count, five zero bits.
    let scale = cx.b.r();
    cx.b.iadd3(scale, unit, imm(LEAST_UNIT.wrapping_neg()), Source::rz());
    let kind = cx.in_register(imm(kind));
    cx.b.lop3(beyond, kind, imm(FRACTION_MASK), scale, 0xf8);
    let mut high = beyond;
    for (shift, field) in [(8, Some(from[0])), (UNITS_LOG, Some(counted)), (5, None)] {
        let moved = cx.b.r();
        cx.b.shl(moved, high, shift);
        high = moved;
        if let Some(field) = field {
            let joined = cx.b.r();
            cx.b.lop3(joined, moved, UNITS_MASK, field, 0xf8);
            high = joined;
        }
    }
    let (nothing, chosen) = (cx.b.p(), cx.b.r());
    cx.b.isetp(nothing, Mod::EQ, true, total, Source::rz());
    let empty = cx.in_register(imm(EMPTY_RANGE << FRACTION_SHIFT));
    cx.b.sel(chosen, empty, high, nothing);
    Ok(chosen.into())
}

/// The binary logarithm of the bytes of a unit.
fn range_unit(cx: &mut Lower<'_>, total: Source) -> Value {
    let [single, log, whole, less, unit] = [cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r()];
    arithmetic::integer_to_single(cx, single, false, total);
    cx.op(Op::MUFU, &[Mod::LG2], log, [single.into()]);
    cx.op(Op::F2I, &[Mod::U32, Mod::CEIL, Mod::NTZ], whole, [log.into()]);
    cx.b.iadd3(less, whole, imm(UNITS_LOG.wrapping_neg()), Source::rz());
    arithmetic::min_max(cx, &[], unit, less.into(), imm(LEAST_UNIT), Source::not_pt());
    unit
}

/// An address in units.
fn units_of(cx: &mut Lower<'_>, address: [Value; 2], unit: Value) -> [Value; 2] {
    let d = cx.b.pair();
    cx.b.shf(d[0], &[Mod::R, Mod::U64], address[0], unit, address[1]);
    cx.b.shf(d[1], &[Mod::R, Mod::U32, Mod::HI], Source::rz(), unit, address[1]);
    d
}
