//! The content store: finished values by the hash of everything that they were computed from.
//!
//! The query layer can look up a value without knowing where values are stored. This crate holds keys, the frame around
//! a stored value, the mode of use and a bounded store in memory. It knows nothing of a value's meaning; files, clocks
//! and the environment never enter: a store on disk belongs to the host.

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

/// A place where values are stored. It may drop any value at any time, and it may return anything: a result is checked
/// against its frame before use.
pub trait Store: Send + Sync {
    /// The frame that is stored under a key.
    fn get(&self, key: &Key) -> Option<Arc<[u8]>>;
    /// Stores a frame, if the store can.
    fn put(&self, key: &Key, framed: Arc<[u8]>);
    /// Drops the frame under a key, which was found damaged.
    fn remove(&self, key: &Key);
    /// Whether it stores anything; if not, values need no frame.
    fn keeps(&self) -> bool {
        true
    }
    /// Waits for a short time until values that are stored in the background are stored.
    fn finish(&self) {}
}

/// The bytes of a value, shared by its creator and the memory of a cache.
pub type Value = triomphe::Arc<Vec<u8>>;

/// The mode of use of a store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// Not at all.
    #[default]
    Off,
    /// Values are looked up, none is stored.
    Read,
    /// Values are looked up, and new ones are stored.
    Write,
    /// Values are looked up and computed all the same; the two must be equal. New ones are stored.
    Verify,
}

/// A word that names no mode.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is none of off, read, write, verify")]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Mode, UnknownMode> {
        match text {
            "off" => Ok(Mode::Off),
            "read" => Ok(Mode::Read),
            "write" => Ok(Mode::Write),
            "verify" => Ok(Mode::Verify),
            _ => Err(UnknownMode(text.to_owned())),
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

/// Statistics of a cache.
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

/// A store, its mode, and statistics.
pub struct Cache {
    /// Values that this process found or stored. They are known to be complete, so that they need no frame.
    memory: Option<Memory<Value>>,
    store: Option<Box<dyn Store>>,
    mode: Mode,
    hits: AtomicU64,
    misses: AtomicU64,
    damaged: AtomicU64,
    kept: AtomicU64,
}

impl Cache {
    /// A cache over a store.
    pub fn new(store: Box<dyn Store>, mode: Mode) -> Cache {
        Cache::with(None, Some(store), mode)
    }

    /// A cache with a memory of `limit` bytes, which it consults before the store if there is one.
    pub fn remembering(limit: usize, store: Option<Box<dyn Store>>, mode: Mode) -> Cache {
        Cache::with(Some(Memory::new(limit)), store, mode)
    }

    fn with(memory: Option<Memory<Value>>, store: Option<Box<dyn Store>>, mode: Mode) -> Cache {
        let zero = || AtomicU64::new(0);
        Cache { memory, store, mode, hits: zero(), misses: zero(), damaged: zero(), kept: zero() }
    }

    /// Its mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The value under a key, as decoded by `read`. Damage, or a value that `read` cannot decode, is a miss.
    pub fn find<T>(&self, key: &Key, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        if self.mode == Mode::Off {
            return None;
        }
        let remembered = self.memory.as_ref().and_then(|memory| memory.value(key));
        let (found, damaged) = match remembered {
            Some(value) => (read(&value), false),
            None => self.find_in_store(key, read),
        };
        if found.is_none() {
            self.misses.fetch_add(1, Ordering::Relaxed);
            self.damaged.fetch_add(u64::from(damaged), Ordering::Relaxed);
        } else {
            self.hits.fetch_add(1, Ordering::Relaxed);
        }
        found
    }

    /// The value in the store; and whether there was an invalid one, which is dropped.
    fn find_in_store<T>(&self, key: &Key, read: impl FnOnce(&Value) -> Option<T>) -> (Option<T>, bool) {
        let Some(store) = &self.store else { return (None, false) };
        let Some(framed) = store.get(key) else { return (None, false) };
        let value = unframe(key, &framed).map(|value| Value::new(value.to_vec()));
        let found = value.as_ref().and_then(read);
        match (&found, &self.memory, value) {
            (None, ..) => store.remove(key),
            (Some(_), Some(memory), Some(value)) => memory.keep(key, value),
            _ => {}
        }
        let damaged = found.is_none();
        (found, damaged)
    }

    /// Stores a value, if the mode allows it.
    pub fn keep(&self, key: &Key, value: impl Into<Value>) {
        if !matches!(self.mode, Mode::Write | Mode::Verify) {
            return;
        }
        self.kept.fetch_add(1, Ordering::Relaxed);
        let value = value.into();
        if let Some(store) = self.store.as_ref().filter(|store| store.keeps()) {
            store.put(key, frame(key, &value).into());
        }
        if let Some(memory) = &self.memory {
            memory.keep(key, value);
        }
    }

    /// Waits for a short time for values that are stored in the background. A process calls it before it ends.
    pub fn finish(&self) {
        if let Some(store) = &self.store {
            store.finish();
        }
    }

    /// The statistics so far.
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
