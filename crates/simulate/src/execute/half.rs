//! f16x2 and bf16x2 arithmetic.

use super::context::{Context, mask_of};
use super::float::{Comparison, Extreme};
use super::integer::join;
use crate::launch::Fault;
use crate::number::{BF16, F16, F32, Format, Round, add, fused, multiply};
use oriole_sass::register::RZ;
use oriole_sass::{Mod, Op, Operand, OperandKind};

/// The two halves of an operand in every lane, low one first, with signs applied.
type Pairs = [[u64; 2]; 32];

/// The fill value of a bulk tensor copy for an f16 that is out of bounds, without the sign bit.
pub(super) const OUT_OF_BOUNDS: u64 = 0x7ff7;

fn format(context: &Context) -> Format {
    if context.has(Mod::BF16_V2) { BF16 } else { F16 }
}

/// Number of entries of the operand list of the operand at `index`: two immediates make one pair.
fn entries(context: &Context, index: usize) -> usize {
    let float = |at: usize| matches!(context.kind(at), Ok(OperandKind::Float(_)));
    if float(index) && float(index + 1) { 2 } else { 1 }
}

/// The signs of the halves before negation and absolute value are applied.
fn signs(context: &Context, index: usize) -> Result<Pairs, Fault> {
    if entries(context, index) == 2 {
        return Ok(pairs(context, index)?.map(|pair| pair.map(|bits| bits & 0x8000)));
    }
    let operand = &context.instruction.operands[index];
    Ok(context.raw(index)?.map(|word| {
        let (low, high) = (u64::from(word & 0x8000), u64::from(word >> 16 & 0x8000));
        if operand.has(Mod::H0_H0) {
            [low, low]
        } else if operand.has(Mod::H1_H1) {
            [high, high]
        } else {
            [low, high]
        }
    }))
}

fn pairs(context: &Context, index: usize) -> Result<Pairs, Fault> {
    let format = format(context);
    let sign = format.sign();
    let operand = &context.instruction.operands[index];
    let flush = context.has(Mod::FTZ);
    if entries(context, index) == 2 {
        let (OperandKind::Float(high), OperandKind::Float(low)) =
            (context.kind(index)?, context.kind(index + 1)?)
        else {
            return Err(context.refuse());
        };
        let pair = [low, high].map(|bits| u64::from(bits & 0xffff));
        return Ok([pair.map(|bits| if flush { format.flush(bits) } else { bits }); 32]);
    }
    let values = context.raw(index)?;
    if operand.has(Mod::F32) {
        return Err(context.refuse());
    }
    // The upper half has a sign of its own.
    let upper_sign = if operand.has(Mod::H0_NH1) { sign } else { 0 };
    Ok(values.map(|word| {
        let (low, high) = (u64::from(word & 0xffff), u64::from(word >> 16));
        let pair = if operand.has(Mod::H0_H0) {
            [low, low]
        } else if operand.has(Mod::H1_H1) {
            [high, high]
        } else {
            [low, high]
        };
        let [low, high] = pair.map(|bits| {
            let bits = if flush { format.flush(bits) } else { bits };
            let bits = if operand.absolute { bits & !sign } else { bits };
            if operand.negate { bits ^ sign } else { bits }
        });
        [low, high ^ upper_sign]
    }))
}

/// Applies `.FTZ`, `.SAT` and `.RELU` to a result in a format.
fn finish(context: &Context, format: Format, bits: u64) -> u64 {
    let sign = format.sign();
    let bits = if context.has(Mod::FTZ) { format.flush(bits) } else { bits };
    let one = format.of_f64(1.0, Round::Nearest);
    if context.has(Mod::SAT) {
        if format.is_nan(bits) || bits & sign != 0 { 0 } else { bits.min(one) }
    } else if context.has(Mod::RELU) && !format.is_nan(bits) && bits & sign != 0 {
        0
    } else {
        bits
    }
}

/// Writes an f16x2 pair in each lane; `half` gives the value by lane and half, the lower one first.
fn write_halves(context: &mut Context, half: impl Fn(&Context, usize, usize) -> u64) -> Result<(), Fault> {
    let result =
        std::array::from_fn(|lane| half(context, lane, 0) as u32 | (half(context, lane, 1) as u32) << 16);
    context.write(0, &result)
}

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    let format = format(context);
    let wide_result = context.has(Mod::F32);
    let marks = context.has(Mod::OOB);
    if context.has(Mod::FMZ) || marks && context.instruction.op != Op::HFMA2 {
        return Err(context.refuse());
    }
    match context.instruction.op {
        Op::HADD2 if wide_result => wide_sum(context, format),
        _ if wide_result => Err(context.refuse()),
        Op::HADD2 if [1, 2].iter().any(|&at| is_single(context, at)) => narrowed(context, format),
        Op::HADD2 => {
            let [a, b] = [pairs(context, 1)?, pairs(context, 2)?];
            write_halves(context, |context, lane, half| {
                finish(context, format, add(format, a[lane][half], b[lane][half], Round::Nearest))
            })
        }
        Op::HMUL2 => {
            let [a, b] = [pairs(context, 1)?, pairs(context, 2)?];
            write_halves(context, |context, lane, half| {
                finish(context, format, multiply(format, a[lane][half], b[lane][half], Round::Nearest))
            })
        }
        Op::HFMA2 => {
            let second = 1 + entries(context, 1);
            let third = second + entries(context, second);
            let [a, b, c] = [pairs(context, 1)?, pairs(context, second)?, pairs(context, third)?];
            write_halves(context, |context, lane, half| {
                let (a, b, c) = (a[lane][half], b[lane][half], c[lane][half]);
                if marks && (a == OUT_OF_BOUNDS || b == OUT_OF_BOUNDS) {
                    return 0;
                }
                finish(context, format, fused(format, a, b, c, Round::Nearest))
            })
        }
        Op::HMNMX2 => extreme(context, format),
        Op::VHMNMX => extreme_of_three(context, format),
        Op::HSET2 | Op::HSETP2 => compare(context),
        _ => Err(context.refuse()),
    }
}

fn is_single(context: &Context, index: usize) -> bool {
    context.instruction.operands.get(index).is_some_and(|operand| operand.has(Mod::F32))
}

/// `HADD2` of an f32, which converts it to f16, rounded to zero: the other operand is a neutral zero. Both halves of
/// the result are equal.
fn narrowed(context: &mut Context, format: Format) -> Result<(), Fault> {
    let nothing = |operand: &Operand| matches!(operand.kind, OperandKind::Reg(RZ)) && operand.negate;
    let (single, other) = if is_single(context, 1) { (1, 2) } else { (2, 1) };
    if is_single(context, other) || !context.instruction.operands.get(other).is_some_and(nothing) {
        return Err(context.refuse());
    }
    let values = context.single(single, context.has(Mod::FTZ))?;
    write_halves(context, |context, lane, _| {
        finish(context, format, format.pack(F32.unpack(u64::from(values[lane])), Round::Zero, false))
    })
}

/// `HADD2.F32`: the sum of the low halves as an f32.
fn wide_sum(context: &mut Context, format: Format) -> Result<(), Fault> {
    let a = pairs(context, 1)?;
    let b = if entries(context, 2) == 1 { pairs(context, 2)? } else { return Err(context.refuse()) };
    let flush = context.has(Mod::FTZ);
    let result = std::array::from_fn(|lane| {
        let value = [a[lane][0], b[lane][0]].map(|bits| {
            let wide = F32.pack(format.unpack(bits), Round::Nearest, false);
            if flush { F32.flush(wide) } else { wide }
        });
        finish(context, F32, add(F32, value[0], value[1], Round::Nearest)) as u32
    });
    context.write(0, &result)
}

/// `HMNMX2`: the smaller or the larger one.
fn extreme(context: &mut Context, format: Format) -> Result<(), Fault> {
    if context.has(Mod::IS_A) {
        return Err(context.refuse());
    }
    let second = 1 + entries(context, 1);
    let [a, b] = [pairs(context, 1)?, pairs(context, second)?];
    let minimum = context.predicate(second + entries(context, second))?;
    let rules = Extreme::of(context);
    let (x, y) = (signs(context, 1)?, signs(context, second)?);
    write_halves(context, |_, lane, half| {
        let mixed = x[lane][half] ^ y[lane][half];
        rules.choose(format, a[lane][half], b[lane][half], minimum >> lane & 1 == 1, mixed)
    })
}

/// `VHMNMX`: the smallest or the largest of three.
fn extreme_of_three(context: &mut Context, format: Format) -> Result<(), Fault> {
    let second = 1 + entries(context, 1);
    let third = second + entries(context, second);
    let [a, b, c] = [pairs(context, 1)?, pairs(context, second)?, pairs(context, third)?];
    let minimum = context.predicate(third + entries(context, third))?;
    let rules = Extreme::of(context);
    if rules.mix_signs {
        return Err(context.refuse());
    }
    write_halves(context, |_, lane, half| {
        let less = minimum >> lane & 1 == 1;
        let both = rules.choose(format, a[lane][half], b[lane][half], less, 0);
        rules.choose(format, both, c[lane][half], less, 0)
    })
}

fn compare(context: &mut Context) -> Result<(), Fault> {
    let format = format(context);
    let to_predicates = context.instruction.op == Op::HSETP2;
    let first = if to_predicates { 2 } else { 1 };
    let second = first + entries(context, first);
    let [a, b] = [pairs(context, first)?, pairs(context, second)?];
    let other = context.predicate(second + entries(context, second))?;
    let test = Comparison::of(context)?;
    let holds =
        |half: usize| mask_of(|lane| test.holds(format.to_f64(a[lane][half]), format.to_f64(b[lane][half])));
    let (low, high) = (holds(0), holds(1));
    if to_predicates {
        // Each half has a predicate of its own; with `.H_AND` both must be true for the first, and the second is its
        // opposite.
        let (low, high) = if context.has(Mod::H_AND) { (low & high, !(low & high)) } else { (low, high) };
        let (low, high) = (join(context, low, other), join(context, high, other));
        context.write_predicate(0, low)?;
        return context.write_predicate(1, high);
    }
    let (low, high) = (join(context, low, other), join(context, high, other));
    let truth = if context.has(Mod::BF) { format.of_f64(1.0, Round::Nearest) as u32 } else { 0xffff };
    let value = |mask: u32, lane: usize| if mask >> lane & 1 == 1 { truth } else { 0 };
    context.write(0, &std::array::from_fn(|lane| value(low, lane) | value(high, lane) << 16))
}
