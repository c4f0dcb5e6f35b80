//! How far a result may be from the one that is computed: PTX bounds the error of approximated functions and leaves the
//! bits free, and it allows to contract a product without a rounding modifier with an addition.
//!
//! With a number in [`crate::launch::Choices::rounding`] such results move within these bounds. Contraction is shown by
//! the product: the exact one is between the rounded one and a neighbour.

use std::collections::HashSet;

use oriole_hir::{Body, Instruction, RegisterId, Statement};
use oriole_ptx::{Opcode, Type, Word};

use crate::context::LaneContext;
use crate::lane::Lane;
use crate::launch::Choices;
use crate::step::{Action, Loose};
use crate::value::Operation;
use crate::value::approximate::Function;
use crate::value::float::FloatOperation;
use crate::value::soft::{self, Format};

/// Error of an approximated f32 result that is bounded in units of the last place.
const UNITS: i64 = 2;
/// Error of sine and cosine of small angles.
const ANGLE_ERROR: f64 = 6.8e-7;
/// Error of the logarithm near one.
const LOGARITHM_ERROR: f64 = 2.4e-7;
/// Units of the last place of the hyperbolic tangent: eleven bits are right.
const TANGENT_UNITS: i64 = 1 << 12;
/// Units of the last place of results of which only the upper word counts.
const ROUGH_UNITS: i64 = 1 << 33;

/// Whether an instruction states how its result is rounded.
fn is_rounded(instruction: &Instruction) -> bool {
    use Word::*;
    [Rn, Rz, Rm, Rp, Rna].into_iter().any(|word| instruction.modifiers.has(word))
}

fn is_float(instruction: &Instruction) -> bool {
    instruction.types.first().is_some_and(|ty| ty.is_float())
}

/// Whether the result is an f64.
fn is_double(instruction: &Instruction) -> bool {
    instruction.types.first() == Some(&Type::F64)
}

/// The registers that additions read which may be contracted with a product.
pub fn added(body: &Body) -> HashSet<RegisterId> {
    let mut found = HashSet::new();
    for statement in &body.statements {
        let Statement::Instruction(instruction) = statement else { continue };
        let adds = matches!(instruction.opcode, Opcode::Add | Opcode::Sub);
        if adds && is_float(instruction) && !is_rounded(instruction) {
            instruction.for_each_read(|register| {
                found.insert(register);
            });
        }
    }
    found
}

/// The freedom of an instruction's result.
pub fn of(instruction: &Instruction, added: &HashSet<RegisterId>) -> Option<Loose> {
    let has = |word| instruction.modifiers.has(word);
    if has(Word::Approx) || has(Word::Full) {
        return Some(Loose::Approximate);
    }
    match instruction.opcode {
        Opcode::Rsqrt | Opcode::Sin | Opcode::Cos | Opcode::Lg2 | Opcode::Ex2 | Opcode::Tanh => {
            Some(Loose::Approximate)
        }
        Opcode::Mul if is_float(instruction) && !is_rounded(instruction) => {
            let mut read = false;
            instruction.for_each_written(|register| read |= added.contains(&register));
            read.then_some(Loose::Product).or_else(|| is_double(instruction).then_some(Loose::Double))
        }
        Opcode::Div | Opcode::Rem if !is_float(instruction) => Some(Loose::Quotient),
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Fma
        | Opcode::Mad
        | Opcode::Div
        | Opcode::Rcp
        | Opcode::Sqrt
        | Opcode::Min
        | Opcode::Max
        | Opcode::Cvt => is_double(instruction).then_some(Loose::Double),
        _ => None,
    }
}

/// The first two operands of a computation.
pub fn operands(at: &LaneContext, action: &Action) -> [u64; 2] {
    match action {
        Action::Compute { sources: [a, b, ..], .. } => [at.read(*a), at.read(*b)],
        _ => [0; 2],
    }
}

/// One of the two bounds, always the same for the same result. Each odd seed chooses the opposite of the even one before
/// it, so that two seeds show that there is a choice.
fn choose(seed: u64, value: u64) -> bool {
    let mut mixed = (seed / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value;
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb_u64] {
        mixed = (mixed ^ mixed >> 30).wrapping_mul(factor);
    }
    (mixed ^ mixed >> 31 ^ seed) & 1 == 1
}

impl Loose {
    /// Moves the result of a computation that a lane has executed.
    pub fn nudge(self, lane: &mut Lane, action: &Action, operands: [u64; 2], choices: Choices) {
        let Action::Compute { operation, destination, .. } = action else { return };
        let (seed, result) = (choices.rounding, lane.register(destination.slot));
        if self == Loose::Quotient {
            let Operation::Integer(_, kind) = operation else { return };
            if choices.fill != 0 && operands[1] & kind.mask() == 0 {
                lane.write(*destination, !result);
            }
            return;
        }
        if seed == 0 {
            return;
        }
        if self == Loose::Double || Format::F64.is_nan(result) && destination.mask == u64::MAX {
            if Format::F64.is_nan(result) {
                lane.write(*destination, result ^ Format::F64.sign());
            }
            return;
        }
        let (format, packed) = match operation {
            Operation::Float(_, format, mode, packed) if !mode.saturate => (*format, *packed),
            Operation::FloatPair(_, mode) if !mode.saturate => (Format::F32, true),
            Operation::Approximate(_, format, _, packed) => (*format, *packed),
            _ => return,
        };
        let bits = format.bits();
        let moved = (0..if packed { 2 } else { 1 }).fold(0, |all, part| {
            let cut = |value: u64| value >> (part * bits) & format.mask();
            let value = self.moved(operation, format, cut(result), operands.map(cut), seed);
            all | (value & format.mask()) << (part * bits)
        });
        lane.write(*destination, moved);
    }

    fn moved(self, operation: &Operation, format: Format, result: u64, [a, b]: [u64; 2], seed: u64) -> u64 {
        let magnitude = result & !format.sign();
        let value = soft::to_f64(format, result);
        if magnitude == 0 || !value.is_finite() {
            return result;
        }
        if self == Loose::Product {
            let [a, b] = [a, b].map(|factor| soft::to_f64(format, factor));
            let error = a.mul_add(b, -value);
            // Towards larger magnitudes if the exact product is there.
            let away = (error > 0.0) == (value > 0.0);
            let by = u64::from(choose(seed, result));
            return match error {
                0.0 => result,
                _ if away => result + by,
                _ => result - by,
            };
        }
        let within = |units: i64| {
            let by = if choose(seed, result) { units } else { -units };
            let moved = (magnitude as i64 + by).max(1) as u64;
            if soft::to_f64(format, moved).is_finite() { moved | result & format.sign() } else { result }
        };
        let absolute = |error: f64| {
            let by = if choose(seed, result) { error } else { -error };
            soft::from_f64(format, value + by, rustc_apfloat::Round::NearestTiesToEven)
        };
        if format != Format::F32 {
            return within(if format == Format::F64 { ROUGH_UNITS } else { 1 });
        }
        let angle = soft::to_f64(format, a).abs();
        match operation {
            Operation::Approximate(Function::Sine | Function::Cosine, ..) => {
                absolute(ANGLE_ERROR + angle * f64::from(f32::EPSILON))
            }
            Operation::Approximate(Function::Logarithm2, ..) if value.abs() < 1.0 => {
                absolute(LOGARITHM_ERROR)
            }
            Operation::Approximate(Function::HyperbolicTangent, ..) => within(TANGENT_UNITS),
            Operation::Float(FloatOperation::Divide, ..) | Operation::Approximate(..) => within(UNITS),
            _ => result,
        }
    }
}
