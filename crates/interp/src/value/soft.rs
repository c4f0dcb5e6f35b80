//! The floating-point formats, and exact arithmetic on them with any rounding: a thin layer over a soft-float library.

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// A format of arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    F16,
    BF16,
    F32,
    F64,
}

/// An eight-bit format of conversions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eighth {
    E4M3,
    E5M2,
}

impl Format {
    /// Bits of a value.
    pub fn bits(self) -> u32 {
        match self {
            Format::F16 | Format::BF16 => 16,
            Format::F32 => 32,
            Format::F64 => 64,
        }
    }

    /// Bits of the fraction.
    pub fn fraction_bits(self) -> u32 {
        match self {
            Format::F16 => 10,
            Format::BF16 => 7,
            Format::F32 => 23,
            Format::F64 => 52,
        }
    }

    /// All ones in the width.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The sign bit.
    pub fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// Positive infinity.
    pub fn infinity(self) -> u64 {
        (self.mask() >> 1) >> self.fraction_bits() << self.fraction_bits()
    }

    /// The largest finite value.
    pub fn largest(self) -> u64 {
        self.infinity() - 1
    }

    /// One.
    pub fn one(self) -> u64 {
        let bias = (1u64 << (self.bits() - 2 - self.fraction_bits())) - 1;
        bias << self.fraction_bits()
    }

    /// The NaN that arithmetic gives: all ones but the sign below 64 bits, the quiet NaN of the hardware at 64.
    pub fn canonical_nan(self) -> u64 {
        match self {
            Format::F64 => 0xfff8_0000_0000_0000,
            _ => self.mask() >> 1,
        }
    }

    /// True for a NaN.
    pub fn is_nan(self, value: u64) -> bool {
        value & (self.mask() >> 1) > self.infinity()
    }

    /// True for an infinity.
    pub fn is_infinite(self, value: u64) -> bool {
        value & (self.mask() >> 1) == self.infinity()
    }

    /// True for a subnormal.
    pub fn is_subnormal(self, value: u64) -> bool {
        let magnitude = value & (self.mask() >> 1);
        magnitude != 0 && magnitude >> self.fraction_bits() == 0
    }

    /// True for a zero of either sign.
    pub fn is_zero(self, value: u64) -> bool {
        value & (self.mask() >> 1) == 0
    }
}

/// A subnormal becomes the zero of its sign.
pub fn flush(format: Format, value: u64) -> u64 {
    if format.is_subnormal(value) { value & format.sign() } else { value }
}

/// Runs an expression with `$float` standing for the library's type of a format.
macro_rules! with_format {
    ($format:expr, $float:ident => $body:expr) => {
        match $format {
            Format::F16 => {
                type $float = Half;
                $body
            }
            Format::BF16 => {
                type $float = BFloat;
                $body
            }
            Format::F32 => {
                type $float = Single;
                $body
            }
            Format::F64 => {
                type $float = Double;
                $body
            }
        }
    };
}

/// The value in the widest format; exact.
#[inline]
pub fn to_f64(format: Format, value: u64) -> f64 {
    match format {
        Format::F64 => f64::from_bits(value),
        Format::F32 => f64::from(f32::from_bits(value as u32)),
        Format::BF16 => f64::from(f32::from_bits((value as u32) << 16)),
        Format::F16 => half_to_f64(value as u16),
    }
}

fn half_to_f64(value: u16) -> f64 {
    let magnitude = u64::from(value & 0x7fff);
    let sign = u64::from(value >> 15) << 63;
    let bits = match magnitude >> 10 {
        0 => return f64::from_bits(sign | (magnitude as f64 / f64::from(1 << 24)).to_bits()),
        31 => 0x7ff0_0000_0000_0000 | (magnitude & 0x3ff) << 42,
        _ => (magnitude << 42) + ((1023 - 15) << 52),
    };
    f64::from_bits(sign | bits)
}

/// The nearest value of a format in the rounding direction; a NaN becomes canonical.
pub fn from_f64(format: Format, value: f64, round: Round) -> u64 {
    if value.is_nan() {
        return format.canonical_nan();
    }
    if format == Format::F64 {
        return value.to_bits();
    }
    if format == Format::F32 && round == Round::NearestTiesToEven {
        return u64::from((value as f32).to_bits());
    }
    let wide = Double::from_bits(u128::from(value.to_bits()));
    with_format!(format, F => {
        let narrow: F = wide.convert_r(round, &mut false).value;
        narrow.to_bits() as u64
    })
}

/// From one format to another; a NaN becomes canonical.
pub fn convert(from: Format, to: Format, value: u64, round: Round) -> u64 {
    from_f64(to, to_f64(from, value), round)
}

/// Adds.
pub fn add(format: Format, a: u64, b: u64, round: Round) -> u64 {
    with_format!(format, F => F::from_bits(a.into()).add_r(F::from_bits(b.into()), round).value.to_bits() as u64)
}

/// Multiplies.
pub fn multiply(format: Format, a: u64, b: u64, round: Round) -> u64 {
    with_format!(format, F => F::from_bits(a.into()).mul_r(F::from_bits(b.into()), round).value.to_bits() as u64)
}

/// Fused multiply-add, rounded once.
pub fn multiply_add(format: Format, a: u64, b: u64, c: u64, round: Round) -> u64 {
    with_format!(format, F => {
        let product = F::from_bits(a.into());
        product.mul_add_r(F::from_bits(b.into()), F::from_bits(c.into()), round).value.to_bits() as u64
    })
}

/// Divides.
pub fn divide(format: Format, a: u64, b: u64, round: Round) -> u64 {
    with_format!(format, F => F::from_bits(a.into()).div_r(F::from_bits(b.into()), round).value.to_bits() as u64)
}

/// Square root of a non-negative value. The root of `f64` in hardware is correctly rounded to nearest; the sign of the
/// exact residue says on which side of it the true root is.
pub fn square_root(format: Format, a: u64, round: Round) -> u64 {
    let x = to_f64(format, a);
    if x == 0.0 || x.is_infinite() || x.is_nan() || x < 0.0 {
        return from_f64(format, x.sqrt(), round);
    }
    // Scaled by an even power of two, so that the residue of a tiny value does not underflow.
    let (scaled, back) = if x < 1e-200 { (x * 2f64.powi(600), 2f64.powi(-300)) } else { (x, 1.0) };
    let root = scaled.sqrt();
    let residue = (-root).mul_add(root, scaled);
    if format == Format::F64 {
        let adjusted = match round {
            Round::TowardPositive if residue > 0.0 => f64::from_bits(root.to_bits() + 1),
            Round::TowardZero | Round::TowardNegative if residue < 0.0 => f64::from_bits(root.to_bits() - 1),
            _ => root,
        };
        // A root of an f64 is never subnormal, so that scaling back is exact.
        return (adjusted * back).to_bits();
    }
    // Rounding to odd at 53 bits makes the second rounding right in every direction.
    let bits = root.to_bits();
    let odd = if residue == 0.0 || bits & 1 == 1 {
        bits
    } else if residue > 0.0 {
        bits + 1
    } else {
        bits - 1
    };
    from_f64(format, f64::from_bits(odd) * back, round)
}

/// An integral value in the format.
pub fn round_to_integral(format: Format, a: u64, round: Round) -> u64 {
    with_format!(format, F => F::from_bits(a.into()).round_to_integral(round).value.to_bits() as u64)
}

/// An integer as a value of the format.
pub fn from_integer(format: Format, value: i128, round: Round) -> u64 {
    with_format!(format, F => F::from_i128_r(value, round).value.to_bits() as u64)
}

/// The integer that a finite value rounds to; saturates far outside every integer type.
pub fn to_integer(format: Format, value: u64, round: Round) -> i128 {
    // 70 signed bits hold every 64-bit integer of either signedness and detect overflow.
    with_format!(format, F => F::from_bits(value.into()).to_i128_r(70, round, &mut false).value)
}

/// To an FP8 format with overflow and infinities clamped to the largest value; there is one NaN.
pub fn to_eighth(eighth: Eighth, value: f64, round: Round) -> u64 {
    let wide = Double::from_bits(u128::from(value.to_bits()));
    let sign = u64::from(value.is_sign_negative()) << 7;
    if value.is_nan() {
        return 0x7f;
    }
    match eighth {
        Eighth::E4M3 => {
            let narrow: Float8E4M3FN = wide.convert_r(round, &mut false).value;
            if narrow.is_nan() { sign | 0x7e } else { narrow.to_bits() as u64 }
        }
        Eighth::E5M2 => {
            let narrow: Float8E5M2 = wide.convert_r(round, &mut false).value;
            if narrow.is_infinite() { sign | 0x7b } else { narrow.to_bits() as u64 }
        }
    }
}

/// From an FP8 format; exact.
pub fn from_eighth(eighth: Eighth, value: u64) -> f64 {
    let value = u128::from(value & 0xff);
    let wide: Double = match eighth {
        Eighth::E4M3 => Float8E4M3FN::from_bits(value).convert(&mut false).value,
        Eighth::E5M2 => Float8E5M2::from_bits(value).convert(&mut false).value,
    };
    f64::from_bits(wide.to_bits() as u64)
}
