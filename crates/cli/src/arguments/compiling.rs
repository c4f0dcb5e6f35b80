//! Arguments of the commands that compile files to files.

use super::binaries::Which;
use super::shared::{CacheArguments, Linked, Target, Tuning};
use clap::{Args, Parser};
use std::path::PathBuf;

/// `oriole compile`
#[derive(Args, Debug)]
pub struct Compile {
    /// PTX files, files with PTX in them, folders and patterns; `-` is standard input.
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// Image of a file that holds several.
    #[command(flatten)]
    pub which: Which,
    /// Output file; `-` is standard output [default: the input's name with `.cubin`]. Of several files, and with `/` at its end: the folder for cubins.
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
