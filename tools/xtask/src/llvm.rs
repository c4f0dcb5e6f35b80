//! Tools of LLVM that read the compiler's output: Rust's own (the component `llvm-tools`), or the system's of the same
//! major version, within which the formats are stable.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program of this name.
///
/// # Errors
/// Neither Rust nor the system has it.
pub fn tool(name: &str) -> Result<PathBuf, String> {
    let own = own(name)?;
    if own.exists() {
        return Ok(own);
    }
    let version = asked(&["--version", "--verbose"])?;
    let version = version.lines().find_map(|line| line.strip_prefix("LLVM version: ")).unwrap_or_default();
    let major = version.split('.').next().unwrap_or_default();
    let of_system = format!("{name}-{major}");
    match Command::new(&of_system).arg("--version").stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(of_system.into()),
        _ => Err(format!(
            "neither {} nor {of_system} is there: rustup component add llvm-tools, or install LLVM {major}",
            own.display()
        )),
    }
}

/// The path of Rust's own program of this name, which may not exist.
///
/// # Errors
/// rustc does not report its path.
pub fn own(name: &str) -> Result<PathBuf, String> {
    Ok(Path::new(&asked(&["--print", "target-libdir"])?).with_file_name("bin").join(name))
}

/// The output of rustc.
fn asked(what: &[&str]) -> Result<String, String> {
    let output = Command::new("rustc").args(what).output().map_err(|error| format!("rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
