//! Modifiers and types of an instruction that several families read alike.

use oriole_hir::Instruction;
use oriole_ptx::{Type, Word, word};
use rustc_apfloat::Round;

use super::{Decode, Unsupported};
use crate::value::float::Mode;

/// The rounding of the modifiers.
pub fn rounding(instruction: &Instruction) -> Option<Round> {
    let integral = instruction.modifiers.at().map(|rounding| match rounding {
        word::IntegralRounding::Rni => Round::NearestTiesToEven,
        word::IntegralRounding::Rzi => Round::TowardZero,
        word::IntegralRounding::Rmi => Round::TowardNegative,
        word::IntegralRounding::Rpi => Round::TowardPositive,
    });
    let rounding = instruction.modifiers.at().map(|rounding| match rounding {
        word::Rounding::Rn => Round::NearestTiesToEven,
        word::Rounding::Rz => Round::TowardZero,
        word::Rounding::Rm => Round::TowardNegative,
        word::Rounding::Rp => Round::TowardPositive,
        word::Rounding::Rna => Round::NearestTiesToAway,
    });
    rounding.or(integral)
}

/// The floating-point modifiers.
pub fn mode(instruction: &Instruction) -> Mode {
    let has = |word| instruction.modifiers.has(word);
    Mode {
        round: rounding(instruction).unwrap_or(Round::NearestTiesToEven),
        flush: has(Word::Ftz),
        saturate: has(Word::Sat),
        relu: has(Word::Relu),
        propagate_nan: has(Word::NaN),
        xorsign: has(Word::XorsignAbs),
        out_of_bounds: has(Word::Oob),
    }
}

/// The first type that is written.
pub fn first_type(instruction: &Instruction) -> Decode<Type> {
    instruction.types.first().copied().ok_or(Unsupported::Form("it has no type"))
}

/// The last type that is written.
pub fn last_type(instruction: &Instruction) -> Decode<Type> {
    instruction.types.last().copied().ok_or(Unsupported::Form("it has no type"))
}
