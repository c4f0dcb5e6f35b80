//! `oriole bisect`: the phase, and in it the rewrite, with which the result of a launch is wrong for the first time.
//!
//! Compiles are limited by the knobs `phase-limit` and `rewrite-limit` and by debug switches, which everyone can set; here
//! is the search for the values that matter, and the report.

mod judge;
mod report;
mod steps;

use crate::arguments::Bisect;
use crate::launch;
use crate::outcome::{Outcome, failed, misused};
use crate::session;
use judge::Judge;
use oriole::program::Opened;
use oriole_explore::{Layout, OptionalPhase, PhaseView, difference};
use oriole_options::{KNOBS, KnobError, Limits, Options, Value};
use report::{Found, Report};
use steps::{Step, Steps, boundary};

/// Runs the command.
pub fn bisect(arguments: &Bisect) -> Outcome {
    let (chip, options) = match session::options(&arguments.target) {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    let limits = options.passes().limits;
    if limits != Limits::default() {
        return misused("`bisect` sets phase-limit and rewrite-limit itself");
    }
    let launches = match launch::read(&arguments.launches) {
        Ok(launches) => launches,
        Err(message) => return misused(message),
    };
    let count = launches.len();
    for launch in launches {
        let judge = match Judge::new(launch, chip, arguments) {
            Ok(judge) => judge,
            Err(message) => return failed(message),
        };
        let Some(complaint) = judge.complaint(&options) else { continue };
        return match examined(&judge, &options, complaint, arguments.context) {
            Ok(report) => report.show(arguments.json),
            Err(error) => failed(error),
        };
    }
    failed(format!("nothing to search for: {count} of {count} launches are right"))
}

/// Searches for the step that makes a launch wrong.
fn examined(
    judge: &Judge<'_>,
    options: &Options,
    complaint: String,
    context: usize,
) -> Result<Report, KnobError> {
    let is_wrong = |options: &Options| judge.complaint(options).is_some();
    let right_at = |level: u8| {
        let mut lower = options.clone();
        lower.level = level;
        (level, !is_wrong(&lower))
    };
    let levels = (0..options.level).map(right_at);
    let mut report = Report {
        launch: judge.launch.name.clone(),
        kernel: judge.launch.entry.clone(),
        levels: levels.chain([(options.level, false)]).collect(),
        complaint,
        interpreter: judge.interpreter(),
        found: None,
    };
    let steps = Steps::new(options);
    if is_wrong(&steps.options(0)?) {
        return Ok(report);
    }
    let number = boundary(0, steps.count() as u64, |count| Ok(is_wrong(&steps.options(count as usize)?)))?;
    let number = number as usize;
    report.found = match steps.step(number) {
        None => None,
        Some(Step::Stage(knob)) => Some(Found {
            phase: None,
            stage: Some((knob.name, knob.doc)),
            workarounds: workarounds(options, [knob.name].into_iter(), &is_wrong)?,
            rewrite: None,
            again: None,
            difference: String::new(),
        }),
        Some(Step::Phase(phase)) => Some(in_phase(judge, options, &steps, number, phase, context)?),
    };
    Ok(report)
}

/// Searches for the rewrite of a phase.
fn in_phase(
    judge: &Judge<'_>,
    options: &Options,
    steps: &Steps,
    number: usize,
    phase: OptionalPhase,
    context: usize,
) -> Result<Found, KnobError> {
    let is_wrong = |options: &Options| judge.complaint(options).is_some();
    let with = |count: u64| steps.with_rewrites(number, count as u32);
    let mut rewrite = None;
    if !is_wrong(&with(0)?) {
        let mut high = 1;
        while high < u64::from(Limits::NONE) && !is_wrong(&with(high)?) {
            high = (high * 4).min(Limits::NONE.into());
        }
        rewrite = Some(boundary(high / 4, high, |count| Ok(is_wrong(&with(count)?)))?);
    }
    let (before, after) = match rewrite {
        Some(count) => (with(count - 1)?, with(count)?),
        None => (steps.options(number - 1)?, steps.options(number)?),
    };
    let parts = phase.parts.iter().map(|part| part.knob());
    let names = phase.switch.into_iter().chain(parts);
    // Without the switches of later stages the same limits are easier to type, if they make the difference.
    let short = |count: u64| -> Result<Options, KnobError> {
        let mut limited = options.clone();
        limited.set("phase-limit", &phase.limit.to_string())?;
        limited.set("rewrite-limit", &count.to_string())?;
        Ok(limited)
    };
    let again = match rewrite {
        Some(count) if is_wrong(&short(count)?) && !is_wrong(&short(count - 1)?) => {
            Some(format!("--knob phase-limit={} --knob rewrite-limit={count}", phase.limit))
        }
        _ => None,
    };
    Ok(Found {
        phase: Some(phase),
        stage: None,
        workarounds: workarounds(options, names, &is_wrong)?,
        rewrite,
        again,
        difference: between(judge, phase, &before, &after, context),
    })
}

/// The knobs that make the result right, each alone, as they are written on a command line.
fn workarounds(
    options: &Options,
    names: impl Iterator<Item = &'static str>,
    is_wrong: &dyn Fn(&Options) -> bool,
) -> Result<Vec<String>, KnobError> {
    let mut found = Vec::new();
    for name in names {
        let mut without = options.clone();
        let named_after_effect =
            KNOBS.iter().any(|knob| knob.name == name && knob.default == Value::Bool(true));
        let written = if named_after_effect {
            without.set(name, "false")?;
            format!("--knob {name}=false")
        } else {
            without.switch_on(name)?;
            format!("--debug-switch {name}")
        };
        if without != *options && !is_wrong(&without) {
            found.push(written);
        }
    }
    Ok(found)
}

/// Ori of all functions after a phase with some options, and the difference to that with others.
fn between(
    judge: &Judge<'_>,
    phase: OptionalPhase,
    before: &Options,
    after: &Options,
    context: usize,
) -> String {
    let Some(view) = PhaseView::find(&phase.number.to_string()) else { return String::new() };
    let Some((text, _)) = judge.text() else { return String::new() };
    let shown = |options: &Options| -> Vec<(String, String)> {
        let opened = Opened::looking(text, judge.chip(), options);
        let functions = session::compiled(&opened).functions();
        let written = functions.into_iter().map(|function| {
            let mut ori = String::new();
            // The file compiles: there is nothing to report.
            let _ = view.write(&function, Layout::Text, &mut ori);
            (function.name().to_owned(), ori)
        });
        written.collect()
    };
    let mut out = String::new();
    for ((name, before), (_, after)) in shown(before).iter().zip(&shown(after)) {
        if before != after {
            out += &format!("// {name}: {} {}\n", phase.number, phase.name);
            out += &difference(before, after, context);
        }
    }
    out
}
