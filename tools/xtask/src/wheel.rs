//! Builds the Python package: the module, and the programs `oriole` and `ptxas` next to the interpreter.
//!
//! The packaging for users, with builders from PyPI, is in `dist`; this is the command for the local machine.

use crate::dist::{Plan, Tools};
use crate::finished;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of the package. They are one: it checks the name it was called by, and a wrapper script would cost
/// every call of `ptxas` the start of a shell.
const PROGRAMS: [&str; 2] = ["oriole", "ptxas"];

/// Builds the package into `target/wheel/packages` and prints its path. `--quick` makes a debug build of everything;
/// `--builder` only installs the builder of that.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let root = crate::root();
    let quick = match arguments {
        [] => false,
        [only] if only == "--quick" => true,
        [only] if only == "--builder" => return Tools::installed(&root, true).map(|_| ()),
        _ => return Err("usage: cargo xtask wheel [--quick | --builder]".to_owned()),
    };
    let output = root.join("target/wheel/packages");
    // Remove the output of earlier builds.
    let _ = std::fs::remove_dir_all(&output);
    let wheel = crate::dist::wheel(&Plan::new(output, quick)?)?;
    println!("{}", wheel.display());
    Ok(())
}

/// Puts this program where the package takes its programs from, under all its names, and the licences of its components
/// next to it.
///
/// # Errors
/// A file cannot be copied.
pub fn with_programs(root: &Path, program: &Path, notices: &str) -> Result<(), String> {
    let data = root.join("crates/python/data");
    let (scripts, pages) = (data.join("scripts"), data.join("data/share/doc/oriole-ptx"));
    for folder in [&scripts, &pages] {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let copies = PROGRAMS.iter().map(|name| (program.to_owned(), scripts.join(name)));
    let licences = ["LICENSE-MIT", "LICENSE-APACHE"].iter().map(|name| (root.join(name), pages.join(name)));
    for (from, place) in copies.chain(licences) {
        std::fs::copy(&from, &place).map_err(|error| format!("{}: {error}", place.display()))?;
    }
    let place = pages.join("THIRD-PARTY.txt");
    std::fs::write(&place, notices).map_err(|error| format!("{}: {error}", place.display()))
}

/// A debug build of the program: the one that `ORIOLE_PROGRAM` names, or one that is built now. In a build of its own
/// the program has other features of third-party crates than in a build with its tests, and is compiled once more.
///
/// # Errors
/// It does not compile.
pub fn debug_program(root: &Path) -> Result<PathBuf, String> {
    if let Some(program) = std::env::var_os("ORIOLE_PROGRAM") {
        return Ok(PathBuf::from(program));
    }
    finished(Command::new("cargo").current_dir(root).args(["build", "--quiet", "--package", "oriole-cli"]))?;
    Ok(root.join("target/debug/oriole"))
}
