//! Text of floating-point immediates, as the disassembler writes it: up to twenty significant digits, so that the
//! text gives the bits back; large values always with an exponent; `+INF`, `-QNAN`.

use crate::form::FloatKind;
use crate::{Mod, Mods};

/// Format of a float slot under these modifiers: with certain modifiers an f16 slot holds a bf16, and an f32 slot the
/// upper half of an f64.
pub fn kind_under(kind: FloatKind, mods: &Mods) -> FloatKind {
    let any = |names: &[Mod]| names.iter().any(|&name| mods.has(name));
    match kind {
        // Of a conversion's two formats the second one is that of the source.
        FloatKind::F16 if any(&[Mod::F16_2]) => FloatKind::F16,
        FloatKind::F16 if any(&[Mod::BF16_V2, Mod::BF16_2, Mod::BF16]) => FloatKind::Bf16,
        FloatKind::F32 if any(&[Mod::RCP64H, Mod::RSQ64H]) => FloatKind::F64High,
        _ => kind,
    }
}

/// Exponent bits and fraction bits of a kind, as stored.
fn layout(kind: FloatKind) -> (u32, u32) {
    match kind {
        FloatKind::F32 => (8, 23),
        FloatKind::F64High => (11, 20),
        FloatKind::F16 => (5, 10),
        FloatKind::Bf16 => (8, 7),
    }
}

/// The text of the bits. NaN payloads are lost unless `exact`, which adds the bits in brackets.
pub fn text(kind: FloatKind, bits: u32, exact: bool) -> String {
    let (exponent_bits, fraction_bits) = layout(kind);
    let exponent_mask = (1u32 << exponent_bits) - 1;
    let exponent = bits >> fraction_bits & exponent_mask;
    let fraction = bits & ((1 << fraction_bits) - 1);
    let negative = bits >> (exponent_bits + fraction_bits) & 1 == 1;
    let sign = if negative { '-' } else { '+' };
    if exponent == exponent_mask {
        if fraction == 0 {
            return format!("{sign}INF");
        }
        let quiet = fraction >> (fraction_bits - 1) & 1 == 1;
        let name = if quiet { "QNAN" } else { "SNAN" };
        return if exact { format!("{sign}{name}[{bits:#x}]") } else { format!("{sign}{name}") };
    }
    number(value(kind, bits))
}

/// The value of finite bits. Every kind fits f64 without rounding.
fn value(kind: FloatKind, bits: u32) -> f64 {
    match kind {
        FloatKind::F32 => f32::from_bits(bits) as f64,
        FloatKind::Bf16 => f32::from_bits(bits << 16) as f64,
        FloatKind::F64High => f64::from_bits((bits as u64) << 32),
        FloatKind::F16 => {
            let (exponent, fraction) = (bits >> 10 & 31, (bits & 1023) as f64);
            let magnitude = if exponent == 0 {
                fraction * 2f64.powi(-24)
            } else {
                (fraction + 1024.0) * 2f64.powi(exponent as i32 - 25)
            };
            if bits >> 15 & 1 == 1 { -magnitude } else { magnitude }
        }
    }
}

fn number(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0.0".to_owned() } else { "0".to_owned() };
    }
    if value.abs() >= 1e9 {
        return exponential(&format!("{value:.20e}"), false);
    }
    let scientific = format!("{value:.19e}");
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if exponent < -4 {
        return exponential(&scientific, true);
    }
    let text = format!("{value:.*}", (19 - exponent).max(0) as usize);
    strip_zeros(&text).to_owned()
}

/// C's spelling of an exponent: a sign and at least two digits.
fn exponential(text: &str, strip: bool) -> String {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits = if strip { strip_zeros(digits) } else { digits };
    let (sign, magnitude) = match exponent.strip_prefix('-') {
        Some(magnitude) => ('-', magnitude),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{magnitude:0>2}")
}

fn strip_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// The bits of a text; `None` if it is not a float, or the kind cannot hold it exactly.
pub fn parse(kind: FloatKind, text: &str) -> Option<u32> {
    let (exponent_bits, fraction_bits) = layout(kind);
    if let Some((_, bits)) = text.strip_suffix(']').and_then(|text| text.split_once("NAN[0x")) {
        let bits = u32::from_str_radix(bits, 16).ok()?;
        return (bits as u64 >> (1 + exponent_bits + fraction_bits) == 0).then_some(bits);
    }
    let special = match text.trim_start_matches(['+', '-']) {
        "INF" => Some(0),
        // The NaN of ptxas has all bits set.
        "QNAN" => Some((1 << fraction_bits) - 1),
        "SNAN" => Some(1),
        _ => None,
    };
    if let Some(fraction) = special {
        let sign = (text.starts_with('-') as u32) << (exponent_bits + fraction_bits);
        return Some(sign | ((1 << exponent_bits) - 1) << fraction_bits | fraction);
    }
    if !text.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match kind {
        FloatKind::F32 => text.parse::<f32>().ok().filter(|value| value.is_finite()).map(f32::to_bits),
        FloatKind::F64High => {
            let bits = text.parse::<f64>().ok().filter(|value| value.is_finite())?.to_bits();
            // Twenty digits determine an f64 only up to its lowest bits, which are zero here.
            let rounded = bits.wrapping_add(1 << 31) >> 32;
            (bits.abs_diff(rounded << 32) < 1 << 10).then_some(rounded as u32)
        }
        FloatKind::Bf16 => {
            let bits = text.parse::<f32>().ok().filter(|value| value.is_finite())?.to_bits();
            (bits & 0xffff == 0).then_some(bits >> 16)
        }
        FloatKind::F16 => {
            let value = text.parse::<f64>().ok()?;
            half_bits(value)
        }
    }
}

/// The f16 bits of a value that f16 holds exactly.
fn half_bits(value: f64) -> Option<u32> {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return Some(sign);
    }
    // Subnormal f64 values have a smaller exponent still, which the clamp covers.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = magnitude * 2f64.powi(10 - exponent);
    if steps.fract() != 0.0 || exponent > 15 {
        return None;
    }
    let steps = steps as u32;
    // Subnormal halves have an exponent field of zero and no implied bit.
    let field = if steps < 1024 { 0 } else { ((exponent + 15) as u32) << 10 };
    Some(sign | field | steps & 0x3ff)
}
