//! The parameters of our own requests: one shape for all of them.

use gen_lsp_types as lsp;
use oriole_chip::Chip;
use serde::Deserialize;

use crate::outcome::Failure;

/// Parameters: a document, and the further parameters of a request.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Asked {
    pub text_document: Option<lsp::TextDocumentIdentifier>,
    pub uri: Option<String>,
    pub kernel: Option<String>,
    pub function: Option<String>,
    pub chip: Option<String>,
    pub phase: Option<String>,
    pub range: Option<lsp::Range>,
    pub position: Option<lsp::Position>,
    pub code: Option<String>,
    pub follow: Option<bool>,
    pub part: Option<String>,
    pub number: Option<usize>,
    pub revision: Option<u64>,
}

impl Asked {
    /// The address of the document.
    pub fn uri(&self) -> Result<&str, Failure> {
        let named = self.text_document.as_ref().map(|document| document.uri.0.as_str());
        named.or(self.uri.as_deref()).ok_or_else(|| Failure::Invalid("`textDocument` is missing".to_owned()))
    }

    /// The chip, if one is named.
    pub fn chip(&self) -> Result<Option<Chip>, Failure> {
        let chip = self.chip.as_ref().map(|name| name.parse::<Chip>());
        chip.transpose().map_err(|error| Failure::Invalid(error.to_string()))
    }

    /// The name of the kernel or function.
    pub fn kernel(&self) -> Result<&str, Failure> {
        self.kernel
            .as_deref()
            .or(self.function.as_deref())
            .ok_or_else(|| Failure::Invalid("`kernel` is missing".to_owned()))
    }
}
