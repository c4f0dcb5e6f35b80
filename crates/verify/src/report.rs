//! The result of a verification as plain data.

use crate::coverage::Coverage;
use oriole_interp::Launch;

/// The findings about a kernel.
#[derive(Clone, Debug)]
pub struct Report {
    /// The kernel.
    pub entry: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Launches of which the results were compared and are the same.
    pub launches: u32,
    /// Bytes of memory that were compared in them.
    pub bytes: u64,
    /// Launches in which results differ as far as PTX allows: by approximated functions, contraction or the order of
    /// threads.
    pub loose: u32,
    /// The code that these launches execute.
    pub coverage: Coverage,
    /// Reasons why launches were not compared.
    pub reasons: Vec<String>,
}

/// A verdict.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The results are the same.
    Same,
    /// They differ.
    Different(Box<Difference>),
    /// Nothing could be compared, and why.
    Undecided(String),
}

/// A difference between the PTX and the code.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The difference.
    pub what: What,
    /// The place in the PTX.
    pub ptx: Option<Site>,
    /// The place in the code: offset in bytes, and the instruction as text.
    pub code: Option<(u32, String)>,
    /// The launch that shows it.
    pub launch: Launch,
}

/// An instruction of the PTX, and the thread that executes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Function.
    pub function: String,
    /// Ordinal of the instruction in it.
    pub ordinal: u32,
    /// Block.
    pub block: [u32; 3],
    /// Thread.
    pub thread: [u32; 3],
}

/// A difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// Memory.
    Memory(Element),
    /// The code ends with a fault, the PTX does not.
    Fault(String),
    /// The code has a scheduling hazard.
    Hazard(String),
}

/// A place in memory with two values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Element {
    /// The buffer: the argument, the variable.
    pub buffer: String,
    /// Offset in bytes.
    pub offset: usize,
    /// Its bytes after the PTX.
    pub expected: Vec<u8>,
    /// Its bytes after the code.
    pub found: Vec<u8>,
}

impl Report {
    /// Nothing is known yet.
    pub(crate) fn new(entry: &str) -> Report {
        Report {
            entry: entry.to_owned(),
            verdict: Verdict::Undecided(String::new()),
            launches: 0,
            bytes: 0,
            loose: 0,
            coverage: Coverage::default(),
            reasons: Vec::new(),
        }
    }

    /// Undecided for this reason.
    pub(crate) fn undecided(mut self, reason: String) -> Report {
        self.reasons.push(reason.clone());
        self.verdict = Verdict::Undecided(reason);
        self
    }

    /// The verdict after all launches, `reason` if none could be made.
    pub(crate) fn settled(mut self, reason: Option<String>) -> Report {
        let (executed, all) = self.coverage.instructions();
        self.verdict = if self.launches > 0 && self.bytes == 0 && executed < all {
            Verdict::Undecided("no launch that was tried changes memory".to_owned())
        } else if self.launches > 0 {
            Verdict::Same
        } else {
            let first = self.reasons.first().cloned().or(reason);
            Verdict::Undecided(first.unwrap_or_else(|| "there is no launch".to_owned()))
        };
        self
    }
}
