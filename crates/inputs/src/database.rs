//! The database: salsa's storage and, for tests and explaining tools, the log of executed queries. Each execution is a
//! `tracing` span as well.

use std::sync::Arc;

use oriole_store::Cache;

use tracing::debug_span;

use crate::{ExecutionLog, History, Place, Running};

/// The operations of the database for queries, in addition to salsa's own.
#[salsa::db]
pub trait Db: salsa::Database {
    /// Records that the body of a query runs. Every query calls it first, so that the log is the exact list of
    /// executions; without a log it does nothing.
    ///
    /// The result lives as long as the body runs: it is the query's span.
    fn executes(&self, query: &'static str, place: Place<'_>) -> Running;

    /// True if results of inner stages are kept for the next edit; a database with one text only needs the last one. It
    /// never changes during the life of a database, so queries may read it.
    fn keeps_stages(&self) -> bool;

    /// Results of stages with other options, if stages are kept. They equal what the stages would give, so queries may read them.
    fn history(&self) -> Option<&History>;

    /// Takes the record of an execution back: the result was found in the history.
    fn found(&self, query: &'static str, place: Place<'_>);

    /// The cache of finished functions, which is consulted before a compile. It never changes during the life of a
    /// database, and its values equal those of a compile, so queries may read it.
    fn cache(&self) -> Option<&Cache>;
}

/// The database of a session. A clone is a handle to the same data for another thread; a write waits until all clones
/// are dropped, and cancels their queries.
#[salsa::db]
#[derive(Clone, Default)]
pub struct Database {
    storage: salsa::Storage<Self>,
    log: Option<Arc<ExecutionLog>>,
    once: bool,
    history: Arc<History>,
    cache: Option<Arc<Cache>>,
}

impl Database {
    /// A database for a single compile of each function: results of inner stages are dropped as soon as the next stage
    /// has read them.
    pub fn once() -> Database {
        Database::default().without_stages()
    }

    /// The database without results of inner stages: a changed function is compiled from its body on, and there is less
    /// to keep and to verify. For a session whose options never change.
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
        // A unit is formatted only if there is a subscriber.
        if !span.is_disabled() {
            span.record("unit", place.words(self).0);
        }
        Running::new(span.entered(), noted)
    }

    fn keeps_stages(&self) -> bool {
        !self.once
    }

    fn history(&self) -> Option<&History> {
        self.keeps_stages().then_some(&*self.history)
    }

    fn found(&self, query: &'static str, place: Place<'_>) {
        if let Some(log) = &self.log {
            log.take_back(self, query, place);
        }
    }

    fn cache(&self) -> Option<&Cache> {
        self.cache.as_deref()
    }
}
