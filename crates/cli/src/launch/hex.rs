//! Bytes in hexadecimal, as records and results write them.

use super::error::RecordError;

/// The digits, by value.
const DIGITS: [u8; 16] = *b"0123456789abcdef";

/// In `VALUES`: no digit.
const NONE: u8 = 0xff;

/// The value of each byte as a digit. Records have megabytes of digits.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < 16 {
        let digit = DIGITS[value as usize];
        values[digit as usize] = value;
        values[digit.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    values
};

/// The bytes of a text in hexadecimal.
pub(super) fn decode(hex: &str) -> Result<Vec<u8>, RecordError> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err(RecordError::Rule("odd number of hex digits"));
    }
    let mut bytes = Vec::with_capacity(pairs.len());
    for &[high, low] in pairs {
        let [high, low] = [VALUES[usize::from(high)], VALUES[usize::from(low)]];
        if high == NONE || low == NONE {
            return Err(RecordError::Rule("not a hex digit"));
        }
        bytes.push(high << 4 | low);
    }
    Ok(bytes)
}

/// Lower-case hex of bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_and_refuses_nonsense() {
        assert_eq!(decode(&encode(&[0, 0x7f, 0xff])).unwrap(), [0, 0x7f, 0xff]);
        assert_eq!(decode("aBFf09").unwrap(), [0xab, 0xff, 9]);
        for wrong in ["abc", "zz", "0g", ":0", "\u{e9}"] {
            assert!(decode(wrong).is_err(), "{wrong}");
        }
    }
}
