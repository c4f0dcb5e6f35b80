//! Arguments of the commands by which editors, builds and shells use the program.

use clap::Args;
use std::path::PathBuf;

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
