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
pub struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// A key for values of a schema, made by a build.
    pub fn new(schema: &str, build: &str) -> KeyBuilder {
        let mut builder = KeyBuilder(blake3::Hasher::new());
        builder.with(&(schema, build, usize::BITS));
        builder
    }

    /// Adds a value.
    pub fn with<T: Hash + ?Sized>(&mut self, value: &T) -> &mut KeyBuilder {
        value.hash(&mut Bytes(&mut self.0));
        self
    }

    /// The key.
    pub fn finish(&self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}

struct Bytes<'a>(&'a mut blake3::Hasher);

impl Hasher for Bytes<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        // Required by the trait and unused: keys take the whole hash.
        let hash = self.0.finalize();
        hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }
}
