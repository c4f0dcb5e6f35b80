//! Cancellation as a value: a cancelled computation unwinds inside of the database, and callers get an error.

use std::panic::AssertUnwindSafe;

use crate::Database;

/// The result is no longer wanted: a change is waiting, or the caller cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

impl std::fmt::Display for Cancelled {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}

/// An answer, unless it was cancelled.
pub type Cancellable<T> = Result<T, Cancelled>;

/// Cancels running queries of one handle of a database, from another thread.
#[derive(Clone, Debug)]
pub struct Canceller {
    token: salsa::CancellationToken,
}

impl Canceller {
    /// Cancels the current query and all later ones of that handle.
    pub fn cancel(&self) {
        self.token.cancel();
    }
}

impl Database {
    /// A canceller of this handle of the database.
    pub fn canceller(&self) -> Canceller {
        Canceller { token: salsa::Database::cancellation_token(self) }
    }

    /// Runs queries that may be cancelled.
    ///
    /// # Errors
    /// A write is waiting, or a canceller was used.
    pub fn cancellable<T>(&self, ask: impl FnOnce(&Database) -> T) -> Cancellable<T> {
        salsa::Cancelled::catch(AssertUnwindSafe(|| ask(self))).map_err(|_| Cancelled)
    }
}
