//! Integer min and max, packed 16-bit and 8-bit arithmetic, dot products and saturating packs.

use super::context::Context;
use crate::launch::Fault;
use crate::warp::{Lanes, WideLanes};
use oriole_sass::register::PT;
use oriole_sass::{Mod, Op, OperandKind};

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    use Op::*;
    match context.instruction.op {
        VIADD => {
            let sum = sum_of_parts(context)?;
            context.write(0, &sum)
        }
        // Predicates before the results mark the 64-bit instruction of the chip.
        IMNMX | UIMNMX if context.is_predicate(0) => long_extreme(context),
        IMNMX | VIMNMX | UVIMNMX => {
            let last = context.count() - 1;
            let first = if context.is_predicate(1) { 3 } else { 1 };
            if first == 3 && !matches!(context.kind(1)?, OperandKind::Pred(PT) | OperandKind::UPred(PT)) {
                return Err(context.refuse());
            }
            let [a, b] = [context.integer(first)?, context.integer(first + 1)?];
            let result = extreme(context, last, &a, &b)?;
            context.write(0, &result)
        }
        VIMNMX3 => {
            let [a, b, c] = [context.integer(1)?, context.integer(2)?, context.integer(3)?];
            let both = extreme(context, 4, &a, &b)?;
            let result = extreme(context, 4, &both, &c)?;
            context.write(0, &result)
        }
        VIADDMNMX => {
            let sum = sum(context, context.has(Mod::U16x2) || context.has(Mod::S16x2))?;
            let result = extreme(context, 4, &sum, &context.integer(3)?)?;
            context.write(0, &result)
        }
        VABSDIFF => {
            let unsigned = context.has(Mod::U32);
            context.map3([2, 3, 4], |a, b, c| {
                let difference = if unsigned { a.abs_diff(b) } else { (a as i32).abs_diff(b as i32) };
                difference.wrapping_add(c)
            })
        }
        VABSDIFF4 => {
            let (unsigned, sum) = (context.has(Mod::U8), context.has(Mod::ACC));
            context.map3([2, 3, 4], |a, b, c| {
                let parts = (0..4).map(|byte| {
                    let (x, y) = ((a >> (8 * byte)) as u8, (b >> (8 * byte)) as u8);
                    if unsigned { x.abs_diff(y) } else { (x as i8).abs_diff(y as i8) }
                });
                if sum {
                    parts.fold(c, |total, part| total.wrapping_add(u32::from(part)))
                } else {
                    parts.enumerate().fold(0, |word, (byte, part)| word | u32::from(part) << (8 * byte))
                }
            })
        }
        IDP => dot_product(context),
        I2I => {
            let (low, high) = bounds(context)?;
            context.map2([1, 1], |a, _| i64::from(a as i32).clamp(low, high) as u32)
        }
        I2IP => pack(context),
        _ => Err(context.refuse()),
    }
}

/// The min or max of two 64-bit integers, or of words. The meaning of the two predicates before the result and of the
/// last one is not known: ptxas's code leaves them out.
fn long_extreme(context: &mut Context) -> Result<(), Fault> {
    let plain = |kind: OperandKind| matches!(kind, OperandKind::Pred(PT) | OperandKind::UPred(PT));
    let known = plain(context.kind(0)?) && plain(context.kind(1)?) && plain(context.kind(6)?);
    if !known || !context.instruction.operands[6].invert {
        return Err(context.refuse());
    }
    let minimum = context.predicate(5)?;
    let wide = context.has(Mod::U64) || context.has(Mod::S64);
    let read = |index| -> Result<WideLanes, Fault> {
        if wide { context.integer_wide(index) } else { Ok(context.integer(index)?.map(u64::from)) }
    };
    let [a, b] = [read(3)?, read(4)?];
    let less = |lane: usize| match () {
        () if context.has(Mod::U64) || context.has(Mod::U32) => a[lane] < b[lane],
        () if wide => (a[lane] as i64) < b[lane] as i64,
        () => (a[lane] as i32) < b[lane] as i32,
    };
    let result: WideLanes =
        std::array::from_fn(|lane| if less(lane) == (minimum >> lane & 1 == 1) { a[lane] } else { b[lane] });
    if wide { context.write_wide(2, &result) } else { context.write(2, &result.map(|word| word as u32)) }
}

/// The sum of the first two sources, as words or as two halves each.
fn sum(context: &Context, packed: bool) -> Result<Lanes, Fault> {
    if !packed {
        let [a, b] = [context.integer(1)?, context.integer(2)?];
        return Ok(std::array::from_fn(|lane| a[lane].wrapping_add(b[lane])));
    }
    let negate = context.instruction.operands[2].negate;
    let [a, b] = [context.raw(1)?, context.raw(2)?];
    let add = |x: u16, y: u16| if negate { x.wrapping_sub(y) } else { x.wrapping_add(y) };
    Ok(std::array::from_fn(|lane| halves(a[lane], b[lane], add)))
}

/// The sum of each part of the first two sources, clamped to its range with `.ISAT`.
fn sum_of_parts(context: &Context) -> Result<Lanes, Fault> {
    let signed = [Mod::S32, Mod::S16x2, Mod::S8x4].into_iter().any(|name| context.has(name));
    let bits = match () {
        () if context.has(Mod::_16x2) || context.has(Mod::S16x2) => 16,
        () if context.has(Mod::U8x4) || context.has(Mod::S8x4) => 8,
        () => 32,
    };
    let operands = &context.instruction.operands;
    let [a, b] = [1, 2].map(|index| context.raw(index));
    let (a, b) = (a?, b?);
    let part = |word: u32, at: u32, negate: bool| {
        let top = word << (32 - bits - at);
        let value = if signed { i64::from(top as i32 >> (32 - bits)) } else { i64::from(top >> (32 - bits)) };
        if negate { -value } else { value }
    };
    let (low, high) =
        if signed { (-1i64 << (bits - 1), (1i64 << (bits - 1)) - 1) } else { (0, (1i64 << bits) - 1) };
    let clamps = context.has(Mod::ISAT);
    let (negate_a, negate_b) = (operands[1].negate, operands[2].negate);
    Ok(std::array::from_fn(|lane| {
        (0..32).step_by(bits as usize).fold(0, |word, at| {
            let sum = part(a[lane], at, negate_a) + part(b[lane], at, negate_b);
            let sum = if clamps { sum.clamp(low, high) } else { sum };
            word | ((sum as u64 & ((1u64 << bits) - 1)) as u32) << at
        })
    }))
}

/// Applies a function to all four bytes.
fn bytes(a: u32, b: u32, f: impl Fn(u8, u8) -> u8) -> u32 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    u32::from_le_bytes(std::array::from_fn(|at| f(a[at], b[at])))
}

/// Applies a function to both halves.
fn halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// Min where the predicate is true, else max; with `.RELU` at least zero.
fn extreme(context: &Context, predicate: usize, a: &Lanes, b: &Lanes) -> Result<Lanes, Fault> {
    let minimum = context.predicate(predicate)?;
    let relu = context.has(Mod::RELU);
    let (unsigned, pair_unsigned, pair_signed) =
        (context.has(Mod::U32), context.has(Mod::U16x2), context.has(Mod::S16x2));
    Ok(std::array::from_fn(|lane| {
        let (a, b) = (a[lane], b[lane]);
        let less = minimum >> lane & 1 == 1;
        if context.has(Mod::U8x4) {
            bytes(a, b, |x, y| if less { x.min(y) } else { x.max(y) })
        } else if context.has(Mod::S8x4) {
            bytes(a, b, |x, y| {
                let (x, y) = (x as i8, y as i8);
                let value = if less { x.min(y) } else { x.max(y) };
                (if relu { value.max(0) } else { value }) as u8
            })
        } else if pair_unsigned {
            halves(a, b, |x, y| if less { x.min(y) } else { x.max(y) })
        } else if pair_signed {
            halves(a, b, |x, y| {
                let (x, y) = (x as i16, y as i16);
                let value = if less { x.min(y) } else { x.max(y) };
                (if relu { value.max(0) } else { value }) as u16
            })
        } else if unsigned {
            if less { a.min(b) } else { a.max(b) }
        } else {
            let (a, b) = (a as i32, b as i32);
            let value = if less { a.min(b) } else { a.max(b) };
            (if relu { value.max(0) } else { value }) as u32
        }
    }))
}

fn dot_product(context: &mut Context) -> Result<(), Fault> {
    let quad = context.has(Mod::_4A);
    let high = context.has(Mod::HI);
    let signed_a = if quad { context.has(Mod::S8) } else { context.has(Mod::S16) };
    let signed_b = context.has(Mod::S8_2);
    let byte = |word: u32, index: u32, signed: bool| {
        let value = (word >> (8 * index)) as u8;
        if signed { i64::from(value as i8) } else { i64::from(value) }
    };
    context.map3([1, 2, 3], |a, b, c| {
        let sum: i64 = if quad {
            (0..4).map(|index| byte(a, index, signed_a) * byte(b, index, signed_b)).sum()
        } else {
            (0..2)
                .map(|index| {
                    let value = (a >> (16 * index)) as u16;
                    let value = if signed_a { i64::from(value as i16) } else { i64::from(value) };
                    value * byte(b, index + if high { 2 } else { 0 }, signed_b)
                })
                .sum()
        };
        c.wrapping_add(sum as u32)
    })
}

/// The narrow types: modifier, bits, signed.
const NARROW: [(Mod, u32, bool); 8] = [
    (Mod::U2, 2, false),
    (Mod::S2, 2, true),
    (Mod::U4, 4, false),
    (Mod::S4, 4, true),
    (Mod::U8, 8, false),
    (Mod::S8, 8, true),
    (Mod::U16, 16, false),
    (Mod::S16, 16, true),
];

fn narrow(context: &Context) -> Result<(u32, bool), Fault> {
    let row = NARROW.iter().find(|row| context.has(row.0)).ok_or_else(|| context.refuse())?;
    Ok((row.1, row.2))
}

fn bounds(context: &Context) -> Result<(i64, i64), Fault> {
    let (bits, signed) = narrow(context)?;
    Ok(if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) })
}

/// Two saturated integers at the bottom of the word, and above them a part of the third operand.
fn pack(context: &mut Context) -> Result<(), Fault> {
    let (bits, _) = narrow(context)?;
    let (low, high) = bounds(context)?;
    if context.has(Mod::SATRELU) || !context.has(Mod::SAT) {
        return Err(context.refuse());
    }
    // The third operand fills the upper part of the word, shifted up by the two new elements. A suffix names the part
    // of it that is kept, which by its position remains after the shift.
    context.map3([1, 2, 3], |a, b, c| {
        let mask = (1u64 << bits) - 1;
        let cut = |value: u32| (i64::from(value as i32).clamp(low, high) as u64) & mask;
        let upper = u64::from(c) << (2 * bits);
        (cut(b) | cut(a) << bits | upper) as u32
    })
}
