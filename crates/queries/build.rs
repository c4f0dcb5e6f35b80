//! Names the build: a hash of the sources of every crate that the code of a function depends on, of their tables and of
//! the lock file. A value that another build kept is never taken for one of this build.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose sources say how a function is compiled.
const CRATES: &[&str] = &[
    "chip",
    "options",
    "syntax",
    "sass",
    "ptx",
    "latency",
    "ori",
    "hir",
    "lower",
    "legalize",
    "optimize",
    "schedule",
    "regalloc",
    "isel",
    "emit",
    "timing",
    "pipeline",
    "link",
    "cubin",
    "diagnostics",
    "debug-info",
    "inputs",
    "store",
    "queries",
];

fn main() {
    let crates =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate stands in a folder").to_owned();
    let mut files = vec![crates.join("../Cargo.lock")];
    for name in CRATES {
        for folder in ["src", "tables"] {
            let folder = crates.join(name).join(folder);
            // A path that is not there counts as changed, each time.
            if !folder.is_dir() {
                continue;
            }
            println!("cargo:rerun-if-changed={}", folder.display());
            gather(&folder, &mut files);
        }
    }
    println!("cargo:rerun-if-changed={}", files[0].display());
    files.sort();
    let mut hasher = blake3::Hasher::new();
    // Outside the repository there is nothing to read: then versions, which are fixed by then, name the build.
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    for file in &files {
        let Ok(bytes) = fs::read(file) else { continue };
        let name = file.strip_prefix(&crates).unwrap_or(file).to_string_lossy();
        for part in [name.as_bytes(), &bytes] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    println!("cargo:rustc-env=ORIOLE_BUILD={}", hasher.finalize().to_hex());
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, files);
        } else {
            files.push(path);
        }
    }
}
