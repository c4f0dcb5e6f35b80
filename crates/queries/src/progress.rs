//! Progress of a compile, for another thread that watches it.
//!
//! It is here because the driver alone knows which functions it has yet to compile. Whether and how it is shown is the program's.
//! A function costs the compile two locks without contention, so it need not be asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far a compile is.
#[derive(Default, Debug)]
pub struct Progress(Mutex<State>);

#[derive(Default, Debug)]
struct State {
    total: usize,
    done: usize,
    /// The functions in flight, the oldest first.
    current: Vec<Arc<str>>,
}

impl Progress {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves counts that are still counts.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the count of functions to compile.
    pub fn begin(&self, total: usize) {
        self.state().total = total;
    }

    /// Compiles a function.
    pub fn during(&self, name: &Arc<str>, compile: impl FnOnce()) {
        self.state().current.push(name.clone());
        compile();
        let mut state = self.state();
        state.done += 1;
        if let Some(at) = state.current.iter().position(|current| Arc::ptr_eq(current, name)) {
            state.current.remove(at);
        }
    }

    /// How many functions are compiled, and of how many; 0 of 0 before the first one.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state();
        (state.done, state.total)
    }

    /// The function that has been at work longest, of those that are being compiled.
    pub fn current(&self) -> Option<Arc<str>> {
        self.state().current.first().cloned()
    }
}
