//! f64 arithmetic and comparison.

use super::context::{Context, mask_of};
use super::float::{Comparison, rounding};
use super::integer::join;
use crate::launch::Fault;
use crate::number::{F64, Round};
use oriole_sass::{Mod, Op};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::Double;

/// An operation with a rounding direction other than to nearest, by exact software arithmetic.
fn directed(op: Op, [a, b, c]: [u64; 3], round: Round) -> u64 {
    let round = match round {
        Round::Nearest => rustc_apfloat::Round::NearestTiesToEven,
        Round::Down => rustc_apfloat::Round::TowardNegative,
        Round::Up => rustc_apfloat::Round::TowardPositive,
        Round::Zero => rustc_apfloat::Round::TowardZero,
    };
    let [a, b, c] = [a, b, c].map(|bits| Double::from_bits(u128::from(bits)));
    let result = match op {
        Op::DADD => a.add_r(b, round),
        Op::DMUL => a.mul_r(b, round),
        _ => a.mul_add_r(b, c, round),
    };
    result.value.to_bits() as u64
}

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    let op = context.instruction.op;
    if op == Op::DSETP {
        return compare(context);
    }
    let round = rounding(context);
    let a = context.double(1)?;
    let b = context.double(2)?;
    let c = if op == Op::DFMA { context.double(3)? } else { [0; 32] };
    let result = std::array::from_fn(|lane| calculate(op, [a[lane], b[lane], c[lane]], round));
    context.write_wide(0, &result)
}

/// `a * b + c`, rounded once.
pub(super) fn fused(a: u64, b: u64, c: u64, round: Round) -> u64 {
    calculate(Op::DFMA, [a, b, c], round)
}

fn calculate(op: Op, operands: [u64; 3], round: Round) -> u64 {
    let bits = if round == Round::Nearest {
        let [a, b, c] = operands.map(f64::from_bits);
        match op {
            Op::DADD => a + b,
            Op::DMUL => a * b,
            _ => a.mul_add(b, c),
        }
        .to_bits()
    } else {
        directed(op, operands, round)
    };
    if F64.is_nan(bits) { F64.not_a_number() } else { bits }
}

fn compare(context: &mut Context) -> Result<(), Fault> {
    let (a, b) = (context.double(2)?, context.double(3)?);
    let other = context.predicate(4)?;
    let (minimum, maximum) = (context.has(Mod::MIN), context.has(Mod::MAX));
    if minimum || maximum {
        // The first predicate is true where the first operand is the result, the second where the result is a NaN.
        let nan = |lanes: &crate::warp::WideLanes| mask_of(|lane| f64::from_bits(lanes[lane]).is_nan());
        let (a_nan, b_nan) = (nan(&a), nan(&b));
        let key = |bits: u64| {
            let magnitude = (bits & !(1 << 63)) as i64;
            if bits >> 63 == 1 { -magnitude - 1 } else { magnitude }
        };
        let first =
            mask_of(|lane| if minimum { key(a[lane]) < key(b[lane]) } else { key(a[lane]) > key(b[lane]) });
        let first = ((first & !b_nan) | b_nan) & !a_nan;
        context.write_predicate(0, join(context, first, other))?;
        return context.write_predicate(1, join(context, a_nan & b_nan, other));
    }
    let test = Comparison::of(context)?;
    let result = mask_of(|lane| test.holds(f64::from_bits(a[lane]), f64::from_bits(b[lane])));
    let (first, second) = (join(context, result, other), join(context, !result, other));
    context.write_predicate(0, first)?;
    context.write_predicate(1, second)
}
