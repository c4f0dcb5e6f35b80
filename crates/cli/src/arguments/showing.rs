//! Arguments of the commands that show what the compiler makes of PTX: pages, differences, phases, selection.

use super::binaries::Which;
use super::shared::{Linked, Target};
use crate::lists::{self, Listed};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

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
