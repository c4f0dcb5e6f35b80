//! Capabilities of the client, as far as the server adapts to them.

use oriole_ide::Encoding;
use serde_json::Value;

/// The relevant capabilities of the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Client {
    pub encoding: Encoding,
    pub pulls_diagnostics: bool,
    pub refreshes_diagnostics: bool,
    pub refreshes_hints: bool,
    pub refreshes_lenses: bool,
    pub refreshes_tokens: bool,
    pub refreshes_content: bool,
    pub progress: bool,
    pub configuration: bool,
    pub watches: bool,
    pub shows_documents: bool,
    pub status: bool,
    pub snippets: bool,
    pub replaces: bool,
}

impl Client {
    /// The capabilities in the parameters of `initialize`.
    pub fn new(parameters: &Value) -> Client {
        let capabilities = &parameters["capabilities"];
        let yes = |path: &str| capabilities.pointer(path).and_then(Value::as_bool).unwrap_or(false);
        let encodings: Vec<&str> = capabilities["general"]["positionEncodings"]
            .as_array()
            .map(|list| list.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let encoding = if encodings.contains(&"utf-8") {
            Encoding::Utf8
        } else if encodings.first() == Some(&"utf-32") {
            Encoding::Utf32
        } else {
            Encoding::Utf16
        };
        Client {
            encoding,
            pulls_diagnostics: capabilities["textDocument"]["diagnostic"].is_object(),
            refreshes_diagnostics: yes("/workspace/diagnostics/refreshSupport"),
            refreshes_hints: yes("/workspace/inlayHint/refreshSupport"),
            refreshes_lenses: yes("/workspace/codeLens/refreshSupport"),
            refreshes_tokens: yes("/workspace/semanticTokens/refreshSupport"),
            refreshes_content: capabilities["workspace"]["textDocumentContent"].is_object(),
            progress: yes("/window/workDoneProgress"),
            configuration: yes("/workspace/configuration"),
            watches: yes("/workspace/didChangeWatchedFiles/dynamicRegistration"),
            shows_documents: yes("/window/showDocument/support"),
            snippets: yes("/textDocument/completion/completionItem/snippetSupport"),
            replaces: yes("/textDocument/completion/completionItem/insertReplaceSupport"),
            status: yes("/experimental/serverStatusNotification"),
        }
    }
}
