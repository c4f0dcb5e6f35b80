//! A kernel of a text in the interpreter with checks: races, accesses outside of memory and other mistakes of a program, as plain
//! data with the lines of the text. The checks themselves are in `oriole-checks`.

use crate::run::{Launch, Run, RunError, interpreted, result, source};
use oriole_checks::{Checks, Spot};
use oriole_diagnostics::{Code, Severity};
use oriole_verify::{Site, Source};

/// A check that is not known.
pub use oriole_checks::UnknownCheck;

/// A mistake that a check found, with the first case of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckFinding {
    /// The code.
    pub code: Code,
    /// The mistake in words, with the place in memory.
    pub message: String,
    /// The instructions that take part; the first is its place.
    pub places: Vec<CheckPlace>,
    /// The address, if it is one of memory.
    pub address: Option<u64>,
    /// Cases of it.
    pub count: u64,
    /// All cases write the bytes that are there already.
    pub same_value: bool,
}

impl CheckFinding {
    /// Errors and warnings make a run wrong; notes are costs of time, and what later GPUs allow.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

/// An instruction of a finding, and a thread that executes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckPlace {
    /// Function of the instruction.
    pub function: String,
    /// Its line of the text, from 1, and its statement.
    pub line: Option<usize>,
    /// The statement.
    pub text: String,
    /// How it takes part.
    pub part: String,
    /// Block and thread of the first case.
    pub thread: Option<([u32; 3], [u32; 3])>,
}

/// A run with what the checks found. Findings are there even if the launch stopped early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedRun {
    /// The state, or the reason why the launch stopped.
    pub run: Result<Run, RunError>,
    /// The findings, the gravest first.
    pub findings: Vec<CheckFinding>,
    /// So much memory was accessed that not all of it was checked for races.
    pub is_partial: bool,
}

/// Reads the names of checks: those of `oriole run --check`, or `all`.
///
/// # Errors
/// A name that no check has.
pub fn checks<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Checks, UnknownCheck> {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { Ok(Checks::default()) } else { Checks::of_list(&names.join(",")) }
}

/// Runs a kernel of a text in the interpreter, with checks.
///
/// # Errors
/// The errors of the text.
pub fn interpret_checked(text: &str, launch: &Launch, checks: Checks) -> Result<CheckedRun, RunError> {
    let source = source(text)?;
    let report = oriole_checks::check(&source.program, &interpreted(launch), checks);
    let findings = report.findings.into_iter().map(|found| CheckFinding {
        code: found.code,
        message: found.message,
        places: found.spots.iter().map(|spot| place(&source, spot)).collect(),
        address: found.address,
        count: found.count,
        same_value: found.same_value,
    });
    let findings = findings.collect();
    Ok(CheckedRun { run: result(&source, report.outcome), findings, is_partial: report.is_partial })
}

fn place(source: &Source<'_>, spot: &Spot) -> CheckPlace {
    let (block, thread) = spot.thread.unwrap_or_default();
    let site = Site { function: spot.function.clone(), ordinal: spot.ordinal, block, thread };
    let (line, text) = source.line(&site).unzip();
    CheckPlace {
        function: spot.function.clone(),
        line,
        text: text.unwrap_or_default().to_owned(),
        part: spot.part.clone(),
        thread: spot.thread,
    }
}
