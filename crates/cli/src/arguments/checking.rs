//! The arguments of the commands that check and rewrite PTX texts.

use super::{Linked, Which};
use clap::{Args, builder::RangedU64ValueParser};
use std::path::PathBuf;

const CHECK_HELP: &str = "\
Examples:
  oriole check kernel.ptx --deny-warnings
  oriole check kernel.ptx --fix
  oriole check . --message-format sarif

Exit status:
  0  there are no errors
  1  there are errors, or with --deny-warnings warnings; a file cannot be read; with --diff there is a difference
  2  usage error";

/// `oriole check`
#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub struct Check {
    /// PTX files, files with PTX in them, folders (every `.ptx` file below them) and patterns such as `'a/**/*.ptx'`; `-` is standard
    /// input.
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Image of a file that holds several.
    #[command(flatten)]
    pub which: Which,
    /// Chip to check for [default: the file's `.target`].
    #[arg(long)]
    pub arch: Option<String>,
    /// Whether it is to be linked.
    #[command(flatten)]
    pub linked: Linked,
    /// Also compile, without output, and report every instruction form that cannot be compiled for the chip: once, with its
    /// first location and its count.
    #[arg(long)]
    pub for_codegen: bool,
    /// Treat warnings as errors.
    #[arg(long)]
    pub deny_warnings: bool,
    /// Show at most this many errors; 0 shows all.
    #[arg(long, value_name = "COUNT", default_value = "0", value_parser = RangedU64ValueParser::<usize>::new())]
    pub max_errors: usize,
    /// Apply the fixes that cannot be wrong, and report the rest. Of standard input the fixed text goes to standard output.
    #[arg(long, group = "fixing")]
    pub fix: bool,
    /// Show what --fix would change, as a difference, and change nothing.
    #[arg(long, group = "fixing")]
    pub diff: bool,
    /// With --fix or --diff: also apply fixes that may not be what was meant, such as the nearest name.
    #[arg(long, requires = "fixing")]
    pub unsafe_fixes: bool,
    /// Number of threads [default: all processors].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

const FMT_HELP: &str = "\
Examples:
  oriole fmt kernel.ptx
  oriole fmt . --indent 2

Exit status:
  0  the files are formatted
  1  with --check or --diff a file is not; a file cannot be read or written
  2  usage error";

/// `oriole fmt`
#[derive(Args, Debug)]
#[command(after_help = FMT_HELP)]
pub struct Fmt {
    /// PTX files, folders (every `.ptx` file below them) and patterns such as `'a/**/*.ptx'`; `-` is standard input, whose formatted
    /// text goes to standard output.
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Write nothing, and print the names of the files that are not formatted.
    #[arg(long, conflicts_with = "diff")]
    pub check: bool,
    /// Write nothing, and show what would change, as a difference.
    #[arg(long)]
    pub diff: bool,
    /// Indent by this many blanks.
    #[arg(long, value_name = "BLANKS", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub indent: u32,
    /// Indent by tabs.
    #[arg(long, conflicts_with = "indent")]
    pub tabs: bool,
    /// Number of threads [default: all processors].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}
