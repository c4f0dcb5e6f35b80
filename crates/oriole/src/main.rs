//! The command-line program: arguments, files and terminal; no compiler logic lives here.

mod arguments;
mod cache;
mod compile;
mod dis;
mod inspect;
mod launch;
mod loops;
mod lsp;
mod outcome;
mod render;
mod run;
mod session;
mod watch;

use arguments::{Arguments, Command};
use clap::Parser;
use outcome::{Outcome, misused};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        Command::Compile(arguments) => compile::compile(arguments),
        Command::Check(arguments) => compile::check(arguments),
        Command::Watch(arguments) => watch::watch(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Dis(arguments) => dis::dis(arguments),
        Command::Asm(arguments) => dis::asm(arguments),
        Command::Ori(arguments) => inspect::ori(arguments),
        Command::Isel(arguments) => inspect::isel(arguments),
        Command::Latency(arguments) => inspect::latency(arguments),
        Command::Lint(arguments) => inspect::lint(arguments),
        Command::Lsp(arguments) => lsp::lsp(arguments),
        Command::Explain { code } => explain(code),
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
