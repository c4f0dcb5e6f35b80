//! The log of executed queries: which query ran, for which unit, for which configuration.
//!
//! An execution is named in words that survive edits (a unit's kind, name and occurrence), never by salsa's ids,
//! so that two logs can be compared. Tests of incrementality and `oriole watch --explain` read it; the server asks it
//! what the last edit made run, and why.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::span::EnteredSpan;

use crate::reads;
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

/// What an edit made run: executions in order, each with what it read first that the edit had changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edit {
    /// The executions. Nothing is known of a query's cause if all that it read was as before the edit: its result had
    /// never been asked for, or was dropped.
    pub executions: Vec<(Execution, Option<Cause>)>,
    /// How many executions there were beyond those.
    pub left_out: usize,
}

/// What a query read that an edit had changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The result of another query.
    Query(Execution),
    /// A field of an input or of a unit.
    Field(String),
}

/// The most executions that are kept of one edit.
const MOST: usize = 1 << 16;

/// The executed queries: each since the log was last taken, or for a session without end how often each ran, and if
/// wanted what ran since the last edit and why.
pub struct ExecutionLog {
    kept: Mutex<Kept>,
}

enum Kept {
    Each(Vec<Execution>),
    Counts(BTreeMap<&'static str, u64>, Option<Recorded>),
}

/// Executions since an edit.
#[derive(Default)]
struct Recorded {
    /// The last revision before the edit.
    before: u64,
    executions: Vec<(Execution, Option<String>)>,
    /// Executions by the name that the database has for them.
    names: HashMap<String, usize>,
    left_out: usize,
}

impl ExecutionLog {
    /// A log that keeps each execution until it is taken.
    pub(crate) fn of_each() -> ExecutionLog {
        ExecutionLog { kept: Mutex::new(Kept::Each(Vec::new())) }
    }

    /// A log that counts, and takes no more room however long it does.
    pub(crate) fn of_counts() -> ExecutionLog {
        ExecutionLog { kept: Mutex::new(Kept::Counts(BTreeMap::new(), None)) }
    }

    /// Notes an execution; gives its number in the record of the last edit if there is one.
    pub(crate) fn note(&self, db: &dyn Db, query: &'static str, place: Place<'_>) -> Option<usize> {
        // An execution is put into words before the lock is taken, and only if it is kept.
        if let Kept::Counts(counts, recorded) = &mut *self.lock() {
            *counts.entry(query).or_default() += 1;
            recorded.as_ref()?;
        }
        let (unit, config) = reads::unheard(|| place.words(db));
        let execution = Execution { query, unit, config };
        let name = reads::executing();
        match &mut *self.lock() {
            Kept::Each(executions) => {
                executions.push(execution);
                None
            }
            Kept::Counts(_, recorded) => recorded.as_mut()?.add(execution, name),
        }
    }

    /// Notes that an execution read something, by the database's name for it, which changed in this revision.
    pub(crate) fn read(&self, execution: usize, name: &str, changed: u64) {
        if let Kept::Counts(_, Some(recorded)) = &mut *self.lock()
            && changed > recorded.before
            && let Some((_, cause @ None)) = recorded.executions.get_mut(execution)
        {
            *cause = Some(name.to_owned());
        }
    }

    /// Begins the record of an edit, if records are wanted: what is noted from here on is compared with `revision`,
    /// the last one before the edit.
    pub fn begin_edit(&self, revision: salsa::Revision) {
        if let Kept::Counts(_, Some(recorded)) = &mut *self.lock() {
            *recorded = Recorded { before: reads::number(&format!("{revision:?}")), ..Recorded::default() };
        }
    }

    /// Whether a log that counts also records what edits make run. A record begins with the next edit.
    pub fn record_edits(&self, wanted: bool) {
        if let Kept::Counts(_, recorded) = &mut *self.lock()
            && recorded.is_some() != wanted
        {
            *recorded = wanted.then(|| Recorded { before: u64::MAX, ..Recorded::default() });
        }
    }

    /// What the last edit made run, of a log that records it.
    pub fn last_edit(&self) -> Option<Edit> {
        match &*self.lock() {
            Kept::Counts(_, Some(recorded)) => Some(recorded.edit()),
            _ => None,
        }
    }

    /// Takes what was logged since the last call, in order of execution; nothing of a log that only counts.
    pub fn take(&self) -> Vec<Execution> {
        match &mut *self.lock() {
            Kept::Each(executions) => std::mem::take(executions),
            Kept::Counts(..) => Vec::new(),
        }
    }

    /// How often each query ran, of a log that counts.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        match &*self.lock() {
            Kept::Each(_) => BTreeMap::new(),
            Kept::Counts(counts, _) => counts.clone(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // A panic elsewhere leaves finished notes behind, which are still good.
        self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Recorded {
    fn add(&mut self, execution: Execution, name: Option<String>) -> Option<usize> {
        let number = self.executions.len();
        if number == MOST {
            self.left_out += 1;
            return Some(MOST);
        }
        self.executions.push((execution, None));
        self.names.extend(name.map(|name| (name, number)));
        Some(number)
    }

    fn edit(&self) -> Edit {
        let cause = |name: &String| match self.names.get(name) {
            Some(&number) => Cause::Query(self.executions[number].0.clone()),
            None => Cause::Field(name.split('(').next().unwrap_or(name).to_owned()),
        };
        let executions =
            self.executions.iter().map(|(it, name)| (it.clone(), name.as_ref().map(cause))).collect();
        Edit { executions, left_out: self.left_out }
    }
}

/// The body of a query runs; ends when it is dropped.
pub struct Running {
    _span: EnteredSpan,
    _reads: Option<reads::Reader>,
}

impl Running {
    pub(crate) fn new(span: EnteredSpan, log: Option<(&Arc<ExecutionLog>, usize)>) -> Running {
        Running { _span: span, _reads: log.map(|(log, number)| reads::Reader::begin(log, number)) }
    }
}
