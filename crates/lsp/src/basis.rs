//! The text, chip and options that compiled code of a document depends on: findings about it are shown until one of them changes.
//!
//! Revisions of the hosts count every change of every document, so they never belong in it: an edit of one document leaves
//! the findings of the others as they are.

use oriole_chip::Chip;
use oriole_options::Options;

use crate::outcome::Failure;
use crate::snapshot::Snapshot;

/// A text, a chip and the options of a compile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Basis {
    /// [`crate::snapshot::Document::text`].
    text: u64,
    pub chip: Chip,
    pub options: Options,
}

impl Basis {
    /// The basis of what is shown for an open document.
    ///
    /// # Errors
    /// There is no such document, or no chip that it can be compiled for.
    pub fn of(snapshot: &Snapshot, uri: &str) -> Result<Basis, Failure> {
        let document = snapshot.document(uri)?;
        let chip = snapshot.chip(document.file, None)?;
        let options = snapshot.analysis.options(document.file);
        let options = options.ok_or_else(|| Failure::Failed(format!("`{uri}` has no settings")))?;
        Ok(Basis { text: document.text, chip, options: options.clone() })
    }
}
