//! Why lowering failed: a code, the statement, a sentence. No source text and no rendering.

use oriole_diagnostics::Code;
use std::fmt;

/// A function cannot be lowered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerError {
    /// The kind of failure.
    pub code: Code,
    /// Ordinal of the instruction in the body, if one is at fault.
    pub statement: Option<u32>,
    /// What is missing, as a clause without a full stop.
    pub message: String,
}

impl fmt::Display for LowerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for LowerError {}
