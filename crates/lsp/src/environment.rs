//! The server's interface to the operating system.

use std::path::{Path, PathBuf};

/// The result of an installed `ptxas` for a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ptxas {
    /// A cubin, and the report about it (`-v`).
    Made {
        /// The container.
        cubin: Vec<u8>,
        /// The report.
        report: String,
    },
    /// It refused the text, with this message.
    Refused(String),
}

/// Why `ptxas` gave no verdict.
#[derive(Debug, thiserror::Error)]
pub enum PtxasError {
    /// There is none.
    #[error("no `ptxas` is installed")]
    Missing,
    /// It cannot be started.
    #[error("`ptxas` cannot be started: {0}")]
    Start(std::io::Error),
    /// A file of it cannot be written or read.
    #[error(transparent)]
    Files(#[from] std::io::Error),
}

/// Files and programs, as far as the server may use them.
pub trait Environment: Send + Sync {
    /// The bytes of a file; of one with more than `most` bytes that many and one more. `None` if it cannot be read.
    fn read(&self, path: &Path, most: usize) -> Option<Vec<u8>>;

    /// The PTX files below a folder, sorted, without those that the folder's own rules ignore.
    fn sources(&self, folder: &Path) -> Vec<PathBuf>;

    /// The launch of a kernel that a launch record next to a PTX file gives, with the name of its file; `None` if there is no
    /// record, or none of this kernel.
    fn launch(
        &self,
        _ptx: &Path,
        _kernel: &str,
    ) -> Option<Result<(String, oriole_simulate::Launch), String>> {
        None
    }

    /// Waits until a process is gone; false if that cannot be observed.
    fn wait_for_end(&self, process: u32) -> bool;

    /// Keeps what a report of an error of the compiler itself needs: the error and the texts with their names. The folder that has it, if
    /// there is a new one.
    fn keep_crash(&self, _error: &str, _texts: &[(&str, &str)]) -> Option<PathBuf> {
        None
    }

    /// Compiles PTX with an installed `ptxas`.
    ///
    /// # Errors
    /// There is none, or it cannot be run.
    fn ptxas(&self, text: &str, chip: &str) -> Result<Ptxas, PtxasError>;
}

/// An environment without files and programs.
pub struct Nothing;

impl Environment for Nothing {
    fn read(&self, _path: &Path, _most: usize) -> Option<Vec<u8>> {
        None
    }

    fn sources(&self, _folder: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    fn wait_for_end(&self, _process: u32) -> bool {
        false
    }

    fn ptxas(&self, _text: &str, _chip: &str) -> Result<Ptxas, PtxasError> {
        Err(PtxasError::Missing)
    }
}
