//! Diagnostics in the formats of `--message-format`, for every command that prints any.
//!
//! A [`Message`] is a diagnostic with its place in a file or in machine code. Each format is a file here; the excerpts for people are
//! `render`'s. Nothing is found or judged here.

mod github;
mod json;
mod message;
mod sarif;

pub use message::{Fix, Message, Place, Region, Related, Replacement};

use crate::outcome::{Outcome, print};
use clap::ValueEnum;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Format of diagnostics.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageFormat {
    /// Source excerpts.
    #[default]
    Human,
    /// One line a diagnostic: file, line, column, severity, code, message.
    Short,
    /// One JSON object a line.
    Json,
    /// Workflow commands of GitHub Actions.
    Github,
    /// One SARIF 2.1.0 log.
    Sarif,
}

/// Where diagnostics go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// To standard output: they are the result of the command. Those for people go to standard error all the same.
    Output,
    /// To standard error.
    Error,
}

/// The choice of the command line, once for the process.
static CHOSEN: OnceLock<(MessageFormat, Stream)> = OnceLock::new();

/// The messages of a log that is written as a whole in the end.
static LOG: Mutex<Vec<Message>> = Mutex::new(Vec::new());

/// From now on diagnostics have this format and go there.
pub fn choose(format: MessageFormat, stream: Stream) {
    let _ = CHOSEN.set((format, stream));
}

/// The format.
pub fn format() -> MessageFormat {
    CHOSEN.get().map_or(MessageFormat::Human, |chosen| chosen.0)
}

/// Prints messages in the format, or keeps them until the log is written. Excerpts for people are not made here: such messages are
/// one line each.
pub fn give(messages: Vec<Message>) {
    let line: fn(&Message) -> String = match format() {
        MessageFormat::Human | MessageFormat::Short => Message::short,
        MessageFormat::Json => json::line,
        MessageFormat::Github => github::command,
        MessageFormat::Sarif => {
            LOG.lock().unwrap_or_else(PoisonError::into_inner).extend(messages);
            return;
        }
    };
    write(&messages.iter().map(|message| line(message) + "\n").collect::<String>());
}

/// Prints a result next to which messages are printed: to standard output, unless that is theirs.
pub fn result(text: &str) {
    if have_output() {
        eprint!("{text}");
    } else {
        print(text);
    }
}

/// Whether messages go to standard output.
fn have_output() -> bool {
    let is_for_programs = |format| !matches!(format, MessageFormat::Human | MessageFormat::Short);
    CHOSEN.get().is_some_and(|&(format, stream)| stream == Stream::Output && is_for_programs(format))
}

fn write(text: &str) {
    if have_output() {
        print(text);
    } else {
        eprint!("{text}");
    }
}

/// Ends the messages of a command: writes the log, if that is the format.
pub fn finish(outcome: Outcome) {
    if format() == MessageFormat::Sarif && outcome != Outcome::Misused {
        let messages = std::mem::take(&mut *LOG.lock().unwrap_or_else(PoisonError::into_inner));
        write(&format!("{:#}\n", sarif::log(&messages, &crate::outcome::failures())));
    }
}
