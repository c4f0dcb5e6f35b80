//! A file of the session: its id, and its text with what is derived from it.
//!
//! Only the host writes these data; a snapshot shares them.

use std::sync::Arc;

use oriole_chip::Chip;
use oriole_inputs::SourceFile;

use crate::embedded::Snippet;
use crate::{Language, LineIndex, SettingsId};

/// A file of the session. The caller maps it to a path or address, and keeps one id for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileId(pub u32);

/// A text, its lines and its sources in the database.
#[derive(Clone)]
pub(crate) struct FileData {
    pub language: Language,
    pub text: Arc<String>,
    pub lines: Arc<LineIndex>,
    /// The PTX itself; empty for another language.
    pub source: SourceFile,
    /// Inline PTX, in text order.
    pub snippets: Arc<[Snippet]>,
    /// The PTX of snippets, at least one for each.
    pub snippet_sources: Vec<SourceFile>,
    pub settings: SettingsId,
    /// A chip that the user chose for this file.
    pub chosen: Option<Chip>,
}
