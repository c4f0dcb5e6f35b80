//! The content store: finished values by the hash of everything that they were computed from.
//!
//! It is here so that the query layer can ask for a value without knowing where values are kept. It holds keys, the
//! frame around a stored value, the way of use and a bounded store in memory. It knows nothing of what a value means;
//! files, clocks and the environment never enter: a store on disk is the host's.

mod frame;
mod key;
mod memory;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use frame::{frame, unframe};
pub use key::{Key, KeyBuilder};
pub use memory::Memory;

/// A place where values are kept. It may forget any value at any time, and it may lie: what it gives back is checked
/// against its frame before anybody looks at it.
pub trait Store: Send + Sync {
    /// The frame that was kept under a key.
    fn get(&self, key: &Key) -> Option<Arc<[u8]>>;
    /// Keeps a frame. A store that cannot, does not.
    fn put(&self, key: &Key, framed: Arc<[u8]>);
    /// Drops what is kept under a key: it was found to be damaged.
    fn remove(&self, key: &Key);
}

/// How a store is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// Not at all.
    #[default]
    Off,
    /// Values are looked up, none is kept.
    Read,
    /// Values are looked up, and new ones are kept.
    Write,
    /// Values are looked up and computed all the same; the two must be equal. New ones are kept.
    Verify,
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Mode, String> {
        match text {
            "off" => Ok(Mode::Off),
            "read" => Ok(Mode::Read),
            "write" => Ok(Mode::Write),
            "verify" => Ok(Mode::Verify),
            _ => Err(format!("`{text}` is none of off, read, write, verify")),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Off => "off",
            Mode::Read => "read",
            Mode::Write => "write",
            Mode::Verify => "verify",
        })
    }
}

/// What a cache did since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counts {
    /// Values found.
    pub hits: u64,
    /// Values looked up and not found.
    pub misses: u64,
    /// Values found damaged; they count as misses too.
    pub damaged: u64,
    /// Values handed to the store.
    pub kept: u64,
}

/// A store, how it is used, and what that gave.
pub struct Cache {
    store: Box<dyn Store>,
    mode: Mode,
    hits: AtomicU64,
    misses: AtomicU64,
    damaged: AtomicU64,
    kept: AtomicU64,
}

impl Cache {
    /// A cache over a store.
    pub fn new(store: Box<dyn Store>, mode: Mode) -> Cache {
        let zero = || AtomicU64::new(0);
        Cache { store, mode, hits: zero(), misses: zero(), damaged: zero(), kept: zero() }
    }

    /// How it is used.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The value under a key, as `read` understands it. Damage, and a value that `read` does not understand, is a
    /// miss.
    pub fn find<T>(&self, key: &Key, read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        if self.mode == Mode::Off {
            return None;
        }
        let framed = self.store.get(key);
        let found = framed.as_deref().and_then(|framed| unframe(key, framed)).and_then(read);
        if found.is_none() {
            self.misses.fetch_add(1, Ordering::Relaxed);
            if framed.is_some() {
                self.damaged.fetch_add(1, Ordering::Relaxed);
                self.store.remove(key);
            }
        } else {
            self.hits.fetch_add(1, Ordering::Relaxed);
        }
        found
    }

    /// Keeps a value, if the cache is one that keeps.
    pub fn keep(&self, key: &Key, value: &[u8]) {
        if matches!(self.mode, Mode::Write | Mode::Verify) {
            self.kept.fetch_add(1, Ordering::Relaxed);
            self.store.put(key, frame(key, value).into());
        }
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            hits: read(&self.hits),
            misses: read(&self.misses),
            damaged: read(&self.damaged),
            kept: read(&self.kept),
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({}, {:?})", self.mode, self.counts())
    }
}
