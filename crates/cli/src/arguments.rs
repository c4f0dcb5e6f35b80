//! The command line: the commands and their arguments, with their help.
//!
//! It is here so that the files of commands take arguments from one place, and none of them from another command. Nothing is done
//! here.

mod binaries;
pub mod cache_server;
mod checking;
mod compiling;
mod installing;
mod machine_code;
mod resident;
mod running;
mod search;
mod shared;
mod showing;

use crate::colour::{self, When};
use crate::lists::What;
use crate::messages::{MessageFormat, Stream};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

pub use binaries::{Extract, Images, Which};
pub use checking::{Check, Fmt};
pub use compiling::{Compile, Watch, WatchLine};
pub use installing::{Completions, InitShadow, Lsp, Man};
pub use machine_code::{Asm, Dis, Latency, Lint};
pub use resident::{Action, Resident, Worker};
pub use running::{Machine, PlacesBy, Profile, Run, Time, Verify};
pub use search::{Bisect, Reduce};
pub use shared::{CacheArguments, Linked, Target, Tuning};
pub use showing::{Diff, Isel, Ori, View};

const EXAMPLES: &str = "\
Examples:
  oriole compile kernel.ptx -o kernel.cubin
  oriole check kernel.ptx
  oriole fmt kernel.ptx
  oriole watch kernel.ptx
  oriole view kernel.ptx -o kernel.html
  oriole diff kernel.ptx -O1 -- -O3
  oriole dis kernel.cubin
  oriole ptxas -v kernel.ptx -o kernel.cubin

Exit status:
  0  success
  1  failure: the PTX has errors, a result is wrong, or a file cannot be written
  2  usage error: unknown argument, code, knob or chip
`oriole ptxas` uses the exit statuses of ptxas.";

/// An open, incremental compiler from PTX to SASS.
#[derive(Parser, Debug)]
#[command(name = "oriole", version, about, after_help = EXAMPLES)]
pub struct Arguments<C: Subcommand = Command> {
    /// Write a trace of queries, stages and phases to this file, in the format of Chrome's trace viewer.
    #[arg(long, value_name = "FILE", global = true, help_heading = "Global options")]
    pub trace: Option<PathBuf>,
    /// Log queries, stages and phases to standard error, with a filter such as `oriole_pipeline=debug`; ORIOLE_LOG sets the same
    /// filter.
    #[arg(long, value_name = "FILTER", global = true, help_heading = "Global options")]
    pub log: Option<String>,
    /// Do not demangle C++ and Rust function names.
    #[arg(long, global = true, help_heading = "Global options")]
    pub no_demangle: bool,
    /// Colour output: auto is on a terminal, unless NO_COLOR is set, and everywhere if CLICOLOR_FORCE is set.
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        hide_possible_values = true,
        global = true,
        help_heading = "Global options"
    )]
    pub color: When,
    /// Format of diagnostics: human, short, json, github or sarif. `check`, `lint`, `run --check` and `verify --check` print json,
    /// github and sarif on standard output; everything else goes to standard error.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value = "human",
        hide_possible_values = true,
        global = true,
        help_heading = "Global options"
    )]
    pub message_format: MessageFormat,
    /// Command to run.
    #[command(subcommand)]
    pub command: C,
}

/// The command that must start quickly.
#[derive(Subcommand, Debug)]
enum Quick {
    /// Compile PTX to a cubin.
    Compile(Compile),
}

impl Arguments {
    /// Reads the command line. For a compile the parser of that command is made alone, which takes a third of the time; where
    /// it does not succeed, the parser of all commands says why.
    ///
    /// # Errors
    /// The message to print instead of running a command.
    pub fn read() -> Result<Arguments, clap::Error> {
        if std::env::args_os().nth(1).is_some_and(|word| word == "compile")
            && let Ok(Arguments {
                trace,
                log,
                no_demangle,
                color,
                message_format,
                command: Quick::Compile(compile),
            }) = Arguments::try_parse()
        {
            let command = Command::Compile(compile);
            return Ok(Arguments { trace, log, no_demangle, color, message_format, command });
        }
        let words: Vec<OsString> = std::env::args_os().collect();
        let coloured = colour::in_words(words.iter().skip(1).map(OsString::as_os_str));
        let matches = <Arguments as CommandFactory>::command().color(coloured).try_get_matches_from(words)?;
        Arguments::from_arg_matches(&matches)
    }
}

/// The arguments of `oriole compile`, from the words after the name of the program.
///
/// # Errors
/// They are none of that command: the message of the command line.
pub fn of_compile(words: &[String]) -> Result<Compile, String> {
    let words = std::iter::once("oriole").chain(words.iter().map(String::as_str));
    match Arguments::<Quick>::try_parse_from(words) {
        Ok(Arguments { command: Quick::Compile(compile), .. }) => Ok(compile),
        Err(error) => Err(error.to_string()),
    }
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Compile PTX to a cubin.
    Compile(Compile),
    /// Check PTX and report errors and warnings; `--fix` mends what it can.
    Check(Check),
    /// Format PTX: white space only.
    Fmt(Fmt),
    /// Recompile whenever a file changes.
    Watch(Watch),
    /// Run launch records on the PTX interpreter or the SASS simulator.
    Run(Run),
    /// Estimate the time that launch records take on a GPU.
    Time(Time),
    /// Find the phase, and the rewrite, that makes the result of a launch record wrong.
    Bisect(Bisect),
    /// Find the smallest PTX for which a command still succeeds.
    Reduce(Reduce),
    /// Run PTX and its machine code, and compare what they do.
    Verify(Verify),
    /// Write an HTML page: PTX, Ori and SASS side by side, with live registers, timing and control flow.
    View(View),
    /// Say why a kernel is slow: its faults in words, most costly first, in the model of a GPU.
    Profile(Profile),
    /// Compare the code of two cubins, or of PTX compiled in two ways.
    Diff(Diff),
    /// List the device code in a file: a cubin, fatbin, host object, library, program, archive, or a folder of them.
    Images(Images),
    /// Write the device code in a file to files of its own.
    Extract(Extract),
    /// Disassemble a cubin, or the device code in any file.
    Dis(Dis),
    /// Assemble the output of `dis` to instruction words.
    Asm(Asm),
    /// Print Ori after a phase.
    Ori(Ori),
    /// Explain instruction selection.
    Isel(Isel),
    /// Print the latency table of a chip.
    Latency(Latency),
    /// Check a cubin for hazards.
    Lint(Lint),
    /// Run the language server.
    Lsp(Lsp),
    /// Start, stop or describe the resident compiler, which short-lived processes ask.
    Resident(Resident),
    /// Compile what a build system asks for on standard input: a persistent worker of Bazel and others.
    Worker(Worker),
    /// Create a shadow CUDA toolkit whose nvcc runs Oriole instead of ptxas; `oriole ptxas` takes ptxas's own options.
    InitShadow(InitShadow),
    /// Print shell completions.
    Completions(Completions),
    /// Write man pages.
    Man(Man),
    /// List phases, switches, knobs, diagnostic codes or chips.
    List(List),
    /// Explain a diagnostic code, or list all codes.
    Explain {
        /// The code, such as `ptx::syntax`.
        code: Option<String>,
    },
}

impl Command {
    /// Where diagnostics go that are for programs: they are the result of some commands.
    pub fn findings(&self) -> Stream {
        let is_result = match self {
            Command::Check(_) | Command::Lint(_) | Command::Verify(_) => true,
            Command::Run(run) => run.check.is_some(),
            _ => false,
        };
        if is_result { Stream::Output } else { Stream::Error }
    }
}

/// `oriole list`
#[derive(Args, Debug)]
pub struct List {
    /// List to print.
    pub what: What,
    /// Also list phases that have nothing to do in compute code.
    #[arg(long)]
    pub all: bool,
}
