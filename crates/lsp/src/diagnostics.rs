//! Diagnostics in the format of the protocol: pulled by the client, or pushed to one that does not pull.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use gen_lsp_types as lsp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::basis::Basis;
use crate::convert;
use crate::outcome::{Answer, Failure, answer};
use crate::snapshot::Snapshot;

/// The diagnostics of a document: syntax and types, and those of code generation for exactly this text.
pub(crate) fn diagnostics(snapshot: Snapshot, uri: &str) -> Result<Vec<lsp::Diagnostic>, Failure> {
    let (file, text) = snapshot.open(uri)?;
    let mut found = snapshot.analysis.diagnostics(file)?;
    let shared = snapshot.shared.clone();
    // Without a chip to compile for there is no code.
    let basis = match Basis::of(&snapshot, uri) {
        Err(Failure::Cancelled) => return Err(Failure::Cancelled),
        basis => basis.ok(),
    };
    let profiles = snapshot.profiles(uri);
    // The snapshot is no longer needed: no change has to wait for it.
    drop(snapshot);
    let code = basis.map(|basis| shared.code(file, &basis)).unwrap_or_default();
    for more in code.iter() {
        if !found.contains(more) {
            found.push(more.clone());
        }
    }
    found.extend(profiles.iter().flat_map(|profile| profile.findings.iter().cloned()));
    found.sort_by_key(|diagnostic| diagnostic.range);
    Ok(found.iter().map(|diagnostic| convert::diagnostic(&text, uri, diagnostic)).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pull {
    text_document: lsp::TextDocumentIdentifier,
    previous_result_id: Option<String>,
}

/// A result id of diagnostics: equal diagnostics have equal ids.
pub(crate) fn name(items: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    items.to_string().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The diagnostics of a document with their result id.
pub(crate) fn named(snapshot: Snapshot, uri: &str) -> Result<(String, Value), Failure> {
    let items = answer(diagnostics(snapshot, uri)?)?;
    Ok((name(&items), items))
}

/// `textDocument/diagnostic`
pub(crate) fn pull(snapshot: Snapshot, parameters: Pull) -> Answer {
    let (name, items) = named(snapshot, &parameters.text_document.uri.0)?;
    if parameters.previous_result_id.as_deref() == Some(&name) {
        return Ok(json!({ "kind": "unchanged", "resultId": name }));
    }
    Ok(json!({ "kind": "full", "resultId": name, "items": items }))
}

/// The parameters of `textDocument/publishDiagnostics`, written.
pub(crate) fn push(snapshot: Snapshot, uri: &str) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct Published<'a> {
        uri: &'a str,
        version: i32,
        diagnostics: Vec<lsp::Diagnostic>,
    }
    let version = snapshot.document(uri)?.version;
    let published = Published { uri, version, diagnostics: diagnostics(snapshot, uri)? };
    serde_json::to_string(&published).map_err(|error| Failure::Failed(error.to_string()))
}
