//! Fetches NVIDIA's assembler and disassemblers from PyPI into `.oracle/`, as oracles for tests only.

use std::process::Command;

const PACKAGES: [&str; 4] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-nvdisasm==13.2.86",
    "nvidia-cuda-cuobjdump==13.2.86",
];

/// Where the tools lie once fetched.
pub fn bin() -> std::path::PathBuf {
    crate::root().join(".oracle/nvidia/cu13/bin")
}

/// Installs the packages; does nothing where they already are.
pub fn run(_arguments: &[String]) -> Result<(), String> {
    if bin().join("ptxas").exists() && bin().join("nvdisasm").exists() && bin().join("cuobjdump").exists() {
        println!("{}", bin().display());
        return Ok(());
    }
    let status = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"])
        .arg(crate::root().join(".oracle"))
        .args(PACKAGES)
        .status()
        .map_err(|error| format!("python3 could not be started: {error}"))?;
    if !status.success() {
        return Err("pip could not install the oracle packages".to_owned());
    }
    println!("{}", bin().display());
    Ok(())
}
