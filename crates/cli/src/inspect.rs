//! `oriole ori`, `isel`, `latency` and `lint`: Ori after a phase, the chosen forms, the latencies of a chip, the hazards of a
//! cubin. The facts about a function come from the query graph, as everywhere.

use crate::arguments::{Isel, Latency, Lint, Ori, Target};
use crate::files::input;
use crate::names;
use crate::outcome::{Outcome, failed, misused, print};
use crate::render;
use crate::session::{ArgumentError, options, options_without_code};
use oriole::opened::Opened;
use oriole_chip::Chip;
use oriole_diagnostics::{Code, Diagnostic};
use oriole_explore::{Layout, PhaseView, Wins, write_selection};
use oriole_inputs::{Config, Database, FunctionUnit};
use oriole_options::Options;
use oriole_queries::{Failed, view};
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
    shown: impl for<'db> Fn(&'db Opened, FunctionUnit<'db>, &mut String) -> Result<(), Failed>,
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
    let session = Opened::looking(&text, chip, &options);
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
    let mut units: Vec<FunctionUnit<'_>> = oriole_queries::files::code_units(db, session.file);
    if let Some(only) = only {
        let known: Vec<&str> = units.iter().map(|unit| &**unit.name(db)).collect();
        match names::one_of("function", &known, only) {
            Ok(one) => units.retain(|unit| &**unit.name(db) == one),
            Err(message) => return misused(format!("{name}: {message}")),
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
    let Some(phase) = PhaseView::find(&arguments.after) else {
        return misused(format!("there is no phase `{}`; `--after list` lists them", arguments.after));
    };
    let layout = match (arguments.dot, arguments.rpo) {
        (true, _) => Layout::Graph,
        (_, true) => Layout::Order,
        _ => Layout::Text,
    };
    if let Some(reason) = phase.refusal(layout) {
        return failed(format!("[{}] {reason}", Code::PhaseNotAvailable));
    }
    let only = arguments.function.as_deref();
    functions(&arguments.input, only, &arguments.target, Shows::NoCode, |session, unit, text| {
        let name = names::shown(unit.name(&session.db));
        phase.write(&session.db, unit, session.config, name, layout, text)
    })
}

/// Runs `oriole isel`.
pub fn isel(arguments: &Isel) -> Outcome {
    let wins = RefCell::new(Wins::default());
    let only = arguments.function.as_deref();
    let outcome = functions(&arguments.input, only, &arguments.target, Shows::Code, |session, unit, text| {
        let (db, config) = (&session.db, session.config);
        if arguments.count {
            return wins.borrow_mut().add(db, unit, config);
        }
        write_selection(db, unit, config, &names::shown(unit.name(db)), arguments.explain, text)
    });
    print(&wins.into_inner().to_string());
    outcome
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
    if let Some(warning) = oriole_explore::stand_in_warning(chip) {
        eprintln!("warning[{}]: {}", warning.code, warning.message);
    }
    let db = Database::default();
    let config = Config::create(&db, chip, &Options::default());
    let model = match view::latencies(&db, config) {
        Ok(model) => model,
        Err(reason) => return failed(reason),
    };
    let forms = match view::forms(&db, config) {
        Ok(forms) => forms,
        Err(reason) => return failed(reason),
    };
    print(&oriole_explore::latencies(model.0, forms.0, arguments.guesses))
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
    let mut pairs: Vec<(_, u64)> = counts.into_iter().collect();
    pairs.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut text = String::new();
    for (pair, count) in pairs.iter().filter(|(pair, _)| !arguments.guesses || pair.is_guess()) {
        let _ = writeln!(text, "{pair}, {count} times");
    }
    let guesses = || pairs.iter().filter(|(pair, _)| pair.is_guess());
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
