//! Options that several commands take.
//!
//! It is here so that an option has one name and one help text. Nothing is done here.

use crate::arguments::cache_server::CacheServer;
use crate::lists::{self, Listed};
use clap::Args;
use oriole::program::Mode;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Options of every command that compiles.
#[derive(Args, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Chip to compile for [default: the file's `.target`].
    #[arg(long)]
    pub arch: Option<String>,
    /// Options whatever the chip.
    #[command(flatten)]
    pub tuning: Tuning,
}

/// Options of a compile, whatever the chip.
#[derive(Args, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuning {
    /// Optimization level 0 to 4 [default: 3, or 0 with --device-debug]; 4 compiles each function many times and keeps the best.
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=4))]
    pub level: Option<u8>,
    /// Contract multiplies and adds into fused multiply-adds.
    #[arg(long, value_name = "BOOL", default_value = "true", action = clap::ArgAction::Set)]
    pub fmad: bool,
    /// Maximum number of registers per thread.
    #[arg(long, value_name = "N")]
    pub maxrregcount: Option<u32>,
    /// Write full debug information, as with `.target debug`; at -O0 only.
    #[arg(short = 'g', long)]
    pub device_debug: bool,
    /// Write line tables even without `.loc` in the source.
    #[arg(long)]
    pub generate_line_info: bool,
    /// Write no debug information.
    #[arg(long)]
    pub suppress_debug_info: bool,
    /// Set a knob; `help` lists them.
    #[arg(long = "knob", value_name = "NAME=VALUE", value_parser = Listed { word: "help", list: lists::knobs })]
    pub knobs: Vec<String>,
    /// Turn optimizations off or checks on, separated by commas: no-uniform, no-licm, verify ...; `help` lists them.
    #[arg(long = "debug-switch", value_name = "SWITCH", value_delimiter = ',', value_parser = Listed { word: "help", list: lists::switches })]
    pub switches: Vec<String>,
}

/// Options of commands that use the content store.
#[derive(Args, Debug, Clone)]
pub struct CacheArguments {
    /// On-disk cache of compiled functions: off, read, write (also stores new entries) or verify (compiles anyway and
    /// compares).
    #[arg(long, value_name = "MODE", default_value = "off")]
    pub cache: Mode,
    /// Cache directory [default: `oriole` in the user's cache directory].
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Maximum size of the cache in MiB.
    #[arg(long, value_name = "MIB", default_value = "2048")]
    pub cache_size: u64,
    /// Server after the cache directory, which many machines share: `http://HOST[:PORT]/PATH`,
    /// `redis://[[USER]:PASSWORD@]HOST[:PORT]/[DATABASE]`; with the feature `cloud` also `https`, `grpc`, `s3` and others.
    #[arg(long, value_name = "URL", requires = "cache")]
    pub cache_url: Option<CacheServer>,
    /// Longest wait for a look-up on the server of --cache-url, in milliseconds; ten times as long for all values that are not
    /// sent at the end.
    #[arg(long, value_name = "MS", default_value = "50", requires = "cache_url", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    pub cache_url_wait: u64,
    /// Send nothing to the server of --cache-url.
    #[arg(long, requires = "cache_url")]
    pub cache_url_read_only: bool,
    /// File with a secret: entries on the server are signed with it, and others are not used.
    #[arg(long, value_name = "FILE", requires = "cache_url")]
    pub cache_signing_key: Option<PathBuf>,
}

/// Whether a text is a part of a program, for commands that look at its code.
#[derive(Args, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Linked {
    /// Take the PTX as `compile -c` does: a part that nvlink links, whose `.extern` functions and variables others define.
    #[arg(short = 'c', long)]
    pub compile_only: bool,
}
