//! Exact arithmetic between floating-point formats: every result is first an exact value (or one rounded to odd) and is
//! rounded once, in the mode that the instruction names.
//!
//! A sum or product of two values of up to 24 significant bits, or an FMA, fits an f64 up to one lost tail. Setting the
//! lowest bit when bits were lost ("rounding to odd") makes the second rounding correct, because an f64 has more than
//! twice the bits of the narrow formats and two to spare. Nothing here knows of registers or instructions.

/// A rounding direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Round {
    /// To nearest, ties to even.
    Nearest,
    /// Towards negative infinity.
    Down,
    /// Towards positive infinity.
    Up,
    /// Towards zero.
    Zero,
}

/// A binary floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    /// Bits of the significand with the hidden one.
    precision: u32,
    /// Smallest exponent of a normal value.
    least: i32,
    /// Largest exponent of a finite value.
    greatest: i32,
    /// Bits of the encoding.
    width: u32,
    specials: Specials,
}

/// The use of the largest exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Specials {
    /// Infinities and NaN.
    All,
    /// There are no infinities; the largest significand is NaN.
    NotANumber,
    /// Finite values only.
    None,
}

pub(crate) const F16: Format =
    Format { precision: 11, least: -14, greatest: 15, width: 16, specials: Specials::All };
pub(crate) const BF16: Format =
    Format { precision: 8, least: -126, greatest: 127, width: 16, specials: Specials::All };
pub(crate) const F32: Format =
    Format { precision: 24, least: -126, greatest: 127, width: 32, specials: Specials::All };
pub(crate) const F64: Format =
    Format { precision: 53, least: -1022, greatest: 1023, width: 64, specials: Specials::All };
/// Ten significand bits in the layout of an f32.
pub(crate) const TF32: Format =
    Format { precision: 11, least: -126, greatest: 127, width: 19, specials: Specials::All };
pub(crate) const E5M2: Format =
    Format { precision: 3, least: -14, greatest: 15, width: 8, specials: Specials::All };
pub(crate) const E4M3: Format =
    Format { precision: 4, least: -6, greatest: 8, width: 8, specials: Specials::NotANumber };
pub(crate) const E2M1: Format =
    Format { precision: 2, least: 0, greatest: 2, width: 4, specials: Specials::None };
pub(crate) const E2M3: Format =
    Format { precision: 4, least: 0, greatest: 2, width: 6, specials: Specials::None };
pub(crate) const E3M2: Format =
    Format { precision: 3, least: -2, greatest: 4, width: 6, specials: Specials::None };

/// A finite value: sign, and significand times two to the exponent. A zero significand is a signed zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Real {
    pub(crate) negative: bool,
    pub(crate) significand: u64,
    pub(crate) exponent: i32,
}

/// A value of any format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Finite(Real),
    Infinite(bool),
    NotANumber,
}

impl Real {
    pub(crate) fn of_signed(value: i64) -> Real {
        Real { negative: value < 0, significand: value.unsigned_abs(), exponent: 0 }
    }

    pub(crate) fn of_unsigned(value: u64) -> Real {
        Real { negative: false, significand: value, exponent: 0 }
    }
}

impl Format {
    /// Bits of the significand that are stored.
    pub(crate) fn fraction_bits(self) -> u32 {
        self.precision - 1
    }

    /// The exponent of the smallest normal value.
    pub(crate) fn least_exponent(self) -> i32 {
        self.least
    }

    fn sign_bit(self) -> u64 {
        1 << (self.width - 1)
    }

    /// The sign bit alone.
    pub(crate) fn sign(self) -> u64 {
        self.sign_bit()
    }

    /// Bits of the encoding.
    pub(crate) fn bits(self) -> u32 {
        self.width
    }

    fn exponent_mask(self) -> u64 {
        (1 << (self.width - self.precision)) - 1
    }

    fn bias(self) -> i32 {
        1 - self.least
    }

    /// The bits of positive infinity (or of the place where it would be).
    fn infinity(self) -> u64 {
        self.exponent_mask() << self.fraction_bits()
    }

    /// The bits of the largest finite value.
    pub(crate) fn largest(self) -> u64 {
        match self.specials {
            Specials::All => self.infinity() - 1,
            Specials::NotANumber => self.sign_bit() - 2,
            Specials::None => self.sign_bit() - 1,
        }
    }

    /// The bits of the canonical NaN; a format without NaN has its largest value there.
    pub(crate) fn not_a_number(self) -> u64 {
        if self.width == 64 { 0xfff8_0000_0000_0000 } else { self.sign_bit() - 1 }
    }

    /// The value of the bits.
    pub(crate) fn unpack(self, bits: u64) -> Value {
        let negative = bits & self.sign_bit() != 0;
        let magnitude = bits & (self.sign_bit() - 1);
        let fraction = magnitude & ((1 << self.fraction_bits()) - 1);
        let exponent = (magnitude >> self.fraction_bits()) as i32;
        match self.specials {
            Specials::NotANumber if magnitude == self.sign_bit() - 1 => return Value::NotANumber,
            Specials::All if exponent as u64 == self.exponent_mask() => {
                return if fraction == 0 { Value::Infinite(negative) } else { Value::NotANumber };
            }
            _ => {}
        }
        let (significand, exponent) =
            if exponent == 0 { (fraction, 1) } else { (fraction | 1 << self.fraction_bits(), exponent) };
        Value::Finite(Real {
            negative,
            significand,
            exponent: exponent - self.bias() - self.fraction_bits() as i32,
        })
    }

    /// The bits of a value rounded to this format. Overflow gives infinity or the largest finite value, depending on
    /// the direction; always the largest with `saturate`.
    pub(crate) fn round(self, real: Real, round: Round, saturate: bool) -> u64 {
        let sign = if real.negative { self.sign_bit() } else { 0 };
        if real.significand == 0 {
            return sign;
        }
        let leading = 63 - real.significand.leading_zeros() as i32;
        let exponent = (real.exponent + leading).max(self.least);
        // The unit of the result's last place, relative to the significand's.
        let shift = exponent - self.fraction_bits() as i32 - real.exponent;
        let (kept, dropped, half) = if shift <= 0 {
            (u128::from(real.significand) << -shift, 0, 1)
        } else if shift > 64 {
            // Less than half of the last place, but nonzero.
            (0, 1, 4)
        } else {
            let wide = u128::from(real.significand);
            (wide >> shift, wide & ((1 << shift) - 1), 1u128 << (shift - 1))
        };
        let up = match round {
            Round::Nearest => dropped > half || (dropped == half && shift > 0 && kept & 1 == 1),
            Round::Zero => false,
            Round::Down => dropped != 0 && real.negative,
            Round::Up => dropped != 0 && !real.negative,
        };
        let kept = (kept + u128::from(up)) as u64;
        // Adding the fraction to the exponent field lets a carry propagate.
        let hidden = 1u64 << self.fraction_bits();
        let magnitude = if kept < hidden {
            kept
        } else {
            (((exponent + self.bias() - 1) as u64) << self.fraction_bits()) + kept
        };
        if magnitude <= self.largest() {
            return sign | magnitude;
        }
        let to_infinity = match round {
            Round::Nearest => true,
            Round::Zero => false,
            Round::Down => real.negative,
            Round::Up => !real.negative,
        };
        if saturate || !to_infinity { sign | self.largest() } else { sign | self.too_large() }
    }

    /// The bits for overflow: infinity, or the largest value in a format without it.
    fn too_large(self) -> u64 {
        if self.specials == Specials::All { self.infinity() } else { self.sign_bit() - 1 }
    }

    /// A value in this format. With `saturate` infinities become the largest finite value.
    pub(crate) fn pack(self, value: Value, round: Round, saturate: bool) -> u64 {
        match value {
            Value::NotANumber => self.not_a_number(),
            Value::Infinite(negative) => {
                let sign = if negative { self.sign_bit() } else { 0 };
                sign | if saturate { self.largest() } else { self.too_large() }
            }
            Value::Finite(real) => self.round(real, round, saturate),
        }
    }

    /// True if the bits are a subnormal value.
    pub(crate) fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign_bit() - 1);
        magnitude != 0 && magnitude >> self.fraction_bits() == 0
    }

    /// The bits, with a subnormal replaced by the zero of its sign.
    pub(crate) fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign_bit() } else { bits }
    }

    /// True if the bits are a NaN.
    pub(crate) fn is_nan(self, bits: u64) -> bool {
        matches!(self.unpack(bits), Value::NotANumber)
    }

    /// The value as an f64, exactly: every narrower format fits.
    pub(crate) fn to_f64(self, bits: u64) -> f64 {
        match self.width {
            64 => f64::from_bits(bits),
            32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(F64.pack(self.unpack(bits), Round::Nearest, false)),
        }
    }

    /// An f64 that is exact or rounded to odd, rounded to this format.
    pub(crate) fn of_f64(self, value: f64, round: Round) -> u64 {
        self.pack(F64.unpack(value.to_bits()), round, false)
    }
}

/// The sum as an f64 rounded to odd.
fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    // The error of the sum, exactly (Knuth).
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // An even neighbour was chosen; the odd one is on the side of the error.
    let bits = sum.to_bits();
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// `a * b + c` in a format of at most 24 significant bits.
pub(crate) fn fused(format: Format, a: u64, b: u64, c: u64, round: Round) -> u64 {
    if format == F32 && round == Round::Nearest {
        let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
        let result = a.mul_add(b, c);
        return if result.is_nan() { F32.not_a_number() } else { u64::from(result.to_bits()) };
    }
    let [a, b, c] = [a, b, c].map(|bits| format.to_f64(bits));
    let product = a * b;
    let sum = add_odd(product, c);
    finish(format, sum, product, c, round)
}

/// `a + b` in a format of at most 24 significant bits.
pub(crate) fn add(format: Format, a: u64, b: u64, round: Round) -> u64 {
    let (a, b) = (format.to_f64(a), format.to_f64(b));
    finish(format, add_odd(a, b), a, b, round)
}

/// `a * b` in a format of at most 24 significant bits.
pub(crate) fn multiply(format: Format, a: u64, b: u64, round: Round) -> u64 {
    let (a, b) = (format.to_f64(a), format.to_f64(b));
    format.of_f64(a * b, round)
}

fn finish(format: Format, sum: f64, a: f64, b: f64, round: Round) -> u64 {
    if sum.is_nan() {
        return format.not_a_number();
    }
    // A sum of opposite values is a zero whose sign depends on the direction.
    if sum == 0.0 && a.is_sign_negative() != b.is_sign_negative() {
        return if round == Round::Down { format.sign_bit() } else { 0 };
    }
    format.of_f64(sum, round)
}

/// A value rounded to an integer (`ceil`, `floor`, ...): sign, magnitude (saturated to 64 bits) and whether it was
/// saturated.
pub(crate) fn to_integer(real: Real, round: Round) -> (bool, u64, bool) {
    if real.significand == 0 {
        return (real.negative, 0, false);
    }
    if real.exponent >= 0 {
        let fits = real.exponent <= real.significand.leading_zeros() as i32;
        let magnitude = if fits { real.significand << real.exponent } else { u64::MAX };
        return (real.negative, magnitude, !fits);
    }
    let shift = -real.exponent;
    let (kept, dropped, half) = if shift > 64 {
        (0, 1, 4)
    } else {
        let wide = u128::from(real.significand);
        ((wide >> shift) as u64, wide & ((1 << shift) - 1), 1u128 << (shift - 1))
    };
    let up = match round {
        Round::Nearest => dropped > half || (dropped == half && kept & 1 == 1),
        Round::Zero => false,
        Round::Down => dropped != 0 && real.negative,
        Round::Up => dropped != 0 && !real.negative,
    };
    (real.negative, kept + u64::from(up), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_agrees_with_the_processor() {
        let mut state = 7u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (a, b) = (f32::from_bits((state >> 32) as u32), f32::from_bits(state as u32));
            let c = f32::from_bits((state >> 16) as u32);
            if a.is_nan() || b.is_nan() || c.is_nan() {
                continue;
            }
            let bits = |x: f32| u64::from(x.to_bits());
            let same = |mine: u64, theirs: f32| (theirs.is_nan() && F32.is_nan(mine)) || mine == bits(theirs);
            assert!(same(add(F32, bits(a), bits(b), Round::Nearest), a + b), "{a} + {b}");
            assert!(same(multiply(F32, bits(a), bits(b), Round::Nearest), a * b), "{a} * {b}");
            let sum = add_odd(f64::from(a) * f64::from(b), f64::from(c));
            if sum != 0.0 && !sum.is_nan() {
                assert!(same(F32.of_f64(sum, Round::Nearest), a.mul_add(b, c)), "{a} * {b} + {c}");
            }
        }
    }

    #[test]
    fn directions_enclose_the_value() {
        let third = 1.0f64 / 3.0;
        assert_eq!(F32.of_f64(third, Round::Down) + 1, F32.of_f64(third, Round::Up));
        assert_eq!(F16.of_f64(-third, Round::Zero), F16.of_f64(-third, Round::Up));
        assert_eq!(F16.of_f64(65520.0, Round::Nearest), 0x7c00);
        assert_eq!(F16.of_f64(65520.0, Round::Zero), 0x7bff);
        assert_eq!(E4M3.of_f64(500.0, Round::Nearest), 0x7f);
        assert_eq!(E4M3.pack(F64.unpack(500f64.to_bits()), Round::Nearest, true), 0x7e);
        assert_eq!(F32.of_f64(f64::from_bits(1), Round::Up), 1);
        assert_eq!(add(F32, 0x3f800000, 0xbf800000, Round::Down), 0x80000000);
    }
}
