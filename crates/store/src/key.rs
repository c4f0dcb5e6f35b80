//! Keys: a hash of everything that a value depends on.

use std::fmt;
use std::hash::{Hash, Hasher};

/// The key of a value: 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub [u8; 32]);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Hashes everything that a value depends on. Values are added by their `Hash`, which is the same in every process of
/// one build on one kind of machine: so the build must be added, too.
pub struct KeyBuilder {
    hasher: blake3::Hasher,
    /// Bytes that are not hashed yet: values come in pieces of a few bytes, and many bytes at a time are hashed faster.
    open: Vec<u8>,
}

/// Bytes that are hashed at a time.
const AT_ONCE: usize = 16 << 10;

impl KeyBuilder {
    /// A key for values of a schema, made by a build.
    pub fn new(schema: &str, build: &str) -> KeyBuilder {
        let mut builder = KeyBuilder { hasher: blake3::Hasher::new(), open: Vec::with_capacity(1 << 10) };
        builder.with(&(schema, build, usize::BITS));
        builder
    }

    /// Adds a value.
    pub fn with<T: Hash + ?Sized>(&mut self, value: &T) -> &mut KeyBuilder {
        value.hash(&mut Bytes(self));
        self
    }

    /// The key.
    pub fn finish(&self) -> Key {
        let mut hasher = self.hasher.clone();
        Key(*hasher.update(&self.open).finalize().as_bytes())
    }
}

struct Bytes<'a>(&'a mut KeyBuilder);

impl Hasher for Bytes<'_> {
    fn write(&mut self, bytes: &[u8]) {
        let KeyBuilder { hasher, open } = self.0;
        open.extend_from_slice(bytes);
        if open.len() >= AT_ONCE {
            hasher.update(open);
            open.clear();
        }
    }

    fn finish(&self) -> u64 {
        // Required by the trait and unused: keys take the whole hash.
        let key = self.0.finish();
        key.0[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }
}
