//! Completion: items as the client can take them, and their descriptions, which are sent for the item that is looked at.

use gen_lsp_types as lsp;
use oriole_ide::{Completion, CompletionKind, Part, Subject};
use serde_json::{Value, json};

use crate::client::Client;
use crate::convert::{Text, markdown};
use crate::outcome::{Answer, Failure};
use crate::snapshot::Snapshot;

pub(crate) fn completion(snapshot: Snapshot, parameters: lsp::CompletionParams) -> Answer {
    let (file, text, at) = snapshot.at(&parameters.text_document_position_params)?;
    let found = snapshot.analysis.completions(file, at)?;
    let client = snapshot.client;
    drop(snapshot);
    let offered = found.into_iter().filter(|item| item.parts.is_none() || client.snippets);
    let items: Vec<Value> = offered.map(|completion| item(&text, client, completion)).collect();
    Ok(json!({ "isIncomplete": false, "items": items }))
}

fn kind(kind: CompletionKind) -> lsp::CompletionItemKind {
    match kind {
        CompletionKind::Opcode => lsp::CompletionItemKind::Keyword,
        CompletionKind::Modifier => lsp::CompletionItemKind::EnumMember,
        CompletionKind::Directive => lsp::CompletionItemKind::Property,
        CompletionKind::Register => lsp::CompletionItemKind::Variable,
        CompletionKind::Variable => lsp::CompletionItemKind::Field,
        CompletionKind::Function => lsp::CompletionItemKind::Function,
        CompletionKind::Label => lsp::CompletionItemKind::Reference,
        CompletionKind::Constant => lsp::CompletionItemKind::Constant,
        CompletionKind::Template => lsp::CompletionItemKind::Snippet,
    }
}

fn item(text: &Text, client: Client, item: Completion) -> Value {
    let new_text = item.parts.map_or(item.edit.text, snippet);
    let (insert, replace) = (text.range(item.edit.range), text.range(item.word));
    let edit = match client.replaces {
        true => json!({ "newText": new_text, "insert": insert, "replace": replace }),
        false => json!({ "newText": new_text, "range": replace }),
    };
    let mut found = json!({
        "label": item.label,
        "sortText": format!("{:03}{}", item.rank, item.label),
        "filterText": item.label,
        "kind": kind(item.kind),
        "textEdit": edit
    });
    if !item.detail.is_empty() {
        found["detail"] = json!(item.detail);
    }
    if item.parts.is_some() {
        found["insertTextFormat"] = json!(lsp::InsertTextFormat::Snippet);
    }
    if let Some(subject) = item.subject {
        found["data"] = json!(subject.key());
    }
    found
}

/// A statement in the syntax that the protocol has for places to fill in.
fn snippet(parts: &[Part]) -> String {
    let plain = |text: &str| text.replace('\\', "\\\\").replace('$', "\\$").replace('}', "\\}");
    let part = |part: &Part| match *part {
        Part::Text(text) => plain(text),
        Part::Hole(number, text) => format!("${{{number}:{}}}", plain(text)),
        Part::End => "$0".to_owned(),
    };
    parts.iter().map(part).collect()
}

/// `completionItem/resolve`
pub(crate) fn resolve(_snapshot: Snapshot, item: Value) -> Answer {
    let mut item = item;
    let Some(key) = item["data"].as_str() else { return Ok(item) };
    let description = Subject::description(key)
        .ok_or_else(|| Failure::Invalid(format!("`{key}` is no key of a description")))?;
    item["documentation"] = json!(markdown(description));
    Ok(item)
}
