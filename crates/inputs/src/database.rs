//! The database: salsa's storage and, for tests and for tools that explain, the log of executed queries.

use std::sync::Arc;

use crate::{ExecutionLog, Place};

/// What queries may ask of the database besides salsa's own operations.
#[salsa::db]
pub trait Db: salsa::Database {
    /// Notes that the body of a query runs. Every query calls it first, so that the log is the exact list of
    /// executions; without a log it does nothing.
    fn executes(&self, query: &'static str, place: Place<'_>);
}

/// The database of a session. A clone is a handle to the same data for another thread; a write waits until all
/// clones are dropped, and cancels what they compute.
#[salsa::db]
#[derive(Clone, Default)]
pub struct Database {
    storage: salsa::Storage<Self>,
    log: Option<Arc<ExecutionLog>>,
}

impl Database {
    /// A database that logs executed queries.
    pub fn with_log() -> Database {
        Database { storage: salsa::Storage::default(), log: Some(Arc::default()) }
    }

    /// A database that logs executed queries and passes salsa's own events to `observer`.
    pub fn with_observer(observer: Box<dyn Fn(salsa::Event) + Send + Sync>) -> Database {
        Database { storage: salsa::Storage::new(Some(observer)), log: Some(Arc::default()) }
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
    fn executes(&self, query: &'static str, place: Place<'_>) {
        if let Some(log) = &self.log {
            log.note(self, query, place);
        }
    }
}
