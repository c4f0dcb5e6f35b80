//! One database for the texts of many compiles, on several threads at once: what is computed once for a chip, its options and
//! its routines serves all of them, and an equal function or file is found in the store.
//!
//! Texts in a database are never freed. After a number of them the database is left to those that still use it, and another
//! one takes its place; the store stays. No text is ever changed here: a change would wait for the compiles of all others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oriole_chip::Chip;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::Options;
use oriole_store::{Cache, Mode};

use super::Opened;

/// Texts of a database, and bytes of them: what is computed for a text takes some hundred times its bytes.
const MOST_TEXTS: usize = 512;
const MOST_BYTES: usize = 1 << 20;

/// A database for texts of many compiles.
pub struct Shared {
    cache: Arc<Cache>,
    current: Mutex<Current>,
}

/// Configurations of a database. One of another database means nothing in it.
type Configs = Arc<Mutex<HashMap<(Chip, Options), Config>>>;

/// The database of now.
struct Current {
    db: Database,
    configs: Configs,
    texts: usize,
    bytes: usize,
}

impl Current {
    fn new(cache: &Arc<Cache>) -> Current {
        let db = Database::once().cached(cache.clone());
        Current { db, configs: Configs::default(), texts: 0, bytes: 0 }
    }
}

impl Shared {
    /// A database with a store of `memory` bytes.
    pub fn new(memory: usize) -> Shared {
        Shared::with(Arc::new(Cache::remembering(memory, None, Mode::Write)))
    }

    /// A database with a store of the caller's.
    pub fn with(cache: Arc<Cache>) -> Shared {
        let current = Mutex::new(Current::new(&cache));
        Shared { cache, current }
    }

    /// Opens a text for a compile, for a chip or the one that the text names.
    pub fn open(&self, text: &str, chip: Option<Chip>, options: &Options) -> Opened {
        let (db, configs, left) = {
            let mut current = locked(&self.current);
            let is_full = current.texts >= MOST_TEXTS || current.bytes >= MOST_BYTES;
            let left = is_full.then(|| std::mem::replace(&mut *current, Current::new(&self.cache)));
            current.texts += 1;
            current.bytes += text.len();
            (current.db.clone(), current.configs.clone(), left)
        };
        // Without the lock: it may be large.
        drop(left);
        let file = SourceFile::open(&db, text);
        let replaced = if chip.is_none() { oriole_queries::replaced_target(&db, file) } else { None };
        let chip = chip.unwrap_or_else(|| oriole_queries::target_chip(&db, file));
        let create = || Config::create(&db, chip, options);
        let config = *locked(&configs).entry((chip, options.clone())).or_insert_with(create);
        Opened { db, file, config, replaced }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves a database that others use as well, and whole entries.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
