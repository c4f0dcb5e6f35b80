//! A finding as plain data.

use oriole_diagnostics::{Code, Severity};

/// An instruction that takes part in a finding, and a thread that executes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spot {
    /// Function of the instruction.
    pub function: String,
    /// Its ordinal there.
    pub ordinal: u32,
    /// Block and thread of the first case.
    pub thread: Option<([u32; 3], [u32; 3])>,
    /// How it takes part.
    pub part: String,
}

/// A fault of a program, with the first case of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The code.
    pub code: Code,
    /// The fault in words, with the place in memory.
    pub message: String,
    /// The instructions.
    pub spots: Vec<Spot>,
    /// The address, if it is one of memory.
    pub address: Option<u64>,
    /// Cases of it.
    pub count: u64,
    /// All cases write the bytes that are there.
    pub same_value: bool,
}

impl Finding {
    /// How grave it is.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// Whether a run with it is wrong. Costs of time, and what only later GPUs allow, are not.
    pub fn is_fault(&self) -> bool {
        matches!(self.severity(), Severity::Error | Severity::Warning)
    }
}
