//! The values of numeric literals.
//!
//! Only what a literal says by itself: its bits. Conversion to an operand's type happens where types are known.

/// The value of a numeric literal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NumberValue {
    /// An integer.
    Integer {
        /// The low 64 bits.
        bits: u64,
        /// Whether a `U` makes it unsigned, or it is too large for `.s64`.
        unsigned: bool,
        /// Whether the literal does not fit 64 bits.
        overflow: bool,
    },
    /// `0f…`: the bits of an f32.
    F32 {
        /// The bits.
        bits: u32,
    },
    /// `0d…` or a decimal number: the bits of an f64.
    F64 {
        /// The bits; a decimal literal is rounded to nearest, ties to even.
        bits: u64,
    },
}

/// The text is not a well-formed literal; the lexer has already reported it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NumberError;

/// Reads a numeric literal as the lexer delivers it.
///
/// # Errors
/// If the text is not a well-formed PTX number.
pub fn parse_number(text: &str) -> Result<NumberValue, NumberError> {
    let lower = |at: usize| text.as_bytes().get(at).map_or(0, u8::to_ascii_lowercase);
    match (lower(0), lower(1)) {
        (b'0', b'f') => {
            hex_digits(&text[2..], 8)?;
            u32::from_str_radix(&text[2..], 16).map(|bits| NumberValue::F32 { bits }).or(Err(NumberError))
        }
        (b'0', b'd') => {
            hex_digits(&text[2..], 16)?;
            u64::from_str_radix(&text[2..], 16).map(|bits| NumberValue::F64 { bits }).or(Err(NumberError))
        }
        (b'0', b'x') => integer(&text[2..], 16),
        (b'0', b'b') => integer(&text[2..], 2),
        _ if text.contains(['.', 'e', 'E']) => {
            let value: f64 = text.parse().or(Err(NumberError))?;
            Ok(NumberValue::F64 { bits: value.to_bits() })
        }
        (b'0', b'0'..=b'9') => integer(&text[1..], 8),
        _ => integer(text, 10),
    }
}

fn hex_digits(text: &str, count: usize) -> Result<(), NumberError> {
    let valid = text.len() == count && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    valid.then_some(()).ok_or(NumberError)
}

fn integer(text: &str, radix: u32) -> Result<NumberValue, NumberError> {
    let digits = text.strip_suffix('U');
    let suffixed = digits.is_some();
    let digits = digits.unwrap_or(text);
    if digits.is_empty() {
        return Err(NumberError);
    }
    let (mut bits, mut overflow) = (0u64, false);
    for digit in digits.chars() {
        let digit = digit.to_digit(radix).ok_or(NumberError)?;
        let wide = u128::from(bits) * u128::from(radix) + u128::from(digit);
        overflow |= wide > u128::from(u64::MAX);
        bits = wide as u64;
    }
    Ok(NumberValue::Integer { bits, unsigned: suffixed || overflow || bits > i64::MAX as u64, overflow })
}

#[cfg(test)]
mod tests {
    use super::{NumberError, NumberValue, parse_number};

    fn int(bits: u64, unsigned: bool, overflow: bool) -> Result<NumberValue, NumberError> {
        Ok(NumberValue::Integer { bits, unsigned, overflow })
    }

    #[test]
    fn values() {
        assert_eq!(parse_number("0"), int(0, false, false));
        assert_eq!(parse_number("0U"), int(0, true, false));
        assert_eq!(parse_number("0777"), int(0o777, false, false));
        assert_eq!(parse_number("0x1FU"), int(31, true, false));
        assert_eq!(parse_number("0b101"), int(5, false, false));
        assert_eq!(parse_number("9223372036854775808"), int(1 << 63, true, false));
        assert_eq!(parse_number("18446744073709551616"), int(0, true, true));
        assert_eq!(parse_number("0f3F800000"), Ok(NumberValue::F32 { bits: 1.0f32.to_bits() }));
        assert_eq!(parse_number("0d3FF0000000000000"), Ok(NumberValue::F64 { bits: 1.0f64.to_bits() }));
        assert_eq!(parse_number(".5"), Ok(NumberValue::F64 { bits: 0.5f64.to_bits() }));
        assert_eq!(parse_number("5."), Ok(NumberValue::F64 { bits: 5f64.to_bits() }));
        assert_eq!(parse_number("1.5e-3"), Ok(NumberValue::F64 { bits: 1.5e-3f64.to_bits() }));
        for bad in ["", "0x", "089", "1abc", "0f1", "0b2", "0xU", "12u", "0f+1234567"] {
            assert_eq!(parse_number(bad), Err(NumberError), "{bad}");
        }
    }
}
