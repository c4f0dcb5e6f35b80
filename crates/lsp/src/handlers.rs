//! The requests of the protocol: each converts its parameters, runs a query, and converts the answer.

use std::sync::Arc;

use gen_lsp_types as lsp;
use oriole_ide::{Edit, Hint, Lens, Style};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::convert::{self, markdown};
use crate::kernel_profile::HotLine;
use crate::outcome::{Answer, Failure, Reply, answer};
use crate::snapshot::Snapshot;
use crate::symbol_units::FileSymbols;
use crate::token_units::FileTokens;
use crate::virtual_documents::{self, Document};
use crate::{navigation, uri};

pub(crate) fn hover(snapshot: Snapshot, parameters: lsp::HoverParams) -> Answer {
    let place = parameters.text_document_position_params;
    if let Some(Document::Cubin { uri }) = Document::parse(&place.text_document.uri.0) {
        return cubin_hover(&snapshot, &uri, place.position.line);
    }
    let (file, text, at) = snapshot.at(&place)?;
    let Some(hover) = snapshot.analysis.hover(file, at)? else { return Ok(Value::Null) };
    let elsewhere = navigation::defined_in(&snapshot, &hover.definitions)?;
    answer(lsp::Hover {
        contents: markdown(format!("{}{elsewhere}", hover.text)).into(),
        range: Some(text.range(hover.range)),
    })
}

fn cubin_hover(snapshot: &Snapshot, uri: &str, line: u32) -> Answer {
    let found = virtual_documents::cubin(uri, &*snapshot.environment)?;
    let hover = found.lines.into_iter().nth(line as usize).and_then(|line| line.hover);
    answer(hover.map(|text| lsp::Hover { contents: markdown(text).into(), range: None }))
}

fn workspace_edit(uri: &str, text: &convert::Text, edits: &[Edit]) -> Value {
    json!({ "changes": { uri: text.edits(edits) } })
}

pub(crate) fn signature_help(snapshot: Snapshot, place: lsp::TextDocumentPositionParams) -> Answer {
    let (file, _, at) = snapshot.at(&place)?;
    let Some(help) = snapshot.analysis.signature_help(file, at)? else { return Ok(Value::Null) };
    let signatures: Vec<Value> = help
        .signatures
        .into_iter()
        .map(|signature| {
            // The labels are ASCII, so that bytes are units of every encoding.
            let parameters: Vec<Value> =
                signature.parameters.iter().map(|&(start, end)| json!({ "label": [start, end] })).collect();
            json!({
                "label": signature.label,
                "documentation": markdown(signature.documentation),
                "parameters": parameters
            })
        })
        .collect();
    Ok(json!({ "signatures": signatures, "activeSignature": 0, "activeParameter": help.active }))
}

/// Parameters that name a document only.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfDocument {
    pub text_document: lsp::TextDocumentIdentifier,
}

pub(crate) fn document_symbols(snapshot: Snapshot, parameters: OfDocument) -> Result<Reply, Failure> {
    let (file, text) = snapshot.open(&parameters.text_document.uri.0)?;
    if let Some(units) = snapshot.analysis.unit_symbols(file)? {
        let shared = snapshot.shared.clone();
        drop(snapshot);
        let (written, answer) = FileSymbols::new(&text, units, shared.symbols(file).as_deref())?;
        shared.keep_symbols(file, written);
        return Ok(Reply::Text(answer));
    }
    let found = snapshot.analysis.symbols(file)?;
    drop(snapshot);
    let symbols: Vec<lsp::DocumentSymbol> =
        found.iter().map(|symbol| convert::symbol(&text, symbol)).collect();
    crate::outcome::text(&symbols)
}

pub(crate) fn code_actions(snapshot: Snapshot, parameters: lsp::CodeActionParams) -> Answer {
    let uri = &parameters.text_document.uri.0;
    let (file, text) = snapshot.open(uri)?;
    let fixes = snapshot.analysis.fixes(file, text.bytes(parameters.range))?;
    drop(snapshot);
    let given = &parameters.context.diagnostics;
    let actions: Vec<Value> = fixes
        .into_iter()
        .map(|fix| {
            let range = text.range(fix.range);
            let code = Some(fix.code.as_str().to_owned().into());
            let mended: Vec<_> = given.iter().filter(|it| it.range == range && it.code == code).collect();
            json!({
                "title": fix.title,
                "kind": "quickfix",
                "isPreferred": fix.preferred,
                "diagnostics": mended,
                "edit": workspace_edit(uri, &text, &fix.edits)
            })
        })
        .collect();
    Ok(Value::Array(actions))
}

pub(crate) fn folding_ranges(snapshot: Snapshot, parameters: OfDocument) -> Answer {
    let (file, text) = snapshot.open(&parameters.text_document.uri.0)?;
    let found = snapshot.analysis.folds(file)?;
    drop(snapshot);
    answer(found.into_iter().map(|fold| convert::fold(&text, fold)).collect::<Vec<_>>())
}

pub(crate) fn selection_ranges(snapshot: Snapshot, parameters: lsp::SelectionRangeParams) -> Answer {
    let (file, text) = snapshot.open(&parameters.text_document.uri.0)?;
    let mut all = Vec::new();
    for position in parameters.positions {
        let ranges = snapshot.analysis.selection(file, text.offset(position))?;
        let outermost_first = ranges.into_iter().rev();
        let chain = outermost_first.fold(None, |parent, range| {
            Some(Box::new(lsp::SelectionRange { range: text.range(range), parent }))
        });
        let empty = lsp::Range { start: position, end: position };
        all.push(chain.map_or(lsp::SelectionRange { range: empty, parent: None }, |chain| *chain));
    }
    answer(all)
}

pub(crate) fn tokens_full(snapshot: Snapshot, parameters: OfDocument) -> Result<Reply, Failure> {
    let (name, tokens, _) = kept_tokens(snapshot, &parameters.text_document)?;
    Ok(Reply::Text(tokens.written(&name)))
}

pub(crate) fn tokens_delta(
    snapshot: Snapshot,
    parameters: lsp::SemanticTokensDeltaParams,
) -> Result<Reply, Failure> {
    let (name, tokens, before) = kept_tokens(snapshot, &parameters.text_document)?;
    Ok(match before.filter(|(known, _)| *known == parameters.previous_result_id) {
        Some((_, old)) => Reply::Value(json!({ "resultId": name, "edits": tokens.changes(&old) })),
        None => Reply::Text(tokens.written(&name)),
    })
}

/// Tokens and the id that they are kept under.
type Kept = (String, Arc<FileTokens>);

/// The tokens of a file, with the id under which they are kept now, and what was kept before.
fn kept_tokens(
    snapshot: Snapshot,
    document: &lsp::TextDocumentIdentifier,
) -> Result<(String, Arc<FileTokens>, Option<Kept>), Failure> {
    let (file, text) = snapshot.open(&document.uri.0)?;
    let units = snapshot.analysis.unit_tokens(file, &snapshot.shared.marks(file))?;
    let shared = snapshot.shared.clone();
    drop(snapshot);
    let before = shared.tokens(file);
    let tokens = Arc::new(FileTokens::new(&text, units, before.as_ref().map(|(_, tokens)| &**tokens)));
    let name = shared.keep_tokens(file, tokens.clone());
    Ok((name, tokens, before))
}

/// Parameters that name a document and a range.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfRange {
    text_document: lsp::TextDocumentIdentifier,
    range: lsp::Range,
}

pub(crate) fn tokens_range(snapshot: Snapshot, parameters: OfRange) -> Result<Reply, Failure> {
    let (file, text) = snapshot.open(&parameters.text_document.uri.0)?;
    let tokens =
        snapshot.analysis.tokens(file, Some(text.bytes(parameters.range)), &snapshot.shared.marks(file))?;
    drop(snapshot);
    Ok(Reply::Text(crate::tokens::written(&crate::tokens::pack(&text, &tokens))))
}

/// Parameters of formatting; of the options those for indentation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Formatting {
    text_document: lsp::TextDocumentIdentifier,
    range: Option<lsp::Range>,
    #[serde(default)]
    options: Indentation,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Indentation {
    tab_size: Option<u32>,
    insert_spaces: Option<bool>,
}

impl Indentation {
    fn style(&self) -> Style {
        match self.insert_spaces {
            Some(false) => Style { blanks: None },
            _ => self.tab_size.map_or_else(Style::default, |blanks| Style { blanks: Some(blanks) }),
        }
    }
}

pub(crate) fn formatting(snapshot: Snapshot, parameters: Formatting) -> Answer {
    let (file, text) = snapshot.open(&parameters.text_document.uri.0)?;
    let edits = snapshot.analysis.format(file, None, parameters.options.style())?;
    drop(snapshot);
    answer(text.edits(&edits))
}

/// Parameters of formatting after a character was typed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Typed {
    text_document: lsp::TextDocumentIdentifier,
    position: lsp::Position,
    ch: String,
    #[serde(default)]
    options: Indentation,
}

pub(crate) fn typed_formatting(snapshot: Snapshot, parameters: Typed) -> Answer {
    let (file, text) = snapshot.open(&parameters.text_document.uri.0)?;
    let Some(typed) = parameters.ch.chars().next() else {
        return Err(Failure::Invalid("`ch` is empty".to_owned()));
    };
    let at = text.offset(parameters.position);
    let edits = snapshot.analysis.format_typed(file, at, typed, parameters.options.style())?;
    answer(text.edits(&edits))
}

pub(crate) fn range_formatting(snapshot: Snapshot, parameters: Formatting) -> Answer {
    let (file, text) = snapshot.open(&parameters.text_document.uri.0)?;
    let range = parameters.range.map(|range| text.bytes(range));
    let edits = snapshot.analysis.format(file, range, parameters.options.style())?;
    answer(text.edits(&edits))
}

pub(crate) fn document_links(snapshot: Snapshot, parameters: OfDocument) -> Answer {
    let (file, text) = snapshot.open(&parameters.text_document.uri.0)?;
    let links = snapshot.analysis.links(file)?;
    drop(snapshot);
    let links: Vec<Value> = links
        .into_iter()
        .map(|link| {
            let line = if link.line > 0 { format!("#L{},{}", link.line, link.column) } else { String::new() };
            json!({ "range": text.range(link.range), "target": format!("{}{line}", uri::from_path(&link.path)) })
        })
        .collect();
    Ok(Value::Array(links))
}

pub(crate) fn inlay_hints(snapshot: Snapshot, parameters: OfRange) -> Answer {
    let uri = &parameters.text_document.uri.0;
    let (file, text) = snapshot.open(uri)?;
    let options = snapshot.document(uri)?.hints;
    let range = text.bytes(parameters.range);
    let hints = snapshot.analysis.hints(file, range, options)?;
    let profiles = snapshot.profiles(uri);
    drop(snapshot);
    let hot = profiles.iter().flat_map(|profile| &profile.hot);
    let hot = hot.filter(|hot| range.start <= hot.at && hot.at <= range.end).map(|hot| hot_hint(&text, hot));
    answer(hints.into_iter().map(|hint| inlay_hint(&text, hint)).chain(hot).collect::<Vec<_>>())
}

/// The hint of a line with many waits.
fn hot_hint(text: &convert::Text, hot: &HotLine) -> Value {
    json!({
        "position": text.position(hot.at),
        "label": format!("{:.0} % of stall cycles", 100.0 * hot.share),
        "paddingLeft": true,
        "tooltip": hot.why
    })
}

fn inlay_hint(text: &convert::Text, hint: Hint) -> Value {
    let parts: Vec<String> = hint.parts.into_iter().map(|part| part.1).collect();
    let stale = if hint.stale { "stale: " } else { "" };
    let mut found = json!({
        "position": text.position(hint.at),
        "label": format!("{stale}{}", parts.join(" · ")),
        "paddingLeft": true
    });
    if !hint.why.is_empty() {
        let why: Vec<String> = hint.why.iter().map(|why| format!("* {why}")).collect();
        found["tooltip"] = json!(markdown(why.join("\n")));
    }
    found
}

/// The data of an unresolved lens.
#[derive(Deserialize, serde::Serialize)]
struct LensData {
    uri: String,
    kernel: String,
    what: String,
}

pub(crate) fn code_lenses(snapshot: Snapshot, parameters: OfDocument) -> Answer {
    let uri = &parameters.text_document.uri.0;
    let (file, text) = snapshot.open(uri)?;
    let lenses = snapshot.analysis.lenses(file)?;
    drop(snapshot);
    let mut all = Vec::new();
    for lens in lenses {
        for what in ["figures", "sass", "ori", "compare", "profile"] {
            let data = LensData { uri: uri.clone(), kernel: lens.kernel.clone(), what: what.to_owned() };
            all.push(json!({ "range": text.range(lens.range), "data": data }));
        }
    }
    Ok(Value::Array(all))
}

pub(crate) fn resolve_code_lens(snapshot: Snapshot, lens: Value) -> Answer {
    let data: LensData = crate::outcome::parse(lens["data"].clone())?;
    let file = snapshot.file(&data.uri)?;
    let chip = snapshot.chip(file, None)?;
    let argument = json!({ "uri": data.uri, "kernel": data.kernel, "chip": chip.to_string() });
    let command = match data.what.as_str() {
        "sass" => json!({ "title": "Show SASS", "command": "oriole.showSass", "arguments": [argument] }),
        "ori" => {
            json!({ "title": "Show Ori after a phase", "command": "oriole.showOri", "arguments": [argument] })
        }
        "profile" => {
            json!({ "title": "Profile this kernel", "command": "oriole.profile", "arguments": [argument] })
        }
        "compare" => {
            json!({ "title": "Compare with ptxas", "command": "oriole.comparePtxas", "arguments": [argument] })
        }
        _ => {
            let found: Option<Lens> = snapshot.analysis.lens(file, &data.kernel, chip)?;
            let title = found
                .as_ref()
                .and_then(Lens::title)
                .unwrap_or_else(|| format!("{chip}: not compiled yet, because the kernel has errors"));
            let why = found.and_then(|lens| lens.statistics).map(|found| found.why.join("\n"));
            json!({
                "title": title, "tooltip": why, "command": "oriole.showSass", "arguments": [argument]
            })
        }
    };
    let mut lens = lens;
    lens["command"] = command;
    Ok(lens)
}

/// `workspace/textDocumentContent`
pub(crate) fn content(snapshot: Snapshot, parameters: Value) -> Answer {
    let uri = parameters["uri"].as_str().unwrap_or_default();
    let document =
        Document::parse(uri).ok_or_else(|| Failure::Invalid(format!("`{uri}` is no document of Oriole")))?;
    Ok(json!({ "text": document.text(&snapshot)? }))
}
