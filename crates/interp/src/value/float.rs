//! Floating-point arithmetic with PTX's rounding, flushing, saturation and NaN rules.

use rustc_apfloat::Round;

use super::soft::{self, Format};

/// A floating-point operation with one correct result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatOperation {
    Add,
    Subtract,
    Multiply,
    MultiplyAdd,
    Divide,
    Reciprocal,
    SquareRoot,
    Minimum,
    Maximum,
    Absolute,
    Negate,
    /// The magnitude of b with the sign of a.
    CopySign,
}

/// Modifiers of a floating-point operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    /// Rounding direction.
    pub round: Round,
    /// Subnormal operands and results count as zero.
    pub flush: bool,
    /// The result is clamped to 0 to 1.
    pub saturate: bool,
    /// Negative results become zero.
    pub relu: bool,
    /// Min and max give NaN if an operand is NaN.
    pub propagate_nan: bool,
    /// Min and max of magnitudes, with the product of the signs.
    pub xorsign: bool,
    /// A product with the fill value of out-of-bounds elements is zero, whatever is added.
    pub out_of_bounds: bool,
}

/// The fill value of a bulk tensor copy for an f16 that is out of bounds.
pub(crate) const OUT_OF_BOUNDS: u64 = 0x7ff7;

impl Default for Mode {
    fn default() -> Mode {
        Mode {
            round: Round::NearestTiesToEven,
            flush: false,
            saturate: false,
            relu: false,
            propagate_nan: false,
            xorsign: false,
            out_of_bounds: false,
        }
    }
}

/// Computes the operation on bits of the format.
#[inline]
pub fn evaluate(operation: FloatOperation, format: Format, mode: Mode, a: u64, b: u64, c: u64) -> u64 {
    let mask = format.mask();
    if mode.out_of_bounds && [a, b].iter().any(|factor| factor & mask == OUT_OF_BOUNDS) {
        return 0;
    }
    let prepare = |value: u64| if mode.flush { soft::flush(format, value & mask) } else { value & mask };
    let (a, b, c) = (prepare(a), prepare(b), prepare(c));
    let result = match operation {
        // Sign operations are bit moves: they neither round nor make a NaN canonical.
        FloatOperation::Absolute => return a & !format.sign(),
        FloatOperation::Negate => return a ^ format.sign(),
        FloatOperation::CopySign => return b & !format.sign() | a & format.sign(),
        FloatOperation::Minimum | FloatOperation::Maximum => {
            extreme(operation == FloatOperation::Maximum, format, mode, a, b)
        }
        _ => arithmetic(operation, format, mode.round, a, b, c),
    };
    finish(format, mode, result)
}

/// Flushes, saturates and clamps a result.
pub fn finish(format: Format, mode: Mode, result: u64) -> u64 {
    if format.is_nan(result) {
        return if mode.saturate {
            0
        } else if format == Format::F64 {
            result
        } else {
            format.canonical_nan()
        };
    }
    let result = if mode.flush { soft::flush(format, result) } else { result };
    let negative = result & format.sign() != 0;
    if (mode.saturate || mode.relu) && negative {
        return 0;
    }
    // Magnitudes compare as their bits do.
    if mode.saturate { result.min(format.one()) } else { result }
}

#[inline]
fn arithmetic(operation: FloatOperation, format: Format, round: Round, a: u64, b: u64, c: u64) -> u64 {
    if round == Round::NearestTiesToEven {
        match format {
            Format::F32 => return native_f32(operation, a, b, c),
            Format::F64 => return native_f64(operation, a, b, c),
            _ => {}
        }
    }
    if let Some(nan) = first_nan(format, operation, a, b, c) {
        return nan;
    }
    match operation {
        FloatOperation::Add => soft::add(format, a, b, round),
        FloatOperation::Subtract => soft::add(format, a, b ^ format.sign(), round),
        FloatOperation::Multiply => soft::multiply(format, a, b, round),
        FloatOperation::MultiplyAdd => soft::multiply_add(format, a, b, c, round),
        FloatOperation::Divide => soft::divide(format, a, b, round),
        FloatOperation::Reciprocal => soft::divide(format, format.one(), a, round),
        FloatOperation::SquareRoot if !format.is_zero(a) && a & format.sign() != 0 => format.canonical_nan(),
        FloatOperation::SquareRoot => soft::square_root(format, a, round),
        _ => unreachable!("{operation:?} does not round"),
    }
}

/// The result of an operation with a NaN operand: the first NaN, made quiet.
fn first_nan(format: Format, operation: FloatOperation, a: u64, b: u64, c: u64) -> Option<u64> {
    let operands = [a, b, c];
    let count = match operation {
        FloatOperation::MultiplyAdd => 3,
        FloatOperation::Reciprocal | FloatOperation::SquareRoot => 1,
        _ => 2,
    };
    let quiet = 1 << (format.fraction_bits() - 1);
    operands[..count].iter().copied().find(|&value| format.is_nan(value)).map(|value| value | quiet)
}

#[inline]
fn native_f32(operation: FloatOperation, a: u64, b: u64, c: u64) -> u64 {
    let [x, y, z] = [a, b, c].map(|value| f32::from_bits(value as u32));
    let result = match operation {
        FloatOperation::Add => x + y,
        FloatOperation::Subtract => x - y,
        FloatOperation::Multiply => x * y,
        FloatOperation::MultiplyAdd => x.mul_add(y, z),
        FloatOperation::Divide => x / y,
        FloatOperation::Reciprocal => 1.0 / x,
        FloatOperation::SquareRoot => x.sqrt(),
        _ => unreachable!("{operation:?} does not round"),
    };
    u64::from(result.to_bits())
}

#[inline]
fn native_f64(operation: FloatOperation, a: u64, b: u64, c: u64) -> u64 {
    let [x, y, z] = [a, b, c].map(f64::from_bits);
    let result = match operation {
        FloatOperation::Add => x + y,
        FloatOperation::Subtract => x - y,
        FloatOperation::Multiply => x * y,
        FloatOperation::MultiplyAdd => x.mul_add(y, z),
        FloatOperation::Divide => x / y,
        FloatOperation::Reciprocal => 1.0 / x,
        FloatOperation::SquareRoot => x.sqrt(),
        _ => unreachable!("{operation:?} does not round"),
    };
    if result.is_nan() {
        // Hosts differ in the NaN that they produce; this rule does not.
        return first_nan(Format::F64, operation, a, b, c).unwrap_or(Format::F64.canonical_nan());
    }
    result.to_bits()
}

fn extreme(maximum: bool, format: Format, mode: Mode, a: u64, b: u64) -> u64 {
    let (nan_a, nan_b) = (format.is_nan(a), format.is_nan(b));
    if (nan_a && nan_b) || (mode.propagate_nan && (nan_a || nan_b)) {
        return format.canonical_nan();
    }
    let sign = (a ^ b) & format.sign();
    let (a, b) = if mode.xorsign { (a & !format.sign(), b & !format.sign()) } else { (a, b) };
    let picked = if nan_a {
        b
    } else if nan_b {
        a
    } else {
        // As ordered integers, so that -0 is below +0.
        let order = |value: u64| {
            let magnitude = (value & !format.sign()) as i64;
            if value & format.sign() != 0 { -1 - magnitude } else { magnitude }
        };
        if (order(a) >= order(b)) == maximum { a } else { b }
    };
    if mode.xorsign { picked | sign } else { picked }
}

/// The property that `testp` tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

impl Property {
    /// The property spelled so.
    pub fn of(word: oriole_ptx::word::NumberClass) -> Property {
        use oriole_ptx::word::NumberClass as Class;
        match word {
            Class::Finite => Property::Finite,
            Class::Infinite => Property::Infinite,
            Class::Number => Property::Number,
            Class::Notanumber => Property::NotANumber,
            Class::Normal => Property::Normal,
            Class::Subnormal => Property::Subnormal,
        }
    }

    /// Whether the value has it.
    pub fn holds(self, format: Format, value: u64) -> bool {
        let value = value & format.mask();
        let nan = format.is_nan(value);
        let infinite = format.is_infinite(value);
        match self {
            Property::Finite => !nan && !infinite,
            Property::Infinite => infinite,
            Property::Number => !nan,
            Property::NotANumber => nan,
            // Zero counts as normal.
            Property::Normal => !nan && !infinite && !format.is_subnormal(value),
            Property::Subnormal => format.is_subnormal(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAREST: Round = Round::NearestTiesToEven;

    /// Bit patterns of all magnitudes, many of them near each other, and the special values.
    fn patterns(format: Format) -> Vec<u64> {
        let mut state = 7u64;
        let mut all = vec![0, 1, format.infinity(), format.largest(), format.one(), format.canonical_nan()];
        for round in 0..600 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = state ^ state >> 31;
            let near_one = format.one() ^ value & ((1 << (format.fraction_bits() + 2)) - 1);
            all.push(if round % 2 == 0 { value } else { near_one | value & format.sign() } & format.mask());
        }
        all
    }

    #[test]
    fn hardware_and_soft_arithmetic_agree() {
        for format in [Format::F32, Format::F64] {
            let values = patterns(format);
            for row in values.windows(3) {
                let [a, b, c] = [row[0], row[1], row[2]];
                let soft = [
                    (FloatOperation::Add, soft::add(format, a, b, NEAREST)),
                    (FloatOperation::Multiply, soft::multiply(format, a, b, NEAREST)),
                    (FloatOperation::Divide, soft::divide(format, a, b, NEAREST)),
                    (FloatOperation::MultiplyAdd, soft::multiply_add(format, a, b, c, NEAREST)),
                ];
                for (operation, want) in soft {
                    let found = evaluate(operation, format, Mode::default(), a, b, c);
                    assert!(
                        found == want || format.is_nan(found) && format.is_nan(want),
                        "{operation:?} {format:?} {a:x} {b:x} {c:x}: {found:x}, {want:x}"
                    );
                }
            }
        }
    }

    #[test]
    fn roots_enclose_the_exact_root() {
        for format in [Format::F16, Format::BF16, Format::F32, Format::F64] {
            for value in patterns(format) {
                let value = value & !format.sign();
                if value == 0 || value >= format.infinity() {
                    continue;
                }
                let root = |round| soft::square_root(format, value, round);
                let (down, up) = (root(Round::TowardZero), root(Round::TowardPositive));
                assert!(up - down <= 1, "{format:?} {value:x}");
                assert!([down, up].contains(&root(NEAREST)));
                // Squares rounded away from the middle can only touch the operand.
                assert!(soft::multiply(format, down, down, Round::TowardZero) <= value);
                assert!(soft::multiply(format, up, up, Round::TowardPositive) >= value);
                let exact = soft::multiply(format, down, down, Round::TowardPositive)
                    == soft::multiply(format, down, down, Round::TowardZero);
                if exact
                    && soft::multiply(format, down, down, NEAREST) == value
                    && !format.is_subnormal(value)
                {
                    assert_eq!(down, up, "{format:?} {value:x}");
                }
            }
        }
    }

    #[test]
    fn modifiers() {
        let f32 = |value: f32| u64::from(value.to_bits());
        let run = |operation, mode, a: f32, b: f32| evaluate(operation, Format::F32, mode, f32(a), f32(b), 0);
        let default = Mode::default();
        let saturate = Mode { saturate: true, ..default };
        assert_eq!(run(FloatOperation::Add, saturate, 1.0, 2.0), f32(1.0));
        assert_eq!(run(FloatOperation::Add, saturate, -1.0, -2.0), 0);
        assert_eq!(run(FloatOperation::Add, saturate, f32::NAN, 1.0), 0);
        assert_eq!(run(FloatOperation::Subtract, default, f32::INFINITY, f32::INFINITY), 0x7fff_ffff);
        let flush = Mode { flush: true, ..default };
        assert_eq!(run(FloatOperation::Add, flush, 1e-40, -1e-41), 0);
        assert_eq!(run(FloatOperation::Multiply, flush, 1e-20, -1e-20), 0x8000_0000);
        assert_eq!(run(FloatOperation::Minimum, default, f32::NAN, 3.0), f32(3.0));
        assert_eq!(run(FloatOperation::Minimum, default, 0.0, -0.0), 0x8000_0000);
        assert_eq!(run(FloatOperation::Maximum, default, -0.0, 0.0), 0);
        let propagate = Mode { propagate_nan: true, ..default };
        assert_eq!(run(FloatOperation::Maximum, propagate, 1.0, f32::NAN), 0x7fff_ffff);
        let xorsign = Mode { xorsign: true, ..default };
        assert_eq!(run(FloatOperation::Maximum, xorsign, -5.0, 3.0), f32(-5.0));
        assert_eq!(run(FloatOperation::Minimum, xorsign, -5.0, -3.0), f32(3.0));
        let up = Mode { round: Round::TowardPositive, ..default };
        assert_eq!(run(FloatOperation::Add, up, 1.0, 1e-30), 0x3f80_0001);
    }
}
