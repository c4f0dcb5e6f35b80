//! Arithmetic on four FP8 or narrower values in a word, each rounded once: `QADD4`, `QMUL4`, `QFMA4`.

use super::context::Context;
use crate::launch::Fault;
use crate::number::{E2M1, E2M3, E3M2, E4M3, E5M2, Format, Real, Round, Value};
use oriole_sass::{Mod, Op};

/// A fixed-point value, in units of a power of two that divides every product and every operand.
#[derive(Clone, Copy)]
enum Part {
    /// Units, and the sign, which a zero has as well.
    Finite(i128, bool),
    Infinite(bool),
    NotANumber,
}

/// The exponent of a unit.
const UNIT: i32 = -36;

impl Part {
    fn of(format: Format, bits: u32, exponent: i32) -> Part {
        match format.unpack(bits.into()) {
            Value::Finite(real) => {
                let size = i128::from(real.significand) << (real.exponent - exponent);
                Part::Finite(if real.negative { -size } else { size }, real.negative)
            }
            Value::Infinite(negative) => Part::Infinite(negative),
            Value::NotANumber => Part::NotANumber,
        }
    }

    fn negated(self) -> Part {
        match self {
            Part::Finite(size, negative) => Part::Finite(-size, !negative),
            Part::Infinite(negative) => Part::Infinite(!negative),
            Part::NotANumber => self,
        }
    }

    fn plus(self, other: Part) -> Part {
        match (self, other) {
            (Part::Finite(a, x), Part::Finite(b, y)) => {
                let sum = a + b;
                Part::Finite(sum, if sum == 0 { x && y } else { sum < 0 })
            }
            (Part::Infinite(a), Part::Infinite(b)) if a != b => Part::NotANumber,
            (Part::NotANumber, _) | (_, Part::NotANumber) => Part::NotANumber,
            (Part::Infinite(sign), _) | (_, Part::Infinite(sign)) => Part::Infinite(sign),
        }
    }

    fn times(self, other: Part) -> Part {
        match (self, other) {
            (Part::Finite(a, x), Part::Finite(b, y)) => Part::Finite(a * b, x != y),
            (Part::NotANumber, _) | (_, Part::NotANumber) => Part::NotANumber,
            (Part::Finite(0, _), _) | (_, Part::Finite(0, _)) => Part::NotANumber,
            (a, b) => Part::Infinite(a.is_negative() != b.is_negative()),
        }
    }

    fn is_negative(self) -> bool {
        matches!(self, Part::Finite(_, true) | Part::Infinite(true))
    }

    fn value(self) -> Value {
        match self {
            Part::Finite(size, negative) => {
                // An overflow is far beyond every result; its low bits are irrelevant.
                let size = size.unsigned_abs();
                let down = (128 - size.leading_zeros()).saturating_sub(64);
                let significand = (size >> down) as u64;
                Value::Finite(Real { negative, significand, exponent: UNIT + down as i32 })
            }
            Part::Infinite(negative) => Value::Infinite(negative),
            Part::NotANumber => Value::NotANumber,
        }
    }
}

/// The format of a modifier.
fn format(context: &Context, names: [Mod; 5]) -> Result<Format, Fault> {
    let formats = [E4M3, E5M2, E2M3, E3M2, E2M1];
    let found = names.into_iter().position(|name| context.has(name));
    found.map(|at| formats[at]).ok_or_else(|| context.refuse())
}

const FIRST: [Mod; 5] = [Mod::E4M3x4_2, Mod::E5M2x4_2, Mod::E2M3x4_2, Mod::E3M2x4_2, Mod::E2M1x4_2];
const SECOND: [Mod; 5] = [Mod::E4M3x4_3, Mod::E5M2x4_3, Mod::E2M3x4_3, Mod::E3M2x4_3, Mod::E2M1x4_3];

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    let op = context.instruction.op;
    let to = match (context.has(Mod::E4M3x4), context.has(Mod::E5M2x4)) {
        (true, _) => E4M3,
        (_, true) => E5M2,
        _ => return Err(context.refuse()),
    };
    let first = format(context, FIRST)?;
    let second = if op == Op::QADD4 { to } else { format(context, SECOND)? };
    let count = context.count() - 1;
    let mut words = Vec::new();
    for index in 1..=count {
        words.push(context.raw(index)?);
        let operand = &context.instruction.operands[index];
        let bits = if index == 1 { first.bits() } else { second.bits() };
        let side_by_side = bits == 4 && index < 3;
        if operand.absolute || !operand.has(if side_by_side { Mod::N3210 } else { Mod::B3210 }) {
            return Err(context.refuse());
        }
    }
    let saturate = context.has(Mod::SATFINITE);
    let part = |index: usize, format: Format, exponent: i32, lane: usize, at: u32| {
        let stride = if format == E2M1 { 4 } else { 8 };
        let bits = words[index - 1][lane] >> (stride * at) & ((1 << format.bits()) - 1);
        let part = Part::of(format, bits, exponent);
        if context.instruction.operands[index].negate { part.negated() } else { part }
    };
    let result = std::array::from_fn(|lane| {
        (0..4).fold(0, |word, at| {
            // Factors in units whose product is the unit of sums.
            let exact = match op {
                Op::QADD4 => part(1, first, UNIT, lane, at).plus(part(2, to, UNIT, lane, at)),
                _ => {
                    let half = UNIT / 2;
                    let product = part(1, first, half, lane, at).times(part(2, second, half, lane, at));
                    match op {
                        Op::QFMA4 => product.plus(part(3, to, UNIT, lane, at)),
                        _ => product,
                    }
                }
            };
            let bits = match exact.value() {
                Value::NotANumber => 0x7f,
                value => to.pack(value, Round::Nearest, saturate) as u32,
            };
            // NaN has no sign where the format has one such code.
            let bits = if to == E4M3 && bits & 0x7f == 0x7f { 0x7f } else { bits };
            word | (bits & 0xff) << (8 * at)
        })
    });
    context.write(0, &result)
}
