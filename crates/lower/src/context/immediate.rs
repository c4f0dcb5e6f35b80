//! Immediates as bits: an integer, or a floating literal rounded to the type of its place. No register, no
//! instruction.

use oriole_hir::Immediate;
use oriole_ptx::Type;

/// The bits of an immediate in a place of this type, in the low bits of the result; integers are cut to the width
/// of the type and *not* sign-extended beyond it.
pub(super) fn bits(immediate: Immediate, ty: Type) -> u64 {
    let raw = match (immediate, ty) {
        (Immediate::Integer(value), Type::F32 | Type::TF32) => u64::from((value as f32).to_bits()),
        (Immediate::Integer(value), Type::F64) => (value as f64).to_bits(),
        (Immediate::Integer(value), Type::F16) => narrow(value as f64, 5, 10),
        (Immediate::Integer(value), Type::BF16) => narrow(value as f64, 8, 7),
        (Immediate::Integer(value), _) => value as u64,
        (Immediate::F32(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Immediate::F32(bits), Type::F16) => narrow(f64::from(f32::from_bits(bits)), 5, 10),
        (Immediate::F32(bits), Type::BF16) => narrow(f64::from(f32::from_bits(bits)), 8, 7),
        (Immediate::F32(bits), _) => u64::from(bits),
        (Immediate::F64(bits), Type::F32 | Type::TF32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Immediate::F64(bits), Type::F16) => narrow(f64::from_bits(bits), 5, 10),
        (Immediate::F64(bits), Type::BF16) => narrow(f64::from_bits(bits), 8, 7),
        (Immediate::F64(bits), _) => bits,
    };
    match ty.bits() {
        width @ 1..64 => raw & ((1 << width) - 1),
        _ => raw,
    }
}

/// The bits extended to 64 by the signedness of the type.
pub(super) fn extended(immediate: Immediate, ty: Type) -> i64 {
    let raw = bits(immediate, ty);
    let width = ty.bits().clamp(1, 64);
    if ty.is_signed() { ((raw << (64 - width)) as i64) >> (64 - width) } else { raw as i64 }
}

/// An f64 value rounded to nearest even in a narrower format of at most 16 bits.
fn narrow(value: f64, exponent_bits: u32, mantissa_bits: u32) -> u64 {
    let bias = (1i64 << (exponent_bits - 1)) - 1;
    let sign = u64::from(value.is_sign_negative()) << (exponent_bits + mantissa_bits);
    let top = ((1u64 << exponent_bits) - 1) << mantissa_bits;
    if value.is_nan() {
        return top | ((1 << mantissa_bits) - 1);
    }
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return sign;
    }
    if magnitude.is_infinite() {
        return sign | top;
    }
    let exponent = ((magnitude.to_bits() >> 52) as i64 - 1023).max(1 - bias);
    // In ulps of the target format; exact, since scaling by a power of two is.
    let scaled = magnitude * 2f64.powi((i64::from(mantissa_bits) - exponent) as i32);
    let mut units = scaled.floor();
    let rest = scaled - units;
    if rest > 0.5 || (rest == 0.5 && units % 2.0 == 1.0) {
        units += 1.0;
    }
    // A carry out of the mantissa increments the exponent, which is correct for rounding up.
    let biased = ((exponent + bias - 1) as u64) << mantissa_bits;
    (sign | (biased + units as u64)).min(sign | top)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_formats_round_to_nearest_even() {
        let half = |v: f64| narrow(v, 5, 10);
        assert_eq!(half(1.0), 0x3c00);
        assert_eq!(half(-2.0), 0xc000);
        assert_eq!(half(65504.0), 0x7bff);
        assert_eq!(half(65520.0), 0x7c00);
        assert_eq!(half(2f64.powi(-24)), 1);
        assert_eq!(half(2f64.powi(-25)), 0);
        assert_eq!(half(1.5 * 2f64.powi(-24)), 2);
        assert_eq!(half(1.0 + 2f64.powi(-11)), 0x3c00);
        assert_eq!(half(1.0 + 3.0 * 2f64.powi(-11)), 0x3c02);
        assert_eq!(narrow(1.0, 8, 7), 0x3f80);
        assert_eq!(narrow(f64::NEG_INFINITY, 8, 7), 0xff80);
    }

    #[test]
    fn integers_are_cut_and_extended() {
        assert_eq!(bits(Immediate::Integer(-1), Type::U16), 0xffff);
        assert_eq!(extended(Immediate::Integer(-1), Type::S16), -1);
        assert_eq!(extended(Immediate::Integer(-1), Type::U16), 0xffff);
        assert_eq!(bits(Immediate::F64(1.5f64.to_bits()), Type::F32), u64::from(1.5f32.to_bits()));
    }
}
