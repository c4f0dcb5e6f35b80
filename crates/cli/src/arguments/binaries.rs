//! Arguments about files that hold device code: which of several images, and the commands that list and write them.

use clap::Args;
use std::path::PathBuf;

/// Which image of a file that holds several.
#[derive(Args, Debug, Clone, Default)]
pub struct Which {
    /// Image of a file that holds several: its number as `oriole images` lists it, or a part of its name.
    #[arg(long, value_name = "N|NAME")]
    pub image: Option<String>,
}

const IMAGES_HELP: &str = "\
Examples:
  oriole images libkernels.so
  oriole images libkernels.so --kernels
  oriole images ~/.triton/cache --entry add_kernel

Exit status: 0; 1 if the file holds no device code, is damaged or cannot be read; 2 if no image is one of those that were asked for.";

/// `oriole images`
#[derive(Args, Debug)]
#[command(after_help = IMAGES_HELP)]
pub struct Images {
    /// File with device code, or a folder of such files; `-` is standard input.
    pub input: PathBuf,
    /// Only images for this chip, exactly.
    #[arg(long, value_name = "CHIP")]
    pub arch: Option<String>,
    /// Only images with this kernel or function, by its symbol or its source name; repeatable.
    #[arg(long = "entry", value_name = "NAME")]
    pub entries: Vec<String>,
    /// Print the names of the kernels.
    #[arg(long)]
    pub kernels: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

const EXTRACT_HELP: &str = "\
Each image becomes a file FILE.N.CHIP.cubin or .ptx, with the number that `oriole images` lists.

Examples:
  oriole extract libkernels.so -o images
  oriole extract libkernels.so --cubin
  oriole extract libkernels.so --image 3 -o - | oriole dis -

Exit status: 0; 1 if an image cannot be unpacked or written; 2 if no image is one of those that were asked for.";

/// `oriole extract`
#[derive(Args, Debug)]
#[command(after_help = EXTRACT_HELP)]
pub struct Extract {
    /// File with device code, or a folder of such files; `-` is standard input.
    pub input: PathBuf,
    /// Folder for the files, made if it is missing; `-` is standard output, for one image [default: the current folder].
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Only this image.
    #[command(flatten)]
    pub which: Which,
    /// Only images for this chip, exactly.
    #[arg(long, value_name = "CHIP")]
    pub arch: Option<String>,
    /// Only images with this kernel or function, by its symbol or its source name; repeatable.
    #[arg(long = "entry", value_name = "NAME")]
    pub entries: Vec<String>,
    /// Only PTX.
    #[arg(long, conflicts_with = "cubin")]
    pub ptx: bool,
    /// Only machine code.
    #[arg(long)]
    pub cubin: bool,
}
