//! Signatures: without the signing key no entry can be made that is used, and none can be found.

use std::fmt;

use oriole_store::Key;

/// A secret of all machines that share entries.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey([u8; 32]);

/// A text that is too short to be a secret.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a signing key has at least {LEAST} bytes")]
pub struct SigningKeyError;

/// Least bytes of a secret.
const LEAST: usize = 16;

const SIGNATURE: usize = 32;

impl SigningKey {
    /// The key of the bytes of a file, without line ends at its end.
    ///
    /// # Errors
    /// There are too few.
    pub fn new(secret: &[u8]) -> Result<SigningKey, SigningKeyError> {
        let end = secret.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
        if end < LEAST {
            return Err(SigningKeyError);
        }
        Ok(SigningKey(blake3::derive_key("oriole shared store, signing key, 1", &secret[..end])))
    }

    /// The name of a value.
    pub(crate) fn name(&self, key: &Key) -> Key {
        Key(*blake3::keyed_hash(&self.0, &key.0).as_bytes())
    }

    /// A frame with its signature.
    pub(crate) fn signed(&self, key: &Key, framed: &[u8]) -> Vec<u8> {
        let mut bytes = framed.to_vec();
        bytes.extend_from_slice(self.signature(key, framed).as_bytes());
        bytes
    }

    /// The frame, if its signature is right.
    pub(crate) fn checked<'a>(&self, key: &Key, signed: &'a [u8]) -> Option<&'a [u8]> {
        let (framed, signature) = signed.split_at_checked(signed.len().checked_sub(SIGNATURE)?)?;
        let signature: [u8; SIGNATURE] = signature.try_into().ok()?;
        // This comparison takes the same time wherever they differ.
        (self.signature(key, framed) == blake3::Hash::from(signature)).then_some(framed)
    }

    fn signature(&self, key: &Key, framed: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(b"entry").update(&key.0).update(framed);
        hasher.finalize()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_is_accepted() {
        let one = SigningKey::new(b"a secret of some length\n").unwrap();
        let other = SigningKey::new(b"another secret of some length").unwrap();
        let (key, elsewhere) = (Key([1; 32]), Key([2; 32]));
        let signed = one.signed(&key, b"value");
        assert_eq!(one.checked(&key, &signed), Some(&b"value"[..]));
        assert_eq!(other.checked(&key, &signed), None);
        assert_eq!(one.checked(&elsewhere, &signed), None);
        for at in 0..signed.len() {
            let mut changed = signed.clone();
            changed[at] ^= 1;
            assert_eq!(one.checked(&key, &changed), None);
            assert_eq!(one.checked(&key, &signed[..at]), None);
        }
        assert_ne!(one.name(&key), other.name(&key));
        assert!(SigningKey::new(b"short\n").is_err());
    }
}
