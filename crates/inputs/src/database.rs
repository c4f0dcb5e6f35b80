//! The database: salsa's storage and, for tests and for tools that explain, the log of executed queries. Each of them is a
//! `tracing` span as well.

use std::sync::Arc;

use oriole_store::Cache;

use tracing::debug_span;

use crate::{ExecutionLog, Place, Running};

/// What queries may ask of the database besides salsa's own operations.
#[salsa::db]
pub trait Db: salsa::Database {
    /// Notes that the body of a query runs. Every query calls it first, so that the log is the exact list of
    /// executions; without a log it does nothing.
    ///
    /// What it gives lives as long as the body runs: it is the query's span.
    fn executes(&self, query: &'static str, place: Place<'_>) -> Running;

    /// True if results of inner stages are kept for the next edit; a database that sees one text only needs the last
    /// one. It never changes during the life of a database, so queries may ask.
    fn keeps_stages(&self) -> bool;

    /// Where finished functions are looked up before they are compiled. It never changes during the life of a
    /// database, and what it gives is what compiling would give, so queries may ask.
    fn cache(&self) -> Option<&Cache>;
}

/// The database of a session. A clone is a handle to the same data for another thread; a write waits until all
/// clones are dropped, and cancels what they compute.
#[salsa::db]
#[derive(Clone, Default)]
pub struct Database {
    storage: salsa::Storage<Self>,
    log: Option<Arc<ExecutionLog>>,
    once: bool,
    cache: Option<Arc<Cache>>,
}

impl Database {
    /// A database for a single compile of each function: what inner stages give is dropped as soon as the next stage
    /// has read it.
    pub fn once() -> Database {
        Database::default().without_stages()
    }

    /// The database, keeping nothing of inner stages: a function of which anything changed is compiled from its body on, and
    /// there is less to keep and to verify. For a session whose options never change.
    pub fn without_stages(self) -> Database {
        Database { once: true, ..self }
    }

    /// The database with a store of finished functions.
    pub fn cached(self, cache: Arc<Cache>) -> Database {
        Database { cache: Some(cache), ..self }
    }

    /// A database that logs executed queries.
    pub fn with_log() -> Database {
        Database { log: Some(Arc::new(ExecutionLog::of_each())), ..Database::default() }
    }

    /// A database that counts executed queries.
    pub fn with_counts() -> Database {
        Database { log: Some(Arc::new(ExecutionLog::of_counts())), ..Database::default() }
    }

    /// A database that logs executed queries and passes salsa's own events to `observer`.
    pub fn with_observer(observer: Box<dyn Fn(salsa::Event) + Send + Sync>) -> Database {
        Database {
            storage: salsa::Storage::new(Some(observer)),
            log: Some(Arc::new(ExecutionLog::of_each())),
            ..Database::default()
        }
    }

    /// The log, if there is one; shared between clones.
    pub fn log(&self) -> Option<&ExecutionLog> {
        self.log.as_deref()
    }
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {
    fn executes(&self, query: &'static str, place: Place<'_>) -> Running {
        let noted = self.log.as_ref().and_then(|log| Some((log, log.note(self, query, place)?)));
        let span = debug_span!("query", name = query, unit = tracing::field::Empty);
        // A unit is put into words only if there is a subscriber.
        if !span.is_disabled() {
            span.record("unit", place.words(self).0);
        }
        Running::new(span.entered(), noted)
    }

    fn keeps_stages(&self) -> bool {
        !self.once
    }

    fn cache(&self) -> Option<&Cache> {
        self.cache.as_deref()
    }
}
