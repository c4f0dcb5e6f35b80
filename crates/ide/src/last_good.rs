//! Compiled functions and kernels, and the last good ones of each unit.
//!
//! Results are shared with the database; handles are kept here for the time without a result. A last good result
//! belongs to a unit by kind and name, so that it outlives any state in which the text does not compile. Nothing is
//! compiled here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use oriole_chip::Chip;
use oriole_cubin::KernelImage;
use oriole_hir::{Body, SourceMap};
use oriole_options::Options;
use oriole_pipeline::LinkedFunction;
use oriole_pipeline::facts::FunctionFacts;
use oriole_syntax::UnitKind;

use crate::FileId;

/// A function as it was compiled, with the text it was compiled from.
#[derive(Clone)]
pub(crate) struct Compiled {
    pub facts: triomphe::Arc<FunctionFacts>,
    pub code: triomphe::Arc<LinkedFunction>,
    pub map: Arc<SourceMap>,
    pub text: Arc<str>,
    /// Its resolved body, to recognize it in another database.
    pub body: Option<Arc<Body>>,
    pub options: Options,
}

/// A kernel laid out.
#[derive(Clone)]
pub(crate) struct Image {
    pub image: triomphe::Arc<KernelImage>,
    /// Name of each clone's function and its first byte in the kernel, the kernel itself first.
    pub members: Vec<(String, u32)>,
}

/// A unit of a file by kind and name, for a chip.
pub(crate) struct Key {
    pub file: FileId,
    pub chip: Chip,
    pub unit: UnitName,
}

type UnitName = (UnitKind, Arc<str>);

/// The results that are remembered for a unit.
#[derive(Clone, Default)]
pub(crate) struct Entry {
    pub compiled: Option<Arc<Compiled>>,
    pub image: Option<Image>,
    /// Time of the last update.
    noted: u64,
}

/// Number of remembered units that a file no longer has: those whose names are being edited.
const GONE: usize = 32;

/// The last good results.
#[derive(Default)]
pub(crate) struct LastGood {
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    of: BTreeMap<(FileId, Chip), BTreeMap<UnitName, Entry>>,
    clock: u64,
}

impl LastGood {
    fn with<T>(&self, act: impl FnOnce(&mut Entries) -> T) -> T {
        // Nothing that can panic runs under the lock.
        act(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The result that an entry has, if there is an entry.
    pub fn find<T>(&self, key: &Key, take: impl FnOnce(&Entry) -> Option<T>) -> Option<T> {
        self.with(|entries| entries.of.get(&(key.file, key.chip))?.get(&key.unit).and_then(take))
    }

    /// Updates the entry of a unit of a file with `units` units. A new name replaces the entry with the oldest update,
    /// once there are more names than the file can have.
    pub fn note(&self, key: Key, units: usize, act: impl FnOnce(&mut Entry)) {
        self.with(|entries| {
            entries.clock += 1;
            let known = entries.of.entry((key.file, key.chip)).or_default();
            if known.len() >= units + GONE && !known.contains_key(&key.unit) {
                let mut noted: Vec<u64> = known.values().map(|entry| entry.noted).collect();
                noted.sort_unstable();
                let oldest = noted[GONE / 2];
                known.retain(|_, entry| entry.noted >= oldest);
            }
            let entry = known.entry(key.unit).or_default();
            entry.noted = entries.clock;
            act(entry);
        });
    }

    /// Forgets a file.
    pub fn forget(&self, file: FileId) {
        self.with(|entries| entries.of.retain(|key, _| key.0 != file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_come_and_go_are_forgotten() {
        let good = LastGood::default();
        let unit = |name: String| (UnitKind::Entry, Arc::from(name));
        let key = |name: String| Key { file: FileId(0), chip: Chip::SM_90, unit: unit(name) };
        for number in 0..1000 {
            good.note(key("stays".to_owned()), 2, |_| ());
            good.note(key(format!("k{number}")), 2, |_| ());
        }
        let kept = good.with(|entries| entries.of[&(FileId(0), Chip::SM_90)].len());
        assert!((GONE / 2..=GONE + 2).contains(&kept), "{kept}");
        for name in ["stays", "k999", "k990"] {
            assert!(good.find(&key(name.to_owned()), |entry| Some(entry.noted)).is_some(), "{name}");
        }
    }
}
