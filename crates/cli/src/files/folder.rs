//! The files below a folder, for commands that take folders of PTX.
//!
//! It is here so that all of them find the same files. Files that version control ignores count too: PTX is mostly the output of
//! another compiler.

use super::input;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every PTX file below a folder, in the order of names.
pub fn ptx_below(folder: &Path) -> BTreeSet<PathBuf> {
    below(folder, usize::MAX, is_ptx)
}

/// The regular files below a folder that are wanted, in the order of names: in it, and in folders inside of each other up to this
/// depth.
pub fn below(folder: &Path, depth: usize, is_wanted: impl Fn(&Path) -> bool) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    // Links may lead round and round: each folder is entered once.
    let mut seen = BTreeSet::new();
    let mut open = vec![(folder.to_owned(), depth)];
    while let Some((folder, depth)) = open.pop() {
        if !folder.canonicalize().is_ok_and(|folder| seen.insert(folder)) {
            continue;
        }
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                if depth > 0 {
                    open.push((path, depth - 1));
                }
            } else if is_wanted(&path) && input::is_regular(&path) {
                found.insert(path);
            }
        }
    }
    found
}

/// Whether a name is that of a PTX file.
pub fn is_ptx(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ptx")
}
