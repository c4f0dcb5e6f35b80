//! The approximate functions of the special function unit. The hardware's tables are unknown: here each result is
//! correctly rounded, or, on request, perturbed within the error that NVIDIA publishes, so that a caller can show that
//! a kernel does not depend on a lucky approximation.

use super::context::Context;
use crate::launch::Fault;
use crate::number::{BF16, F16, F32, Format, Round};
use oriole_sass::{Mod, OperandKind};

/// The published error bound of an approximation.
#[derive(Clone, Copy)]
enum Bound {
    /// Units of the last place.
    Units(f64),
    /// Relative to the result.
    Relative(f64),
    /// Absolute.
    Absolute(f64),
    /// Absolute for arguments near one, relative elsewhere.
    Logarithm(f64),
}

struct Function {
    name: Mod,
    exact: fn(f64) -> f64,
    bound: Bound,
}

/// Sine of a number of turns; reducing the turns first is exact.
fn sine(turns: f64) -> f64 {
    if turns == 0.0 { turns } else { libm::sin((turns - libm::rint(turns)) * std::f64::consts::TAU) }
}

fn cosine(turns: f64) -> f64 {
    libm::cos((turns - libm::rint(turns)) * std::f64::consts::TAU)
}

/// The functions with their errors as the PTX manual states them for the `.approx` instructions.
const FUNCTIONS: [Function; 8] = [
    Function { name: Mod::RCP, exact: |x| 1.0 / x, bound: Bound::Units(1.0) },
    // 2 to the power of -22.9, -23, and (sine and cosine) -20.5.
    Function { name: Mod::RSQ, exact: |x| 1.0 / x.sqrt(), bound: Bound::Relative(1.27e-7) },
    Function { name: Mod::SQRT, exact: f64::sqrt, bound: Bound::Relative(1.19e-7) },
    Function { name: Mod::SIN, exact: sine, bound: Bound::Absolute(4.0e-7) },
    Function { name: Mod::COS, exact: cosine, bound: Bound::Absolute(4.0e-7) },
    Function { name: Mod::EX2, exact: libm::exp2, bound: Bound::Units(2.0) },
    Function { name: Mod::LG2, exact: libm::log2, bound: Bound::Logarithm(1.2e-7) },
    Function { name: Mod::TANH, exact: libm::tanh, bound: Bound::Relative(4.8e-4) },
];

/// The errors of the f16 forms, where they differ: relative 2 to the power of -9.9 and -7 for powers,
/// absolute -10.987 and -8 for the hyperbolic tangent.
fn narrow_bound(format: Format, name: Mod) -> Option<Bound> {
    match name {
        Mod::EX2 if format == F16 => Some(Bound::Relative(1.04e-3)),
        Mod::EX2 if format == BF16 => Some(Bound::Relative(7.8e-3)),
        Mod::TANH if format == F16 => Some(Bound::Absolute(4.9e-4)),
        Mod::TANH if format == BF16 => Some(Bound::Absolute(3.9e-3)),
        _ => None,
    }
}

/// A value from -1 to 1 that depends on seed and argument only.
fn disturbance(seed: u64, argument: u64) -> f64 {
    let mut x = seed ^ argument.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        x ^= x >> 32;
        x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    x ^= x >> 32;
    (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    if context.has(Mod::RCP64H) || context.has(Mod::RSQ64H) {
        return double_seed(context);
    }
    let format = if context.has(Mod::F16) {
        F16
    } else if context.has(Mod::BF16) {
        BF16
    } else {
        F32
    };
    let function =
        FUNCTIONS.iter().find(|function| context.has(function.name)).ok_or_else(|| context.refuse())?;
    let operand = &context.instruction.operands[1];
    let shift = if operand.has(Mod::H1) { 16 } else { 0 };
    let sign = format.sign();
    let seed = context.launch_context.perturb;
    let values = context.raw(1)?;
    let immediate = matches!(context.kind(1)?, OperandKind::Float(_));
    let result = values.map(|word| {
        let bits = u64::from(if format == F32 || immediate { word } else { word >> shift & 0xffff });
        let bits = if operand.absolute { bits & !sign } else { bits };
        let bits = if operand.negate { bits ^ sign } else { bits };
        evaluate(function, format, bits, seed) as u32
    });
    context.write(0, &result)
}

fn evaluate(function: &Function, format: Format, bits: u64, seed: Option<u64>) -> u64 {
    // The unit neither accepts nor produces subnormal f32 values, except for the hyperbolic tangent.
    let flush =
        |bits: u64| if format == F32 && function.name != Mod::TANH { format.flush(bits) } else { bits };
    let bits = flush(bits);
    let argument = format.to_f64(bits);
    let exact = (function.exact)(argument);
    if exact.is_nan() {
        return format.not_a_number();
    }
    let nearest = format.of_f64(exact, Round::Nearest);
    // Results that the format holds exactly are exact.
    let Some(seed) = seed.filter(|_| format.to_f64(nearest) != exact) else { return flush(nearest) };
    // The unit of the last place below the result, also where that is just above a power of two.
    let binade = libm::log2(exact.abs() * (1.0 - 2f64.powi(-20))).floor() as i32;
    let unit = 2f64.powi(binade - format.fraction_bits() as i32);
    let bound = match narrow_bound(format, function.name).unwrap_or(function.bound) {
        Bound::Units(units) => units * unit,
        Bound::Relative(bound) => exact.abs() * bound,
        Bound::Absolute(bound) => bound,
        Bound::Logarithm(bound) if (0.5..=2.0).contains(&argument) => bound,
        Bound::Logarithm(bound) => exact.abs() * bound,
    };
    let disturbed = exact + disturbance(seed, bits ^ (function.name as u64) << 48) * bound;
    let rounded = format.of_f64(disturbed, Round::Nearest);
    // The rounding counts towards the error, too.
    let within = (format.to_f64(rounded) - exact).abs() <= bound;
    flush(if within { rounded } else { nearest })
}

/// The upper half of the reciprocal (root) of the f64 whose upper half is given, as a start for an iteration.
fn double_seed(context: &mut Context) -> Result<(), Fault> {
    let root = context.has(Mod::RSQ64H);
    let operand = &context.instruction.operands[1];
    let (absolute, negate) = (operand.absolute, operand.negate);
    let seed = context.launch_context.perturb;
    let result = context.raw(1)?.map(|word| {
        let word = if absolute { word & 0x7fff_ffff } else { word };
        let word = if negate { word ^ 0x8000_0000 } else { word };
        let word = if word & 0x7ff0_0000 == 0 { word & 0x8000_0000 } else { word };
        let argument = f64::from_bits(u64::from(word) << 32);
        let exact = if root { 1.0 / argument.sqrt() } else { 1.0 / argument };
        if exact.is_nan() {
            return 0xfff8_0000;
        }
        let relative = seed.map_or(0.0, |seed| disturbance(seed, word.into()) * 0.5f64.powi(21));
        let value = exact * (1.0 + relative);
        let value = if exact.is_infinite() || exact == 0.0 { exact } else { value };
        let high = (value.to_bits() >> 32) as u32;
        if high & 0x7ff0_0000 == 0 { high & 0x8000_0000 } else { high }
    });
    context.write(0, &result)
}
