//! The arguments of the commands that stay and compile for others: `oriole resident` and `oriole worker`.

use clap::{Args, ValueEnum};

const EXIT: &str = "\
Exit status:
  0  a resident compiler runs, or was stopped
  1  there can be none
  2  usage error
  3  `status`: none runs";

/// An action on the resident compiler.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Say whether one runs, and what it has done.
    Status,
    /// Start one, unless one runs, and wait until it answers.
    Start,
    /// Let it end when it has answered what is in flight.
    Stop,
    /// Be one, in this process, until it is idle or stopped.
    Serve,
    /// Be one for a client that does not wait.
    #[value(hide = true)]
    Detached,
}

/// `oriole resident`
#[derive(Args, Debug)]
#[command(after_help = EXIT)]
pub struct Resident {
    /// Action.
    pub action: Action,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `oriole worker`
#[derive(Args, Debug)]
pub struct Worker {
    /// Given by Bazel when it starts a worker; without it the command does the same.
    #[arg(long = "persistent_worker")]
    pub persistent: bool,
    /// Number of requests that are answered at the same time [default: all processors].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}
