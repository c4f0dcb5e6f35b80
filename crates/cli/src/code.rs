//! The code of a text for a command that goes on with it: runs it, times it, compares it.
//!
//! It is here so that `oriole compile` and the commands that need code do not depend on each other. The code is in memory only: no
//! cache, no output file and no report may enter.

use oriole::program::Opened;
use oriole_chip::Chip;
use oriole_options::Options;
use std::path::Path;

/// A text whose code is needed has errors.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {first}")]
pub struct CompileError {
    /// The name of the text in messages.
    file: String,
    /// The first error.
    first: String,
}

/// Compiles a text.
///
/// # Errors
/// The first error of the text.
pub fn cubin_of(
    path: &Path,
    text: &str,
    chip: Option<Chip>,
    options: &Options,
) -> Result<triomphe::Arc<Vec<u8>>, CompileError> {
    let session = Opened::stored(text, chip, options, false, None);
    let compiled = session.compile(1);
    compiled.cubin.ok_or_else(|| {
        let first = compiled.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
        CompileError {
            file: path.display().to_string(),
            first: first.map_or("no result".to_owned(), ToString::to_string),
        }
    })
}
