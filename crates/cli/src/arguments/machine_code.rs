//! Arguments of the commands about machine code: its text, its hazards, its latencies.

use super::binaries::Which;
use clap::Args;
use oriole_chip::Chip;
use std::path::PathBuf;

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
