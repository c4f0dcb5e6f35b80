//! The view of a request: a snapshot with the documents at that time, and state shared by answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gen_lsp_types as lsp;
use oriole_chip::Chip;
use oriole_ide::{Analysis, Cancelled, FileDiagnostic, FileId, HintOptions, RegisterMarks};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::capabilities::Client;
use crate::convert::Text;
use crate::environment::Environment;
use crate::hosts::locked;
use crate::sass_map::Followed;
use crate::waits::Waits;
use crate::workspace::Files;

/// The reason why a request has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// The text changed, or the client cancelled.
    Cancelled,
    /// The request is invalid.
    Invalid(String),
    /// It is valid and cannot be answered.
    Failed(String),
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Failure {
        Failure::Cancelled
    }
}

/// An answer.
pub(crate) type Answer = Result<Value, Failure>;

/// An open document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Document {
    pub file: FileId,
    pub version: i32,
    pub hints: HintOptions,
    pub background: bool,
    /// The root of its settings.
    pub root: String,
}

/// The diagnostics of code generation, of a revision.
pub(crate) type CodeDiagnostics = (u64, Arc<Vec<FileDiagnostic>>);

/// State shared by answers: data of the client, and findings of compiles.
#[derive(Default)]
pub(crate) struct Shared {
    counter: AtomicU64,
    tokens: Mutex<BTreeMap<FileId, (String, Vec<u32>)>>,
    code: Mutex<BTreeMap<FileId, CodeDiagnostics>>,
    waits: Mutex<Waits>,
    marks: Mutex<BTreeMap<FileId, Arc<RegisterMarks>>>,
    /// Machine code that the client follows.
    pub followed: Followed,
    /// Diagnostics of files that are not open.
    pub files: Files,
}

impl Shared {
    /// Stores tokens under a new id.
    pub fn keep_tokens(&self, file: FileId, data: Vec<u32>) -> String {
        let name = self.counter.fetch_add(1, Ordering::Relaxed).to_string();
        locked(&self.tokens).insert(file, (name.clone(), data));
        name
    }

    /// The tokens stored under an id.
    pub fn tokens(&self, file: FileId, name: &str) -> Option<Vec<u32>> {
        locked(&self.tokens).get(&file).filter(|kept| kept.0 == name).map(|kept| kept.1.clone())
    }

    /// Stores diagnostics of code generation; true if they changed.
    pub fn keep_code(&self, file: FileId, revision: u64, found: Vec<FileDiagnostic>) -> bool {
        let mut code = locked(&self.code);
        let before = code.get(&file).map(|known| known.1.clone());
        let same = before.is_some_and(|before| *before == found);
        code.insert(file, (revision, Arc::new(found)));
        !same
    }

    /// The diagnostics of code generation of a revision of the text.
    pub fn code(&self, file: FileId, revision: u64) -> Arc<Vec<FileDiagnostic>> {
        let code = locked(&self.code);
        code.get(&file).filter(|known| known.0 == revision).map(|known| known.1.clone()).unwrap_or_default()
    }

    /// Stores the register marks from compiled code; true if they changed.
    pub fn keep_marks(&self, file: FileId, found: RegisterMarks) -> bool {
        let mut marks = locked(&self.marks);
        let known = marks.entry(file).or_default();
        let differs = **known != found;
        if differs {
            *known = Arc::new(found);
        }
        differs
    }

    /// The register marks from the last good code of a file.
    pub fn marks(&self, file: FileId) -> Arc<RegisterMarks> {
        locked(&self.marks).get(&file).cloned().unwrap_or_default()
    }

    /// Records how long a change waited for running work.
    pub fn waited(&self, time: Duration) {
        locked(&self.waits).add(time);
    }

    /// The waiting times of changes.
    pub fn waits(&self) -> Value {
        locked(&self.waits).report()
    }

    /// Forgets a file.
    pub fn forget(&self, file: FileId) {
        locked(&self.marks).remove(&file);
        locked(&self.tokens).remove(&file);
        locked(&self.code).remove(&file);
    }
}

/// The view of a request.
pub(crate) struct Snapshot {
    pub analysis: Analysis,
    pub documents: Arc<BTreeMap<String, Document>>,
    pub client: Client,
    pub environment: Arc<dyn Environment>,
    pub shared: Arc<Shared>,
    /// Counts changes of texts and settings.
    pub revision: u64,
    /// Counts changes of texts alone.
    pub texts: u64,
}

/// Reads the parameters of a request.
pub(crate) fn parse<P: DeserializeOwned>(parameters: Value) -> Result<P, Failure> {
    // Parameters may be missing or null, where all of them are optional.
    let parameters = if parameters.is_null() { Value::Object(serde_json::Map::new()) } else { parameters };
    serde_json::from_value(parameters).map_err(|error| Failure::Invalid(error.to_string()))
}

/// Writes an answer.
pub(crate) fn answer(value: impl serde::Serialize) -> Answer {
    serde_json::to_value(value).map_err(|error| Failure::Failed(error.to_string()))
}

impl Snapshot {
    pub fn document(&self, uri: &str) -> Result<&Document, Failure> {
        self.documents.get(uri).ok_or_else(|| Failure::Invalid(format!("`{uri}` is not open")))
    }

    pub fn file(&self, uri: &str) -> Result<FileId, Failure> {
        Ok(self.document(uri)?.file)
    }

    /// The address of a file.
    pub fn uri(&self, file: FileId) -> Option<&str> {
        self.documents.iter().find(|(_, document)| document.file == file).map(|(uri, _)| uri.as_str())
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
