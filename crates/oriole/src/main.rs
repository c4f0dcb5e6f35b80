//! The command-line program: arguments, files and terminal; no compiler logic lives here.

mod arguments;
mod dis;
mod inspect;
mod launch;
mod outcome;
mod render;
mod session;

use arguments::{Arguments, Command};
use clap::Parser;
use outcome::{Outcome, misused};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        Command::Dis(arguments) => dis::dis(arguments),
        Command::Asm(arguments) => dis::asm(arguments),
        Command::Explain { code } => explain(code),
        Command::Ori(arguments) => inspect::ori(arguments),
        Command::Isel(arguments) => inspect::isel(arguments),
        Command::Latency(arguments) => inspect::latency(arguments),
        Command::Lint(arguments) => inspect::lint(arguments),
        _ => misused("not wired yet"),
    };
    outcome.into()
}

/// Prints the page of a diagnostic code.
fn explain(code: &str) -> Outcome {
    match oriole_diagnostics::Code::from_name(code) {
        Some(code) => outcome::print(&format!("{}\n\n{}\n", code.as_str(), code.page())),
        None => misused(&format!("there is no diagnostic code `{code}`")),
    }
}
