//! Bytes in hexadecimal, as records and results write them.

use super::error::RecordError;

/// The bytes of a text in hexadecimal.
pub(super) fn decode(hex: &str) -> Result<Vec<u8>, RecordError> {
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err(RecordError::Rule("odd number of hex digits"));
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    digits
        .chunks_exact(2)
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect::<Option<Vec<u8>>>()
        .ok_or(RecordError::Rule("not a hex digit"))
}

/// Lower-case hex of bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_and_refuses_nonsense() {
        assert_eq!(decode(&encode(&[0, 0x7f, 0xff])).unwrap(), [0, 0x7f, 0xff]);
        assert!(decode("abc").is_err());
        assert!(decode("zz").is_err());
    }
}
