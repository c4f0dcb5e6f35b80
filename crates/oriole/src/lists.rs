//! Arguments that can be asked what they take: `--knob help`, `--debug-switch help`, `--after list`.

use crate::outcome::{Outcome, print};
use clap::builder::{StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use oriole_options::{KNOBS, Knob, KnobKind, Value};
use std::ffi::OsStr;

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
