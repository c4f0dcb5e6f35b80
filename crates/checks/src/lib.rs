//! Checks of a kernel while the interpreter runs it: races, accesses outside of memory, reads of bytes that
//! nothing has written, misaligned accesses, threads that miss a barrier or a collective instruction, conflicts
//! of banks.
//!
//! It is here because such a mistake may change a result on some GPUs only, or now and then. The checks find it on the
//! first run, without a GPU. It observes the interpreter and changes nothing in its run; one file has one check. No
//! semantics of an instruction may enter, no file is read or printed, and no line of a text is known: a finding names
//! instructions by function and ordinal.

mod banks;
mod clock;
mod collector;
mod divergence;
mod fault;
mod finding;
mod kind;
mod order;
mod race;
mod shadow;
mod unwritten;
mod watcher;

pub use finding::{Finding, Spot};
pub use kind::{CHECKS, Check, Checks, UnknownCheck};

use oriole_interp::{Launch, Outcome, Program};

/// The result of a launch that was checked.
#[derive(Debug)]
pub struct Report {
    /// The outcome of the interpreter.
    pub outcome: Outcome,
    /// The findings, the gravest first, and among those by the order of instructions.
    pub findings: Vec<Finding>,
    /// Accesses were left out of the check for races because the record of accesses was full.
    pub is_partial: bool,
}

/// Runs a launch with checks.
pub fn check(program: &Program, launch: &Launch, checks: Checks) -> Report {
    let mut watcher = watcher::Watcher::new(checks);
    let outcome = oriole_interp::run_observed(program, launch, &mut watcher);
    let (findings, is_partial) = watcher.finish();
    Report { outcome, findings, is_partial }
}
