//! The command-line program: arguments, files and terminal; no compiler logic lives here.

fn main() {}
