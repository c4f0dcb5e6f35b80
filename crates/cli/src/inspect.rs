//! `oriole ori`, `isel`, `latency` and `lint`: Ori after a phase, the chosen forms, the latencies of a chip, the hazards of a
//! cubin. The facts about a function come from the query graph, as everywhere.

use crate::arguments::{Isel, Latency, Linked, Lint, Ori, Target};
use crate::files::device::{self, Amount, Asked, Wanted};
use crate::files::input;
use crate::hazards;
use crate::messages::{self, MessageFormat};
use crate::names;
use crate::outcome::{Outcome, failed, misused, print};
use crate::render;
use crate::session::{self, ArgumentError, linked, options, options_without_code};
use oriole::program::Opened;
use oriole_chip::Chip;
use oriole_diagnostics::{Code, Diagnostic};
use oriole_explore::{Function, Layout, PhaseView, Wins, write_changes, write_selection};
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
    (target, linking): (&Target, Linked),
    shows: Shows,
    shown: impl Fn(&Function<'_>, &mut String) -> Result<(), Vec<Diagnostic>>,
) -> Outcome {
    let read = match shows {
        Shows::Code => options(target),
        Shows::NoCode => options_without_code(target),
    };
    let (chip, options) = match read {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    let asked = Asked { chip: target.arch.as_deref(), ..Asked::default() };
    let text = match device::text(path, asked) {
        Ok(text) => text,
        Err(error) => return error.report(),
    };
    let session = Opened::looking(&text, chip, &linked(options, linking));
    let name = input::shown(path);
    let mut diagnostics = session.diagnostics_for_chip();
    diagnostics.extend(session.stand_in());
    if shows == Shows::Code {
        diagnostics.extend(session.no_encoding());
    }
    if diagnostics.iter().any(Diagnostic::is_error) {
        render::to_terminal(&name, &text, &diagnostics);
        return Outcome::Failed;
    }
    let mut functions = session::compiled(&session).functions();
    if let Some(only) = only {
        let known: Vec<&str> = functions.iter().map(Function::name).collect();
        match names::one_of("function", &known, only) {
            Ok(one) => functions.retain(|function| function.name() == one),
            Err(message) => return misused(format!("{name}: {message}")),
        }
    }
    let mut out = String::new();
    let mut failures = Vec::new();
    for function in functions {
        if let Err(found) = shown(&function, &mut out) {
            failures.extend(found);
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
    if arguments.changed {
        return changes(arguments);
    }
    if arguments.after == "all" {
        return misused("`--after all` goes with `--changed`");
    }
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
    functions(
        &arguments.input,
        only,
        (&arguments.target, arguments.linked),
        Shows::NoCode,
        |function, text| phase.write(function, layout, text),
    )
}

/// Prints what each phase changes.
fn changes(arguments: &Ori) -> Outcome {
    let last = match arguments.after.as_str() {
        "all" => None,
        name => match PhaseView::find(name) {
            Some(phase) => Some(phase),
            None => return misused(format!("there is no phase `{name}`; `--after list` lists them")),
        },
    };
    let only = arguments.function.as_deref();
    functions(
        &arguments.input,
        only,
        (&arguments.target, arguments.linked),
        Shows::NoCode,
        |function, text| write_changes(function, last, arguments.context, text),
    )
}

/// Runs `oriole isel`.
pub fn isel(arguments: &Isel) -> Outcome {
    let wins = RefCell::new(Wins::default());
    let only = arguments.function.as_deref();
    let outcome = functions(
        &arguments.input,
        only,
        (&arguments.target, arguments.linked),
        Shows::Code,
        |function, text| {
            if arguments.count {
                return wins.borrow_mut().add(function);
            }
            write_selection(function, arguments.explain, text)
        },
    );
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
    match oriole_explore::latencies(chip, arguments.guesses) {
        Ok(table) => print(&table),
        Err(reason) => failed(reason),
    }
}

/// The distances that the code of some files depends on, the most frequent first, and how many of them are guesses.
fn latencies_of_code(arguments: &Latency) -> Outcome {
    let mut counts = BTreeMap::new();
    for path in &arguments.of {
        let mut broken = false;
        let given = device::each(path, Wanted::Cubin, Amount::Any, Asked::default(), |image| {
            match image.map_err(Into::into).and_then(|image| crate::dis::cubin_of(&image)) {
                Ok((cubin, _)) => {
                    for (pair, count) in oriole_simulate::pairs(&cubin) {
                        *counts.entry(pair).or_insert(0) += count;
                    }
                }
                Err(message) => {
                    failed(message);
                    broken = true;
                }
            }
        });
        if let Err(error) = given {
            return error.report();
        }
        if broken {
            return Outcome::Failed;
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
    let asked = Asked { strict: true, ..Asked::of(&arguments.arch, &arguments.which.image) };
    let format = messages::format();
    if arguments.json && format != MessageFormat::Human {
        return misused("--json and --message-format are two formats of the same");
    }
    let shown = input::shown(&arguments.cubin);
    let (mut text, mut found) = (String::new(), Vec::new());
    let (mut count, mut broken) = (0, false);
    let given = device::each(&arguments.cubin, Wanted::Cubin, Amount::OfOneChip, asked, |image| {
        let number = image.as_ref().ok().and_then(|image| image.number);
        let cubin = match image.map_err(Into::into).and_then(|image| crate::dis::cubin_of(&image)) {
            Ok((cubin, _)) => cubin,
            Err(message) => {
                failed(message);
                broken = true;
                return;
            }
        };
        let label = number.map_or(shown.clone(), |number| format!("{shown} #{number}"));
        for hazard in &oriole_simulate::lint(&cubin) {
            count += 1;
            if format != MessageFormat::Human {
                found.push(hazards::message(&label, hazard, number));
            } else if arguments.json {
                let mut value = serde_json::json!({ "kernel": hazard.kernel, "pc": hazard.pc, "other": hazard.other, "message": hazard.to_string() });
                if let Some(number) = number {
                    value["image"] = number.into();
                }
                let _ = writeln!(text, "{value}");
            } else {
                let of = number.map_or(String::new(), |number| format!("#{number}: "));
                let _ = writeln!(text, "{of}{}", names::explained(&hazard.to_string()));
            }
        }
    });
    if let Err(error) = given {
        return error.report();
    }
    match format {
        MessageFormat::Human if !arguments.json => {
            let _ = writeln!(text, "{count} hazards");
        }
        MessageFormat::Short => eprintln!("{count} hazards"),
        _ => {}
    }
    messages::give(found);
    print(&text);
    if count == 0 && !broken { Outcome::Right } else { Outcome::Failed }
}
