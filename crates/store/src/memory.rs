//! An LRU store in memory, bounded in bytes.

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Key, Store};

/// The store, of values that share their bytes. The least recently used one is evicted first.
pub struct Memory<V = Arc<[u8]>> {
    limit: usize,
    kept: Mutex<Kept<V>>,
}

struct Kept<V> {
    /// Value and time of last use.
    values: HashMap<Key, (V, u64)>,
    /// Keys by time of last use.
    order: BTreeMap<u64, Key>,
    /// Bytes of all values.
    bytes: usize,
    /// The next time.
    now: u64,
}

impl<V> Default for Kept<V> {
    fn default() -> Kept<V> {
        Kept { values: HashMap::new(), order: BTreeMap::new(), bytes: 0, now: 0 }
    }
}

impl<V: Clone + Deref<Target: AsRef<[u8]>>> Kept<V> {
    fn touch(&mut self, key: &Key) -> Option<V> {
        let (value, used) = self.values.get_mut(key)?;
        self.order.remove(used);
        *used = self.now;
        self.order.insert(self.now, *key);
        self.now += 1;
        Some(value.clone())
    }

    fn drop(&mut self, key: &Key) {
        if let Some((value, used)) = self.values.remove(key) {
            self.order.remove(&used);
            self.bytes -= value.as_ref().len();
        }
    }
}

impl<V: Clone + Deref<Target: AsRef<[u8]>>> Memory<V> {
    /// A store for `limit` bytes of values.
    pub fn new(limit: usize) -> Memory<V> {
        Memory { limit, kept: Mutex::default() }
    }

    /// Bytes of all stored values.
    pub fn bytes(&self) -> usize {
        self.locked(|kept| kept.bytes)
    }

    /// The value under a key.
    pub fn value(&self, key: &Key) -> Option<V> {
        self.locked(|kept| kept.touch(key))
    }

    /// Stores a value.
    pub fn keep(&self, key: &Key, value: V) {
        let length = value.as_ref().len();
        if length > self.limit {
            return;
        }
        self.locked(|kept| {
            kept.drop(key);
            kept.bytes += length;
            let now = kept.now;
            kept.now += 1;
            kept.values.insert(*key, (value, now));
            kept.order.insert(now, *key);
            while kept.bytes > self.limit {
                let Some((_, oldest)) = kept.order.first_key_value() else { break };
                let oldest = *oldest;
                kept.drop(&oldest);
            }
        });
    }

    /// Drops the value under a key.
    pub fn forget(&self, key: &Key) {
        self.locked(|kept| kept.drop(key));
    }

    fn locked<T>(&self, what: impl FnOnce(&mut Kept<V>) -> T) -> T {
        // Nothing in here can panic half-way; a poisoned lock would only mean that a thread died elsewhere.
        what(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// As a store of frames.
impl Store for Memory {
    fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        self.value(key)
    }

    fn put(&self, key: &Key, framed: Arc<[u8]>) {
        self.keep(key, framed);
    }

    fn remove(&self, key: &Key) {
        self.forget(key);
    }
}
