//! Locks. A panic ends one request only, so a lock that a panic has poisoned is still used.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
