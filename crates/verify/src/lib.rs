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
    searched(subject, entry, options, &|| false)
}

/// The same, unless `stop` becomes true, and stays so, before it is done: then there is no report. It is asked while a launch
/// is made, and between launches.
pub fn verify_until(
    subject: Subject,
    entry: &str,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Option<Report> {
    let report = searched(subject, entry, options, stop);
    (!stop()).then_some(report)
}

fn searched(subject: Subject, entry: &str, options: &Options, stop: &dyn Fn() -> bool) -> Report {
    let mut report = Report::new(entry);
    let usage = match usage::Usage::of(subject.program, entry) {
        Ok(usage) => usage,
        Err(reason) => return report.undecided(reason),
    };
    let limits = infer::Limits { budget: options.budget, stop };
    let mut reasons = Vec::new();
    for seed in 0..options.seeds {
        let made = infer::launch(subject.program, entry, &usage, seed, limits);
        if stop() {
            break;
        }
        match made {
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
    made(program, entry, options, &|| false)
}

/// The same, unless `stop` becomes true, and stays so, before it is done: then there is no answer.
pub fn launches_until(
    program: &Program,
    entry: &str,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Option<Result<Vec<Launch>, String>> {
    let made = made(program, entry, options, stop);
    (!stop()).then_some(made)
}

fn made(
    program: &Program,
    entry: &str,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<Launch>, String> {
    let usage = usage::Usage::of(program, entry)?;
    let limits = infer::Limits { budget: options.budget, stop };
    let mut made = Vec::new();
    let mut reason = None;
    for seed in (0..options.seeds).take_while(|_| !stop()) {
        match infer::launch(program, entry, &usage, seed, limits) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A kernel whose only loop has no end, as far as any budget reaches.
    const ENDLESS: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry endless(.param .u64 out)
{
  .reg .b64 %to; .reg .b32 %n;
  ld.param.u64 %to, [out];
  mov.u32 %n, 0;
more:
  add.u32 %n, %n, 1;
  st.global.u32 [%to], %n;
  bra more;
}
";

    /// The search ends in the middle of a run, which alone would take hours, when it is not wanted any more.
    #[test]
    fn a_search_is_given_up_in_the_middle_of_a_run() {
        let source = Source::of(ENDLESS).unwrap();
        let options = Options { budget: u64::MAX, ..Options::default() };
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 100
        };
        assert!(launches_until(&source.program, "endless", &options, &stop).is_none());
        assert!(asked.get() < 120, "{}", asked.get());
        let few = Options { budget: 10_000, ..options };
        let none = launches_until(&source.program, "endless", &few, &|| false).unwrap();
        assert!(none.unwrap_err().starts_with("the budget of instructions is used up"));
    }
}
