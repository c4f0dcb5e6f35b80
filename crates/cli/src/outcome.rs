//! How a command ends, and the few ways in which it may touch standard output.

use crate::names;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All right.
    Right,
    /// The command failed, or a result is wrong: exit status 1.
    Failed,
    /// The question itself is wrong: exit status 2.
    Misused,
    /// The question has no answer: exit status 3.
    Undecided,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        match outcome {
            Outcome::Right => ExitCode::SUCCESS,
            Outcome::Failed => ExitCode::from(1),
            Outcome::Misused => ExitCode::from(2),
            Outcome::Undecided => ExitCode::from(3),
        }
    }
}

/// The reasons why something could not be done, for formats that say it once more in the end.
static FAILURES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Says why, and fails.
pub fn failed(message: impl Display) -> Outcome {
    let message = message.to_string();
    eprintln!("error: {}", names::explained(&message));
    FAILURES.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    Outcome::Failed
}

/// The messages of [`failed`] so far.
pub fn failures() -> Vec<String> {
    FAILURES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Says why, as bad usage.
pub fn misused(message: impl Display) -> Outcome {
    eprintln!("error: {}", names::explained(&message.to_string()));
    Outcome::Misused
}

/// Whether something could not be printed; the command fails then, however it ends otherwise.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints to standard output; a reader that went away is not a failure.
pub fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// How a command ends after output was written to standard output with this result. The first failure is reported.
pub fn printed(result: std::io::Result<()>) -> Outcome {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            if !LOST.swap(true, Ordering::Relaxed) {
                failed(format!("standard output: {error}"));
            }
            Outcome::Failed
        }
        _ => Outcome::Right,
    }
}

/// How the program ends, if the command ended so.
pub fn in_the_end(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Right if LOST.load(Ordering::Relaxed) => Outcome::Failed,
        outcome => outcome,
    }
}
