//! Arguments of the commands that search: for the smallest text with a property, and for the rewrite that makes a result wrong.

use super::Target;
use clap::Args;
use std::path::PathBuf;

const REDUCE_HELP: &str = "\
A text is interesting if the command exits with status 0 for it. The command is run by `sh -c` in the current directory, many times,
several at once, and each time with another file: its path takes the place of each `{}`, or is appended if there is none. The
command must not depend on the file's folder, and what it writes next to the file is removed. FILE itself must be interesting.

The result so far is in the output file at any time; Ctrl-C ends the search and keeps it.

Examples:
  oriole reduce big.ptx --keep 'oriole compile {} -o - | oriole dis - | grep -q LDG.E.128'
  oriole reduce big.ptx --keep '! ptxas {} -o /dev/null' --invalid -o small.ptx
  oriole reduce wrong.ptx --defined --keep './still-wrong.sh'

Exit status: 0 if the result cannot be reduced further, 1 if FILE is not interesting or the search was ended.";

/// `oriole reduce`
#[derive(Args, Debug)]
#[command(after_help = REDUCE_HELP)]
pub struct Reduce {
    /// PTX file.
    pub input: PathBuf,
    /// Command that exits with status 0 for a file that is interesting.
    #[arg(long, value_name = "COMMAND")]
    pub keep: String,
    /// Output file; `-` is standard output [default: the input's name with `.reduced.ptx`].
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Also try texts that `oriole check` reports errors for [default: only if the file has errors itself].
    #[arg(long)]
    pub invalid: bool,
    /// Do not try texts that read a register that nothing can have written.
    #[arg(long)]
    pub defined: bool,
    /// Seconds after which a command is ended; its text is not interesting.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
    /// Number of commands at once [default: all processors].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Print one JSON document about the result to standard output.
    #[arg(long)]
    pub json: bool,
}

const BISECT_HELP: &str = "\
The first launch with a wrong result in the simulator is examined. Its result is compared with what the record expects, else with
that of the interpreter, or with that of another cubin (--cubin). All that a level does beyond what the code needs is turned off, and
turned on again step by step: the phases in their order, then scheduling, allocation, selection and control words. The step that makes
the result wrong is named, with the switches that avoid it; in a phase that counts its rewrites also the single rewrite, as a
difference of Ori.

Examples:
  oriole bisect case.json
  oriole bisect case.json -O2 --maxrregcount 32
  oriole bisect case.json --cubin by-ptxas.cubin

Exit status: 0 if a step was found, 1 if no result is wrong, or one is wrong with nothing but what the code needs.";

/// `oriole bisect`
#[derive(Args, Debug)]
#[command(after_help = BISECT_HELP)]
pub struct Bisect {
    /// Launch records: one JSON object, or one per line.
    pub launches: PathBuf,
    /// Target and options of the compile.
    #[command(flatten)]
    pub target: Target,
    /// Compare with the results of this cubin in the simulator.
    #[arg(long)]
    pub cubin: Option<PathBuf>,
    /// Maximum number of instructions per launch: warp instructions in the simulator, thread instructions in the interpreter.
    #[arg(long, value_name = "COUNT")]
    pub step_limit: Option<u64>,
    /// Lines of context around the difference.
    #[arg(long, value_name = "LINES", default_value_t = 3)]
    pub context: usize,
    /// Print one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
}
