//! The types that a launch record gives to bytes: numbers as people write them, rows of numbers by rule, and back to text.
//!
//! The one place that knows how a number of a record becomes bytes. The parent has the names of a record's
//! fields; `compare` judges results.

use super::error::{LARGEST_BUFFER, RecordError};
use half::{bf16, f16};
use serde::Deserialize;
use serde_json::Value;

/// The meaning of a bit pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Unsigned,
    Signed,
    Bits,
    Half,
    BrainHalf,
    Single,
    Double,
}

/// A fundamental type of PTX.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    name: &'static str,
    class: Class,
    bytes: usize,
}

const fn element(name: &'static str, class: Class, bytes: usize) -> Element {
    Element { name, class, bytes }
}

pub(super) const ELEMENTS: [Element; 17] = [
    element("u8", Class::Unsigned, 1),
    element("u16", Class::Unsigned, 2),
    element("u32", Class::Unsigned, 4),
    element("u64", Class::Unsigned, 8),
    element("s8", Class::Signed, 1),
    element("s16", Class::Signed, 2),
    element("s32", Class::Signed, 4),
    element("s64", Class::Signed, 8),
    element("b8", Class::Bits, 1),
    element("b16", Class::Bits, 2),
    element("b32", Class::Bits, 4),
    element("b64", Class::Bits, 8),
    element("b128", Class::Bits, 16),
    element("f16", Class::Half, 2),
    element("bf16", Class::BrainHalf, 2),
    element("f32", Class::Single, 4),
    element("f64", Class::Double, 8),
];

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Element, D::Error> {
        String::deserialize(reader)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl TryFrom<String> for Element {
    type Error = RecordError;

    /// By name, with or without the dot that PTX writes before it.
    fn try_from(name: String) -> Result<Element, RecordError> {
        let plain = name.strip_prefix('.').unwrap_or(&name);
        ELEMENTS.into_iter().find(|element| element.name == plain).ok_or_else(|| {
            let known = ELEMENTS.map(|element| element.name()).join(", ");
            RecordError::NoType { name: clipped(&name), known }
        })
    }
}

impl Element {
    /// The name as PTX has it, without its dot.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Bytes of one.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self.class, Class::Half | Class::BrainHalf | Class::Single | Class::Double)
    }

    /// The bytes of a value as a record writes it.
    pub fn encode(self, value: &Value) -> Result<Vec<u8>, RecordError> {
        let bits = self.bits(value)?;
        Ok(bits.to_le_bytes()[..self.bytes].to_vec())
    }

    fn bits(self, value: &Value) -> Result<u128, RecordError> {
        let bad = || RecordError::Value { value: clipped(&value.to_string()), name: self.name };
        if let Some(digits) = value.as_str().and_then(|text| text.strip_prefix("0x")) {
            // A sign has no place after the prefix.
            let bits = u128::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
            let bits = bits.ok_or_else(bad)?;
            let fits = match self.class {
                Class::Signed => bits >> (8 * self.bytes - 1) == 0,
                _ => self.bytes == 16 || bits >> (8 * self.bytes) == 0,
            };
            return if fits { Ok(bits) } else { Err(bad()) };
        }
        if self.is_float() {
            let number = match value {
                Value::String(text) => text.parse().map_err(|_| bad())?,
                other => other.as_f64().ok_or_else(bad)?,
            };
            return self.rounded(number).ok_or_else(bad);
        }
        self.fitting(integer(value).ok_or_else(bad)?).ok_or_else(bad)
    }

    /// The bits of an integer, if it is one of the type; untyped bits may be written as either.
    fn fitting(self, number: i128) -> Option<u128> {
        if self.bytes == 16 {
            return Some(number as u128);
        }
        let range = 1i128 << (8 * self.bytes);
        let (least, end) = match self.class {
            Class::Unsigned => (0, range),
            Class::Signed => (-range / 2, range / 2),
            _ => (-range / 2, range),
        };
        (least..end).contains(&number).then_some(number as u128)
    }

    /// The bits of the nearest number of the type; `None` if a finite number would become infinite.
    fn rounded(self, number: f64) -> Option<u128> {
        // With the last bit set where anything was lost, the second rounding is the only one.
        let to_odd = || {
            let near = number as f32;
            if number.is_nan() || f64::from(near) == number {
                return near;
            }
            let too_far = f64::from(near).abs() > number.abs();
            f32::from_bits((near.to_bits() - u32::from(too_far)) | 1)
        };
        let (bits, infinite) = match self.class {
            Class::Half => {
                let half = f16::from_f32(to_odd());
                (u128::from(half.to_bits()), half.is_infinite())
            }
            Class::BrainHalf => {
                let half = bf16::from_f32(to_odd());
                (u128::from(half.to_bits()), half.is_infinite())
            }
            Class::Single => {
                let single = number as f32;
                (u128::from(single.to_bits()), single.is_infinite())
            }
            _ => (u128::from(number.to_bits()), number.is_infinite()),
        };
        (number.is_infinite() || !infinite).then_some(bits)
    }

    /// The number that the bytes of one are, for comparisons; not a number for bytes of another type.
    pub fn float(self, bytes: &[u8]) -> f64 {
        match (self.class, bytes) {
            (Class::Double, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            (Class::Single, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).into(),
            (Class::BrainHalf, &[a, b]) => bf16::from_le_bytes([a, b]).into(),
            (Class::Half, &[a, b]) => f16::from_le_bytes([a, b]).into(),
            _ => f64::NAN,
        }
    }

    /// The bytes of one as a record would write them: what `encode` reads back, but for the bits of a NaN.
    pub fn decode(self, bytes: &[u8]) -> Value {
        let mut padded = [0; 16];
        padded[..bytes.len()].copy_from_slice(bytes);
        let bits = u128::from_le_bytes(padded);
        match self.class {
            Class::Unsigned => Value::from(bits as u64),
            Class::Signed => {
                let unused = 64 - 8 * self.bytes;
                Value::from((bits as i64) << unused >> unused)
            }
            Class::Bits => Value::from(format!("0x{bits:0width$x}", width = 2 * self.bytes)),
            _ => match self.float(bytes) {
                number if number.is_nan() => Value::from("nan"),
                number if number.is_infinite() => Value::from(if number > 0.0 { "inf" } else { "-inf" }),
                number if self.class == Class::Double => Value::from(number),
                // The fewest digits that name the single, not those of the double.
                number => serde_json::to_string(&(number as f32))
                    .and_then(|digits| serde_json::from_str(&digits))
                    .unwrap_or(Value::Null),
            },
        }
    }

    /// All elements of a buffer.
    pub fn decode_all(self, bytes: &[u8]) -> impl Iterator<Item = Value> {
        bytes.chunks_exact(self.bytes).map(move |one| self.decode(one))
    }
}

/// An integer, written as a number or in a string.
fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.as_i64().map(i128::from).or(number.as_u64().map(i128::from)),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The same value again and again.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fill {
    #[cfg_attr(test, schemars(with = "super::schema::Number"))]
    value: Value,
    count: u64,
}

/// Numbers at equal distances.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Iota {
    #[cfg_attr(test, schemars(with = "Option<super::schema::Number>"))]
    start: Option<Value>,
    #[cfg_attr(test, schemars(with = "Option<super::schema::Number>"))]
    step: Option<Value>,
    count: u64,
}

/// Numbers that look random and are the same everywhere.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Random {
    seed: u64,
    #[cfg_attr(test, schemars(with = "super::schema::Number"))]
    low: Value,
    #[cfg_attr(test, schemars(with = "super::schema::Number"))]
    high: Value,
    count: u64,
}

impl Element {
    /// The bytes of `count` elements, if they are not too many for a buffer.
    fn room(self, count: u64) -> Result<usize, RecordError> {
        let bytes = count.checked_mul(self.bytes as u64).filter(|&bytes| bytes <= LARGEST_BUFFER);
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        bytes.ok_or(RecordError::LargeArray { count, name: self.name })
    }

    /// Bytes of elements whose bits are made one after the other.
    fn made(
        self,
        count: u64,
        mut bits: impl FnMut(u64) -> Result<u128, RecordError>,
    ) -> Result<Vec<u8>, RecordError> {
        let mut bytes = Vec::with_capacity(self.room(count)?);
        for index in 0..count {
            bytes.extend_from_slice(&bits(index)?.to_le_bytes()[..self.bytes]);
        }
        Ok(bytes)
    }

    /// Bytes of `count` times `value`.
    pub fn fill(self, fill: &Fill) -> Result<Vec<u8>, RecordError> {
        let bits = self.bits(&fill.value)?;
        self.made(fill.count, |_| Ok(bits))
    }

    /// Bytes of `start`, `start + step` and so on.
    pub fn iota(self, iota: &Iota) -> Result<Vec<u8>, RecordError> {
        let past = |index: u64| RecordError::Past { index, name: self.name };
        if self.is_float() {
            let (start, step) =
                (self.number(iota.start.as_ref(), 0.0)?, self.number(iota.step.as_ref(), 1.0)?);
            return self.made(iota.count, |index| {
                self.rounded(start + step * index as f64).ok_or_else(|| past(index))
            });
        }
        let (start, step) = (self.whole(iota.start.as_ref(), 0)?, self.whole(iota.step.as_ref(), 1)?);
        self.made(iota.count, |index| {
            let number = step.checked_mul(index.into()).and_then(|far| start.checked_add(far));
            number.and_then(|number| self.fitting(number)).ok_or_else(|| past(index))
        })
    }

    /// Bytes of numbers between two: a generator of 64 bits (`SplitMix64`) gives one number after the other.
    pub fn random(self, random: &Random) -> Result<Vec<u8>, RecordError> {
        let mut state = random.seed;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        let backwards = || RecordError::Rule("`low` is not below `high`, or they are too far apart");
        if self.is_float() {
            let (low, high) = (self.number(Some(&random.low), 0.0)?, self.number(Some(&random.high), 0.0)?);
            if !(low <= high && (high - low).is_finite()) {
                return Err(backwards());
            }
            return self.made(random.count, |index| {
                let unit = (next() >> 11) as f64 / (1u64 << 53) as f64;
                self.rounded(low + (high - low) * unit).ok_or(RecordError::Past { index, name: self.name })
            });
        }
        let (low, high) = (self.whole(Some(&random.low), 0)?, self.whole(Some(&random.high), 0)?);
        // Both ends are values of at most 64 bits, so that the product of size and number fits.
        if low > high || self.bytes == 16 {
            return Err(backwards());
        }
        let size = (high - low) as u128 + 1;
        self.made(random.count, |_| {
            let number = low + ((u128::from(next()) * size) >> 64) as i128;
            self.fitting(number).ok_or_else(backwards)
        })
    }

    /// A bound or step of an integer type.
    fn whole(self, value: Option<&Value>, default: i128) -> Result<i128, RecordError> {
        let Some(value) = value else { return Ok(default) };
        let number = integer(value).filter(|number| self.bytes == 16 || number.unsigned_abs() >> 64 == 0);
        number.ok_or_else(|| RecordError::NoInteger(clipped(&value.to_string())))
    }

    /// A bound or step of a floating-point type.
    fn number(self, value: Option<&Value>, default: f64) -> Result<f64, RecordError> {
        let Some(value) = value else { return Ok(default) };
        let number = value.as_f64().filter(|number| number.is_finite());
        number.ok_or_else(|| RecordError::NotFinite(clipped(&value.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ty(name: &str) -> Element {
        Element::try_from(name.to_owned()).unwrap()
    }

    fn bits(name: &str, value: Value) -> Option<u128> {
        ty(name).bits(&value).ok()
    }

    #[test]
    fn values_fit_their_types() {
        assert_eq!(bits("u8", json!(255)), Some(0xff));
        assert_eq!(ty("s8").encode(&json!(-128)).unwrap(), [0x80]);
        assert_eq!(ty("b16").encode(&json!(-1)).unwrap(), [0xff; 2]);
        assert_eq!(ty(".u64").encode(&json!("0xffffffffffffffff")).unwrap(), [0xff; 8]);
        assert_eq!(bits("f32", json!("0x7fc00001")), Some(0x7fc0_0001));
        for (name, value) in [
            ("u8", json!(4096)),
            ("u8", json!(-1)),
            ("s8", json!(128)),
            ("s8", json!("0x80")),
            ("b16", json!(65536)),
            ("u32", json!(1.5)),
            ("s32", json!("0x-5")),
            ("s32", json!("0x+5")),
            ("f16", json!(65520)),
            ("f32", json!(1e300)),
            ("f32", json!("many")),
            ("f64", json!(null)),
        ] {
            assert_eq!(bits(name, value.clone()), None, "{name} {value}");
        }
        assert!(Element::try_from("u12".to_owned()).is_err());
    }

    /// f16 and bf16 are rounded once: through f32 the lost bits would make a tie.
    #[test]
    fn halves_are_rounded_once() {
        let above_tie = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(bits("f16", json!(above_tie)), Some(0x3c01));
        assert_eq!(bits("f16", json!(1.0 + 2f64.powi(-11))), Some(0x3c00));
        assert_eq!(bits("bf16", json!(-1.0 - 2f64.powi(-8) - 2f64.powi(-50))), Some(0xbf81));
        assert_eq!(bits("f16", json!(1e-300)), Some(0));
    }

    /// Printed values are read back as the same bits, for all types.
    #[test]
    fn what_is_printed_is_read_back() {
        for element in ELEMENTS {
            for seed in 0..200u128 {
                let bytes = (seed * 0x0123_4567_89ab_cdef_1357_9bdf_0246_8ace_u128).to_le_bytes();
                let bytes = &bytes[..element.bytes];
                let shown = element.decode(bytes);
                if shown != json!("nan") {
                    assert_eq!(element.encode(&shown).unwrap(), bytes, "{} {shown}", element.name);
                }
            }
        }
    }

    /// The generator is that of the literature: its first numbers from seed 1234567.
    #[test]
    fn the_generator_is_the_known_one() {
        let random = Random { seed: 1_234_567, low: json!(0), high: json!(u64::MAX), count: 3 };
        let words: Vec<u64> = [6457827717110365317u64, 3203168211198807973, 9817491932198370423].to_vec();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(ty("u64").random(&random).unwrap(), bytes);
    }
}
