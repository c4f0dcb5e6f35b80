//! Arguments of the commands that run kernels: in the interpreter, the simulator or the model of a GPU.

use super::binaries::Which;
use super::shared::Target;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

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
