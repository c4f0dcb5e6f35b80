//! `cvt` in all its combinations.

use rustc_apfloat::Round;

use super::float::{self, Mode};
use super::integer::Kind;
use super::narrow::{self, Narrow};
use super::soft::{self, Eighth, Format};

/// A conversion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Conversion {
    /// Between integers; the flag: saturate.
    Integers { from: Kind, to: Kind, saturate: bool },
    /// An integer becomes a float.
    ToFloat { from: Kind, to: Format, mode: Mode },
    /// A float becomes an integer.
    ToInteger { from: Format, to: Kind, round: Round, flush: bool },
    /// Between floats; `integral`: the value is first rounded to an integer.
    Floats { from: Format, to: Format, integral: bool, mode: Mode, finite: bool },
    /// Two `f32` (the first into the upper half) become an f16x2 or bf16x2 pair.
    PackHalves { to: Format, mode: Mode, finite: bool },
    /// Two `f32` become packed FP8.
    PackEighths { to: Eighth, relu: bool },
    /// A packed f16 or bf16 pair becomes packed FP8.
    HalvesToEighths { from: Format, to: Eighth, relu: bool },
    /// A packed f16 or bf16 pair becomes packed FP4 or FP6.
    HalvesToNarrow { from: Format, to: Narrow, relu: bool },
    /// A pair of narrow values, each times its scale factor, becomes bf16x2.
    ScaledToHalves { from: Few, relu: bool, finite: bool },
    /// Packed FP8 becomes f16x2.
    EighthsToHalves { from: Eighth, relu: bool },
    /// Two `f32` become packed FP4 or FP6.
    PackNarrow { to: Narrow, relu: bool },
    /// Packed FP4 or FP6 becomes f16x2.
    NarrowToHalves { from: Narrow, relu: bool },
    /// Two `f32` become scale factors.
    PackScales { up: bool, finite: bool },
    /// bf16x2 becomes scale factors.
    HalvesToScales { up: bool, finite: bool },
    /// Scale factors become bf16x2.
    ScalesToHalves,
    /// `f32` becomes `tf32`: `f32` with a fraction of ten bits.
    Tf32 { round: Round, relu: bool, finite: bool },
    /// `cvt.pack`: a and b, saturated to this width, below the low bits of c.
    Pack { to: Kind },
}

/// A format of eight bits or less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Few {
    Eighth(Eighth),
    Narrow(Narrow),
    /// Two's complement, in units of a sixty-fourth.
    Fixed,
}

impl Few {
    /// The value of the bits.
    pub fn value(self, bits: u64) -> f64 {
        match self {
            Few::Eighth(eighth) => soft::from_eighth(eighth, bits),
            Few::Narrow(narrow) => narrow.value(bits),
            Few::Fixed => f64::from(bits as u8 as i8) / 64.0,
        }
    }

    /// Bits from one packed value to the next.
    pub fn stride(self) -> u32 {
        match self {
            Few::Eighth(_) | Few::Fixed => 8,
            Few::Narrow(narrow) => narrow.stride(),
        }
    }
}

/// Computes the conversion.
#[inline]
pub fn evaluate(conversion: &Conversion, a: u64, b: u64, c: u64) -> u64 {
    match *conversion {
        Conversion::Integers { from, to, saturate } => {
            let value = from.extend(a);
            (if saturate { to.clamp(value) } else { to.extend(value as u64) }) as u64
        }
        Conversion::ToFloat { from, to, mode } => {
            let value = from.extend(a);
            let result = match (to, mode.round) {
                (Format::F32, Round::NearestTiesToEven) => u64::from((value as f32).to_bits()),
                (Format::F64, Round::NearestTiesToEven) => (value as f64).to_bits(),
                _ => soft::from_integer(to, value, mode.round),
            };
            float::finish(to, mode, result)
        }
        Conversion::ToInteger { from, to, round, flush } => {
            let value = a & from.mask();
            let value = if flush { soft::flush(from, value) } else { value };
            if from.is_nan(value) {
                // A 64-bit integer from NaN is the value with the top bit alone; so is any integer from an f64.
                // Every other NaN becomes zero.
                return nan_as_integer(from, to);
            }
            let integer = match round {
                Round::TowardZero => soft::to_f64(from, value) as i128,
                _ => soft::to_integer(from, value, round),
            };
            to.clamp(integer) as u64
        }
        Conversion::Floats { from, to, integral, mode, finite } => {
            let value = a & from.mask();
            // `.ftz` speaks of `f32` alone, as the source or the result type.
            let value = if mode.flush && from == Format::F32 { soft::flush(from, value) } else { value };
            let mode = Mode { flush: mode.flush && to == Format::F32, ..mode };
            if from == to && !from.is_nan(value) {
                let value = if integral { soft::round_to_integral(from, value, mode.round) } else { value };
                return float::finish(to, mode, value);
            }
            let value = soft::to_f64(from, value);
            if mode.flush && is_tiny(value, mode.round) {
                return float::finish(to, mode, u64::from(0f32.copysign(value as f32).to_bits()));
            }
            to_float(to, value, mode, finite)
        }
        Conversion::PackHalves { to, mode, finite } => {
            let half = |value: u64| {
                let value = value & 0xffff_ffff;
                to_float(to, soft::to_f64(Format::F32, value), mode, finite)
            };
            half(a) << 16 | half(b)
        }
        Conversion::PackEighths { to, relu } => {
            let eighth = |value: u64| narrow_eighth(to, f64::from(f32::from_bits(value as u32)), relu);
            eighth(a) << 8 | eighth(b)
        }
        Conversion::HalvesToEighths { from, to, relu } => {
            let eighth = |value: u64| narrow_eighth(to, soft::to_f64(from, value & 0xffff), relu);
            eighth(a >> 16) << 8 | eighth(a)
        }
        Conversion::HalvesToNarrow { from, to, relu } => {
            let part = |value: u64| to.of(soft::to_f64(from, value & 0xffff), relu);
            part(a >> 16) << to.stride() | part(a)
        }
        Conversion::ScaledToHalves { from, relu, finite } => {
            let mode = Mode { relu, ..Mode::default() };
            let half = |bits: u64, scales: u64| {
                to_float(Format::BF16, from.value(bits) * narrow::scale(scales), mode, finite)
            };
            half(a >> from.stride(), b >> 8) << 16 | half(a, b)
        }
        Conversion::EighthsToHalves { from, relu } => {
            let mode = Mode { relu, ..Mode::default() };
            let half = |value: u64| to_float(Format::F16, soft::from_eighth(from, value), mode, false);
            half(a >> 8) << 16 | half(a)
        }
        Conversion::PackNarrow { to, relu } => {
            let part = |value: u64| to.of(f64::from(f32::from_bits(value as u32)), relu);
            part(a) << to.stride() | part(b)
        }
        Conversion::NarrowToHalves { from, relu } => {
            let mode = Mode { relu, ..Mode::default() };
            let half = |bits: u64| to_float(Format::F16, from.value(bits), mode, false);
            half(a >> from.stride()) << 16 | half(a)
        }
        Conversion::PackScales { up, finite } => {
            let part = |value: u64| narrow::scale_of(f64::from(f32::from_bits(value as u32)), up, finite);
            part(a) << 8 | part(b)
        }
        Conversion::HalvesToScales { up, finite } => {
            let part = |value: u64| narrow::scale_of(soft::to_f64(Format::BF16, value & 0xffff), up, finite);
            part(a >> 16) << 8 | part(a)
        }
        Conversion::ScalesToHalves => {
            let half = |bits: u64| to_float(Format::BF16, narrow::scale(bits), Mode::default(), false);
            half(a >> 8) << 16 | half(a)
        }
        Conversion::Tf32 { round, relu, finite } => tf32(a & 0xffff_ffff, round, relu, finite),
        Conversion::Pack { to } => {
            let part = |value: u64| {
                let value = Kind { bits: 32, signed: true }.extend(value);
                to.clamp(value) as u64 & to.mask()
            };
            let pair = part(a) << to.bits | part(b);
            (c << (2 * to.bits) | pair) & 0xffff_ffff
        }
    }
}

fn nan_as_integer(from: Format, to: Kind) -> u64 {
    if to.bits == 64 || from == Format::F64 { to.extend(1 << (to.bits - 1)) as u64 } else { 0 }
}

/// To a narrower or wider float.
fn to_float(to: Format, value: f64, mode: Mode, finite: bool) -> u64 {
    let result = soft::from_f64(to, value, mode.round);
    // `satfinite` clamps overflow, infinities included, to the largest value.
    let result = if finite && to.is_infinite(result) { result - 1 } else { result };
    float::finish(to, mode, result)
}

/// Whether a value would be below the least normal f32 if exponents were unbounded, even where it is rounded to that
/// one: this decides about flushing.
fn is_tiny(value: f64, round: Round) -> bool {
    // Scaled by a power of two it is rounded as a normal value.
    const SCALE: f64 = (1u64 << 63) as f64;
    let least = f64::from(f32::MIN_POSITIVE);
    let rounded = || soft::convert(Format::F64, Format::F32, (value * SCALE).to_bits(), round);
    value.abs() < least && f64::from(f32::from_bits(rounded() as u32).abs()) < least * SCALE
}

fn narrow_eighth(to: Eighth, value: f64, relu: bool) -> u64 {
    let result = soft::to_eighth(to, value, Round::NearestTiesToEven);
    if relu && result & 0x80 != 0 { 0 } else { result }
}

fn tf32(value: u64, round: Round, relu: bool, finite: bool) -> u64 {
    const DROPPED: u64 = (1 << 13) - 1;
    let format = Format::F32;
    if format.is_nan(value) {
        return format.canonical_nan();
    }
    if relu && value & format.sign() != 0 {
        return 0;
    }
    let result = match round {
        _ if format.is_infinite(value) => value,
        Round::TowardZero => value & !DROPPED,
        Round::NearestTiesToAway => (value + (1 << 12)) & !DROPPED,
        // Just below half, plus the last kept bit: a tie goes to the even neighbour.
        _ => (value + (DROPPED >> 1) + (value >> 13 & 1)) & !DROPPED,
    };
    if finite && format.is_infinite(result) {
        return result - (1 << 13);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const S32: Kind = Kind { bits: 32, signed: true };
    const U8: Kind = Kind { bits: 8, signed: false };

    #[test]
    fn floats_to_integers() {
        let run = |value: f32, to, round| {
            let conversion = Conversion::ToInteger { from: Format::F32, to, round, flush: false };
            evaluate(&conversion, u64::from(value.to_bits()), 0, 0) as i64
        };
        assert_eq!(run(2.5, S32, Round::NearestTiesToEven), 2);
        assert_eq!(run(-2.5, S32, Round::TowardNegative), -3);
        assert_eq!(run(-2.5, S32, Round::TowardPositive), -2);
        assert_eq!(run(1e20, S32, Round::TowardZero), i64::from(i32::MAX));
        assert_eq!(run(f32::NEG_INFINITY, S32, Round::TowardNegative), i64::from(i32::MIN));
        assert_eq!(run(f32::NAN, S32, Round::TowardZero), 0);
        assert_eq!(run(-3.0, U8, Round::TowardZero), 0);
        assert_eq!(run(300.0, U8, Round::NearestTiesToEven), 255);
    }

    #[test]
    fn what_is_no_number_as_an_integer() {
        let run = |from, bits, signed, value| {
            let to = Kind { bits, signed };
            let conversion = Conversion::ToInteger { from, to, round: Round::TowardZero, flush: false };
            evaluate(&conversion, value, 0, 0)
        };
        let double = |bits, signed| run(Format::F64, bits, signed, 0xffff_ffff_0000_0003);
        assert_eq!([8, 16, 32, 64].map(|bits| double(bits, false)), [0x80, 0x8000, 1 << 31, 1 << 63]);
        assert_eq!(
            [8, 16, 32, 64].map(|bits| double(bits, true) as i64),
            [-1 << 7, -1 << 15, -1 << 31, i64::MIN]
        );
        let single = |bits| run(Format::F32, bits, false, u64::from(f32::NAN.to_bits()));
        assert_eq!([8, 16, 32, 64].map(single), [0, 0, 0, 1 << 63]);
    }

    #[test]
    fn integers_widen_and_saturate() {
        let run = |value: u64, from, to, saturate| {
            evaluate(&Conversion::Integers { from, to, saturate }, value, 0, 0)
        };
        let s8 = Kind { bits: 8, signed: true };
        assert_eq!(run(0x80, s8, S32, false) as i64, -128);
        assert_eq!(run(0x1ff, S32, U8, false), 0xff);
        assert_eq!(run(0x1ff, S32, U8, true), 0xff);
        assert_eq!(run(u64::MAX, S32, U8, true), 0);
    }

    #[test]
    fn every_eighth_comes_back() {
        for eighth in [Eighth::E4M3, Eighth::E5M2] {
            for bits in 0..=255 {
                let value = soft::from_eighth(eighth, bits);
                if value.is_finite() {
                    assert_eq!(soft::to_eighth(eighth, value, Round::NearestTiesToEven), bits, "{eighth:?}");
                }
            }
        }
        assert_eq!(soft::to_eighth(Eighth::E4M3, 1e9, Round::NearestTiesToEven), 0x7e);
        assert_eq!(soft::to_eighth(Eighth::E5M2, f64::NEG_INFINITY, Round::NearestTiesToEven), 0xfb);
    }

    #[test]
    fn eighths_have_one_not_a_number() {
        for eighth in [Eighth::E4M3, Eighth::E5M2] {
            for bits in [0x7f80_0001, 0x7fc0_0000, 0x7fff_ffff, 0xff80_0001, 0xffc0_0000, 0xffff_ffff] {
                for relu in [false, true] {
                    let conversion = Conversion::PackEighths { to: eighth, relu };
                    assert_eq!(evaluate(&conversion, bits, bits, 0), 0x7f7f, "{eighth:?} {bits:#x}");
                }
            }
        }
    }

    #[test]
    fn packs_put_the_first_operand_on_top() {
        let f32 = |value: f32| u64::from(value.to_bits());
        let halves = Conversion::PackHalves { to: Format::F16, mode: Mode::default(), finite: false };
        assert_eq!(evaluate(&halves, f32(1.0), f32(-2.0), 0), 0x3c00_c000);
        let bytes = Conversion::Pack { to: Kind { bits: 8, signed: true } };
        assert_eq!(evaluate(&bytes, 200, (-300i64) as u64, 0x1234), 0x1234_7f80);
    }

    #[test]
    fn tf32_rounds_at_ten_bits() {
        let run = |bits, round| evaluate(&Conversion::Tf32 { round, relu: false, finite: false }, bits, 0, 0);
        assert_eq!(run(0x3f80_1000, Round::NearestTiesToAway), 0x3f80_2000);
        assert_eq!(run(0x3f80_1000, Round::NearestTiesToEven), 0x3f80_0000);
        assert_eq!(run(0x3f80_3000, Round::NearestTiesToEven), 0x3f80_4000);
        assert_eq!(run(0x3f80_1fff, Round::TowardZero), 0x3f80_0000);
    }
}
