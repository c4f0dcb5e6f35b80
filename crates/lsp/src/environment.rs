//! What the server asks of the world round it.

use std::path::{Path, PathBuf};

/// What an installed `ptxas` made of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ptxas {
    /// A cubin, and what it told of it (`-v`).
    Made {
        /// The container.
        cubin: Vec<u8>,
        /// What it told.
        report: String,
    },
    /// It refused the text, with these words.
    Refused(String),
}

/// Files and programs, as far as the server may use them.
pub trait Environment: Send + Sync {
    /// The bytes of a file; nothing if it cannot be read.
    fn read(&self, path: &Path) -> Option<Vec<u8>>;

    /// The PTX files below a folder, sorted, without those that the folder's own rules ignore.
    fn sources(&self, folder: &Path) -> Vec<PathBuf>;

    /// Waits until a process is gone; false if that cannot be told.
    fn wait_for_end(&self, process: u32) -> bool;

    /// Compiles PTX with an installed `ptxas`.
    ///
    /// # Errors
    /// A message: there is none, or it cannot be run.
    fn ptxas(&self, text: &str, chip: &str) -> Result<Ptxas, String>;
}

/// A world without files and programs.
pub struct Nothing;

impl Environment for Nothing {
    fn read(&self, _path: &Path) -> Option<Vec<u8>> {
        None
    }

    fn sources(&self, _folder: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    fn wait_for_end(&self, _process: u32) -> bool {
        false
    }

    fn ptxas(&self, _text: &str, _chip: &str) -> Result<Ptxas, String> {
        Err("no `ptxas` is installed".to_owned())
    }
}
