//! Why a stage has no result, as a value that can be memoized; and the only place that catches a panic.
//!
//! A failure says nothing of positions: a statement is named by its ordinal, so that moving text leaves it equal.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_hir::SourceMap;
use triomphe::Arc;

/// The result of a stage, or why there is none.
pub type Staged<T> = Result<Arc<T>, Failed>;

/// A table that the program was built with, or that is made once for the process. Two are equal if they are the same one.
#[derive(Debug)]
pub struct Static<T: 'static>(pub &'static T);

impl<T> Clone for Static<T> {
    fn clone(&self) -> Static<T> {
        *self
    }
}

impl<T> Copy for Static<T> {}

impl<T> PartialEq for Static<T> {
    fn eq(&self, other: &Static<T>) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl<T> Eq for Static<T> {}

impl<T> std::ops::Deref for Static<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Failed {
    /// The text has errors; the unit's diagnostics say which.
    Diagnosed,
    /// A stage cannot go on.
    Stage {
        /// Kind of failure.
        code: Code,
        /// Ordinal of the instruction that it is about.
        statement: Option<u32>,
        /// Text of the failure.
        message: String,
    },
    /// Statements of the function cannot be compiled.
    Refused(Vec<Refusal>),
}

/// A failure, and where it is first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Refusal {
    /// Kind of failure.
    pub code: Code,
    /// Ordinal of the first instruction that it is about; the whole function if there is none.
    pub statement: Option<u32>,
    /// Text of the failure.
    pub message: String,
    /// How many instructions it is about.
    pub count: u32,
}

impl Failed {
    /// A failure of the compiler itself.
    pub fn internal(phase: &str, message: impl std::fmt::Display) -> Failed {
        Failed::Stage {
            code: Code::InternalError,
            statement: None,
            message: format!("in {phase}: {message}"),
        }
    }

    /// The failures one by one; nothing if the text's own diagnostics report them.
    pub fn refusals(&self) -> Vec<Refusal> {
        match self {
            Failed::Diagnosed => Vec::new(),
            Failed::Stage { code, statement, message } => {
                vec![Refusal { code: *code, statement: *statement, message: message.clone(), count: 1 }]
            }
            Failed::Refused(refusals) => refusals.clone(),
        }
    }

    /// The failure as diagnostics, none if the text's own diagnostics say it.
    pub fn diagnostics(&self, source_map: &SourceMap) -> Vec<Diagnostic> {
        let diagnostic = |refusal: Refusal| {
            let mut diagnostic = refusal.diagnostic(source_map);
            if let count @ 2.. = refusal.count {
                let times = format!(" (here and in {} more places of this function)", count - 1);
                diagnostic.message = format!("{}{times}", refusal.message).into();
            }
            diagnostic
        };
        self.refusals().into_iter().map(diagnostic).collect()
    }
}

impl Refusal {
    /// It at its first place, without the count.
    pub fn diagnostic(&self, source_map: &SourceMap) -> Diagnostic {
        let span = self.statement.and_then(|ordinal| source_map.instructions.get(ordinal as usize).copied());
        Diagnostic::new(self.code, span.unwrap_or(source_map.name), self.message.clone())
    }
}

/// The reason in a line, without places.
impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failed::Diagnosed => f.write_str("the text has errors"),
            Failed::Stage { message, .. } => f.write_str(message),
            Failed::Refused(refusals) => {
                let messages: Vec<&str> = refusals.iter().map(|refusal| refusal.message.as_str()).collect();
                f.write_str(&messages.join("; "))
            }
        }
    }
}

impl From<oriole_pipeline::Failure> for Failed {
    fn from(failure: oriole_pipeline::Failure) -> Failed {
        match failure {
            oriole_pipeline::Failure::Refused(errors) => {
                let refusal = |error: oriole_pipeline::LowerError| Refusal {
                    code: error.code,
                    statement: error.statement,
                    message: error.message,
                    count: error.count,
                };
                Failed::Refused(errors.into_iter().map(refusal).collect())
            }
            oriole_pipeline::Failure::Internal { phase, message } => Failed::internal(phase, message),
        }
    }
}

impl From<oriole_link::LinkError> for Failed {
    fn from(error: oriole_link::LinkError) -> Failed {
        Failed::Stage { code: error.code, statement: None, message: error.message }
    }
}

/// Runs a stage of a pure crate. A panic of the stage becomes an internal error, which is memoized like any other
/// result; salsa's own unwinding, which means that the answer is no longer wanted, goes on untouched.
///
/// # Errors
/// The stage fails, or panics.
pub fn guarded<T>(stage: &'static str, run: impl FnOnce() -> Result<T, Failed>) -> Staged<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map(Arc::new),
        Err(payload) if payload.is::<salsa::Cancelled>() => resume_unwind(payload),
        Err(payload) => {
            let message = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without a message");
            Err(Failed::internal(stage, message))
        }
    }
}

/// A diagnostic at the start of a unit, if it concerns the unit as a whole.
pub(crate) fn at_start(code: Code, message: impl Into<oriole_diagnostics::Message>) -> Diagnostic {
    Diagnostic::new(code, Span::point(0), message)
}
