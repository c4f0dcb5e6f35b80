//! The command-line program: arguments, files and terminal; no compiler logic lives here.

mod launch;

fn main() {}
