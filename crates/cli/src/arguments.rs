//! The command line: the commands and their arguments, with their help.
//!
//! It is here so that the files of commands take arguments from one place, and none of them from another command. Nothing is done
//! here.

mod binaries;
pub mod cache_server;
mod checking;
mod resident;
mod search;
mod shared;

use crate::colour::{self, When};
use crate::lists::{self, Listed, What};
use crate::messages::{MessageFormat, Stream};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use oriole_chip::Chip;
use std::ffi::OsString;
use std::path::PathBuf;

pub use binaries::{Extract, Images, Which};
pub use checking::{Check, Fmt};
pub use resident::{Action, Resident};
pub use search::{Bisect, Reduce};
pub use shared::{CacheArguments, Linked, Target, Tuning};

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
            Command::Check(_) | Command::Lint(_) => true,
            Command::Run(run) => run.check.is_some(),
            Command::Verify(verify) => verify.check.is_some(),
            _ => false,
        };
        if is_result { Stream::Output } else { Stream::Error }
    }
}

/// `oriole compile`
#[derive(Args, Debug)]
pub struct Compile {
    /// PTX files, files with PTX in them, folders and patterns; `-` is standard input.
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// Image of a file that holds several.
    #[command(flatten)]
    pub which: Which,
    /// Output file; `-` is standard output [default: the input's name with `.cubin`]. Of several files: the folder for their cubins.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Target and options.
    #[command(flatten)]
    pub target: Target,
    /// Write a relocatable object for nvlink: one section per function, external symbols unresolved.
    #[arg(short = 'c', long)]
    pub compile_only: bool,
    /// Write a whole program that nvlink can extend: only external symbols stay unresolved.
    #[arg(long, visible_alias = "ewp", conflicts_with = "compile_only")]
    pub extensible_whole_program: bool,
    /// Print the resources that each function uses.
    #[arg(short, long)]
    pub verbose: bool,
    /// Print resource usage, occupancy and diagnostics as one JSON document to standard output.
    #[arg(long, conflicts_with = "verbose")]
    pub json: bool,
    /// Check the code for hazards, as `lint` does; write nothing if there are any.
    #[arg(long)]
    pub check: bool,
    /// With -O4: how many codes of each function are judged besides the first [default: 14, or 36 with --tune-for].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub search_trials: Option<u32>,
    /// With -O4: judge codes by the estimated time of these launch records, as `time` does: one JSON object, or one per line.
    #[arg(long, value_name = "LAUNCHES")]
    pub tune_for: Option<PathBuf>,
    /// With --tune-for: blocks of the grid, if not those of the record, as with `time --blocks`.
    #[arg(long, value_name = "COUNT", requires = "tune_for")]
    pub tune_blocks: Option<u64>,
    /// Number of threads [default: all processors].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Print the CPU time of each query, stage and phase.
    #[arg(long)]
    pub time_passes: bool,
    /// Ask the resident compiler, and start it if there is none; ORIOLE_RESIDENT=1 does the same.
    #[arg(long)]
    pub resident: bool,
    /// The content store.
    #[command(flatten)]
    pub cache: CacheArguments,
}

/// `oriole watch`
#[derive(Args, Debug)]
pub struct Watch {
    /// PTX files, and directories to watch recursively for PTX files.
    #[arg(default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Chips to compile for, separated by commas [default: the first of the file's `.target`].
    #[arg(long, value_name = "CHIP", value_delimiter = ',')]
    pub arch: Vec<String>,
    /// Output directory, with the directory structure of the sources [default: next to the sources].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Compile options.
    #[command(flatten)]
    pub tuning: Tuning,
    /// Whether it is to be linked.
    #[command(flatten)]
    pub linked: Linked,
    /// Read compile options from standard input while running: each line replaces those of the command line, an empty line
    /// restores them.
    #[arg(long)]
    pub interactive: bool,
    /// Number of threads [default: all processors].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// The content store. Results of the session are always kept in memory.
    #[command(flatten)]
    pub cache: CacheArguments,
}

/// A line of standard input of `oriole watch --interactive`.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub struct WatchLine {
    /// Chips to compile for, separated by commas [default: those of the command line].
    #[arg(long, value_name = "CHIP", value_delimiter = ',')]
    pub arch: Vec<String>,
    /// Compile options.
    #[command(flatten)]
    pub tuning: Tuning,
    /// Whether it is to be linked.
    #[command(flatten)]
    pub linked: Linked,
}

/// A way to execute kernels.
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
    /// Launch records: one JSON object, or one per line.
    pub launches: PathBuf,
    /// Backend: PTX interpreter or SASS simulator.
    #[arg(long, value_enum)]
    pub on: Machine,
    /// Target and options of the compile before a simulation.
    #[command(flatten)]
    pub target: Target,
    /// Simulate this cubin instead of compiling the PTX.
    #[arg(long, conflicts_with = "cubins")]
    pub cubin: Option<PathBuf>,
    /// Simulate the cubins in this directory, named like the PTX files of the launches.
    #[arg(long)]
    pub cubins: Option<PathBuf>,
    /// Perturb MUFU results within their documented error, with this seed.
    #[arg(long, value_name = "SEED")]
    pub perturb: Option<u64>,
    /// Deliver results as late as the control words allow.
    #[arg(long)]
    pub late: bool,
    /// With a list (`--check=races,bounds`, `--check=all`): check the program while the interpreter runs it. Alone: check
    /// the compiled code for hazards before a simulation, as `lint` does; the simulation itself only finds those on its path.
    #[arg(long, value_name = "CHECKS", num_args = 0..=1, require_equals = true, default_missing_value = "hazards")]
    pub check: Option<String>,
    /// Findings to show for each launch that is checked.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub limit: usize,
    /// Maximum number of instructions per launch: warp instructions in the simulator, thread instructions in the interpreter.
    #[arg(long, value_name = "COUNT")]
    pub step_limit: Option<u64>,
    /// Print one JSON result per line on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `oriole time`
#[derive(Args, Debug)]
pub struct Time {
    /// Launch records: one JSON object, or one per line.
    pub launches: PathBuf,
    /// Target and options of the compile.
    #[command(flatten)]
    pub target: Target,
    /// Take this cubin, or that in this file, instead of compiling the PTX.
    #[arg(long)]
    pub cubin: Option<PathBuf>,
    /// Image of a file that holds several.
    #[command(flatten)]
    pub which: Which,
    /// Also estimate the code of this cubin, and print the ratio.
    #[arg(long, value_name = "CUBIN")]
    pub against: Option<PathBuf>,
    /// Blocks of the grid, if not those of the record: blocks like those follow each other.
    #[arg(long, value_name = "COUNT")]
    pub blocks: Option<u64>,
    /// Begin with no data in L2 [default: it is there, if it fits].
    #[arg(long)]
    pub cold: bool,
    /// Run only the blocks that are replayed, for large launches; what blocks do to each other is lost.
    #[arg(long)]
    pub sample: bool,
    /// Instructions to show, those before which warps wait longest.
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub lines: usize,
    /// Maximum number of warp instructions per launch.
    #[arg(long, value_name = "COUNT")]
    pub step_limit: Option<u64>,
    /// Print one JSON result per line on standard output.
    #[arg(long)]
    pub json: bool,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  oriole verify kernel.ptx
  oriole verify kernel.ptx --cubin by-ptxas.cubin --save differs.json

Exit status:
  0  all kernels were compared, and the code does the same as the PTX
  1  a kernel differs, or the PTX has errors
  2  usage error
  3  no kernel differs, and one or more could not be compared";

/// `oriole verify`
#[derive(Args, Debug)]
#[command(after_help = VERIFY_EXAMPLES)]
pub struct Verify {
    /// PTX file, or a file with PTX in it; `-` is standard input.
    pub input: PathBuf,
    /// Verify this cubin, or that in this file, instead of compiling the PTX.
    #[arg(long)]
    pub cubin: Option<PathBuf>,
    /// Image of the file with PTX.
    #[command(flatten)]
    pub which: Which,
    /// Image of the file with the cubin.
    #[arg(long, value_name = "N|NAME", requires = "cubin")]
    pub cubin_image: Option<String>,
    /// Only this kernel, by its symbol or its source name (`foo`, `foo<int>`, `space::foo`); repeatable.
    #[arg(long = "entry", value_name = "NAME")]
    pub entries: Vec<String>,
    /// Launch records to run, instead of launches that are made from the PTX.
    #[arg(long, value_name = "FILE")]
    pub launch: Option<PathBuf>,
    /// Launches to make for each kernel.
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Also check the launches while the interpreter runs them: `--check=races,bounds` or `--check=all`.
    #[arg(long, value_name = "CHECKS", require_equals = true)]
    pub check: Option<String>,
    /// Findings to show for each launch that is checked.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub limit: usize,
    /// Write the launches that show a difference to this file, as launch records.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Target and options of the compile.
    #[command(flatten)]
    pub target: Target,
    /// Maximum number of thread instructions per launch in the interpreter.
    #[arg(long, value_name = "COUNT")]
    pub step_limit: Option<u64>,
    /// Print one JSON result per line on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `oriole view`
#[derive(Args, Debug)]
pub struct View {
    /// PTX file or cubin, or a file with one in it; `-` is standard input.
    pub input: PathBuf,
    /// Image of a file that holds several.
    #[command(flatten)]
    pub which: Which,
    /// Output file; `-` is standard output [default: the input's name with `.html`].
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Only this kernel, by its symbol or its source name (`foo`, `foo<int>`, `space::foo`); repeatable.
    #[arg(long = "kernel", value_name = "NAME")]
    pub kernels: Vec<String>,
    /// Also show the code of this cubin, as of another compiler, aligned with that of the input.
    #[arg(long, value_name = "FILE")]
    pub cubin: Option<PathBuf>,
    /// Take the heat from a run of this launch record in the timing model, as `oriole profile` does.
    #[arg(long, value_name = "FILE")]
    pub launch: Option<PathBuf>,
    /// Serve the page on this machine instead of writing it, and follow changes of the input; ends on Ctrl-C.
    #[arg(long, conflicts_with = "output")]
    pub serve: bool,
    /// Port of --serve [default: a free one].
    #[arg(long, value_name = "N", requires = "serve")]
    pub port: Option<u16>,
    /// Open the page of --serve in the browser.
    #[arg(long, requires = "serve")]
    pub open: bool,
    /// Target and options.
    #[command(flatten)]
    pub target: Target,
    /// Whether it is to be linked.
    #[command(flatten)]
    pub linked: Linked,
    /// Number of threads [default: all processors].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  oriole diff before.cubin after.cubin
  oriole diff kernel.ptx -O1 -- -O3
  oriole diff kernel.ptx -- --maxrregcount 32 --debug-switch no-sched
  oriole diff kernel.ptx by-ptxas.cubin --html difference.html

Exit status: 0, or 1 with --exit-code if the code differs.";

/// By which text `oriole profile` names places.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlacesBy {
    /// Lines of the PTX.
    Ptx,
    /// Lines of the source, as `.loc` or the line table says.
    Source,
    /// Instructions.
    Sass,
}

/// `oriole profile`
#[derive(Args, Debug)]
#[command(
    after_help = "The exit status is 0 if there is a profile, with faults or without, 1 if the kernel does not compile or run, and 2 for \
    wrong usage."
)]
pub struct Profile {
    /// PTX file or cubin, or a file with one in it; or a launch record that names its PTX.
    pub input: PathBuf,
    /// Image of a file that holds several.
    #[command(flatten)]
    pub which: Which,
    /// Launch records: one JSON object, or one per line; those of other PTX files must name kernels of this one.
    pub launches: Option<PathBuf>,
    /// Target and options of the compile.
    #[command(flatten)]
    pub target: Target,
    /// Take the code from this cubin; the input gives the PTX only.
    #[arg(long)]
    pub cubin: Option<PathBuf>,
    /// Name places by lines of the source, by lines of the PTX, or by instructions [default: the first of these that is known].
    #[arg(long, value_enum)]
    pub by: Option<PlacesBy>,
    /// Blocks of the grid, if not those of the record: blocks like those follow each other.
    #[arg(long, value_name = "COUNT")]
    pub blocks: Option<u64>,
    /// Begin with no data in L2 [default: it is there, if it fits].
    #[arg(long)]
    pub cold: bool,
    /// Run only the blocks that are replayed, for large launches; what blocks do to each other is lost.
    #[arg(long)]
    pub sample: bool,
    /// Lines to show, those with the longest waits.
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    pub lines: usize,
    /// Maximum number of warp instructions per launch.
    #[arg(long, value_name = "COUNT")]
    pub step_limit: Option<u64>,
    /// Print one JSON document per line on standard output.
    #[arg(long)]
    pub json: bool,
    /// Also write a page for a browser: the lines with their waits next to the instructions.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `oriole diff`
#[derive(Args, Debug)]
#[command(after_help = DIFF_EXAMPLES)]
pub struct Diff {
    /// Cubin or PTX file, or a file with one in it; `-` is standard input.
    pub first: PathBuf,
    /// Image of files that hold several.
    #[command(flatten)]
    pub which: Which,
    /// Image of the second file, or the second one of the first [default: that of --image].
    #[arg(long, value_name = "N|NAME")]
    pub second_image: Option<String>,
    /// Cubin or PTX file to compare with [default: the first one, compiled with the options after `--`].
    pub second: Option<PathBuf>,
    /// Target and options of PTX files. PTX compared with a cubin is compiled for the cubin's chip unless `--arch` is given.
    #[command(flatten)]
    pub target: Target,
    /// Whether it is to be linked.
    #[command(flatten)]
    pub linked: Linked,
    /// Target and options of the second file, if different.
    #[arg(last = true, value_name = "OPTIONS")]
    pub others: Option<Vec<OsString>>,
    /// Only this kernel, by its symbol or its source name (`foo`, `foo<int>`, `space::foo`); repeatable.
    #[arg(long = "kernel", value_name = "NAME")]
    pub kernels: Vec<String>,
    /// Also compare register numbers, branch targets and control words.
    #[arg(long)]
    pub exact: bool,
    /// Lines of context around differences.
    #[arg(long, value_name = "LINES", default_value_t = 3, conflicts_with_all = ["html", "json"])]
    pub context: usize,
    /// Show all code.
    #[arg(long, conflicts_with_all = ["context", "html", "json"])]
    pub all: bool,
    /// Write an HTML page; `-` is standard output.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Exit with status 1 if the code differs.
    #[arg(long)]
    pub exit_code: bool,
    /// Number of threads [default: all processors].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// `oriole dis`
#[derive(Args, Debug)]
pub struct Dis {
    /// Cubin, or a file with machine code in it: a fatbin, host object, library, program, archive, or a folder of cubins;
    /// `-` is standard input.
    pub cubin: PathBuf,
    /// Only code for this chip, exactly.
    #[arg(long, value_name = "CHIP")]
    pub arch: Option<String>,
    /// Image of a file that holds several.
    #[command(flatten)]
    pub which: Which,
    /// Only this kernel or function, by its symbol or its source name (`foo`, `foo<int>`, `space::foo`); repeatable.
    #[arg(long = "entry", value_name = "NAME")]
    pub entries: Vec<String>,
    /// Print one JSON object per instruction.
    #[arg(long, conflicts_with = "summary")]
    pub json: bool,
    /// Print one line per kernel: instructions without padding, registers, stack, static issue cycles
    /// (also weighted by ten to the power of the loop depth), local loads and stores.
    #[arg(long)]
    pub summary: bool,
    /// Print lines of the source and of the PTX from the cubin's line tables; for inlined code, source lines of the innermost
    /// function.
    #[arg(long, conflicts_with = "summary")]
    pub lines: bool,
    /// Print labels in place of the addresses of branches; `oriole asm` reads them.
    #[arg(long, conflicts_with_all = ["json", "summary", "dot"])]
    pub labels: bool,
    /// Print control-flow graphs as DOT, with the code in the blocks.
    #[arg(long, conflicts_with_all = ["json", "summary", "lines"])]
    pub dot: bool,
}

/// `oriole asm`
#[derive(Args, Debug)]
pub struct Asm {
    /// Text in the format of `dis`; `-` is standard input.
    pub input: PathBuf,
    /// Put the functions of the text in place of those of the same names in this cubin, or in one in this file; everything else
    /// stays. Registers and hazards of the new code are checked.
    #[arg(long, value_name = "CUBIN", requires = "output")]
    pub into: Option<PathBuf>,
    /// Chip to assemble for [default: sm_90]; with `--into` the chip of the image, exactly.
    #[arg(long, value_name = "CHIP")]
    pub arch: Option<String>,
    /// Image of a file that holds several, for `--into`.
    #[command(flatten)]
    pub which: Which,
    /// Write the cubin although the check of its new code finds hazards.
    #[arg(long, requires = "into")]
    pub unchecked: bool,
    /// Output file: the cubin, or the raw bytes [default: hexadecimal on standard output].
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// `oriole ori`
#[derive(Args, Debug)]
pub struct Ori {
    /// PTX file; `-` is standard input.
    pub input: PathBuf,
    /// Phase by name or number; `list` lists them, and `all` with `--changed` is all of them.
    #[arg(long, value_name = "PHASE", value_parser = Listed { word: "list", list: lists::phases })]
    pub after: String,
    /// Only this function, by its symbol or its source name (`foo`, `foo<int>`, `space::foo`).
    #[arg(long)]
    pub function: Option<String>,
    /// Print the control-flow graph as DOT, with the code in the blocks.
    #[arg(long)]
    pub dot: bool,
    /// Print the blocks in reverse postorder, and the back edges.
    #[arg(long, conflicts_with = "dot")]
    pub rpo: bool,
    /// Print what each phase changed, up to and with PHASE: only phases that changed something, as a difference of Ori.
    #[arg(long, conflicts_with_all = ["dot", "rpo"])]
    pub changed: bool,
    /// Lines of context around differences.
    #[arg(long, value_name = "LINES", default_value_t = 3, requires = "changed")]
    pub context: usize,
    /// Target and options.
    #[command(flatten)]
    pub target: Target,
    /// Whether it is to be linked.
    #[command(flatten)]
    pub linked: Linked,
}

/// `oriole isel`
#[derive(Args, Debug)]
pub struct Isel {
    /// PTX file; `-` is standard input.
    pub input: PathBuf,
    /// Show the decisions of passes before register allocation, the candidates of each instruction, and why one was chosen.
    #[arg(long)]
    pub explain: bool,
    /// Only count how often each row and each alternative is chosen.
    #[arg(long, conflicts_with = "explain")]
    pub count: bool,
    /// Only this function, by its symbol or its source name (`foo`, `foo<int>`, `space::foo`).
    #[arg(long)]
    pub function: Option<String>,
    /// Target and options.
    #[command(flatten)]
    pub target: Target,
    /// Whether it is to be linked.
    #[command(flatten)]
    pub linked: Linked,
}

/// `oriole latency`
#[derive(Args, Debug)]
pub struct Latency {
    /// Chip name.
    #[arg(long, default_value_t = Chip::DEFAULT.to_string())]
    pub arch: String,
    /// Print only values that are guesses.
    #[arg(long)]
    pub guesses: bool,
    /// Print only the latencies that the code of these cubins depends on, with counts; each from the table of its chip.
    #[arg(long, value_name = "CUBIN", num_args = 1.., conflicts_with = "arch")]
    pub of: Vec<PathBuf>,
}

/// `oriole lint`
#[derive(Args, Debug)]
pub struct Lint {
    /// Cubin, or a file with machine code in it; `-` is standard input.
    pub cubin: PathBuf,
    /// Only code for this chip, exactly.
    #[arg(long, value_name = "CHIP")]
    pub arch: Option<String>,
    /// Image of a file that holds several.
    #[command(flatten)]
    pub which: Which,
    /// Print one JSON object per diagnostic.
    #[arg(long)]
    pub json: bool,
}

/// `oriole lsp`
#[derive(Args, Debug)]
pub struct Lsp {
    /// Use standard input and output (the default; many editors pass it).
    #[arg(long, conflicts_with_all = ["port", "connect"])]
    pub stdio: bool,
    /// Wait for one client on this port of 127.0.0.1; 0 picks a free port and prints it on standard error.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Connect to a client that listens on this address.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "port")]
    pub connect: Option<String>,
    /// Print the JSON schema of `oriole.toml` and exit.
    #[arg(long)]
    pub schema: bool,
}

/// `oriole init-shadow`
#[derive(Args, Debug)]
pub struct InitShadow {
    /// Directory to create.
    pub folder: PathBuf,
    /// CUDA toolkit to shadow.
    #[arg(long, value_name = "DIR", default_value = "/usr/local/cuda")]
    pub cuda: PathBuf,
}

/// `oriole completions`
#[derive(Args, Debug)]
pub struct Completions {
    /// Shell.
    pub shell: clap_complete::Shell,
}

/// `oriole man`
#[derive(Args, Debug)]
pub struct Man {
    /// Output directory, created if missing; one page per command.
    pub folder: PathBuf,
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
