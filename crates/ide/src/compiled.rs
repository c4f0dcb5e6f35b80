//! Compiled code as shown in the editor: the newest result, or if there is none the last good one, moved with the text.
//!
//! Results are shared with the database; handles are kept here for the time without a result. A last good result
//! belongs to a unit by kind and name, so that it outlives any state in which the text does not compile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use oriole_chip::Chip;
use oriole_cubin::KernelImage;
use oriole_hir::{Body, SourceMap, from_raw_index};
use oriole_inputs::FunctionUnit;
use oriole_options::Options;
use oriole_pipeline::LinkedFunction;
use oriole_pipeline::facts::FunctionFacts;
use oriole_queries::{files, functions, images};
use oriole_syntax::UnitKind;

use crate::{Analysis, FileId, Range};

/// A function as it was compiled, with the text it was compiled from.
#[derive(Clone)]
pub(crate) struct Compiled {
    pub facts: triomphe::Arc<FunctionFacts>,
    pub code: triomphe::Arc<LinkedFunction>,
    pub map: Arc<SourceMap>,
    pub text: Arc<str>,
    /// Its resolved body, to recognize it in another database.
    body: Option<Arc<Body>>,
    options: Options,
}

/// A kernel laid out.
#[derive(Clone)]
pub(crate) struct Image {
    pub image: triomphe::Arc<KernelImage>,
    /// Name of each clone's function and its first byte in the kernel, the kernel itself first.
    pub members: Vec<(String, u32)>,
}

/// A unit of a file by kind and name, for a chip.
struct Key {
    file: FileId,
    chip: Chip,
    unit: UnitName,
}

type UnitName = (UnitKind, Arc<str>);

#[derive(Clone, Default)]
struct Entry {
    compiled: Option<Arc<Compiled>>,
    image: Option<Image>,
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

    fn find<T>(&self, key: &Key, take: impl FnOnce(&Entry) -> Option<T>) -> Option<T> {
        self.with(|entries| entries.of.get(&(key.file, key.chip))?.get(&key.unit).and_then(take))
    }

    /// Updates the entry of a unit of a file with `units` units. A new name replaces the entry with the oldest update,
    /// once there are more names than the file can have.
    fn note(&self, key: Key, units: usize, act: impl FnOnce(&mut Entry)) {
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

/// Records whether an answer lacks information because code is not compiled yet.
#[derive(Clone, Debug, Default)]
pub struct Lacks(Arc<AtomicBool>);

impl Lacks {
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether an answer lacks anything.
    pub fn anything(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The difference of two texts: one replaced range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moved {
    /// Length of the common prefix.
    prefix: u32,
    /// Start of the common suffix in the old text.
    old_end: u32,
    /// Distance by which the suffix moved.
    delta: i64,
}

impl Moved {
    /// Compares two texts.
    pub fn between(old: &str, new: &str) -> Moved {
        let prefix = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
        let most = old.len().min(new.len()) - prefix;
        let ends = old.bytes().rev().zip(new.bytes().rev());
        let suffix = ends.take(most).take_while(|(old, new)| old == new).count();
        Moved {
            prefix: prefix as u32,
            old_end: (old.len() - suffix) as u32,
            delta: new.len() as i64 - old.len() as i64,
        }
    }

    /// The range of the old text in the new one; `None` if the change touched it.
    pub fn map(self, range: Range) -> Option<Range> {
        if range.end <= self.prefix {
            return Some(range);
        }
        let forward = |at: u32| u32::try_from(i64::from(at) + self.delta).ok();
        (range.start >= self.old_end).then(|| Some(Range::new(forward(range.start)?, forward(range.end)?)))?
    }
}

/// A compiled function, with the map from its statements to the current text.
#[derive(Clone)]
pub(crate) struct Shown {
    pub compiled: Arc<Compiled>,
    /// The text has changed since and does not compile.
    pub stale: bool,
    moved: Option<Moved>,
    /// First byte of the unit in its file.
    start: u32,
}

impl Shown {
    fn new(
        db: &dyn oriole_inputs::Db,
        unit: FunctionUnit<'_>,
        compiled: Arc<Compiled>,
        stale: bool,
    ) -> Shown {
        let moved = stale.then(|| Moved::between(&compiled.text, unit.text(db)));
        Shown { compiled, stale, moved, start: unit.start(db) }
    }

    /// A range of the compiled text, in the current file.
    pub fn now(&self, range: Range) -> Option<Range> {
        let range = match self.moved {
            Some(moved) => moved.map(range)?,
            None => range,
        };
        Some(range.shifted(self.start))
    }

    /// The range of a statement in the file.
    pub fn statement(&self, ordinal: u32) -> Option<Range> {
        self.now(Range::from(*self.compiled.map.instructions.get(ordinal as usize)?))
    }

    /// The name of a register of the source.
    pub fn register(&self, number: u32) -> &str {
        self.compiled.map.registers.get(from_raw_index(number)).map_or("?", |register| register.0.as_str())
    }

    /// The statements that meet a range of the file, with their places there.
    pub fn statements_in(&self, range: Range) -> Vec<(u32, Range)> {
        let all = 0..self.compiled.map.instructions.len() as u32;
        let placed = all.filter_map(|ordinal| Some((ordinal, self.statement(ordinal)?)));
        placed.filter(|(_, place)| place.meets(range)).collect()
    }
}

impl Analysis {
    /// The compiled function of a unit: the newest, or the last good one.
    pub(crate) fn compiled<'db>(
        &'db self,
        file: FileId,
        unit: FunctionUnit<'db>,
        chip: Chip,
    ) -> Option<Shown> {
        let db = &self.db;
        let config = self.config(file, chip)?;
        let key = Key { file, chip, unit: (unit.kind(db), unit.name(db).clone()) };
        let last = || self.good.find(&key, |entry| entry.compiled.clone());
        let options = self.options(file)?;
        if self.lacks.is_some() {
            return self.known(unit, last(), options);
        }
        let fresh = match (functions::encoded(db, unit, config), functions::facts(db, unit, config)) {
            (Ok(code), Ok(facts)) => Some(Arc::new(Compiled {
                facts: facts.clone(),
                code: code.clone(),
                map: files::source_map(db, unit).clone(),
                text: Arc::clone(unit.text(db)),
                body: files::body(db, unit).clone(),
                options: options.clone(),
            })),
            _ => None,
        };
        match fresh {
            Some(compiled) => {
                self.good.note(key, self.units(file), |entry| entry.compiled = Some(compiled.clone()));
                Some(Shown::new(db, unit, compiled, false))
            }
            None => last().map(|compiled| Shown::new(db, unit, compiled, true)),
        }
    }

    fn units(&self, file: FileId) -> usize {
        self.ptx(file).map_or(0, |source| files::split_file(&self.db, source).len())
    }

    /// The result that another host has compiled for a unit: fresh if the bodies are equal.
    fn known<'db>(
        &'db self,
        unit: FunctionUnit<'db>,
        last: Option<Arc<Compiled>>,
        options: &Options,
    ) -> Option<Shown> {
        let db = &self.db;
        let Some(last) = last else {
            self.lacks.iter().for_each(Lacks::note);
            return None;
        };
        let body = files::body(db, unit);
        if body.is_none() || *body != last.body || *options != last.options {
            return Some(Shown::new(db, unit, last, true));
        }
        // The same statements, perhaps at other places.
        let (map, text) = (files::source_map(db, unit).clone(), Arc::clone(unit.text(db)));
        Some(Shown::new(db, unit, Arc::new(Compiled { map, text, ..Compiled::clone(&last) }), false))
    }

    /// The image of a kernel: the newest, or the last good one; and whether it is stale.
    pub(crate) fn image<'db>(
        &'db self,
        file: FileId,
        unit: FunctionUnit<'db>,
        chip: Chip,
    ) -> Option<(Image, bool)> {
        let db = &self.db;
        let config = self.config(file, chip)?;
        let key = Key { file, chip, unit: (unit.kind(db), unit.name(db).clone()) };
        if let Some(lacks) = &self.lacks {
            lacks.note();
            return None;
        }
        match images::kernel_image(db, unit, config) {
            Ok(image) => {
                let own = format!("${}$", image.name);
                let inner = image.functions.iter().map(|inner| {
                    (inner.name.strip_prefix(&own).unwrap_or(&inner.name).to_owned(), inner.offset)
                });
                let members = std::iter::once((image.name.clone(), image.own_start)).chain(inner).collect();
                let image = Image { image: image.clone(), members };
                self.good.note(key, self.units(file), |entry| entry.image = Some(image.clone()));
                Some((image, false))
            }
            Err(_) => {
                let last = self.good.find(&key, |entry| entry.image.clone());
                last.map(|image| (image, true))
            }
        }
    }

    /// The unit of a kernel or function with code.
    pub(crate) fn code_unit(&self, file: FileId, name: &str) -> Option<FunctionUnit<'_>> {
        let unit = files::definition(&self.db, self.ptx(file)?, Arc::from(name))?;
        unit.has_code(&self.db).then_some(unit)
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

    #[test]
    fn ranges_move_with_the_text() {
        let moved = Moved::between("abc def ghi", "abc xyz12 ghi");
        assert_eq!(moved.map(Range::new(0, 3)), Some(Range::new(0, 3)));
        assert_eq!(moved.map(Range::new(4, 7)), None);
        assert_eq!(moved.map(Range::new(8, 11)), Some(Range::new(10, 13)));
        let same = Moved::between("abc", "abc");
        assert_eq!(same.map(Range::new(0, 3)), Some(Range::new(0, 3)));
        let shorter = Moved::between("aaaa", "aa");
        assert_eq!(shorter.map(Range::new(0, 1)), Some(Range::new(0, 1)));
    }
}
