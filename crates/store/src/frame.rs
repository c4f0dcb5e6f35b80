//! The frame around a stored value, which detects a foreign, truncated or changed one before it is read.
//!
//! Eight bytes of magic with the version of the frame, the key, the length of the value in bytes (little endian), the
//! hash of the value, the value.

use crate::Key;

const MAGIC: [u8; 8] = *b"ORIOLE\x00\x01";
const HEAD: usize = 8 + 32 + 8 + 32;

/// A value in its frame.
pub fn frame(key: &Key, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + value.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&key.0);
    bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
    bytes.extend_from_slice(blake3::hash(value).as_bytes());
    bytes.extend_from_slice(value);
    bytes
}

/// The value in a frame; `None` if it is incomplete, not of this key, or not a frame.
pub fn unframe<'a>(key: &Key, framed: &'a [u8]) -> Option<&'a [u8]> {
    let (head, value) = framed.split_at_checked(HEAD)?;
    let rest = head.strip_prefix(&MAGIC)?.strip_prefix(&key.0)?;
    let (length, hash) = rest.split_at_checked(8)?;
    let whole = length == (value.len() as u64).to_le_bytes() && hash == blake3::hash(value).as_bytes();
    whole.then_some(value)
}
