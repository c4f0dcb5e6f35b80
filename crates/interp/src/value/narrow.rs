//! FP4 and FP6 values, which are neither infinite nor NaN, and scale factors that are powers of two.

/// A format of four or six bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Narrow {
    E2M1,
    E2M3,
    E3M2,
}

/// Fraction bits and the exponent of the smallest normal value; the greatest value.
struct Shape {
    fraction: i32,
    least: i32,
    greatest: f64,
}

impl Narrow {
    fn shape(self) -> Shape {
        match self {
            Narrow::E2M1 => Shape { fraction: 1, least: 0, greatest: 6.0 },
            Narrow::E2M3 => Shape { fraction: 3, least: 0, greatest: 7.5 },
            Narrow::E3M2 => Shape { fraction: 2, least: -2, greatest: 28.0 },
        }
    }

    /// Bits of a value.
    fn bits(self) -> u32 {
        if self == Narrow::E2M1 { 4 } else { 6 }
    }

    /// Bits from one value of a pair to the next: FP6 takes a byte.
    pub fn stride(self) -> u32 {
        if self == Narrow::E2M1 { 4 } else { 8 }
    }

    /// The nearest value, ties to even; overflow becomes the greatest, and a NaN the greatest positive one.
    pub fn of(self, value: f64, relu: bool) -> u64 {
        let Shape { fraction, least, greatest } = self.shape();
        let negative = value.is_sign_negative() && !value.is_nan();
        if negative && relu {
            return 0;
        }
        let magnitude = if value.is_nan() { greatest } else { value.abs().min(greatest) };
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(least);
        // In units of the last place, exponents continue where the one before ended.
        let steps = (magnitude / 2f64.powi(exponent - fraction)).round_ties_even() as u64;
        let bits = (((exponent - least) as u64) << fraction) + steps;
        u64::from(negative) << (self.bits() - 1) | bits
    }

    /// The value of the bits.
    pub fn value(self, bits: u64) -> f64 {
        let Shape { fraction, least, .. } = self.shape();
        let sign = 1u64 << (self.bits() - 1);
        let (magnitude, hidden) = (bits & (sign - 1), 1u64 << fraction);
        let exponent = (magnitude >> fraction) as i32;
        let steps = if exponent == 0 { magnitude } else { magnitude & (hidden - 1) | hidden };
        let value = steps as f64 * 2f64.powi(least + (exponent - 1).max(0) - fraction);
        if bits & sign == 0 { value } else { -value }
    }
}

/// The scale factor for the magnitude of a value: the power of two at it, below it or above it. `finite`: overflow,
/// infinities included, becomes the greatest factor, else NaN.
pub fn scale_of(value: f64, up: bool, finite: bool) -> u64 {
    const LEAST: i32 = -127;
    const NONE: u64 = 0xff;
    let magnitude = value.abs();
    if value.is_nan() {
        return NONE;
    }
    let below = ((magnitude.to_bits() >> 52) as i32 - 1023).max(LEAST);
    let inexact = magnitude > 2f64.powi(below) && magnitude.is_finite();
    let exponent = (below - LEAST) as u64 + u64::from(up && inexact);
    exponent.min(if finite { NONE - 1 } else { NONE })
}

/// The value of a scale factor.
pub fn scale(bits: u64) -> f64 {
    if bits & 0xff == 0xff { f64::NAN } else { 2f64.powi((bits & 0xff) as i32 - 127) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for narrow in [Narrow::E2M1, Narrow::E2M3, Narrow::E3M2] {
            for bits in 0..1u64 << narrow.bits() {
                assert_eq!(narrow.of(narrow.value(bits), false), bits, "{narrow:?}");
            }
            assert_eq!(narrow.of(f64::NAN, false), narrow.of(1e9, true));
        }
        let numbers: Vec<f64> = (0..8).map(|bits| Narrow::E2M1.value(bits)).collect();
        assert_eq!(numbers, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!([0.25, 0.75, 2.5, 5.0].map(|x| Narrow::E2M1.of(x, false)), [0, 2, 4, 6]);
    }

    #[test]
    fn scale_factors() {
        assert_eq!([1.0, 1.5, 0.0, 3e-39].map(|x| scale_of(x, false, false)), [127, 127, 0, 0]);
        assert_eq!([1.0, -1.5, 0.0, 3e-39].map(|x| scale_of(x, true, false)), [127, 128, 0, 0]);
        assert_eq!([f64::INFINITY, f64::NAN].map(|x| scale_of(x, false, true)), [0xfe, 0xff]);
        assert_eq!(scale_of(3e38, true, false), 0xff);
    }
}
