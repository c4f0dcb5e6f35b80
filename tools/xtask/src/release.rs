//! Builds the program as it is released for Linux: linked statically (`cargo static`), and compiled twice, the second
//! time with a profile of the first one on the kernels of the repository.
//!
//! The profile says which functions run, and the linker puts these together, those of most compiles first; blocks that
//! never ran are separated from their functions. A fifth of the time of a small compile is the system's, which loads
//! the pages of the program.

use crate::{dist, finished, llvm, order, train};
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-musl";

/// The files of a profile: the counts, and the order of functions.
pub const PROFILE: [&str; 2] = ["oriole.profdata", "order.txt"];

/// A program that was built with a profile.
pub struct Profiled {
    /// The program.
    pub program: PathBuf,
    /// The folder with the files of [`PROFILE`].
    pub profile: PathBuf,
}

/// Builds the program and prints its path.
pub fn run(_arguments: &[String]) -> Result<(), String> {
    println!("{}", program(&[], None)?.program.display());
    Ok(())
}

/// Builds `target/release-profiled/x86_64-unknown-linux-musl/dist/oriole` with these flags of rustc, quoted for cargo,
/// with the profile in a folder or with a new one.
///
/// # Errors
/// A step that failed.
pub fn program(flags: &[String], profile: Option<&Path>) -> Result<Profiled, String> {
    let folder = crate::root().join("target/release-profiled");
    let profile = match profile {
        Some(profile) => profile.to_owned(),
        None => {
            take(&folder, flags)?;
            folder.clone()
        }
    };
    let [merged, order] = PROFILE.map(|name| profile.join(name));
    let mut flags = flags.to_vec();
    flags.push(format!("'-Cprofile-use={}'", merged.display()));
    // Rust's own linker, which supports such an order; for musl rustc uses the system's.
    flags.push("'-Clink-arg=-fuse-ld=lld'".to_owned());
    flags.push(format!("'-Clink-arg=-B{}'", llvm::own("gcc-ld")?.display()));
    flags.push(format!("'-Clink-arg=-Wl,--symbol-ordering-file={}'", order.display()));
    // Blocks that never ran in the training go to sections of their own; without the second flag those that ran rarely
    // do, too.
    flags.push("'-Cllvm-args=-enable-split-machine-functions'".to_owned());
    flags.push("'-Cllvm-args=-mfs-psi-cutoff=0'".to_owned());
    // Functions that are inlined everywhere have no symbols any more.
    flags.push("'-Clink-arg=-Wl,--no-warn-symbol-ordering'".to_owned());
    Ok(Profiled { program: build(&folder, &flags)?, profile })
}

/// Records a profile.
fn take(folder: &Path, flags: &[String]) -> Result<(), String> {
    let merger = llvm::tool("llvm-profdata")?;
    let raw = folder.join("raw");
    let [merged, order] = PROFILE.map(|name| folder.join(name));
    let _ = std::fs::remove_dir_all(&raw);
    let mut flags = flags.to_vec();
    flags.push(format!("'-Cprofile-generate={}'", raw.display()));
    let program = build(&folder.join("instrumented"), &flags)?;
    train::run(&program, &folder.join("scratch"), &raw)?;
    let mut merge = Command::new(&merger);
    merge.arg("merge").arg("-o").arg(&merged);
    for (part, weight) in train::PARTS {
        merge.arg(format!("--weighted-input={weight},{}", raw.join(part).display()));
    }
    finished(&mut merge)?;
    let mut parts = Vec::new();
    for (part, _) in train::PARTS {
        let files = train::files(&raw.join(part), "profraw")?;
        parts.push(files.iter().map(|file| ran(&merger, file)).collect::<Result<Vec<_>, _>>()?);
    }
    std::fs::write(&order, order::of_parts(&parts).join("\n"))
        .map_err(|error| format!("{}: {error}", order.display()))
}

/// The functions that ran, from one profile of the program.
fn ran(merger: &Path, profile: &Path) -> Result<order::Ran, String> {
    let text = profile.with_extension("proftext");
    finished(Command::new(merger).args(["merge", "-sparse", "-text", "-o"]).arg(&text).arg(profile))?;
    let read = std::fs::read_to_string(&text).map_err(|error| format!("{}: {error}", text.display()))?;
    Ok(order::ran(&read))
}

/// The static build with these additional flags.
fn build(folder: &Path, flags: &[String]) -> Result<PathBuf, String> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(crate::root()).arg("static").arg("--target-dir").arg(folder);
    cargo.arg("--config").arg(format!("target.{TARGET}.rustflags=[{}]", flags.join(",")));
    // The allocator contains the time of its compile.
    cargo.env("SOURCE_DATE_EPOCH", dist::epoch(&crate::root())?.to_string());
    finished(&mut cargo)?;
    Ok(folder.join(TARGET).join("dist/oriole"))
}
