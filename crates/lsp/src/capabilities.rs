//! Capabilities of the server, as `initialize` reports them.

use oriole_ide::Encoding;
use serde_json::{Value, json};

use crate::client::Client;

/// Commands that the server executes.
pub(crate) const COMMANDS: [&str; 8] = [
    "oriole.showSass",
    "oriole.showOri",
    "oriole.showPage",
    "oriole.comparePtxas",
    "oriole.profile",
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
        "completionProvider": { "triggerCharacters": [".", "%", "[", " ", "@"], "resolveProvider": true },
        "signatureHelpProvider": { "triggerCharacters": [" ", ","], "retriggerCharacters": [","] },
        "declarationProvider": true,
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
        "documentOnTypeFormattingProvider": { "firstTriggerCharacter": "\n", "moreTriggerCharacter": [";", "}"] },
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
