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
mod settle;
mod shrink;
mod source;
mod subject;
mod usage;

use oriole_interp::{Launch, Program};

pub use coverage::Coverage;
pub use places::simulated;
pub use report::{Difference, Element, Report, Site, Verdict, What};
pub use source::Source;
pub use subject::{Options, Subject, chip_of};

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
            Ok(launch) => settle::add(subject, &launch, &usage, options, &mut report),
            Err(reason) => reasons.push(reason),
        }
        if matches!(report.verdict, Verdict::Different(_)) {
            return report;
        }
    }
    report.settled(reasons.into_iter().next())
}

/// The launches that are made for a kernel.
///
/// # Errors
/// Why none can be made.
pub fn launches(program: &Program, entry: &str, options: &Options) -> Result<Vec<Launch>, String> {
    let usage = usage::Usage::of(program, entry)?;
    let mut made = Vec::new();
    let mut reason = None;
    for seed in 0..options.seeds {
        match infer::launch(program, entry, &usage, seed, options.budget) {
            Ok(launch) => made.push(launch),
            Err(why) => drop(reason.get_or_insert(why)),
        }
    }
    match reason {
        Some(reason) if made.is_empty() => Err(reason),
        _ => Ok(made),
    }
}

/// Verifies a kernel on launches that are given.
pub fn verify_on(subject: Subject, entry: &str, launches: &[Launch], options: &Options) -> Report {
    let mut report = Report::new(entry);
    let usage = usage::Usage::of(subject.program, entry).unwrap_or_default();
    for launch in launches {
        settle::add(subject, launch, &usage, options, &mut report);
        if matches!(report.verdict, Verdict::Different(_)) {
            return report;
        }
    }
    report.settled(None)
}
