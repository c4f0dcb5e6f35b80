//! Capabilities of the server and of the client.

use oriole_ide::Encoding;
use serde_json::{Value, json};

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
}

impl Client {
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
            status: yes("/experimental/serverStatusNotification"),
        }
    }
}

/// Commands that the server executes.
pub(crate) const COMMANDS: [&str; 6] = [
    "oriole.showSass",
    "oriole.showOri",
    "oriole.comparePtxas",
    "oriole.setTarget",
    "oriole.explain",
    "oriole.explainEdit",
];

pub(crate) fn server(client: &Client) -> Value {
    let encoding = match client.encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
        Encoding::Utf32 => "utf-32",
    };
    json!({
        "positionEncoding": encoding,
        "textDocumentSync": { "openClose": true, "change": 2, "save": { "includeText": false } },
        "hoverProvider": true,
        "completionProvider": { "triggerCharacters": [".", "%", "[", " ", "@"] },
        "signatureHelpProvider": { "triggerCharacters": [" ", ","], "retriggerCharacters": [","] },
        "definitionProvider": true,
        "referencesProvider": true,
        "documentHighlightProvider": true,
        "documentSymbolProvider": true,
        "workspaceSymbolProvider": true,
        "codeActionProvider": { "codeActionKinds": ["quickfix"] },
        "codeLensProvider": { "resolveProvider": true },
        "documentLinkProvider": { "resolveProvider": false },
        "documentFormattingProvider": true,
        "documentRangeFormattingProvider": true,
        "renameProvider": { "prepareProvider": true },
        "foldingRangeProvider": true,
        "selectionRangeProvider": true,
        "callHierarchyProvider": true,
        "inlayHintProvider": true,
        "semanticTokensProvider": {
            "legend": crate::tokens::legend(), "range": true, "full": { "delta": true }
        },
        "diagnosticProvider": {
            "identifier": "oriole", "interFileDependencies": false, "workspaceDiagnostics": true
        },
        "executeCommandProvider": { "commands": COMMANDS },
        "workspace": {
            "textDocumentContent": { "schemes": [crate::virtual_documents::SCHEME] },
            "workspaceFolders": { "supported": true, "changeNotifications": true }
        },
        "experimental": {
            "ptx": {
                "requests": crate::extensions::REQUESTS, "serverStatusNotification": "ptx/serverStatus",
                "sassMapNotification": "ptx/sassMap"
            }
        }
    })
}
