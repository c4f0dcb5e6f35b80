//! Compiled code as shown in the editor: the newest result, or if there is none the last good one, moved with the text.
//!
//! Features get the code of functions and the images of kernels here. The last good results themselves are in
//! `last_good.rs`.

use std::sync::Arc;

use oriole_chip::Chip;
use oriole_hir::from_raw_index;
use oriole_inputs::{Config, FunctionUnit};
use oriole_options::Options;
use oriole_queries::{files, functions, images, inlined};

use crate::last_good::{Compiled, Image, Key};
use crate::snapshot::{Lacks, Snapshot};
use crate::{FileId, Range};

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

impl Snapshot {
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
            return self.known(unit, config, last(), options);
        }
        let fresh = match (functions::encoded(db, unit, config), functions::facts(db, unit, config)) {
            (Ok(code), Ok(facts)) => Some(Arc::new(Compiled {
                facts: facts.clone(),
                code: code.clone(),
                map: files::source_map(db, unit).clone(),
                text: Arc::clone(unit.text(db)),
                body: inlined::code(db, unit, config).cloned(),
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
        config: Config,
        last: Option<Arc<Compiled>>,
        options: &Options,
    ) -> Option<Shown> {
        let db = &self.db;
        let Some(last) = last else {
            self.lacks.iter().for_each(Lacks::note);
            return None;
        };
        let body = inlined::code(db, unit, config);
        if body.is_none() || body != last.body.as_ref() || *options != last.options {
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
