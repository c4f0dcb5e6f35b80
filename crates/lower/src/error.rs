//! Why lowering failed: for each kind of failure a code, the first statement, a sentence and a count. No source text
//! and no rendering.

use oriole_diagnostics::Code;
use std::collections::BTreeMap;
use std::fmt;

/// A function cannot be lowered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LowerError {
    /// The kind of failure.
    pub code: Code,
    /// Ordinal of the instruction in the body, if one is at fault.
    pub statement: Option<u32>,
    /// The unsupported construct, as a clause without a full stop.
    pub message: String,
    /// Count of affected instructions of the function, the named one included.
    pub count: u32,
}

impl LowerError {
    /// An error about one instruction, or about the whole function.
    pub fn new(code: Code, statement: Option<u32>, message: impl Into<String>) -> LowerError {
        LowerError { code, statement, message: message.into(), count: 1 }
    }
}

/// The errors of one function, each reported once with a count.
#[derive(Default)]
pub(crate) struct Errors {
    list: Vec<LowerError>,
    known: BTreeMap<(Code, String), usize>,
}

impl Errors {
    /// Adds an error, or counts it with an equal one.
    pub fn add(&mut self, error: LowerError) {
        let next = self.list.len();
        match *self.known.entry((error.code, error.message.clone())).or_insert(next) {
            at if at == next => self.list.push(error),
            at => self.list[at].count += 1,
        }
    }

    /// `Ok` if there are none.
    pub fn finish(self) -> Result<(), Vec<LowerError>> {
        if self.list.is_empty() { Ok(()) } else { Err(self.list) }
    }
}

impl fmt::Display for LowerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for LowerError {}
