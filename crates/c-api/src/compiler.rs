//! The object of a handle: a text, and the result of its last compile.

use std::sync::{Mutex, MutexGuard, PoisonError};

use oriole_ptxas::{Form, Log, Severity};

use crate::Code;
use crate::steps::{Flow, compile, text_of};

/// A text and its results.
pub struct Compiler {
    text: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    program: Option<Vec<u8>>,
    errors: String,
    info: String,
    flow: Option<Flow>,
}

impl Compiler {
    /// A text to compile.
    pub fn new(bytes: &[u8]) -> Compiler {
        Compiler { text: text_of(bytes), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A compile that panicked has left nothing half-written: results are stored at its end.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the function that decides whether to cancel.
    pub fn set_flow(&self, flow: Flow) {
        self.state().flow = Some(flow);
    }

    /// Compiles the text with ptxas's options.
    pub fn compile(&self, words: &[String]) -> Code {
        let mut state = self.state();
        let state = &mut *state;
        (state.program, state.errors, state.info) = (None, String::new(), String::new());
        let mut log = Log::new("ptxas", Form::Library);
        let ended = compile(&self.text, words, &mut log, state.flow.as_mut());
        if let Err(Code::Cancelled) = ended {
            // Incomplete messages are useless.
            return Code::Cancelled;
        }
        sort(&log, &mut state.errors, &mut state.info);
        match ended {
            Ok(program) => {
                state.program = Some(program);
                Code::Success
            }
            Err(code) => code,
        }
    }

    /// The program of the last compile, if it succeeded.
    pub fn with_program<T>(&self, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.state().program.as_deref().map(take)
    }

    /// The errors of the last compile.
    pub fn with_errors<T>(&self, take: impl FnOnce(&str) -> T) -> T {
        take(&self.state().errors)
    }

    /// The other messages of the last compile.
    pub fn with_info<T>(&self, take: impl FnOnce(&str) -> T) -> T {
        take(&self.state().info)
    }
}

/// Adds the messages of a compile to two logs: errors, and other messages.
pub(crate) fn sort(log: &Log, errors: &mut String, info: &mut String) {
    for entry in log.entries() {
        match entry.severity {
            Severity::Info | Severity::Warning => info.push_str(&entry.text),
            Severity::Error | Severity::Fatal => errors.push_str(&entry.text),
        }
    }
}
