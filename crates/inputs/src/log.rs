//! The log of executed queries: which query ran, for which unit, for which configuration.
//!
//! An execution is named in words that survive edits (a unit's kind, name and occurrence), never by salsa's ids,
//! so that two logs can be compared. Tests of incrementality and `oriole watch --explain` read it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use crate::{ChipKey, Config, Db, FunctionUnit, SourceFile};

/// What a query is keyed by.
#[derive(Clone, Copy)]
pub enum Place<'db> {
    /// The session.
    Session,
    /// A file.
    File(SourceFile),
    /// A file and a name in it.
    Name(SourceFile, &'db str),
    /// A chip.
    Chip(ChipKey<'db>),
    /// A configuration.
    Config(Config),
    /// A unit.
    Unit(FunctionUnit<'db>),
    /// A unit and a configuration.
    UnitConfig(FunctionUnit<'db>, Config),
    /// A file and a configuration.
    FileConfig(SourceFile, Config),
    /// A stage and a configuration.
    StageConfig(&'static str, Config),
    /// A routine of the compiler and a configuration.
    Routine(&'static str, Config),
}

impl Place<'_> {
    /// The unit's kind and name, or the name asked for, or nothing; and the chip of the configuration, or nothing.
    pub(crate) fn words(self, db: &dyn Db) -> (String, String) {
        let (unit, config) = match self {
            Place::Chip(chip) => return (String::new(), chip.chip(db).to_string()),
            Place::Session | Place::File(_) => (String::new(), None),
            Place::Name(_, name) => (name.to_owned(), None),
            Place::Config(config) | Place::FileConfig(_, config) => (String::new(), Some(config)),
            Place::Unit(unit) => (unit.label(db), None),
            Place::UnitConfig(unit, config) => (unit.label(db), Some(config)),
            Place::StageConfig(stage, config) => (format!("stage {stage}"), Some(config)),
            Place::Routine(name, config) => (format!("routine {name}"), Some(config)),
        };
        (unit, config.map_or_else(String::new, |config| config.label(db)))
    }
}

/// One executed query.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Execution {
    /// The query's name in the graph.
    pub query: &'static str,
    /// The unit's kind and name, or the name asked for, or nothing.
    pub unit: String,
    /// The chip of the configuration, or nothing.
    pub config: String,
}

impl fmt::Display for Execution {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.query)?;
        for part in [&self.unit, &self.config] {
            if !part.is_empty() {
                write!(out, " {part}")?;
            }
        }
        Ok(())
    }
}

/// The executed queries: each since the log was last taken, or for a session without end how often each ran.
pub struct ExecutionLog {
    kept: Mutex<Kept>,
}

enum Kept {
    Each(Vec<Execution>),
    Counts(BTreeMap<&'static str, u64>),
}

impl ExecutionLog {
    /// A log that keeps each execution until it is taken.
    pub(crate) fn of_each() -> ExecutionLog {
        ExecutionLog { kept: Mutex::new(Kept::Each(Vec::new())) }
    }

    /// A log that counts, and takes no more room however long it does.
    pub(crate) fn of_counts() -> ExecutionLog {
        ExecutionLog { kept: Mutex::new(Kept::Counts(BTreeMap::new())) }
    }

    pub(crate) fn note(&self, db: &dyn Db, query: &'static str, place: Place<'_>) {
        // An execution is put into words before the lock is taken, and only if it is kept.
        if let Kept::Counts(counts) = &mut *self.lock() {
            *counts.entry(query).or_default() += 1;
            return;
        }
        let (unit, config) = place.words(db);
        if let Kept::Each(executions) = &mut *self.lock() {
            executions.push(Execution { query, unit, config });
        }
    }

    /// Takes what was logged since the last call, in order of execution; nothing of a log that only counts.
    pub fn take(&self) -> Vec<Execution> {
        match &mut *self.lock() {
            Kept::Each(executions) => std::mem::take(executions),
            Kept::Counts(_) => Vec::new(),
        }
    }

    /// How often each query ran, of a log that counts.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        match &*self.lock() {
            Kept::Each(_) => BTreeMap::new(),
            Kept::Counts(counts) => counts.clone(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // A panic elsewhere leaves finished notes behind, which are still good.
        self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
