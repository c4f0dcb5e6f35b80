//! The query that a thread is about to run, and whether reads of the thread count.
//!
//! salsa reports both in events, without a query to name: the layer in `reads.rs` receives the events, and the log uses
//! what they say.

use std::cell::{Cell, RefCell};

thread_local! {
    /// The database's name of the next query of this thread.
    static NEXT: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Whether reads of this thread are ignored.
    static UNHEARD: Cell<bool> = const { Cell::new(false) };
}

/// Notes the database's name of the next query of this thread.
pub(crate) fn expect_query(name: &str) {
    NEXT.set(Some(name.to_owned()));
}

/// Takes the database's name of the next query of this thread.
pub(crate) fn next_query() -> Option<String> {
    NEXT.take()
}

/// Runs code whose reads are not those of the running query.
pub(crate) fn unheard<T>(act: impl FnOnce() -> T) -> T {
    let before = UNHEARD.replace(true);
    let result = act();
    UNHEARD.set(before);
    result
}

/// Whether reads of this thread are ignored.
pub(crate) fn is_unheard() -> bool {
    UNHEARD.get()
}
