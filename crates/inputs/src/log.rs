//! The log of executed queries: which query ran, for which unit, for which configuration.
//!
//! An execution is named by text that survives edits (a unit's kind, name and occurrence), never by salsa's ids, so
//! that two logs can be compared. Tests of incrementality and `oriole watch --explain` read it; the server reports from
//! it the executions of the last edit, with their causes.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Mutex;

use crate::Place;
use crate::thread::{next_query, unheard};

/// One executed query.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Execution {
    /// The query's name in the graph.
    pub query: &'static str,
    /// The unit's kind and name, or the looked-up name, or nothing.
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

/// The executions that an edit caused: in order, each with its first changed dependency.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edit {
    /// The executions. A query has no cause if no dependency changed: its result had never been requested, or was
    /// evicted.
    pub executions: Vec<(Execution, Option<Cause>)>,
    /// Number of executions beyond those.
    pub left_out: usize,
}

/// A dependency of a query that an edit had changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The result of another query.
    Query(Execution),
    /// A field of an input or of a unit.
    Field(String),
}

/// The maximum number of recorded executions of one edit.
const MOST: usize = 1 << 16;

/// The executed queries: each since the log was last taken, or for an endless session the count of each, and on request
/// the executions since the last edit with their causes.
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
    /// Executions by the database's name for them.
    names: HashMap<String, usize>,
    left_out: usize,
}

impl ExecutionLog {
    /// A log that keeps each execution until it is taken.
    pub(crate) fn of_each() -> ExecutionLog {
        ExecutionLog { kept: Mutex::new(Kept::Each(Vec::new())) }
    }

    /// A log that counts, with bounded memory.
    pub(crate) fn of_counts() -> ExecutionLog {
        ExecutionLog { kept: Mutex::new(Kept::Counts(BTreeMap::new(), None)) }
    }

    /// Records an execution; returns its index in the record of the last edit if there is one.
    pub(crate) fn note(
        &self,
        db: &dyn salsa::Database,
        query: &'static str,
        place: Place<'_>,
    ) -> Option<usize> {
        // An execution is formatted before the lock is taken, and only if it is kept.
        if let Kept::Counts(counts, recorded) = &mut *self.lock() {
            *counts.entry(query).or_default() += 1;
            recorded.as_ref()?;
        }
        let (unit, config) = unheard(|| place.words(db));
        let execution = Execution { query, unit, config };
        let name = next_query();
        match &mut *self.lock() {
            Kept::Each(executions) => {
                executions.push(execution);
                None
            }
            Kept::Counts(_, recorded) => recorded.as_mut()?.add(execution, name),
        }
    }

    /// Takes the last record of an execution back: it only looked something up. The record of an edit keeps it.
    pub(crate) fn take_back(&self, db: &dyn salsa::Database, query: &'static str, place: Place<'_>) {
        if let Kept::Counts(counts, _) = &mut *self.lock() {
            if let Some(count) = counts.get_mut(query) {
                *count = count.saturating_sub(1);
            }
            return;
        }
        let (unit, config) = unheard(|| place.words(db));
        let execution = Execution { query, unit, config };
        if let Kept::Each(executions) = &mut *self.lock()
            && let Some(at) = executions.iter().rposition(|other| *other == execution)
        {
            executions.remove(at);
        }
    }

    /// Records that an execution read a dependency, by the database's name for it, which changed in this revision.
    pub(crate) fn read(&self, execution: usize, name: &str, changed: u64) {
        if let Kept::Counts(_, Some(recorded)) = &mut *self.lock()
            && changed > recorded.before
            && let Some((_, cause @ None)) = recorded.executions.get_mut(execution)
        {
            *cause = Some(name.to_owned());
        }
    }

    /// Begins the record of an edit, if records are enabled: later executions are compared with `revision`, the last
    /// one before the edit.
    pub fn begin_edit(&self, revision: salsa::Revision) {
        if let Kept::Counts(_, Some(recorded)) = &mut *self.lock() {
            *recorded = Recorded { before: revision_number(&format!("{revision:?}")), ..Recorded::default() };
        }
    }

    /// Sets whether a log that counts also records the executions of edits. A record begins with the next edit.
    pub fn record_edits(&self, wanted: bool) {
        if let Kept::Counts(_, recorded) = &mut *self.lock()
            && recorded.is_some() != wanted
        {
            *recorded = wanted.then(|| Recorded { before: u64::MAX, ..Recorded::default() });
        }
    }

    /// The executions of the last edit, from a log that records them.
    pub fn last_edit(&self) -> Option<Edit> {
        match &*self.lock() {
            Kept::Counts(_, Some(recorded)) => Some(recorded.edit()),
            _ => None,
        }
    }

    /// Takes the entries since the last call, in order of execution; empty for a log that only counts.
    pub fn take(&self) -> Vec<Execution> {
        match &mut *self.lock() {
            Kept::Each(executions) => std::mem::take(executions),
            Kept::Counts(..) => Vec::new(),
        }
    }

    /// The number of executions of each query, from a log that counts.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        match &*self.lock() {
            Kept::Each(_) => BTreeMap::new(),
            Kept::Counts(counts, _) => counts.clone(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // A panic elsewhere leaves complete entries, which are still valid.
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

/// The number of a revision such as `R2`.
pub(crate) fn revision_number(revision: &str) -> u64 {
    revision.chars().filter(char::is_ascii_digit).fold(0, |number, digit| {
        number.saturating_mul(10).saturating_add(u64::from(digit.to_digit(10).unwrap_or_default()))
    })
}
