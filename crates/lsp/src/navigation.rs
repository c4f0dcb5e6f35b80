//! Requests about names: where they are declared, used and called, in any file of the workspace, and renaming.

use std::collections::BTreeMap;

use gen_lsp_types as lsp;
use oriole_ide::{CallItem, Edit, FileId, RenameError, Target};
use serde_json::{Value, json};

use crate::convert::{self, Text};
use crate::outcome::{Answer, Failure, answer};
use crate::snapshot::Snapshot;
use crate::uri;

/// The addresses and texts of files, each looked up once.
#[derive(Default)]
struct Files(BTreeMap<FileId, (String, Text)>);

impl Files {
    fn get(&mut self, snapshot: &Snapshot, file: FileId) -> Result<&(String, Text), Failure> {
        match self.0.entry(file) {
            std::collections::btree_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::btree_map::Entry::Vacant(place) => {
                let (uri, text) = snapshot.named(file)?;
                Ok(place.insert((uri.to_owned(), text)))
            }
        }
    }
}

fn links(snapshot: &Snapshot, origin: &Text, targets: Vec<Target>) -> Answer {
    let mut files = Files::default();
    let link = |target: Target| -> Result<lsp::LocationLink, Failure> {
        let (uri, text) = files.get(snapshot, target.file)?;
        Ok(lsp::LocationLink {
            origin_selection_range: Some(origin.range(target.origin)),
            target_uri: uri.as_str().into(),
            target_range: text.range(target.full),
            target_selection_range: text.range(target.range),
        })
    };
    answer(targets.into_iter().map(link).collect::<Result<Vec<_>, _>>()?)
}

pub(crate) fn definition(snapshot: Snapshot, place: lsp::TextDocumentPositionParams) -> Answer {
    let (file, text, at) = snapshot.at(&place)?;
    let found = snapshot.analysis.definition(file, at)?;
    links(&snapshot, &text, found)
}

pub(crate) fn declaration(snapshot: Snapshot, place: lsp::TextDocumentPositionParams) -> Answer {
    let (file, text, at) = snapshot.at(&place)?;
    let found = snapshot.analysis.declaration(file, at)?;
    links(&snapshot, &text, found)
}

/// The definitions in other files as a line of a hover; empty if there are none.
pub(crate) fn defined_in(snapshot: &Snapshot, targets: &[Target]) -> Result<String, Failure> {
    let mut files = Files::default();
    let mut out = String::new();
    for target in targets {
        let (address, text) = files.get(snapshot, target.file)?;
        let line = text.position(target.range.start).line + 1;
        let path = uri::to_path(address);
        let name = path.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
        let name = name.as_deref().unwrap_or(address);
        out.push_str(&format!("\n\nDefined in [{name}, line {line}]({address}#L{line})."));
    }
    Ok(out)
}

pub(crate) fn references(snapshot: Snapshot, parameters: Value) -> Answer {
    let declared = parameters["context"]["includeDeclaration"].as_bool().unwrap_or(true);
    let place: lsp::TextDocumentPositionParams = crate::outcome::parse(parameters)?;
    let (file, _, at) = snapshot.at(&place)?;
    let found = snapshot.analysis.references(file, at)?;
    let mut files = Files::default();
    let mut locations = Vec::new();
    for found in found.into_iter().filter(|it| declared || it.access != oriole_ide::Access::Declare) {
        let (uri, text) = files.get(&snapshot, found.file)?;
        locations.push(lsp::Location { uri: uri.as_str().into(), range: text.range(found.range) });
    }
    answer(locations)
}

pub(crate) fn highlights(snapshot: Snapshot, place: lsp::TextDocumentPositionParams) -> Answer {
    let (file, text, at) = snapshot.at(&place)?;
    let found = snapshot.analysis.highlights(file, at)?;
    let highlights: Vec<lsp::DocumentHighlight> = found
        .into_iter()
        .map(|found| lsp::DocumentHighlight {
            range: text.range(found.range),
            kind: Some(convert::highlight_kind(found.access)),
        })
        .collect();
    answer(highlights)
}

pub(crate) fn prepare_rename(snapshot: Snapshot, place: lsp::TextDocumentPositionParams) -> Answer {
    let (file, text, at) = snapshot.at(&place)?;
    match snapshot.analysis.prepare_rename(file, at)? {
        Ok((range, name)) => Ok(json!({ "range": text.range(range), "placeholder": name })),
        Err(error) => Err(Failure::Failed(error.to_string())),
    }
}

pub(crate) fn rename(snapshot: Snapshot, parameters: lsp::RenameParams) -> Answer {
    let place = parameters.text_document_position_params;
    let (file, _, at) = snapshot.at(&place)?;
    let edits = match snapshot.analysis.rename(file, at, &parameters.new_name)? {
        Ok(edits) => edits,
        Err(error) => return Err(Failure::Failed(refusal(&snapshot, &error))),
    };
    let mut of_files: BTreeMap<FileId, Vec<Edit>> = BTreeMap::new();
    edits.into_iter().for_each(|(file, edit)| of_files.entry(file).or_default().push(edit));
    let mut changes = serde_json::Map::new();
    for (file, edits) in of_files {
        let (uri, text) = snapshot.named(file)?;
        changes.insert(uri.to_owned(), json!(text.edits(&edits)));
    }
    Ok(json!({ "changes": changes }))
}

/// Why a name is not renamed, with the files that stand in the way.
fn refusal(snapshot: &Snapshot, error: &RenameError) -> String {
    let files: Vec<FileId> = match error {
        RenameError::TakenIn(_, file) => vec![*file],
        RenameError::Ambiguous(_, files) => files.clone(),
        _ => return error.to_string(),
    };
    let shown = |file: FileId| {
        let address = snapshot.uri(file)?;
        Some(uri::to_path(address).map_or_else(|| address.to_owned(), |path| path.display().to_string()))
    };
    let files: Vec<String> = files.into_iter().filter_map(shown).collect();
    format!("{error}: {}", files.join(", "))
}

pub(crate) fn workspace_symbols(snapshot: Snapshot, parameters: lsp::WorkspaceSymbolParams) -> Answer {
    let mut symbols = Vec::new();
    for (file, symbol) in snapshot.analysis.workspace_symbols(&parameters.query)? {
        let (Some(uri), Ok(text)) = (snapshot.uri(file), snapshot.text(file)) else { continue };
        // The protocol has no other place for the source name of a symbol.
        symbols.push(json!({
            "name": symbol.name,
            "kind": convert::symbol_kind(symbol.kind),
            "containerName": symbol.detail,
            "location": { "uri": uri, "range": text.range(symbol.range) }
        }));
    }
    Ok(Value::Array(symbols))
}

fn call_item(
    files: &mut Files,
    snapshot: &Snapshot,
    item: &CallItem,
) -> Result<lsp::CallHierarchyItem, Failure> {
    let (uri, text) = files.get(snapshot, item.file)?;
    Ok(convert::call_item(text, uri, item))
}

pub(crate) fn prepare_call_hierarchy(snapshot: Snapshot, place: lsp::TextDocumentPositionParams) -> Answer {
    let (file, _, at) = snapshot.at(&place)?;
    match snapshot.analysis.call_item(file, at)? {
        Some(item) => answer(vec![call_item(&mut Files::default(), &snapshot, &item)?]),
        None => Ok(Value::Null),
    }
}

pub(crate) fn incoming_calls(
    snapshot: Snapshot,
    parameters: lsp::CallHierarchyIncomingCallsParams,
) -> Answer {
    let (file, _) = snapshot.any(&parameters.item.uri.0)?;
    let mut files = Files::default();
    let mut calls = Vec::new();
    for call in snapshot.analysis.incoming_calls(file, &parameters.item.name)? {
        let from = call_item(&mut files, &snapshot, &call.item)?;
        // The places are in the caller.
        let text = &files.get(&snapshot, call.item.file)?.1;
        let from_ranges = call.ranges.iter().map(|&range| text.range(range)).collect();
        calls.push(lsp::CallHierarchyIncomingCall { from, from_ranges });
    }
    answer(calls)
}

pub(crate) fn outgoing_calls(
    snapshot: Snapshot,
    parameters: lsp::CallHierarchyOutgoingCallsParams,
) -> Answer {
    let (file, text) = snapshot.any(&parameters.item.uri.0)?;
    let mut files = Files::default();
    let mut calls = Vec::new();
    for call in snapshot.analysis.outgoing_calls(file, &parameters.item.name)? {
        let to = call_item(&mut files, &snapshot, &call.item)?;
        let from_ranges = call.ranges.iter().map(|&range| text.range(range)).collect();
        calls.push(lsp::CallHierarchyOutgoingCall { to, from_ranges });
    }
    answer(calls)
}
