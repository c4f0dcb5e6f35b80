//! A store in memory that keeps what was used last, up to a number of bytes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Key, Store};

/// The store. What was asked for or kept longest ago goes first.
pub struct Memory {
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Value and time of last use.
    values: HashMap<Key, (Arc<[u8]>, u64)>,
    /// Keys by time of last use.
    order: BTreeMap<u64, Key>,
    /// Bytes of all values.
    bytes: usize,
    /// The next time.
    now: u64,
}

impl Kept {
    fn touch(&mut self, key: &Key) -> Option<Arc<[u8]>> {
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
            self.bytes -= value.len();
        }
    }
}

impl Memory {
    /// A store for so many bytes of values.
    pub fn new(limit: usize) -> Memory {
        Memory { limit, kept: Mutex::default() }
    }

    /// Bytes of all values that are kept.
    pub fn bytes(&self) -> usize {
        self.locked(|kept| kept.bytes)
    }

    fn locked<T>(&self, what: impl FnOnce(&mut Kept) -> T) -> T {
        // Nothing in here can panic half-way; a poisoned lock would only mean that a thread died elsewhere.
        what(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store for Memory {
    fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        self.locked(|kept| kept.touch(key))
    }

    fn put(&self, key: &Key, framed: Arc<[u8]>) {
        if framed.len() > self.limit {
            return;
        }
        self.locked(|kept| {
            kept.drop(key);
            kept.bytes += framed.len();
            let now = kept.now;
            kept.now += 1;
            kept.values.insert(*key, (framed, now));
            kept.order.insert(now, *key);
            while kept.bytes > self.limit {
                let Some((_, oldest)) = kept.order.first_key_value() else { break };
                let oldest = *oldest;
                kept.drop(&oldest);
            }
        });
    }

    fn remove(&self, key: &Key) {
        self.locked(|kept| kept.drop(key));
    }
}
