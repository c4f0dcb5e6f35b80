//! The log of executed queries: which query ran, for which unit, for which configuration.
//!
//! An execution is named in words that survive edits (a unit's kind, name and occurrence), never by salsa's ids,
//! so that two logs can be compared. Tests of incrementality and `oriole watch --explain` read it.

use std::fmt;
use std::sync::Mutex;

use crate::{Config, Db, FunctionUnit, SourceFile};

/// What a query is keyed by.
#[derive(Clone, Copy)]
pub enum Place<'db> {
    /// The session.
    Session,
    /// A file.
    File(SourceFile),
    /// A file and a name in it.
    Name(SourceFile, &'db str),
    /// A configuration.
    Config(Config),
    /// A unit.
    Unit(FunctionUnit<'db>),
    /// A unit and a configuration.
    UnitConfig(FunctionUnit<'db>, Config),
    /// A file and a configuration.
    FileConfig(SourceFile, Config),
    /// A routine of the compiler and a configuration.
    Routine(&'static str, Config),
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

/// The executed queries since the log was last taken, in order of execution.
#[derive(Default)]
pub struct ExecutionLog {
    executions: Mutex<Vec<Execution>>,
}

impl ExecutionLog {
    pub(crate) fn note(&self, db: &dyn Db, query: &'static str, place: Place<'_>) {
        let (unit, config) = match place {
            Place::Session | Place::File(_) => (String::new(), None),
            Place::Name(_, name) => (name.to_owned(), None),
            Place::Config(config) | Place::FileConfig(_, config) => (String::new(), Some(config)),
            Place::Unit(unit) => (unit.label(db), None),
            Place::UnitConfig(unit, config) => (unit.label(db), Some(config)),
            Place::Routine(name, config) => (format!("routine {name}"), Some(config)),
        };
        let config = config.map_or_else(String::new, |config| config.label(db));
        self.lock().push(Execution { query, unit, config });
    }

    /// Takes what was logged since the last call.
    pub fn take(&self) -> Vec<Execution> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Execution>> {
        // A panic elsewhere leaves a list of finished pushes behind, which is still good.
        self.executions.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
