//! The roots of a watch: folders and single files, which may go away and come back, and links whose targets are elsewhere.
//!
//! Events do not report a folder that replaced another one, nor a file at the end of a link: both are found by looking at them now
//! and then.

use crate::files::{FileError, folder, output};
use same_file::Handle;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A folder, or one file in it.
pub struct Root {
    /// As it was given, for messages.
    pub shown: String,
    /// The folder.
    pub folder: PathBuf,
    /// The one file of it that is watched.
    pub file: Option<PathBuf>,
    /// Which folder was there when it was looked at last. As long as this is held, no other has its number.
    there: Option<Handle>,
}

/// The fate of a root's folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is unchanged.
    Same,
    /// It is gone.
    Gone,
    /// It is there again, or another one has taken its place.
    New,
}

impl Root {
    /// A root as the command line names it.
    ///
    /// # Errors
    /// There is nothing of that name, or nothing that can be watched.
    pub fn new(path: &Path) -> Result<Root, FileError> {
        let place = FileError::of(path);
        let facts = path.metadata().map_err(&place)?;
        let shown = path.display().to_string();
        let (folder, file) = if facts.is_dir() {
            (path.canonicalize().map_err(&place)?, None)
        } else if let (true, Some(name)) = (facts.is_file(), path.file_name()) {
            // A link keeps its name: it may lead elsewhere tomorrow.
            let folder = output::folder(path).canonicalize().map_err(&place)?;
            let file = folder.join(name);
            (folder, Some(file))
        } else {
            return Err(place(std::io::Error::other("neither a file nor a folder")));
        };
        let there = Handle::from_path(&folder).ok();
        Ok(Root { shown, folder, file, there })
    }

    /// Whether a path belongs to it.
    pub fn holds(&self, path: &Path) -> bool {
        self.file.as_ref().map_or_else(|| path.starts_with(&self.folder), |file| file == path)
    }

    /// Looks at the folder again.
    pub fn look(&mut self) -> Fate {
        let now = Handle::from_path(&self.folder).ok().filter(|_| self.folder.is_dir());
        let fate = match (&self.there, &now) {
            (None, None) => Fate::Same,
            (Some(before), Some(now)) if before == now => Fate::Same,
            (_, Some(_)) => Fate::New,
            (Some(_), None) => Fate::Gone,
        };
        if fate != Fate::Same {
            self.there = now;
        }
        fate
    }

    /// Every PTX file below the folder, in the order of names; of a root that is a file, the file, whatever its name ends in.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        if let Some(file) = &self.file {
            return BTreeSet::from([file.clone()]);
        }
        folder::ptx_below(&self.folder)
    }
}

/// Files that are links, with the last state of their targets.
#[derive(Default)]
pub struct Links(BTreeMap<PathBuf, Option<(SystemTime, u64, PathBuf)>>);

impl Links {
    /// The links among the known files whose targets changed since the last look, and those that are new:
    /// their targets may have changed since they were read.
    pub fn changed(&mut self, known: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
        let links = known.filter(|path| path.symlink_metadata().is_ok_and(|facts| facts.is_symlink()));
        let now: BTreeMap<_, _> = links.map(|path| (path.clone(), stamp(&path))).collect();
        let changed = now.iter().filter(|(path, stamp)| self.0.get(*path) != Some(*stamp));
        let changed = changed.map(|(path, _)| path.clone()).collect();
        self.0 = now;
        changed
    }
}

/// Enough of a file to see that it changed: its time, its length, and its path.
fn stamp(path: &Path) -> Option<(SystemTime, u64, PathBuf)> {
    let facts = path.metadata().ok()?;
    Some((facts.modified().ok()?, facts.len(), path.canonicalize().ok()?))
}
