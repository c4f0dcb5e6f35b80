//! The command-line program: arguments, files and terminal; no compiler logic lives here.

mod arguments;
mod asm;
mod bisect;
mod cache;
mod check;
mod checks;
mod code;
mod colour;
mod compile;
mod crash;
mod diff;
mod dis;
mod files;
mod fmt;
mod hazards;
mod images;
mod inspect;
mod launch;
mod lists;
mod lsp;
mod manual;
mod messages;
mod names;
mod outcome;
mod profile;
mod progress;
mod ptxas;
mod reduce;
mod render;
mod resident;
mod run;
mod session;
mod tensor_map;
mod time;
mod trace;
mod tune;
mod verify;
mod view;
mod watch;
mod worker;

use arguments::{Arguments, Command};
use oriole_diagnostics::Code;
use outcome::{Outcome, failed, misused};
use std::io::Write;
use std::panic::{catch_unwind, resume_unwind};
use std::process::ExitCode;
use trace::Tracing;

/// For the linker; no code calls them by name.
#[cfg(all(target_arch = "x86_64", target_env = "musl"))]
use oriole_memory_functions as _;

/// A compile makes and drops many small values: with the system's allocator a tenth of its time. It asks for huge pages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    crash::watch();
    match catch_unwind(program) {
        Ok(status) => status,
        Err(panic) => {
            crash::ended(&*panic);
            resume_unwind(panic)
        }
    }
}

/// Runs what the command line asks for.
fn program() -> ExitCode {
    if let Some(call) = ptxas::Call::from_environment() {
        return call.run();
    }
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(error) => return lists::answer(&error).unwrap_or_else(|| refused(&error)).into(),
    };
    if arguments.no_demangle {
        names::show_symbols_alone();
    }
    colour::choose(arguments.color);
    messages::choose(arguments.message_format, arguments.command.findings());
    let timed = matches!(&arguments.command, Command::Compile(compile) if compile.time_passes);
    let serves = matches!(&arguments.command, Command::Lsp(_));
    let tracing = match Tracing::start(timed, arguments.trace.as_deref(), arguments.log.as_deref(), serves) {
        Ok(tracing) => tracing,
        Err(message) => return misused(message).into(),
    };
    let outcome = match &arguments.command {
        Command::Compile(arguments) => compile::compile(arguments),
        Command::Check(arguments) => check::check(arguments),
        Command::Fmt(arguments) => fmt::fmt(arguments),
        Command::Watch(arguments) => watch::watch(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Time(arguments) => time::time(arguments),
        Command::Bisect(arguments) => bisect::bisect(arguments),
        Command::Reduce(arguments) => reduce::reduce(arguments),
        Command::Verify(arguments) => verify::verify(arguments),
        Command::View(arguments) => view::view(arguments),
        Command::Profile(arguments) => profile::profile(arguments),
        Command::Diff(arguments) => diff::diff(arguments),
        Command::Images(arguments) => images::images(arguments),
        Command::Extract(arguments) => images::extract(arguments),
        Command::Dis(arguments) => dis::dis(arguments),
        Command::Asm(arguments) => asm::asm(arguments),
        Command::Ori(arguments) => inspect::ori(arguments),
        Command::Isel(arguments) => inspect::isel(arguments),
        Command::Latency(arguments) => inspect::latency(arguments),
        Command::Lint(arguments) => inspect::lint(arguments),
        Command::Lsp(arguments) => lsp::lsp(arguments),
        Command::Resident(arguments) => resident::resident(arguments),
        Command::Worker(arguments) => worker::worker(arguments.jobs),
        Command::InitShadow(arguments) => ptxas::init_shadow(arguments),
        Command::Completions(arguments) => manual::completions(arguments),
        Command::Man(arguments) => manual::man(arguments),
        Command::List(arguments) => lists::list(arguments.what, arguments.all),
        Command::Explain { code } => explain(code.as_deref()),
    };
    messages::finish(outcome);
    match tracing.finish() {
        Ok(()) => outcome::in_the_end(outcome).into(),
        Err(message) => failed(message).into(),
    }
}

/// Prints the messages of the argument parser: help and version, or the errors.
fn refused(error: &clap::Error) -> Outcome {
    let said = error.print().and_then(|()| std::io::stdout().flush());
    if error.use_stderr() { Outcome::Misused } else { outcome::printed(said) }
}

/// Prints the page of a diagnostic code, or the list of codes.
fn explain(code: Option<&str>) -> Outcome {
    let Some(code) = code else {
        return outcome::print(&lists::codes());
    };
    match Code::from_name(code) {
        Some(code) => outcome::print(&format!("{}\n\n{}\n", code.as_str(), code.page())),
        None => misused(format!("there is no diagnostic code `{code}`; `oriole explain` lists them")),
    }
}
