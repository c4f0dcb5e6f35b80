//! `oriole list`, and arguments that can be asked what they take: `--knob help`, `--debug-switch help`, `--after list`.
//!
//! It is here so that a list is the same wherever it is asked for. The contents of lists are known elsewhere.

use crate::outcome::{Outcome, print};
use clap::ValueEnum;
use clap::builder::{StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use oriole_chip::Chip;
use oriole_diagnostics::Code;
use oriole_explore::phase_list;
use oriole_options::{KNOBS, Knob, KnobKind, Value};
use std::ffi::OsStr;

/// The lists.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Compiler phases, for `ori --after`.
    Phases,
    /// Switches for `--debug-switch`.
    Switches,
    /// Knobs, for `--knob`.
    Knobs,
    /// Diagnostic codes, for `explain`.
    Codes,
    /// Chips, for `--arch`.
    Chips,
}

/// Prints a list; with `all` also phases that have nothing to do in compute code.
pub fn list(what: What, all: bool) -> Outcome {
    print(&match what {
        What::Phases => phase_list(all),
        What::Switches => switches(),
        What::Knobs => knobs(),
        What::Codes => codes(),
        What::Chips => chips(),
    })
}

/// A text; one word of it prints a list instead and ends the program well, whatever else is on the command line.
#[derive(Clone)]
pub struct Listed {
    /// The word that asks for the list.
    pub word: &'static str,
    /// The list.
    pub list: fn() -> String,
}

impl TypedValueParser for Listed {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        if value == self.word {
            return Err(clap::Error::raw(ErrorKind::DisplayHelp, (self.list)()));
        }
        StringValueParser::new().parse_ref(command, argument, value)
    }
}

/// Prints the list that an argument asked for, if that is what ended the parsing.
pub fn answer(error: &clap::Error) -> Option<Outcome> {
    let text = error.to_string();
    // To the library a list is an error like others; its own help is not.
    let list = text.strip_prefix("error: ").filter(|_| error.kind() == ErrorKind::DisplayHelp)?;
    Some(print(list))
}

/// Every knob with type, default and meaning.
pub fn knobs() -> String {
    KNOBS.iter().map(line).collect()
}

/// The knobs that are switches: those of yes or no whose default is no.
pub fn switches() -> String {
    KNOBS.iter().filter(|knob| knob.default == Value::Bool(false)).map(line).collect()
}

/// The phases that have something to do in compute code, a line each.
pub fn phases() -> String {
    phase_list(false)
}

/// The codes of diagnostics, a line each.
pub fn codes() -> String {
    let first_sentence = |page: &'static str| page.find(". ").map_or(page, |end| &page[..=end]);
    let line = |code: &Code| format!("{:<32} {}\n", code.as_str(), first_sentence(code.page()));
    Code::ALL.iter().map(line).collect()
}

/// The chips, a line each: what can be made for them, registers, and what fits on a multiprocessor.
fn chips() -> String {
    let line = |chip: Chip| {
        let makes = if chip.is_supported() { "code" } else { "checks only" };
        let general = chip.register_files().general.count;
        let limits = chip.limits().map_or(String::new(), |limits| {
            format!(
                ", an SM: {} warps, {} KiB of shared memory",
                limits.warps_per_sm,
                limits.shared_per_sm >> 10
            )
        });
        format!("{:<8} {makes:<12} {general} registers of a thread{limits}\n", chip.to_string())
    };
    Chip::all().into_iter().map(line).collect()
}

fn line(knob: &Knob) -> String {
    let takes = match knob.kind {
        KnobKind::Bool => "true or false".to_owned(),
        KnobKind::Number(low, high) => format!("{low} to {high}"),
    };
    let default = match knob.default {
        Value::Bool(default) => default.to_string(),
        Value::Number(default) => default.to_string(),
    };
    format!("{:<20} {:<28} {}\n", knob.name, format!("{takes}, by default {default}"), knob.doc)
}
