//! Why a file cannot be read or written, with its name.
//!
//! It is here so that every command names a file in the same way. It knows nothing of the contents of a file.

use std::io;
use std::path::Path;

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system, or a rule of [`super::input`] and [`super::output`], refuses it.
    #[error("{file}: {error}")]
    Io {
        /// The name of the file in messages.
        file: String,
        /// The reason.
        error: io::Error,
    },
    /// Its bytes are not text.
    #[error("{file}:{line}: [ptx::not-utf8] the file is no UTF-8 text")]
    NotUtf8 {
        /// The name of the file in messages.
        file: String,
        /// The line of the first such byte, from 1.
        line: usize,
    },
    /// A result that would be next to standard input.
    #[error("standard input has no name: say with -o where the cubin goes")]
    NoName,
}

impl FileError {
    /// The error of the system about a path.
    pub fn of(path: &Path) -> impl Fn(io::Error) -> FileError {
        move |error| FileError::Io { file: path.display().to_string(), error }
    }
}
