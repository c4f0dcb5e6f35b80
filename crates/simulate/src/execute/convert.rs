//! Conversions between floating-point formats, between these and integers, and rounding to integral values.

use super::context::Context;
use super::float::rounding;
use crate::launch::Fault;
use crate::number::{
    BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, F64, Format, Real, Round, TF32, Value, to_integer,
};
use crate::warp::{Lanes, WideLanes};
use oriole_sass::{Mod, Op};

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    match context.instruction.op {
        Op::F2F => float_to_float(context),
        Op::F2FP => pack_floats(context),
        Op::F2I | Op::UF2I => float_to_integer(context),
        Op::F2IP => pack_integers(context),
        Op::I2F | Op::I2FP | Op::UI2F | Op::UI2FP => integer_to_float(context),
        Op::FRND => round_to_integral(context),
        _ => Err(context.refuse()),
    }
}

/// The format among the modifiers, f32 if none is named.
fn named_format(context: &Context, names: [Mod; 3]) -> Format {
    let formats = [F16, BF16, F64];
    names.into_iter().position(|name| context.has(name)).map_or(F32, |index| formats[index])
}

/// The bits of a floating-point source in every lane, with signs applied and subnormals flushed under `.FTZ`.
fn source(context: &Context, index: usize, format: Format) -> Result<WideLanes, Fault> {
    let operand = &context.instruction.operands[index];
    let flush = context.has(Mod::FTZ) && format == F32;
    let values = if format == F64 {
        context.raw_wide(index)?
    } else {
        let narrow = format == F16 || format == BF16;
        let shift = if operand.has(Mod::H1) { 16 } else { 0 };
        context.raw(index)?.map(|word| u64::from(if narrow { word >> shift & 0xffff } else { word }))
    };
    let sign = format.sign();
    Ok(values.map(|bits| {
        let bits = if flush { format.flush(bits) } else { bits };
        let bits = if operand.absolute { bits & !sign } else { bits };
        if operand.negate { bits ^ sign } else { bits }
    }))
}

fn write_float(context: &mut Context, format: Format, values: &WideLanes) -> Result<(), Fault> {
    if format == F64 {
        context.write_wide(0, values)
    } else {
        context.write(0, &values.map(|bits| bits as u32))
    }
}

fn float_to_float(context: &mut Context) -> Result<(), Fault> {
    let to = named_format(context, [Mod::F16, Mod::BF16, Mod::F64]);
    let from = named_format(context, [Mod::F16_2, Mod::BF16_2, Mod::F64_2]);
    let round = rounding(context);
    let flush = context.has(Mod::FTZ) && to == F32;
    let values = source(context, 1, from)?.map(|bits| {
        let bits = to.pack(from.unpack(bits), round, false);
        if flush { to.flush(bits) } else { bits }
    });
    write_float(context, to, &values)
}

/// The direction of a conversion to integers.
fn integral_rounding(context: &Context) -> Round {
    if context.has(Mod::FLOOR) {
        Round::Down
    } else if context.has(Mod::CEIL) {
        Round::Up
    } else if context.has(Mod::TRUNC) {
        Round::Zero
    } else {
        Round::Nearest
    }
}

/// An integer type: bits, signed.
type Integer = (u32, bool);

const INTEGERS: [(Mod, Integer); 8] = [
    (Mod::U8, (8, false)),
    (Mod::S8, (8, true)),
    (Mod::U16, (16, false)),
    (Mod::S16, (16, true)),
    (Mod::U32, (32, false)),
    (Mod::S32, (32, true)),
    (Mod::U64, (64, false)),
    (Mod::S64, (64, true)),
];

/// The integer type among the modifiers, s32 if none is named.
fn named_integer(context: &Context) -> Integer {
    INTEGERS.iter().find(|row| context.has(row.0)).map_or((32, true), |row| row.1)
}

/// Rounds and saturates to an integer type. NaN becomes zero, or the top bit of the type alone.
fn convert(value: Value, (bits, signed): Integer, round: Round, nan_to_zero: bool) -> u64 {
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let (least, greatest) = if signed { (1u64 << (bits - 1), (1u64 << (bits - 1)) - 1) } else { (0, mask) };
    let clamp = |negative: bool, magnitude: u64| {
        if negative {
            if magnitude >= least { least.wrapping_neg() } else { magnitude.wrapping_neg() }
        } else {
            magnitude.min(greatest)
        }
    };
    match value {
        Value::NotANumber if nan_to_zero => 0,
        Value::NotANumber if signed => least.wrapping_neg(),
        Value::NotANumber => 1 << (bits - 1),
        Value::Infinite(negative) => clamp(negative, u64::MAX),
        Value::Finite(real) => {
            let (negative, magnitude, _) = to_integer(real, round);
            clamp(negative, magnitude)
        }
    }
}

fn float_to_integer(context: &mut Context) -> Result<(), Fault> {
    let from = named_format(context, [Mod::F16, Mod::BF16, Mod::F64]);
    let to = named_integer(context);
    let round = integral_rounding(context);
    let nan_to_zero = context.has(Mod::NTZ);
    let values = source(context, 1, from)?.map(|bits| convert(from.unpack(bits), to, round, nan_to_zero));
    if to.0 == 64 { context.write_wide(0, &values) } else { context.write(0, &values.map(|x| x as u32)) }
}

/// Two f32 values to bytes at the bottom of the word, and half of the third operand above them.
fn pack_integers(context: &mut Context) -> Result<(), Fault> {
    let signed = context.has(Mod::S8);
    let relu = context.has(Mod::RELU);
    let round = integral_rounding(context);
    let nan_to_zero = context.has(Mod::NTZ);
    let [a, b] = [context.single(1, false)?, context.single(2, false)?];
    let c = context.raw(3)?;
    let shift = if context.instruction.operands[3].has(Mod::H1) { 16 } else { 0 };
    let byte = |bits: u32| {
        let value = convert(F32.unpack(bits.into()), (8, signed), round, nan_to_zero) as u32;
        let value = if relu && value >> 31 == 1 { 0 } else { value };
        value & 0xff
    };
    let result =
        std::array::from_fn(|lane| byte(b[lane]) | byte(a[lane]) << 8 | (c[lane] >> shift & 0xffff) << 16);
    context.write(0, &result)
}

fn integer_to_float(context: &mut Context) -> Result<(), Fault> {
    let to = named_format(context, [Mod::F16, Mod::BF16, Mod::F64]);
    let (bits, signed) = named_integer(context);
    let round = rounding(context);
    let operand = &context.instruction.operands[1];
    let bytes = [Mod::B1, Mod::B2, Mod::B3]
        .into_iter()
        .position(|byte| operand.has(byte))
        .map_or(0, |byte| byte as u32 + 1);
    let shift = if operand.has(Mod::H1) { 16 } else { 8 * bytes };
    let values = if bits == 64 { context.integer_wide(1)? } else { context.integer(1)?.map(u64::from) };
    let values = values.map(|value| {
        let value = (value >> shift) << (64 - bits);
        let real = if signed {
            Real::of_signed(value as i64 >> (64 - bits))
        } else {
            Real::of_unsigned(value >> (64 - bits))
        };
        to.round(real, round, false)
    });
    write_float(context, to, &values)
}

fn round_to_integral(context: &mut Context) -> Result<(), Fault> {
    let format = named_format(context, [Mod::F16, Mod::BF16, Mod::F64]);
    let round = integral_rounding(context);
    let values = source(context, 1, format)?.map(|bits| match format.unpack(bits) {
        // From this exponent on every value is integral.
        Value::Finite(real) if real.exponent < 0 => {
            let (negative, magnitude, _) = to_integer(real, round);
            format.round(Real { negative, significand: magnitude, exponent: 0 }, Round::Nearest, false)
        }
        Value::NotANumber => format.not_a_number(),
        _ => bits,
    });
    write_float(context, format, &values)
}

/// The parameters of a conversion to a narrow format.
#[derive(Clone, Copy)]
struct Narrowing {
    to: Format,
    /// The result has eight bits.
    eight: bool,
    /// The result has four or six bits, which hold finite values only.
    tiny: bool,
    round: Round,
    relu: bool,
    saturate: bool,
}

impl Narrowing {
    fn of(context: &Context) -> Result<Narrowing, Fault> {
        let names = [
            (Mod::F16, F16),
            (Mod::BF16, BF16),
            (Mod::TF32, TF32),
            (Mod::E4M3, E4M3),
            (Mod::E5M2, E5M2),
            (Mod::E2M1, E2M1),
            (Mod::E2M3, E2M3),
            (Mod::E3M2, E3M2),
        ];
        let to = match names.into_iter().find(|row| context.has(row.0)) {
            Some((_, format)) => format,
            // Chips whose pack takes only f32 sources name the result only if it is not f16.
            None if context.has(Mod::PACK_AB) || context.has(Mod::MERGE_C) => F16,
            None => return Err(context.refuse()),
        };
        Ok(Narrowing {
            to,
            eight: to == E4M3 || to == E5M2,
            tiny: [E2M1, E2M3, E3M2].contains(&to),
            round: rounding(context),
            relu: context.has(Mod::RELU),
            saturate: context.has(Mod::SATFINITE),
        })
    }

    fn convert(self, from: Format, bits: u64) -> u32 {
        self.convert_value(from.unpack(bits))
    }

    fn convert_value(self, value: Value) -> u32 {
        let Narrowing { to, eight, round, relu, saturate, .. } = self;
        if eight && let Value::NotANumber = value {
            // All bits but the sign, whatever the sign and the payload were.
            return 0x7f;
        }
        let negative = match value {
            Value::Finite(real) => real.negative,
            Value::Infinite(negative) => negative,
            Value::NotANumber => false,
        };
        // Bounded conversions map NaN to NaN and infinities to the largest value.
        if relu && negative { 0 } else { to.pack(value, round, saturate || eight) as u32 }
    }

    fn of_single(self, bits: u32) -> u32 {
        self.convert(F32, bits.into())
    }

    /// Stochastic rounding: random bits are added to the discarded bits, and the carry counts.
    fn at_random(self, single: u32, random: u64, bits: u32) -> u32 {
        let Value::Finite(real) = F32.unpack(single.into()) else { return self.of_single(single) };
        let top = real.exponent + 63 - real.significand.leading_zeros() as i32;
        let unit = top.max(self.to.least_exponent()) - self.to.fraction_bits() as i32;
        let dropped = unit - real.exponent;
        if real.significand == 0 || dropped <= 0 {
            return self.of_single(single);
        }
        // An f32 has 24 bits; if all of them are discarded, the result is zero.
        let (whole, rest) = match real.significand.checked_shr(dropped as u32) {
            Some(whole) => (whole, real.significand - (whole << dropped)),
            None => (0, real.significand),
        };
        let cut = match dropped - bits as i32 {
            less @ 0.. => rest.checked_shr(less as u32).unwrap_or(0),
            more => rest << -more,
        };
        let significand = whole + ((cut + random) >> bits);
        let rounded = f64::from(if real.negative { -1.0f32 } else { 1.0 }) * significand as f64;
        self.convert(F64, (rounded * 2f64.powi(unit)).to_bits())
    }
}

/// Conversions that pack narrow floats into one register, or unpack them.
fn pack_floats(context: &mut Context) -> Result<(), Fault> {
    if context.has(Mod::E8) {
        return if context.has(Mod::UNPACK_B) { unpack_scales(context) } else { pack_scales(context) };
    }
    let narrow = Narrowing::of(context)?;
    if context.has(Mod::UNPACK_B) && context.count() > 2 {
        return unpack_and_scale(context, narrow);
    }
    if context.has(Mod::UNPACK_B) {
        return unpack_bytes(context, narrow);
    }
    if context.has(Mod::PACK_B) {
        let values = context.single(1, false)?;
        return context.write(0, &values.map(|bits| narrow.of_single(bits) << 13));
    }
    if context.has(Mod::UNPACK_B_MERGE_C) {
        let (values, kept) = (context.raw(1)?, kept_half(context, 2)?);
        let from = if context.has(Mod::BF16_2) { BF16 } else { F16 };
        if narrow.to == E2M1 {
            // Both are in the lowest byte, with the old bits above it.
            let above = context.raw(2)?;
            let result = std::array::from_fn(|lane| {
                let (low, high) = (u64::from(values[lane] & 0xffff), u64::from(values[lane] >> 16));
                narrow.convert(from, low) | narrow.convert(from, high) << 4 | above[lane] << 8
            });
            return context.write(0, &result);
        }
        if !narrow.eight && !narrow.tiny {
            return Err(context.refuse());
        }
        let result = std::array::from_fn(|lane| {
            let (low, high) = (u64::from(values[lane] & 0xffff), u64::from(values[lane] >> 16));
            narrow.convert(from, low) | narrow.convert(from, high) << 8 | kept[lane] << 16
        });
        return context.write(0, &result);
    }
    if context.has(Mod::MERGE_C) {
        let (values, kept) = (context.single(1, false)?, kept_half(context, 2)?);
        let result = std::array::from_fn(|lane| narrow.of_single(values[lane]) & 0xffff | kept[lane] << 16);
        return context.write(0, &result);
    }
    let [a, b] = [context.single(1, false)?, context.single(2, false)?];
    if context.has(Mod::RS) {
        return pack_at_random(context, narrow, a, b);
    }
    if narrow.to == E2M1 && context.has(Mod::PACK_AB_MERGE_C) {
        // Both are in the lowest byte, with the old bits above it.
        let kept = context.raw(3)?;
        let result = std::array::from_fn(|lane| {
            narrow.of_single(b[lane]) | narrow.of_single(a[lane]) << 4 | kept[lane] << 8
        });
        return context.write(0, &result);
    }
    if context.has(Mod::PACK_AB_MERGE_C) {
        let kept = kept_half(context, 3)?;
        let result = std::array::from_fn(|lane| {
            let (low, high) = (narrow.of_single(b[lane]) & 0xff, narrow.of_single(a[lane]) & 0xff);
            low | high << 8 | kept[lane] << 16
        });
        return context.write(0, &result);
    }
    if context.has(Mod::PACK_AB) && !narrow.eight && !narrow.tiny && narrow.to != TF32 {
        let result = std::array::from_fn(|lane| narrow.of_single(b[lane]) | narrow.of_single(a[lane]) << 16);
        return context.write(0, &result);
    }
    Err(context.refuse())
}

/// Stochastic rounding of two f32 values, with the random bits in the third operand: its lower 13 bits of each half for
/// f16; a byte each of the upper half for FP8 and FP6; four bits each of the highest byte for FP4.
fn pack_at_random(context: &mut Context, narrow: Narrowing, a: Lanes, b: Lanes) -> Result<(), Fault> {
    let third = context.raw(3)?;
    // Bits from one value to the next, number of random bits per value, position of those of the lower value, and
    // position of the kept bits.
    let (stride, bits, low, kept) = match narrow.to {
        F16 => (16, 13, 0, None),
        BF16 => (16, 16, 0, None),
        E2M1 => (4, 4, 24, Some(8)),
        _ if narrow.eight || narrow.tiny => (8, 8, 16, Some(16)),
        _ => return Err(context.refuse()),
    };
    if context.has(Mod::PACK_AB_MERGE_C) != kept.is_some() {
        return Err(context.refuse());
    }
    let apart = if bits == 13 { 16 } else { bits };
    let result = std::array::from_fn(|lane| {
        let number = |single: u32, place: u32| {
            let random = u64::from(third[lane]) >> (low + apart * place) & ((1 << bits) - 1);
            let mask = if stride == 16 { 0xffff } else { (1 << stride) - 1 };
            (narrow.at_random(single, random, bits) & mask) << (stride * place)
        };
        let above = kept.map_or(0, |shift| third[lane] << shift);
        number(b[lane], 0) | number(a[lane], 1) | above
    });
    context.write(0, &result)
}

/// Two narrow floats, each scaled by the power of two in a byte of a third operand, as f16 values.
fn unpack_and_scale(context: &mut Context, narrow: Narrowing) -> Result<(), Fault> {
    /// Exponent of one, and the byte that is NaN.
    const ONE: u32 = 127;
    const NONE: u32 = 0xff;
    let (from, shift) = unpacked(context);
    let fixed = context.has(Mod::S2_6);
    if narrow.to != BF16 || !context.instruction.operands[2].has(Mod::H0) {
        return Err(context.refuse());
    }
    let width = if from == E2M1 { 4 } else { 8 };
    let (values, scales) = (context.raw(1)?, context.raw(2)?);
    let result = std::array::from_fn(|lane| {
        let part = |index: u32| {
            let bits = u64::from(values[lane] >> (shift + width * index)) & ((1 << from.bits()) - 1);
            let scale = scales[lane] >> (8 * index) & 0xff;
            let number = if fixed {
                // Two's complement, in units of a sixty-fourth.
                let steps = (values[lane] >> (shift + 8 * index)) as u8 as i8;
                Value::Finite(Real { exponent: -6, ..Real::of_signed(steps.into()) })
            } else {
                from.unpack(bits)
            };
            let value = match number {
                _ if scale == NONE => Value::NotANumber,
                Value::Finite(real) => {
                    Value::Finite(Real { exponent: real.exponent + scale as i32 - ONE as i32, ..real })
                }
                other => other,
            };
            narrow.convert_value(value)
        };
        part(0) | part(1) << 16
    });
    context.write(0, &result)
}

/// The source format of narrow floats, and their position in the word.
fn unpacked(context: &Context) -> (Format, u32) {
    let named = [
        (Mod::E4M3, E4M3),
        (Mod::E4M3_2, E4M3),
        (Mod::E2M1_2, E2M1),
        (Mod::E2M3_2, E2M3),
        (Mod::E3M2_2, E3M2),
    ];
    let from = named.into_iter().find(|row| context.has(row.0)).map_or(E5M2, |row| row.1);
    let operand = &context.instruction.operands[1];
    let places = [(Mod::H1, 16), (Mod::B1, 8), (Mod::B2, 16), (Mod::B3, 24)];
    (from, places.into_iter().find(|row| operand.has(row.0)).map_or(0, |row| row.1))
}

/// Two narrow floats as f16 values: FP4 in one byte together, others in a byte each.
fn unpack_bytes(context: &mut Context, narrow: Narrowing) -> Result<(), Fault> {
    let (from, shift) = unpacked(context);
    if narrow.to != F16 && narrow.to != BF16 {
        return Err(context.refuse());
    }
    let width = if from == E2M1 { 4 } else { 8 };
    let values = context.raw(1)?;
    let result = values.map(|word| {
        // The upper two bits of a byte with an FP6 value are ignored.
        let part = |index: u32| u64::from(word >> (shift + width * index)) & ((1 << from.bits()) - 1);
        narrow.convert(from, part(0)) | narrow.convert(from, part(1)) << 16
    });
    context.write(0, &result)
}

/// The exponent of an f32's magnitude, rounded to a power of two; all ones for NaN.
fn scale_of(bits: u32, up: bool, saturate: bool) -> u32 {
    const INFINITY: u32 = 0x7f80_0000;
    // Half of the smallest normal value: the power of two that the exponent zero stands for.
    const LEAST: u32 = 0x0040_0000;
    let magnitude = bits & !(1 << 31);
    if magnitude > INFINITY {
        return 0xff;
    }
    let inexact = magnitude & 0x007f_ffff != 0 && (LEAST + 1..INFINITY).contains(&magnitude);
    let exponent = (magnitude >> 23) + u32::from(up && inexact);
    if saturate { exponent.min(0xfe) } else { exponent }
}

/// Two scale factors from f32 values or from an f16x2 pair.
fn pack_scales(context: &mut Context) -> Result<(), Fault> {
    let (up, saturate) = (context.has(Mod::RP), context.has(Mod::SATFINITE));
    let [low, high] = if context.has(Mod::UNPACK_B_MERGE_C) && context.has(Mod::BF16_2) {
        let pair = context.raw(1)?;
        [pair.map(|word| word << 16), pair.map(|word| word & 0xffff_0000)]
    } else if context.has(Mod::PACK_AB_MERGE_C) && context.has(Mod::F32) {
        [context.single(2, false)?, context.single(1, false)?]
    } else {
        return Err(context.refuse());
    };
    let kept = kept_half(context, context.count() - 1)?;
    let scale = |bits: u32| scale_of(bits, up, saturate);
    let result = std::array::from_fn(|lane| scale(low[lane]) | scale(high[lane]) << 8 | kept[lane] << 16);
    context.write(0, &result)
}

/// Two scale factors as bf16 values.
fn unpack_scales(context: &mut Context) -> Result<(), Fault> {
    let shift = if context.instruction.operands[1].has(Mod::H1) { 16 } else { 0 };
    let half = |scale: u32| match scale {
        0 => 0x0040,
        0xff => BF16.not_a_number() as u32,
        _ => scale << 7,
    };
    let result = context.raw(1)?.map(|word| {
        let word = word >> shift;
        half(word & 0xff) | half(word >> 8 & 0xff) << 16
    });
    context.write(0, &result)
}

/// The half of an operand that the result keeps above the converted value.
fn kept_half(context: &Context, index: usize) -> Result<Lanes, Fault> {
    let upper = context.instruction.operands[index].has(Mod::H1);
    Ok(context.raw(index)?.map(|word| if upper { word >> 16 } else { word & 0xffff }))
}
