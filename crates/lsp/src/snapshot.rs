//! The view of a request: a snapshot of texts and results, with the documents at that time.
//!
//! Handlers read it and nothing above it: neither the hosts that make it nor the threads that run requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use gen_lsp_types as lsp;
use oriole_chip::Chip;
use oriole_ide::{Analysis, FileId, HintOptions};

use crate::basis::Basis;
use crate::client::Client;
use crate::convert::Text;
use crate::environment::Environment;
use crate::kernel_profile::{KernelProfile, ProfileSettings};
use crate::outcome::Failure;
use crate::shared::Shared;
use crate::workspace_files::Files;

/// An open document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Document {
    pub file: FileId,
    pub version: i32,
    /// The count of changes of texts at the last change of its own. Versions are the client's, and may repeat.
    pub text: u64,
    pub hints: HintOptions,
    pub background: bool,
    pub profile: ProfileSettings,
    /// The root of its settings.
    pub root: String,
}

/// The view of a request.
pub(crate) struct Snapshot {
    pub analysis: Analysis,
    pub documents: Arc<BTreeMap<String, Document>>,
    /// Files of the workspace that are not open.
    pub files: Arc<Files>,
    pub client: Client,
    pub environment: Arc<dyn Environment>,
    pub shared: Arc<Shared>,
    /// Counts changes of texts and settings.
    pub revision: u64,
    /// Counts changes of texts alone.
    pub texts: u64,
}

impl Snapshot {
    /// The profiles of a document that are of its present text, chip and options.
    pub fn profiles(&self, uri: &str) -> Vec<Arc<KernelProfile>> {
        let Ok(document) = self.document(uri) else { return Vec::new() };
        let mut known = self.shared.profiles(document.file);
        if known.is_empty() {
            return known;
        }
        let Ok(basis) = Basis::of(self, uri) else { return Vec::new() };
        known.retain(|profile| profile.basis == basis);
        known
    }

    pub fn document(&self, uri: &str) -> Result<&Document, Failure> {
        self.documents.get(uri).ok_or_else(|| Failure::Invalid(format!("`{uri}` is not open")))
    }

    pub fn file(&self, uri: &str) -> Result<FileId, Failure> {
        Ok(self.document(uri)?.file)
    }

    /// A file of the workspace with its text, open or not.
    pub fn any(&self, uri: &str) -> Result<(FileId, Text), Failure> {
        let closed = || self.files.values().find(|(address, _)| address == uri).map(|(_, file)| *file);
        let file = match self.file(uri) {
            Ok(file) => file,
            Err(failure) => closed().ok_or(failure)?,
        };
        Ok((file, self.text(file)?))
    }

    /// The address of a file.
    pub fn uri(&self, file: FileId) -> Option<&str> {
        let open = self.documents.iter().find(|(_, document)| document.file == file).map(|(uri, _)| uri);
        let closed = || self.files.values().find(|(_, closed)| *closed == file).map(|(uri, _)| uri);
        open.or_else(closed).map(String::as_str)
    }

    /// The address of a file with its text.
    pub fn named(&self, file: FileId) -> Result<(&str, Text), Failure> {
        let uri = self.uri(file).ok_or_else(|| Failure::Failed("a file has no address".to_owned()))?;
        Ok((uri, self.text(file)?))
    }

    pub fn text(&self, file: FileId) -> Result<Text, Failure> {
        Text::of(&self.analysis, file, self.client.encoding)
            .ok_or_else(|| Failure::Invalid("there is no such file".to_owned()))
    }

    /// A file with its text.
    pub fn open(&self, uri: &str) -> Result<(FileId, Text), Failure> {
        let file = self.file(uri)?;
        Ok((file, self.text(file)?))
    }

    /// A place.
    pub fn at(&self, place: &lsp::TextDocumentPositionParams) -> Result<(FileId, Text, u32), Failure> {
        let (file, text) = self.open(&place.text_document.uri.0)?;
        let at = text.offset(place.position);
        Ok((file, text, at))
    }

    /// The requested chip, or the first one of the file.
    pub fn chip(&self, file: FileId, asked: Option<Chip>) -> Result<Chip, Failure> {
        match asked {
            Some(chip) if chip.is_supported() => Ok(chip),
            Some(chip) => Err(Failure::Invalid(format!("{chip} is not supported"))),
            None => {
                let chips = self.analysis.targets(file)?;
                match chips.first() {
                    Some(chip) if chip.stand_in().is_some() => {
                        Err(Failure::Failed(format!("the instruction encodings are unknown for {chip}")))
                    }
                    Some(chip) => Ok(*chip),
                    None => Err(Failure::Failed("the file has no target".to_owned())),
                }
            }
        }
    }
}
