//! `oriole ori`, `isel`, `latency` and `lint`: Ori after a phase, the chosen forms, the latencies of a chip, the hazards of a
//! cubin. The facts about a function come from the query graph, as everywhere.

use crate::arguments::{Isel, Latency, Lint, Ori, Target};
use crate::files::input;
use crate::names;
use crate::outcome::{Outcome, failed, misused, print};
use crate::render;
use crate::session::{ArgumentError, Session, options, options_without_code};
use oriole_chip::Chip;
use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_inputs::{Config, Database, FunctionUnit};
use oriole_latency::{Listed, Origin};
use oriole_options::Options;
use oriole_pipeline::{Decision, Explained, Phase, Work};
use oriole_queries::{Failed, graph, view};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Whether a command shows machine code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// Forms of the chip, which must be known.
    Code,
    /// Earlier forms of code; for a chip that no table knows, the tables of another stand in.
    NoCode,
}

/// Prints what `shown` gives for each function of a file, or for one; diagnostics go to the terminal.
fn functions(
    path: &Path,
    only: Option<&str>,
    target: &Target,
    shows: Shows,
    shown: impl for<'db> Fn(&'db Session, FunctionUnit<'db>, &mut String) -> Result<(), Failed>,
) -> Outcome {
    let read = match shows {
        Shows::Code => options(target),
        Shows::NoCode => options_without_code(target),
    };
    let (chip, options) = match read {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    let text = match input::text(path) {
        Ok(text) => text,
        Err(message) => return failed(message),
    };
    let session = Session::looking(&text, chip, &options);
    let (db, name) = (&session.db, input::shown(path));
    let mut diagnostics = oriole_queries::diagnostics_for(db, session.file, session.config);
    diagnostics.extend(oriole_queries::stand_in_diagnostic(db, session.file, session.config));
    if shows == Shows::Code {
        diagnostics.extend(oriole_queries::encoding_diagnostic(db, session.config));
    }
    if diagnostics.iter().any(Diagnostic::is_error) {
        render::to_terminal(&name, &text, &diagnostics);
        return Outcome::Failed;
    }
    let mut units: Vec<FunctionUnit<'_>> = view::code_units(db, session.file);
    if let Some(only) = only {
        let known: Vec<&str> = units.iter().map(|unit| &**unit.name(db)).collect();
        match names::one_of("function", &known, only) {
            Ok(one) => units.retain(|unit| &**unit.name(db) == one),
            Err(message) => return misused(&format!("{name}: {message}")),
        }
    }
    let mut out = String::new();
    let mut failures = Vec::new();
    for unit in units {
        if let Err(failure) = shown(&session, unit, &mut out) {
            failures.extend(view::diagnostics(db, unit, &failure));
        }
    }
    diagnostics.retain(|diagnostic| diagnostic.code == Code::StandIn);
    diagnostics.extend(session.replaced.clone());
    render::to_terminal(&name, &text, &diagnostics);
    render::to_terminal(&name, &text, &failures);
    print(&out);
    if failures.is_empty() { Outcome::Right } else { Outcome::Failed }
}

/// Runs `oriole ori`.
pub fn ori(arguments: &Ori) -> Outcome {
    let Some(phase) = oriole_pipeline::phases::find(&arguments.after) else {
        return misused(&format!("there is no phase `{}`; `--after list` lists them", arguments.after));
    };
    let reports = matches!(phase.work, Work::Profile);
    let shows = phase.leaves_ori();
    if let (Err(message), false) = (&shows, reports && !arguments.dot && !arguments.rpo) {
        return failed(&format!("[{}] {message}", Code::PhaseNotAvailable));
    }
    let only = arguments.function.as_deref();
    functions(&arguments.input, only, &arguments.target, Shows::NoCode, |session, unit, text| {
        let mut name = names::shown(unit.name(&session.db));
        if let Work::By(_) = phase.work {
            let _ = write!(name, ": {} is {}", phase.name, phase.state());
        }
        if reports && !arguments.dot && !arguments.rpo {
            let profile = view::profile(&session.db, unit, session.config, phase)?;
            let _ = write!(text, "// {name}\n{profile}");
            if shows.is_err() {
                return Ok(());
            }
        } else if !arguments.dot {
            let _ = writeln!(text, "// {name}");
        }
        let function = view::ori_after(&session.db, unit, session.config, phase)?;
        if arguments.dot {
            text.push_str(&oriole_explore::ori_dot(&name, &function));
        } else if arguments.rpo {
            text.push_str(&oriole_ori::Cfg::new(&function).describe(&function));
        } else {
            let _ = writeln!(text, "{function}");
        }
        Ok(())
    })
}

/// The phases, a line each.
pub fn phases() -> String {
    phase_list(false)
}

/// The same; with `all`, also the phases that have nothing to do in compute code.
pub fn phase_list(all: bool) -> String {
    let line = |phase: &Phase| {
        let state = match phase.work {
            Work::Profile => "profile".to_owned(),
            _ if phase.leaves_ori().is_ok() => "Ori".to_owned(),
            Work::NotForCompute | Work::NotYet => phase.state(),
            _ => "machine code".to_owned(),
        };
        let by = match phase.work {
            Work::By(other) => format!(" Done by {other}."),
            _ => String::new(),
        };
        format!("{:>3} {:<40} [{state}] {}{by}\n", phase.number, phase.name, phase.doc)
    };
    let phases = oriole_pipeline::PHASES.iter();
    phases.filter(|phase| all || !matches!(phase.work, Work::NotForCompute)).map(line).collect()
}

/// Runs `oriole isel`.
pub fn isel(arguments: &Isel) -> Outcome {
    let wins = RefCell::new(BTreeMap::<String, usize>::new());
    let only = arguments.function.as_deref();
    let outcome = functions(&arguments.input, only, &arguments.target, Shows::Code, |session, unit, text| {
        let db = &session.db;
        let chip = graph::chip_info(db, session.config);
        let machine = graph::selected(db, unit, session.config).as_ref().map_err(Clone::clone)?;
        if arguments.count {
            let reasons = view::explained(db, unit, session.config)?;
            let decisions = view::decisions(db, unit, session.config)?;
            count(&reasons, &decisions, &mut wins.borrow_mut());
            return Ok(());
        }
        let _ = writeln!(text, "// {}", names::shown(unit.name(db)));
        let reasons = if arguments.explain {
            let reasons = view::explained(db, unit, session.config)?;
            decided(&view::decisions(db, unit, session.config)?, text);
            Some(reasons)
        } else {
            None
        };
        let mut reasons = reasons.iter().flat_map(|blocks| blocks.iter());
        for (id, block) in machine.blocks.iter_enumerated() {
            let _ = writeln!(text, "{id}:");
            let mut reasons = reasons.next().into_iter().flatten();
            for chosen in &block.instructions {
                let line = oriole_sass::text(chip, &chosen.instruction, None, oriole_sass::Style::Plain)
                    .unwrap_or_else(|error| error.to_string());
                let _ = writeln!(text, "  {line}");
                if let Some(reasons) = reasons.next() {
                    explain(reasons, text);
                }
            }
        }
        Ok(())
    });
    let lines: String =
        wins.into_inner().iter().map(|(what, times)| format!("{times:>7} {what}\n")).collect();
    print(&lines);
    outcome
}

/// Counts the winners.
fn count(reasons: &[Vec<Explained>], decisions: &[Decision], wins: &mut BTreeMap<String, usize>) {
    for explained in reasons.iter().flatten() {
        if let Some(winner) = explained.winner() {
            *wins.entry(winner.name.to_owned()).or_default() += 1;
        }
    }
    for decision in decisions {
        *wins.entry(format!("{}: {}", decision.contest.name, decision.winner())).or_default() += 1;
    }
}

/// The decisions of the passes: each contest with the winner, and why a cheaper alternative was not possible.
fn decided(decisions: &[Decision], text: &mut String) {
    for decision in decisions {
        let _ =
            writeln!(text, "  statement {}, before allocation: {}", decision.origin.0, decision.contest.name);
        for (index, alternative) in decision.contest.alternatives.iter().enumerate() {
            let verdict = match decision.impossible.get(index) {
                Some(reason) => format!("lost: {reason}"),
                None if index == decision.chosen => "chosen".to_owned(),
                None => "lost: costs more".to_owned(),
            };
            let _ = writeln!(text, "    {:>4} {}: {verdict}", alternative.cost.total(), alternative.name);
        }
    }
}

/// The instruction before selection, and each row for its operation: its priority, and why it won or lost.
fn explain(explained: &Explained, text: &mut String) {
    let _ = writeln!(text, "    from {}", explained.before);
    let mut won = false;
    for candidate in &explained.candidates {
        let verdict = match &candidate.failed {
            None if std::mem::replace(&mut won, true) => "lost: less specific".to_owned(),
            None => "chosen".to_owned(),
            Some(test) => format!("lost: {test}"),
        };
        let _ = writeln!(text, "    {:>4} {}: {verdict}", candidate.priority, candidate.name);
    }
}

/// Runs `oriole latency`.
pub fn latency(arguments: &Latency) -> Outcome {
    if !arguments.of.is_empty() {
        return latencies_of_code(arguments);
    }
    let chip = match Chip::choose_any(&arguments.arch) {
        Ok(chip) => chip,
        Err(error) => return misused(ArgumentError::from(error)),
    };
    if let Some(warning) = oriole_hir::stand_in(chip, Span::default()) {
        eprintln!("warning[{}]: {}", warning.code, warning.message);
    }
    let db = Database::default();
    let config = Config::create(&db, chip, &Options::default());
    let model = match view::latencies(&db, config) {
        Ok(model) => model,
        Err(reason) => return failed(&reason.to_string()),
    };
    let forms = match view::forms(&db, config) {
        Ok(forms) => forms,
        Err(reason) => return failed(&reason.to_string()),
    };
    let mut text = String::new();
    if !arguments.guesses {
        let none = oriole_sass::Mods::none();
        for &op in oriole_sass::Op::all().iter().filter(|&&op| !forms.forms_of(op).is_empty()) {
            let busy = model.resources(op, &none);
            let units = oriole_latency::Unit::ALL.into_iter().filter(|&unit| busy[unit as usize] > 0);
            let units: Vec<String> =
                units.map(|unit| format!("{} {}", unit.name(), busy[unit as usize])).collect();
            let result = if model.is_variable(op, &none) {
                format!("by scoreboard, about {} cycles", model.estimate(op))
            } else {
                "fixed".to_owned()
            };
            let (class, stall) = (model.class(op, &none), model.minimum_stall(op, &none));
            let _ = writeln!(
                text,
                "{:<16} {class:?}, {result}, unit {} cycles, least stall {stall} cycles",
                op.name(),
                units.join(", "),
            );
        }
    }
    for pair in model.listed() {
        if !arguments.guesses || is_guess(&pair) {
            let _ = writeln!(text, "{}", shown(&pair));
        }
    }
    print(&text)
}

fn is_guess(pair: &Listed) -> bool {
    pair.distance.origin == Origin::Guessed
}

fn shown(pair: &Listed) -> String {
    let Listed { hazard, first, second, distance } = pair;
    let origin = format!("{:?}", distance.origin).to_lowercase();
    format!("{hazard} {first} -> {second}: {} cycles, {origin}", distance.cycles)
}

/// The distances that the code of some files depends on, the most frequent first, and how many of them are guesses.
fn latencies_of_code(arguments: &Latency) -> Outcome {
    let mut counts = BTreeMap::new();
    for path in &arguments.of {
        let cubin = match crate::dis::read_cubin(path) {
            Ok((cubin, _)) => cubin,
            Err(message) => return failed(message),
        };
        for (pair, count) in oriole_simulate::pairs(&cubin) {
            *counts.entry(pair).or_insert(0) += count;
        }
    }
    let mut pairs: Vec<(Listed, u64)> = counts.into_iter().collect();
    pairs.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut text = String::new();
    for (pair, count) in pairs.iter().filter(|(pair, _)| !arguments.guesses || is_guess(pair)) {
        let _ = writeln!(text, "{}, {count} times", shown(pair));
    }
    let guesses = || pairs.iter().filter(|(pair, _)| is_guess(pair));
    let times: u64 = pairs.iter().map(|(_, count)| count).sum();
    let guessed: u64 = guesses().map(|(_, count)| count).sum();
    let _ = writeln!(
        text,
        "{} pairs, {} of them guessed; {times} dependences, {guessed} on a guess",
        pairs.len(),
        guesses().count(),
    );
    print(&text)
}

/// Runs `oriole lint`.
pub fn lint(arguments: &Lint) -> Outcome {
    let (cubin, _) = match crate::dis::read_cubin(&arguments.cubin) {
        Ok(read) => read,
        Err(message) => return failed(message),
    };
    let hazards = oriole_simulate::lint(&cubin);
    let mut text = String::new();
    for hazard in &hazards {
        if arguments.json {
            let value = serde_json::json!({ "kernel": hazard.kernel, "pc": hazard.pc, "other": hazard.other, "message": hazard.to_string() });
            let _ = writeln!(text, "{value}");
        } else {
            let _ = writeln!(text, "{}", names::explained(&hazard.to_string()));
        }
    }
    if !arguments.json {
        let _ = writeln!(text, "{} hazards", hazards.len());
    }
    print(&text);
    if hazards.is_empty() { Outcome::Right } else { Outcome::Failed }
}
