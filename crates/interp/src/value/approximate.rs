//! The approximated functions. PTX bounds their error and leaves the bits free; here each is the exact value rounded
//! once, with the special values that PTX defines. The functions come from a crate, so that every host gives the same bits.

use rustc_apfloat::Round;

use super::soft::{self, Format};

/// A function of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    Reciprocal,
    SquareRoot,
    ReciprocalSquareRoot,
    Sine,
    Cosine,
    /// Of an angle in turns.
    SineOfTurns,
    /// Of an angle in turns.
    CosineOfTurns,
    Logarithm2,
    Exponential2,
    HyperbolicTangent,
    /// `rcp.approx.ftz.f64`: 20 fraction bits, subnormals flushed.
    ReciprocalRough,
    /// `rsqrt.approx.ftz.f64`
    ReciprocalSquareRootRough,
}

/// Computes the function; `flush`: subnormal operands and results count as zero.
pub fn evaluate(function: Function, format: Format, flush: bool, a: u64) -> u64 {
    let a = a & format.mask();
    let a = if flush { soft::flush(format, a) } else { a };
    let x = soft::to_f64(format, a);
    let value = match function {
        Function::Reciprocal | Function::ReciprocalRough => 1.0 / x,
        Function::SquareRoot => x.sqrt(),
        Function::ReciprocalSquareRoot | Function::ReciprocalSquareRootRough => 1.0 / x.sqrt(),
        Function::Sine => libm::sin(x),
        Function::Cosine => libm::cos(x),
        // Whole turns are subtracted first, which is exact.
        Function::SineOfTurns => libm::sin(x.fract() * std::f64::consts::TAU),
        Function::CosineOfTurns => libm::cos(x.fract() * std::f64::consts::TAU),
        Function::Logarithm2 => libm::log2(x),
        Function::Exponential2 => libm::exp2(x),
        Function::HyperbolicTangent => libm::tanh(x),
    };
    let result = soft::from_f64(format, value, Round::NearestTiesToEven);
    let rough = matches!(function, Function::ReciprocalRough | Function::ReciprocalSquareRootRough);
    // The rough forms fill the upper word only.
    let result = if rough && !format.is_nan(result) { result >> 32 << 32 } else { result };
    if flush || rough { soft::flush(format, result) } else { result }
}
