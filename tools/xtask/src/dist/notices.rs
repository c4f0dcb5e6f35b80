//! The licences of the programs' components, as their authors wrote them: one text for all packages, each licence once.
//!
//! Most licences require that their text is distributed with a program. Which licences are allowed is decided
//! elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use super::extension::Bundled;
use crate::packages::Parts;

const LICENCE_FILES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT"];

/// Components without a folder that has their licence.
const TOOLCHAIN: &str = "\
The standard library of Rust (MIT OR Apache-2.0) is part of every program and library. Static programs have parts of
musl (MIT). Shared libraries have LLVM's unwinder in them (Apache-2.0 WITH LLVM-exception). Whoever wants another version of
one of them builds the program from its source, which is where this package says that it comes from, with `cargo xtask dist`.
";

/// Writes all of them.
pub fn text(parts: &Parts, bundled: &[Bundled]) -> String {
    let mut named: Vec<(String, String, &Path)> = Vec::new();
    for (package, _) in parts.shipped.values().filter(|(package, _)| package.source.is_some()) {
        let license = package.license.clone().unwrap_or_else(|| "no expression".to_owned());
        named.push((format!("{} {}", package.name, package.version), license, &package.folder));
    }
    for package in bundled {
        named.push((
            format!("{} {} (npm)", package.name, package.version),
            package.license.clone(),
            &package.folder,
        ));
    }
    named.sort();
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut all = "Parts of Oriole that others wrote, and their licences.\n\n".to_owned();
    for (name, license, folder) in &named {
        let found = licences(folder);
        let _ = writeln!(all, "{name}: {license}{}", if found.is_empty() { " (without a text)" } else { "" });
        for text in found {
            texts.entry(text).or_default().push(name);
        }
    }
    let _ = write!(all, "\n{TOOLCHAIN}");
    for (text, names) in texts {
        let _ = write!(all, "\n{}\n{}\n\n{}\n", "-".repeat(80), names.join(", "), text.trim_end());
    }
    all
}

/// The texts of licences in a folder and in those below it, for crates with third-party sources; in order of path.
fn licences(folder: &Path) -> Vec<String> {
    let (mut files, mut waiting) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = waiting.pop() {
        for path in std::fs::read_dir(&at).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            if path.is_dir() {
                waiting.push(path);
            } else if LICENCE_FILES.iter().any(|start| name.starts_with(start)) {
                files.push(path);
            }
        }
    }
    files.sort();
    let read = files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    read.map(|text| text.replace('\r', "")).collect()
}
