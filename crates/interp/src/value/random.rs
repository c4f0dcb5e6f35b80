//! Stochastic rounding: `cvt.rs`.
//!
//! The upper bits that are cut off a magnitude are added to the random ones; a carry adds one unit. The number and the
//! position of a value's random bits are in figures of the PTX manual only. Two 16-bit values have half of the word
//! each, of which f16 uses the lower 13 bits; four FP8 or FP6 values have a byte each, and four FP4 values have the
//! upper half of the word, four bits each.

use super::float::{self, Mode};
use super::narrow::Narrow;
use super::soft::{self, Eighth, Format};
use rustc_apfloat::Round;

/// The target format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    Half(Format),
    Eighth(Eighth),
    Narrow(Narrow),
}

/// A conversion of two or four f32 values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conversion {
    /// The target format.
    pub to: Target,
    /// Negative values become zero.
    pub relu: bool,
    /// Overflow becomes the greatest value.
    pub finite: bool,
}

impl Target {
    /// Bits of the fraction, and the exponent of the smallest normal value.
    fn shape(self) -> (i32, i32) {
        match self {
            Target::Half(Format::BF16) => (7, -126),
            Target::Half(_) => (10, -14),
            Target::Eighth(Eighth::E4M3) => (3, -6),
            Target::Eighth(Eighth::E5M2) => (2, -14),
            Target::Narrow(Narrow::E2M1) => (1, 0),
            Target::Narrow(Narrow::E2M3) => (3, 0),
            Target::Narrow(Narrow::E3M2) => (2, -2),
        }
    }

    /// Bits from one value to the next, the random bits of each, and from one group of them to the next.
    fn layout(self) -> (u32, u32, u32) {
        match self {
            Target::Half(Format::BF16) => (16, 16, 16),
            Target::Half(_) => (16, 13, 16),
            Target::Narrow(Narrow::E2M1) => (4, 4, 4),
            Target::Eighth(_) | Target::Narrow(_) => (8, 8, 8),
        }
    }
}

impl Conversion {
    /// The packed results, the first one highest.
    pub fn evaluate(self, numbers: &[u64], random: u64) -> u64 {
        let (stride, bits, step) = self.to.layout();
        let first = if self.to == Target::Narrow(Narrow::E2M1) { 16 } else { 0 };
        let of = |(place, number): (usize, &u64)| {
            let place = (numbers.len() - 1 - place) as u32;
            let random = random >> (first + step * place) & ((1 << bits) - 1);
            self.number(f64::from(f32::from_bits(*number as u32)), random, bits) << (stride * place)
        };
        numbers.iter().enumerate().map(of).fold(0, |word, part| word | part)
    }

    fn number(self, value: f64, random: u64, bits: u32) -> u64 {
        let value = if value.is_finite() { self.to.rounded(value, random, bits) } else { value };
        let result = match self.to {
            Target::Half(format) => {
                let result = soft::from_f64(format, value, Round::NearestTiesToEven);
                let result = if self.finite && format.is_infinite(result) { result - 1 } else { result };
                return float::finish(format, Mode { relu: self.relu, ..Mode::default() }, result);
            }
            Target::Eighth(eighth) => soft::to_eighth(eighth, value, Round::NearestTiesToEven),
            Target::Narrow(narrow) => return narrow.of(value, self.relu),
        };
        if self.relu && result & 0x80 != 0 { 0 } else { result }
    }
}

impl Target {
    /// The value rounded to the bits of the format.
    fn rounded(self, value: f64, random: u64, bits: u32) -> f64 {
        let (fraction, least) = self.shape();
        let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
        let unit = 2f64.powi(exponent - fraction);
        let units = value.abs() / unit;
        let whole = units.trunc();
        let cut = ((units - whole) * 2f64.powi(bits as i32)) as u64;
        let more = f64::from(u8::from((cut + random) >> bits != 0));
        ((whole + more) * unit).copysign(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bits_carry_into_what_is_kept() {
        let halves = Conversion { to: Target::Half(Format::F16), relu: false, finite: false };
        // One and a quarter of the last place: a carry from three quarters on.
        let number = u64::from((1.0f32 + 0.25 / 1024.0).to_bits());
        let pair = |low: u64| halves.evaluate(&[number, number], low);
        assert_eq!(pair(0x17ff), 0x3c00_3c00);
        assert_eq!(pair(0x1800), 0x3c00_3c01);
        assert_eq!(pair(0x1800_0000), 0x3c01_3c00);
        let four = Conversion { to: Target::Narrow(Narrow::E2M1), relu: true, finite: true };
        let numbers = [1.25f32, -3.0, 100.0, 0.25].map(|x| u64::from(x.to_bits()));
        assert_eq!(four.evaluate(&numbers, 0x7008_0000), 0x2071);
        assert_eq!(four.evaluate(&numbers, 0x8007_ffff), 0x3070);
    }
}
