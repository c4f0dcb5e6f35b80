//! The PTX files of the workspace that are not open: which of them the hosts have, and which may have changed since.
//!
//! `unopened.rs` reads them. No text is here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

use oriole_ide::FileId;

use crate::lock::locked;

/// Larger files, in bytes, are not read before they are opened.
pub(crate) const LARGEST: usize = 32 << 20;

/// The URIs and ids of the files that are not open, by their paths.
pub(crate) type Files = BTreeMap<PathBuf, (String, FileId)>;

/// The files that must be read before the hosts have the present texts.
#[derive(Default)]
pub(crate) struct WorkspaceFiles {
    /// The files in the folders when these were last read. Held while files are read, so that a second request waits for
    /// the first one.
    pub listed: Mutex<BTreeSet<PathBuf>>,
    pub stale: Mutex<Stale>,
}

/// The files that may have changed.
#[derive(Default)]
pub(crate) enum Stale {
    /// All of them, or the folders themselves.
    #[default]
    All,
    /// These.
    Some(BTreeSet<PathBuf>),
}

impl WorkspaceFiles {
    /// Files may have come, gone or changed.
    pub fn forget_all(&self) {
        *locked(&self.stale) = Stale::All;
    }

    /// A file has changed.
    pub fn forget(&self, path: PathBuf) {
        if let Stale::Some(paths) = &mut *locked(&self.stale) {
            paths.insert(path);
        }
    }

    /// Whether the hosts have the present files.
    pub fn are_current(&self) -> bool {
        matches!(&*locked(&self.stale), Stale::Some(paths) if paths.is_empty())
    }
}
