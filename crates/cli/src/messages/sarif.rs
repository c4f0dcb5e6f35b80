//! A SARIF 2.1.0 log: one run with its rules, results and fixes, as code scanning services and editors read it.
//!
//! Rules are the codes that have a result; their texts are the pages of `oriole explain`.

use super::message::{Fix, Message, Place, Region, Related};
use oriole_diagnostics::{Code, Severity};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The log of messages; `failures` are reasons why part of the work could not be done.
pub fn log(messages: &[Message], failures: &[String]) -> Value {
    let codes: Vec<Code> =
        messages.iter().map(|message| message.code).collect::<BTreeSet<_>>().into_iter().collect();
    let notifications =
        failures.iter().map(|failure| json!({ "level": "error", "message": { "text": failure } }));
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "oriole",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": codes.iter().copied().map(rule).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": failures.is_empty(),
                "toolExecutionNotifications": notifications.collect::<Vec<_>>(),
            }],
            "results": messages.iter().map(|message| result(message, &codes)).collect::<Vec<_>>(),
        }],
    })
}

fn rule(code: Code) -> Value {
    let page = code.page();
    let first = page.find(". ").map_or(page, |end| &page[..=end]);
    json!({
        "id": code.as_str(),
        "shortDescription": { "text": first },
        "fullDescription": { "text": page },
        "help": { "text": page, "markdown": page },
        "defaultConfiguration": { "level": level(code.severity()) },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn result(message: &Message, codes: &[Code]) -> Value {
    let mut text = message.text.clone();
    for help in &message.help {
        let _ = write!(text, "\nhelp: {help}");
    }
    let mut value = json!({
        "ruleId": message.code.as_str(),
        "ruleIndex": codes.binary_search(&message.code).unwrap_or_default(),
        "level": level(message.severity),
        "message": { "text": text },
        "locations": [location(&message.file, &message.place)],
    });
    if !message.related.is_empty() {
        let related = message.related.iter().enumerate().map(|(id, Related { file, place, text })| {
            let mut value = location(file, place);
            value["id"] = id.into();
            value["message"] = json!({ "text": text });
            value
        });
        value["relatedLocations"] = related.collect();
    }
    if !message.fixes.is_empty() {
        value["fixes"] = message.fixes.iter().map(|fix| change(&message.file, fix)).collect();
    }
    value
}

fn location(file: &str, place: &Place) -> Value {
    let artifact = json!({ "uri": uri(file) });
    match place {
        Place::File => json!({ "physicalLocation": { "artifactLocation": artifact } }),
        Place::Text(at) => {
            json!({ "physicalLocation": { "artifactLocation": artifact, "region": region(*at) } })
        }
        Place::Code { function, offset } => json!({
            "physicalLocation": {
                "artifactLocation": artifact,
                "address": { "relativeAddress": offset, "kind": "instruction", "offsetFromParent": offset },
            },
            "logicalLocations": [{ "name": function, "fullyQualifiedName": function, "kind": "function" }],
        }),
    }
}

fn region(region: Region) -> Value {
    match region.columns {
        None => json!({ "startLine": region.line }),
        Some(columns) => json!({
            "startLine": region.line, "startColumn": columns.start,
            "endLine": columns.last, "endColumn": columns.end,
        }),
    }
}

fn change(file: &str, fix: &Fix) -> Value {
    let replacements = fix.edits.iter().map(
        |edit| json!({ "deletedRegion": region(edit.region), "insertedContent": { "text": edit.text } }),
    );
    json!({
        "description": { "text": fix.title },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(file) },
            "replacements": replacements.collect::<Vec<_>>(),
        }],
    })
}

/// The path as a reference: bytes that stand for themselves, all others as `%XX`.
fn uri(file: &str) -> String {
    let path = Path::new(file);
    let text = if std::path::MAIN_SEPARATOR == '\\' { file.replace('\\', "/") } else { file.to_owned() };
    let mut uri = String::new();
    if path.is_absolute() {
        uri.push_str(if text.starts_with('/') { "file://" } else { "file:///" });
    }
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_are_references() {
        assert_eq!(uri("a b/k#1.ptx"), "a%20b/k%231.ptx");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
        #[cfg(unix)]
        assert_eq!(uri("/a/é.ptx"), "file:///a/%C3%A9.ptx");
    }
}
