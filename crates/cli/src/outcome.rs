//! How a command ends, and the few ways in which it may touch standard output.

use crate::names;
use std::io::Write;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All right.
    Right,
    /// What was asked failed, or a result is wrong: exit status 1.
    Failed,
    /// The question itself is wrong: exit status 2.
    Misused,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        match outcome {
            Outcome::Right => ExitCode::SUCCESS,
            Outcome::Failed => ExitCode::from(1),
            Outcome::Misused => ExitCode::from(2),
        }
    }
}

/// Says why, and fails.
pub fn failed(message: &str) -> Outcome {
    eprintln!("error: {}", names::explained(message));
    Outcome::Failed
}

/// Says why, as bad usage.
pub fn misused(message: &str) -> Outcome {
    eprintln!("error: {}", names::explained(message));
    Outcome::Misused
}

/// Prints to standard output; a reader that went away is no failure.
pub fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Outcome::Right
}
