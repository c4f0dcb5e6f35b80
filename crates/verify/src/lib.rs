//! Does machine code do what its PTX says? Both are run on the same launches, the PTX by the interpreter and the code by
//! the simulator, and the memory afterwards is compared.
//!
//! Launches are given, or made from how the PTX uses its parameters. It is here so that a miscompile is found without a
//! GPU and without a launch record. Nothing is compiled here, and no file is read or printed: a program
//! and a cubin come in, a report goes out.

mod compare;
mod coverage;
mod data;
mod flow;
mod infer;
mod judge;
mod observe;
mod places;
mod report;
mod shrink;
mod source;
mod usage;

use oriole_cubin::Cubin;
use oriole_interp::{Launch, Program};

pub use coverage::Coverage;
pub use report::{Difference, Element, Report, Site, Verdict, What};
pub use source::Source;

/// Limits of a verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Launches that are made for a kernel.
    pub seeds: u32,
    /// Most thread instructions of a launch in the interpreter.
    pub budget: u64,
    /// Most warp instructions of a launch in the simulator.
    pub step_limit: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { seeds: 4, budget: 3_000_000, step_limit: 2_000_000 }
    }
}

/// A program, and the code that is to do the same.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The PTX.
    pub program: &'a Program,
    /// The code.
    pub cubin: &'a Cubin,
}

/// The names of the kernels of a program, in order.
pub fn entries(program: &Program) -> impl Iterator<Item = &str> {
    program.functions.iter().filter(|function| function.body.is_entry).map(|function| function.name.as_str())
}

/// Verifies a kernel on launches that are made for it.
pub fn verify(subject: Subject, entry: &str, options: &Options) -> Report {
    let mut report = Report::new(entry);
    let usage = match usage::Usage::of(subject.program, entry) {
        Ok(usage) => usage,
        Err(reason) => return report.undecided(reason),
    };
    let mut reasons = Vec::new();
    for seed in 0..options.seeds {
        match infer::launch(subject.program, entry, &usage, seed, options.budget) {
            Ok(launch) => judge::add(subject, &launch, &usage, options, &mut report),
            Err(reason) => reasons.push(reason),
        }
        if matches!(report.verdict, Verdict::Different(_)) {
            return report;
        }
    }
    report.settled(reasons.into_iter().next())
}

/// Verifies a kernel on launches that are given.
pub fn verify_on(subject: Subject, entry: &str, launches: &[Launch], options: &Options) -> Report {
    let mut report = Report::new(entry);
    let usage = usage::Usage::of(subject.program, entry).unwrap_or_default();
    for launch in launches {
        judge::add(subject, launch, &usage, options, &mut report);
        if matches!(report.verdict, Verdict::Different(_)) {
            return report;
        }
    }
    report.settled(None)
}

/// The chip of a cubin.
pub fn chip_of(cubin: &Cubin) -> Option<oriole_chip::Chip> {
    format!("sm_{}{}", cubin.sm, if cubin.accelerated { "a" } else { "" }).parse().ok()
}
