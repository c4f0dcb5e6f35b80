//! Values for arguments and buffers, by seed: the same everywhere.
//!
//! Low seeds give small exact values, so that results are exact and loops short; higher ones give special values too.

/// The meaning of the elements of a buffer or a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// Integers, or nothing is known.
    #[default]
    Integer,
    /// Half precision.
    F16,
    /// Half precision with the range of f32.
    BF16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Kind {
    /// Bytes of a float.
    pub fn bytes(self) -> Option<usize> {
        match self {
            Kind::Integer => None,
            Kind::F16 | Kind::BF16 => Some(2),
            Kind::F32 => Some(4),
            Kind::F64 => Some(8),
        }
    }
}

/// A generator of numbers.
pub struct Numbers(u64);

impl Numbers {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// How unusual values are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Wildness {
    /// Zeros.
    Zero,
    /// Small exact values.
    Small,
    /// Values of common size.
    Common,
    /// Any bits, and special values.
    Wild,
}

/// One of this many values is special where they are wild.
const SPECIAL: u64 = 9;

/// Bytes of a buffer of elements of `width` bytes.
pub fn bytes(kind: Kind, width: usize, wildness: Wildness, seed: u64, count: usize) -> Vec<u8> {
    let mut numbers = Numbers::new(seed);
    let width = kind.bytes().unwrap_or(width.clamp(1, 8));
    let mut all = Vec::with_capacity(count + 8);
    if wildness == Wildness::Zero {
        return vec![0; count];
    }
    while all.len() < count {
        let value = element(kind, width, wildness, &mut numbers);
        all.extend_from_slice(&value.to_le_bytes()[..width]);
    }
    all.truncate(count);
    all
}

/// The bits of one element.
pub fn element(kind: Kind, width: usize, wildness: Wildness, numbers: &mut Numbers) -> u64 {
    let number = numbers.next();
    let special = wildness == Wildness::Wild && number.is_multiple_of(SPECIAL);
    let pick = number / SPECIAL;
    match kind {
        Kind::Integer if special => {
            let mask = u64::MAX >> (64 - 8 * width);
            let sign = 1 << (8 * width - 1);
            [0, mask, sign, sign - 1, 1, sign + 1][(pick % 6) as usize] & mask
        }
        Kind::Integer => match wildness {
            Wildness::Wild => number,
            Wildness::Common => pick % 100,
            _ => pick % 8,
        },
        _ => float(kind, wildness, special, pick),
    }
}

/// Infinity, not a number, the smallest subnormal and the largest number of a format.
fn specials(kind: Kind) -> [u64; 4] {
    match kind {
        Kind::F16 => [0x7c00, 0x7e00, 1, 0x7bff],
        Kind::BF16 => [0x7f80, 0x7fc0, 1, 0x7f7f],
        Kind::F32 | Kind::Integer => [0x7f80_0000, 0x7fc0_0000, 1, 0x7f7f_ffff],
        Kind::F64 => [0x7ff0_0000_0000_0000, 0x7ff8_0000_0000_0000, 1, 0x7fef_ffff_ffff_ffff],
    }
}

fn float(kind: Kind, wildness: Wildness, special: bool, pick: u64) -> u64 {
    let bits = 8 * kind.bytes().unwrap_or(4) as u32;
    if special {
        let value = [specials(kind).as_slice(), &[0]].concat()[(pick % 5) as usize];
        return if kind != Kind::Integer && pick & 32 != 0 { value | 1 << (bits - 1) } else { value };
    }
    let value = if wildness == Wildness::Small {
        // Multiples of a quarter up to four.
        (pick % 33) as f64 / 4.0 - 4.0
    } else {
        (pick >> 8 & 0xf_ffff) as f64 / 65_536.0 - 8.0
    };
    encode(kind, value)
}

/// A value in a format; it is cut, and not rounded, to 16 bits.
pub fn encode(kind: Kind, value: f64) -> u64 {
    let single = (value as f32).to_bits();
    match kind {
        Kind::F64 => value.to_bits(),
        Kind::F32 | Kind::Integer => u64::from(single),
        Kind::BF16 => u64::from(single >> 16),
        Kind::F16 => u64::from(half(single)),
    }
}

/// A normal f16 from an f32 of its range; smaller values become zero.
fn half(single: u32) -> u16 {
    let (sign, exponent, fraction) = (single >> 31, (single >> 23 & 0xff) as i32 - 127, single >> 13 & 0x3ff);
    match exponent {
        ..-14 => (sign << 15) as u16,
        -14..16 => (sign << 15 | ((exponent + 15) as u32) << 10 | fraction) as u16,
        16.. => (sign << 15 | 0x7c00) as u16,
    }
}

/// The value of a float of up to eight bytes.
pub fn decode(kind: Kind, bits: u64) -> f64 {
    match kind {
        Kind::F64 => f64::from_bits(bits),
        Kind::F32 | Kind::Integer => f64::from(f32::from_bits(bits as u32)),
        Kind::BF16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Kind::F16 => {
            let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
            let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 0x3ff) as f64);
            sign * match exponent {
                0 => fraction * 2f64.powi(-24),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_encoded_and_decoded() {
        for kind in [Kind::F16, Kind::BF16, Kind::F32, Kind::F64] {
            for value in [0.0, 1.0, -4.0, 0.25, 3.75, -0.5] {
                assert_eq!(decode(kind, encode(kind, value)), value, "{kind:?}");
            }
            assert!(decode(kind, specials(kind)[1]).is_nan());
            assert_eq!(decode(kind, specials(kind)[0]), f64::INFINITY);
        }
    }

    #[test]
    fn equal_seeds_give_equal_bytes() {
        for wildness in [Wildness::Zero, Wildness::Small, Wildness::Common, Wildness::Wild] {
            let long = bytes(Kind::Integer, 4, wildness, 7, 4096);
            assert_eq!(bytes(Kind::Integer, 4, wildness, 7, 100), long[..100]);
        }
    }
}
