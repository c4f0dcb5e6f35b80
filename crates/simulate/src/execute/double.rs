//! Double-precision arithmetic and comparison.

use super::float::{Comparison, rounding};
use super::integer::join;
use super::{Context, mask_of};
use crate::launch::Fault;
use crate::number::{F64, Round};
use oriole_sass::{Mod, Op};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::Double;

/// An operation in a direction other than to nearest, by exact software arithmetic.
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
    let result = std::array::from_fn(|lane| {
        let bits = if round == Round::Nearest {
            let [a, b, c] = [a[lane], b[lane], c[lane]].map(f64::from_bits);
            match op {
                Op::DADD => a + b,
                Op::DMUL => a * b,
                _ => a.mul_add(b, c),
            }
            .to_bits()
        } else {
            directed(op, [a[lane], b[lane], c[lane]], round)
        };
        if F64.is_nan(bits) { F64.not_a_number() } else { bits }
    });
    context.write_wide(0, &result)
}

fn compare(context: &mut Context) -> Result<(), Fault> {
    let (a, b) = (context.double(2)?, context.double(3)?);
    let other = context.predicate(4)?;
    let result = if context.has(Mod::MIN) || context.has(Mod::MAX) {
        // Holds where the first operand is the minimum (maximum); a NaN never is, unless both are.
        let minimum = context.has(Mod::MIN);
        mask_of(|lane| {
            let (a, b) = (f64::from_bits(a[lane]), f64::from_bits(b[lane]));
            if a.is_nan() || b.is_nan() {
                return b.is_nan();
            }
            let key = |x: f64| {
                if x.is_sign_negative() {
                    -((x.to_bits() & !(1 << 63)) as i64) - 1
                } else {
                    x.to_bits() as i64
                }
            };
            if minimum { key(a) < key(b) } else { key(a) > key(b) }
        })
    } else {
        let test = Comparison::of(context)?;
        mask_of(|lane| test.holds(f64::from_bits(a[lane]), f64::from_bits(b[lane])))
    };
    let (first, second) = (join(context, result, other), join(context, !result, other));
    context.write_predicate(0, first)?;
    context.write_predicate(1, second)
}
