//! The command line: what can be asked, with its help. Nothing is done here.

use crate::cache::CacheArguments;
use crate::diff::Diff;
use crate::inspect;
use crate::lists::{self, List, Listed};
use crate::view::View;
use clap::{Args, Parser, Subcommand, ValueEnum};
use oriole_chip::Chip;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  oriole compile kernel.ptx -o kernel.cubin
  oriole check kernel.ptx
  oriole watch kernel.ptx
  oriole view kernel.ptx -o kernel.html
  oriole diff kernel.ptx -O1 -- -O3
  oriole dis kernel.cubin
  oriole ptxas -v kernel.ptx -o kernel.cubin

Exit status:
  0  all right
  1  what was asked failed: the PTX has errors, a result is wrong, a file cannot be written
  2  the question itself is wrong: an unknown argument, code, knob or chip
`oriole ptxas` has the exit statuses of ptxas.";

/// An open, incremental PTX to SASS compiler.
#[derive(Parser, Debug)]
#[command(name = "oriole", version, about, after_help = EXAMPLES)]
pub struct Arguments<C: Subcommand = Command> {
    /// Write when which query, stage and phase ran to this file, in the format of Chrome's trace viewer.
    #[arg(long, value_name = "FILE", global = true)]
    pub trace: Option<PathBuf>,
    /// Tell on standard error which of them ran, by a filter such as `oriole_pipeline=debug`; the variable ORIOLE_LOG says
    /// the same.
    #[arg(long, value_name = "FILTER", global = true)]
    pub log: Option<String>,
    /// Show names of functions as symbols alone, without those of C++ and Rust sources behind them.
    #[arg(long, global = true)]
    pub no_demangle: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: C,
}

/// The command whose start counts.
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
    /// What is to be said instead of running a command.
    pub fn read() -> Result<Arguments, clap::Error> {
        if std::env::args_os().nth(1).is_some_and(|word| word == "compile")
            && let Ok(Arguments { trace, log, no_demangle, command: Quick::Compile(compile) }) =
                Arguments::try_parse()
        {
            return Ok(Arguments { trace, log, no_demangle, command: Command::Compile(compile) });
        }
        Arguments::try_parse()
    }
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Compile PTX to a cubin.
    Compile(Compile),
    /// Check PTX and report what is wrong with it.
    Check(Check),
    /// Compile again whenever a file changes.
    Watch(Watch),
    /// Run launch records on the PTX interpreter or the SASS simulator.
    Run(Run),
    /// Write a page for a browser: PTX, Ori and SASS side by side, registers, time and control flow drawn.
    View(View),
    /// Compare the code of two cubins, or of PTX compiled in two ways.
    Diff(Diff),
    /// Disassemble a cubin.
    Dis(Dis),
    /// Assemble the text of `dis` back to words.
    Asm(Asm),
    /// Print Ori after a phase.
    Ori(Ori),
    /// Explain the choice of instruction forms.
    Isel(Isel),
    /// Print the latency facts of a chip.
    Latency(Latency),
    /// Look for hazards in any cubin.
    Lint(Lint),
    /// Serve an editor with the language server protocol.
    Lsp(Lsp),
    /// Make a folder whose nvcc compiles with Oriole in ptxas's place; `oriole ptxas` takes ptxas's own options.
    InitShadow(InitShadow),
    /// Print what completes command lines in a shell.
    Completions(Completions),
    /// Write the pages of the manual.
    Man(Man),
    /// List phases, switches, knobs, codes of diagnostics or chips.
    List(List),
    /// Print the page of a diagnostic code, or the list of codes.
    Explain {
        /// The code, such as `ptx::syntax`.
        code: Option<String>,
    },
}

/// What every compiling command takes.
#[derive(Args, Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Chip to compile for; that of the file's `.target` if left out.
    #[arg(long)]
    pub arch: Option<String>,
    /// How.
    #[command(flatten)]
    pub tuning: Tuning,
}

/// How a command compiles, whatever the chip.
#[derive(Args, Debug, Clone, PartialEq, Eq)]
pub struct Tuning {
    /// Optimization level 0 to 3; 3 if left out, 0 with --device-debug.
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub level: Option<u8>,
    /// Contract multiplies and adds into fused ones.
    #[arg(long, value_name = "BOOL", default_value = "true", action = clap::ArgAction::Set)]
    pub fmad: bool,
    /// Most registers a thread may use.
    #[arg(long, value_name = "N")]
    pub maxrregcount: Option<u32>,
    /// Write all that debuggers read, as if `.target` had `debug`; at -O0 only.
    #[arg(short = 'g', long)]
    pub device_debug: bool,
    /// Write line tables even if the source has no `.loc`.
    #[arg(long)]
    pub generate_line_info: bool,
    /// Write no debug information, whatever the source has.
    #[arg(long)]
    pub suppress_debug_info: bool,
    /// Set a knob; `help` lists them.
    #[arg(long = "knob", value_name = "NAME=VALUE", value_parser = Listed { word: "help", list: lists::knobs })]
    pub knobs: Vec<String>,
    /// Turn parts of the compiler off, separated by commas: serial-deps, min-regs, no-uniform ...; `help` lists them.
    #[arg(long = "debug-switch", value_name = "SWITCH", value_delimiter = ',', value_parser = Listed { word: "help", list: lists::switches })]
    pub switches: Vec<String>,
}

/// `oriole compile`
#[derive(Args, Debug)]
pub struct Compile {
    /// PTX file; `-` is standard input.
    pub input: PathBuf,
    /// Where the cubin goes, `-` is standard output; the input's name with `.cubin` if left out.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Target and options.
    #[command(flatten)]
    pub target: Target,
    /// Write a relocatable file for a linker: a section for each function, and what other files define left open.
    #[arg(short = 'c', long)]
    pub compile_only: bool,
    /// Write a whole program that a linker completes: what other files define is left open, all else is laid out.
    #[arg(long, visible_alias = "ewp", conflicts_with = "compile_only")]
    pub extensible_whole_program: bool,
    /// Print what each function needs.
    #[arg(short, long)]
    pub verbose: bool,
    /// Print one JSON document to standard output: what each function needs, how full an SM gets, and the diagnostics.
    #[arg(long, conflicts_with = "verbose")]
    pub json: bool,
    /// Look for hazards in the code before it is written, as `lint` does; where there is one nothing is written.
    #[arg(long)]
    pub check: bool,
    /// How many threads; all processors if left out.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Print the processor time that each query, stage and phase took.
    #[arg(long)]
    pub time_passes: bool,
    /// The content store.
    #[command(flatten)]
    pub cache: CacheArguments,
}

/// How diagnostics are written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFormat {
    /// With source excerpts, to standard error.
    Human,
    /// One JSON object a line, to standard output.
    Json,
}

/// `oriole watch`
#[derive(Args, Debug)]
pub struct Watch {
    /// PTX files, and folders whose PTX files are watched, those of folders below included.
    #[arg(default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Chips to compile for, separated by commas; the first of the file's `.target` if left out.
    #[arg(long, value_name = "CHIP", value_delimiter = ',')]
    pub arch: Vec<String>,
    /// Where cubins go, in the order of folders of their sources; beside the sources if left out.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How to compile.
    #[command(flatten)]
    pub tuning: Tuning,
    /// How many threads; all processors if left out.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// The content store. What one session computed is kept in memory in any case.
    #[command(flatten)]
    pub cache: CacheArguments,
}

/// `oriole check`
#[derive(Args, Debug)]
pub struct Check {
    /// PTX file; `-` is standard input.
    pub input: PathBuf,
    /// Chip to check for; that of the file's `.target` if left out.
    #[arg(long)]
    pub arch: Option<String>,
    /// How diagnostics are written.
    #[arg(long, value_enum, default_value = "human")]
    pub message_format: MessageFormat,
    /// Compile it too, writing nothing, and tell of all that cannot be compiled for the chip: each form once, with its first
    /// place and how many there are.
    #[arg(long)]
    pub for_codegen: bool,
}

/// A machine that runs kernels.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// The PTX interpreter.
    Interp,
    /// The SASS simulator.
    Sim,
}

/// `oriole run`
#[derive(Args, Debug)]
pub struct Run {
    /// Launch records: one JSON object, or one a line.
    pub launches: PathBuf,
    /// Which machine.
    #[arg(long, value_enum)]
    pub on: Machine,
    /// Target and options of the compile before a simulation.
    #[command(flatten)]
    pub target: Target,
    /// Simulate this cubin instead of compiling the PTX.
    #[arg(long, conflicts_with = "cubins")]
    pub cubin: Option<PathBuf>,
    /// Simulate cubins of this folder, named as the PTX files of the launches.
    #[arg(long)]
    pub cubins: Option<PathBuf>,
    /// Perturb results of the approximate unit within their published error, with this seed.
    #[arg(long, value_name = "SEED")]
    pub perturb: Option<u64>,
    /// Simulate a machine whose results come as late as the control words allow.
    #[arg(long)]
    pub late: bool,
    /// Look for hazards in the whole of the code that is compiled, as `lint` does, before it is simulated: a run finds those that
    /// it meets.
    #[arg(long)]
    pub check: bool,
    /// Most instructions that a launch may execute: of warps in the simulator, of lanes in the interpreter.
    #[arg(long, value_name = "COUNT")]
    pub step_limit: Option<u64>,
    /// One JSON result a line on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `oriole dis`
#[derive(Args, Debug)]
pub struct Dis {
    /// Cubin.
    pub cubin: PathBuf,
    /// One JSON object an instruction.
    #[arg(long, conflicts_with = "summary")]
    pub json: bool,
    /// Only one line a kernel: instructions without padding, registers, stack, static issue cycles
    /// (also weighted by ten to the power of the loop depth), local loads and stores.
    #[arg(long)]
    pub summary: bool,
    /// The source line that instructions stem from, where the cubin tells it; of inlined code that of the innermost function.
    #[arg(long, conflicts_with = "summary")]
    pub lines: bool,
    /// The control-flow graphs as DOT, with the code in the blocks.
    #[arg(long, conflicts_with_all = ["json", "summary", "lines"])]
    pub dot: bool,
}

/// `oriole asm`
#[derive(Args, Debug)]
pub struct Asm {
    /// Text as `dis` prints it.
    pub input: PathBuf,
    /// Chip the words are for.
    #[arg(long, default_value_t = Chip::DEFAULT.to_string())]
    pub arch: String,
    /// Where the words go as bytes; hexadecimal on standard output if left out.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// `oriole ori`
#[derive(Args, Debug)]
pub struct Ori {
    /// PTX file; `-` is standard input.
    pub input: PathBuf,
    /// Phase by name or number; `list` lists them.
    #[arg(long, value_name = "PHASE", value_parser = Listed { word: "list", list: inspect::phases })]
    pub after: String,
    /// Only this function, by its symbol or by its name in the source (`foo`, `foo<int>`, `space::foo`).
    #[arg(long)]
    pub function: Option<String>,
    /// The control-flow graph as DOT, with the code in the blocks.
    #[arg(long)]
    pub dot: bool,
    /// The order of the blocks (reverse postorder) and the back edges.
    #[arg(long, conflicts_with = "dot")]
    pub rpo: bool,
    /// Target and options.
    #[command(flatten)]
    pub target: Target,
}

/// `oriole isel`
#[derive(Args, Debug)]
pub struct Isel {
    /// PTX file; `-` is standard input.
    pub input: PathBuf,
    /// Show what the passes decided before allocation, the candidates of each instruction and why the winner won.
    #[arg(long)]
    pub explain: bool,
    /// Only count how often each row and each alternative wins.
    #[arg(long, conflicts_with = "explain")]
    pub count: bool,
    /// Only this function, by its symbol or by its name in the source (`foo`, `foo<int>`, `space::foo`).
    #[arg(long)]
    pub function: Option<String>,
    /// Target and options.
    #[command(flatten)]
    pub target: Target,
}

/// `oriole latency`
#[derive(Args, Debug)]
pub struct Latency {
    /// Chip.
    #[arg(long, default_value_t = Chip::DEFAULT.to_string())]
    pub arch: String,
    /// Only the numbers that are guesses.
    #[arg(long)]
    pub guesses: bool,
    /// Only the distances that the code of these cubins depends on, with how often it does; each by the table of its chip.
    #[arg(long, value_name = "CUBIN", num_args = 1.., conflicts_with = "arch")]
    pub of: Vec<PathBuf>,
}

/// `oriole lint`
#[derive(Args, Debug)]
pub struct Lint {
    /// Cubin.
    pub cubin: PathBuf,
    /// One JSON object a diagnostic.
    #[arg(long)]
    pub json: bool,
}

/// `oriole lsp`
#[derive(Args, Debug)]
pub struct Lsp {
    /// Standard streams; so it is without any argument, and many editors say it.
    #[arg(long, conflicts_with_all = ["port", "connect"])]
    pub stdio: bool,
    /// Wait for one client on this port of 127.0.0.1; 0 for any free one, which is then told on standard error.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Connect to a client that waits at this address.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "port")]
    pub connect: Option<String>,
    /// Print the JSON schema of `oriole.toml` and leave.
    #[arg(long)]
    pub schema: bool,
}

/// `oriole init-shadow`
#[derive(Args, Debug)]
pub struct InitShadow {
    /// The folder; it is made if it is not there.
    pub folder: PathBuf,
    /// The toolkit whose nvcc it stands for.
    #[arg(long, value_name = "DIR", default_value = "/usr/local/cuda")]
    pub cuda: PathBuf,
}

/// `oriole completions`
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// `oriole man`
#[derive(Args, Debug)]
pub struct Man {
    /// The folder that they go to, one for each command; it is made if it is not there.
    pub folder: PathBuf,
}
