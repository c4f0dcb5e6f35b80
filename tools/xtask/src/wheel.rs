//! Builds the Python package: the module, and the programs `oriole` and `ptxas` beside the interpreter.
//!
//! The builder, maturin, is installed from PyPI into a folder of its own.

use crate::finished;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The builder.
const BUILDER: &str = "maturin>=1.9,<2";
/// The programs of the package. They are one: it answers by its name, and a script that called it would cost every call of
/// `ptxas` the start of a shell.
const PROGRAMS: [&str; 2] = ["oriole", "ptxas"];

/// Builds the package into `target/wheel` and prints its path. `--quick` takes a debug build of everything; `--builder` only
/// sees to the builder.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let root = crate::root();
    let folder = root.join("target/wheel");
    let quick = match arguments {
        [] => false,
        [only] if only == "--quick" => true,
        [only] if only == "--builder" => return builder(&folder).map(|_| ()),
        _ => return Err("usage: cargo xtask wheel [--quick | --builder]".to_owned()),
    };
    let program = if quick { debug_program(&root)? } else { crate::release::program()? };
    let scripts = root.join("crates/python/data/scripts");
    std::fs::create_dir_all(&scripts).map_err(|error| format!("{}: {error}", scripts.display()))?;
    for name in PROGRAMS {
        let place = scripts.join(name);
        std::fs::copy(&program, &place).map_err(|error| format!("{}: {error}", place.display()))?;
    }
    let output = folder.join("packages");
    // What lies there from before is not what was built now.
    let _ = std::fs::remove_dir_all(&output);
    let mut build = Command::new(builder(&folder)?);
    build.current_dir(root.join("crates/python")).arg("build").arg("--out").arg(&output);
    build.args(if quick { ["--profile", "dev"] } else { ["--profile", "release"] });
    finished(build.arg("--quiet"))?;
    let built = std::fs::read_dir(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let wheel = built
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|end| end == "whl"));
    println!("{}", wheel.ok_or("maturin has built no package")?.display());
    Ok(())
}

fn debug_program(root: &Path) -> Result<PathBuf, String> {
    finished(Command::new("cargo").current_dir(root).args(["build", "--quiet", "--package", "oriole"]))?;
    Ok(root.join("target/debug/oriole"))
}

/// The builder's path; it is installed where it is missing.
fn builder(folder: &Path) -> Result<PathBuf, String> {
    let environment = folder.join("builder");
    let program = environment.join("bin/maturin");
    if !program.exists() {
        finished(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", BUILDER];
        finished(Command::new(environment.join("bin/python")).args(pip))?;
    }
    Ok(program)
}
