//! Why a stage has no result, as a value that can be memoized; and the only place that catches a panic.
//!
//! A failure says nothing of positions: a statement is named by its ordinal, so that moving text leaves it equal.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_hir::SourceMap;

/// What a stage gives: its result, or why there is none.
pub type Staged<T> = Result<Arc<T>, Failed>;

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Failed {
    /// The text has errors; the unit's diagnostics say which.
    Diagnosed,
    /// A stage cannot go on.
    Stage {
        /// What kind of failure it is.
        code: Code,
        /// Ordinal of the instruction that it is about.
        statement: Option<u32>,
        /// What is missing or wrong.
        message: String,
    },
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

    /// The failure as a diagnostic, `None` if the text's own diagnostics say it.
    pub fn diagnostic(&self, source_map: &SourceMap) -> Option<Diagnostic> {
        let Failed::Stage { code, statement, message } = self else { return None };
        let span = statement.and_then(|ordinal| source_map.instructions.get(ordinal as usize).copied());
        Some(Diagnostic::new(*code, span.unwrap_or(source_map.name), message.clone()))
    }
}

impl From<oriole_pipeline::Failure> for Failed {
    fn from(failure: oriole_pipeline::Failure) -> Failed {
        match failure {
            oriole_pipeline::Failure::Unsupported { statement, message } => {
                Failed::Stage { code: Code::NotSupported, statement: Some(statement), message }
            }
            oriole_pipeline::Failure::Internal { phase, message } => Failed::internal(phase, message),
        }
    }
}

/// Runs a stage of a pure crate. A panic of the stage becomes an internal error, which is memoized like any other
/// result; salsa's own unwinding, which means that the answer is no longer wanted, goes on untouched.
pub(crate) fn guarded<T>(stage: &'static str, run: impl FnOnce() -> Result<T, Failed>) -> Staged<T> {
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

/// A finding at the start of a unit, for what concerns it as a whole.
pub(crate) fn at_start(code: Code, message: impl Into<oriole_diagnostics::Message>) -> Diagnostic {
    Diagnostic::new(code, Span::point(0), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_value_and_cancellation_does_not() {
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let failed = guarded::<()>("stage", || panic!("number {}", 7)).unwrap_err();
        let cancelled =
            catch_unwind(|| guarded::<()>("stage", || resume_unwind(Box::new(salsa::Cancelled::Local))));
        std::panic::set_hook(quiet);
        assert_eq!(failed, Failed::internal("stage", "number 7"));
        assert!(cancelled.unwrap_err().is::<salsa::Cancelled>());
    }

    #[test]
    fn a_failure_finds_its_statement() {
        let map =
            SourceMap { name: Span::new(7, 1), instructions: vec![Span::new(20, 4)], ..SourceMap::default() };
        let failed =
            |statement| Failed::Stage { code: Code::NotSupported, statement, message: "x".to_owned() };
        assert_eq!(failed(Some(0)).diagnostic(&map).unwrap().span, Span::new(20, 4));
        assert_eq!(failed(Some(9)).diagnostic(&map).unwrap().span, Span::new(7, 1));
        assert_eq!(Failed::Diagnosed.diagnostic(&map), None);
    }
}
