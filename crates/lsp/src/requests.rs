//! The table of requests that run on workers: method and handler.

use gen_lsp_types as lsp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::outcome::{Failure, Reply, parse};
use crate::snapshot::Snapshot;
use crate::{commands, comparison, completion, diagnostics, extensions, handlers, navigation, pages};

/// Runs a handler over its parameters.
fn on<P: DeserializeOwned, R: Into<Reply>>(
    snapshot: Snapshot,
    parameters: Value,
    handler: impl FnOnce(Snapshot, P) -> Result<R, Failure>,
) -> Result<Reply, Failure> {
    Ok(handler(snapshot, parse(parameters)?)?.into())
}

/// The handler of a method.
type Handler = fn(Snapshot, Value) -> Result<Reply, Failure>;

/// The scheduling of a request.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub method: &'static str,
    pub run: Handler,
    /// Its cost, and so its thread.
    pub cost: Cost,
    /// The files that its answer may depend on.
    pub beyond: Beyond,
}

/// The files that an answer depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beyond {
    /// The document alone.
    Document,
    /// All files of the workspace if the name at the position is one that files share.
    Name,
    /// All files of the workspace.
    Workspace,
}

impl Row {
    /// The row of a request about a name that files may share.
    const fn of_name(self) -> Row {
        Row { beyond: Beyond::Name, ..self }
    }

    /// The row of a request about all files of the workspace.
    const fn of_workspace(self) -> Row {
        Row { beyond: Beyond::Workspace, ..self }
    }
}

/// The cost of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cost {
    /// It reads trees and types only.
    Reads,
    /// It reads, and compiles only what has not been compiled yet.
    Looks,
    /// It may compile its subject.
    Builds,
    /// It compiles much, and no request waits for it.
    BuildsMuch,
}

const fn reads(method: &'static str, run: Handler) -> Row {
    Row { method, run, cost: Cost::Reads, beyond: Beyond::Document }
}

const fn looks(method: &'static str, run: Handler) -> Row {
    Row { method, run, cost: Cost::Looks, beyond: Beyond::Document }
}

const fn builds(method: &'static str, run: Handler) -> Row {
    Row { method, run, cost: Cost::Builds, beyond: Beyond::Document }
}

const fn builds_much(method: &'static str, run: Handler) -> Row {
    Row { method, run, cost: Cost::BuildsMuch, beyond: Beyond::Document }
}

/// One row is one method.
pub(crate) const ROWS: &[Row] = &[
    looks("textDocument/hover", |s, p| on(s, p, handlers::hover)).of_name(),
    reads("textDocument/definition", |s, p| on(s, p, navigation::definition)).of_name(),
    reads("textDocument/declaration", |s, p| on(s, p, navigation::declaration)),
    reads("textDocument/references", |s, p| on(s, p, navigation::references)).of_name(),
    reads("textDocument/documentHighlight", |s, p| on(s, p, navigation::highlights)),
    reads("textDocument/prepareRename", |s, p| on(s, p, navigation::prepare_rename)),
    reads("textDocument/rename", |s, p| on(s, p, navigation::rename)).of_name(),
    reads("textDocument/completion", |s, p| on(s, p, completion::completion)),
    reads("completionItem/resolve", |s, p| on(s, p, completion::resolve)),
    reads("textDocument/signatureHelp", |s, p| {
        on::<lsp::TextDocumentPositionParams, _>(s, p, handlers::signature_help)
    }),
    reads("textDocument/documentSymbol", |s, p| on(s, p, handlers::document_symbols)),
    reads("workspace/symbol", |s, p| on(s, p, navigation::workspace_symbols)).of_workspace(),
    reads("textDocument/codeAction", |s, p| on(s, p, handlers::code_actions)),
    reads("textDocument/foldingRange", |s, p| on(s, p, handlers::folding_ranges)),
    reads("textDocument/selectionRange", |s, p| on(s, p, handlers::selection_ranges)),
    reads("textDocument/semanticTokens/full", |s, p| on(s, p, handlers::tokens_full)),
    reads("textDocument/semanticTokens/full/delta", |s, p| on(s, p, handlers::tokens_delta)),
    reads("textDocument/semanticTokens/range", |s, p| on(s, p, handlers::tokens_range)),
    reads("textDocument/formatting", |s, p| on(s, p, handlers::formatting)),
    reads("textDocument/rangeFormatting", |s, p| on(s, p, handlers::range_formatting)),
    reads("textDocument/onTypeFormatting", |s, p| on(s, p, handlers::typed_formatting)),
    reads("textDocument/prepareCallHierarchy", |s, p| on(s, p, navigation::prepare_call_hierarchy)).of_name(),
    reads("callHierarchy/incomingCalls", |s, p| on(s, p, navigation::incoming_calls)).of_workspace(),
    reads("callHierarchy/outgoingCalls", |s, p| on(s, p, navigation::outgoing_calls)).of_workspace(),
    reads("textDocument/documentLink", |s, p| on(s, p, handlers::document_links)),
    builds("textDocument/inlayHint", |s, p| on(s, p, handlers::inlay_hints)),
    reads("textDocument/codeLens", |s, p| on(s, p, handlers::code_lenses)),
    builds("codeLens/resolve", |s, p| on(s, p, handlers::resolve_code_lens)),
    reads("textDocument/diagnostic", |s, p| on(s, p, diagnostics::pull)),
    builds("workspace/textDocumentContent", |s, p| on(s, p, handlers::content)),
    builds("workspace/executeCommand", |s, p| on(s, p, commands::command)),
    reads("ptx/viewSyntaxTree", |s, p| on(s, p, extensions::syntax_tree)),
    builds("ptx/viewIr", |s, p| on(s, p, extensions::ir)),
    reads("ptx/phases", |s, p| on(s, p, extensions::phases)),
    builds("ptx/viewSass", |s, p| on(s, p, extensions::sass)),
    builds_much("ptx/viewPage", |s, p| on(s, p, pages::view_page)),
    builds("ptx/viewCubin", |s, p| on(s, p, extensions::cubin)),
    builds("ptx/liveness", |s, p| on(s, p, extensions::liveness)),
    builds_much("ptx/kernelStats", |s, p| on(s, p, extensions::kernel_statistics)),
    reads("ptx/explain", |s, p| on(s, p, extensions::explain)),
    builds_much("ptx/compare", |s, p| on(s, p, comparison::compare)),
    reads("ptx/serverStatus", |s, p| on(s, p, extensions::server_status)),
    reads("ptx/writeWaits", |s, p| on(s, p, extensions::write_waits)),
];

/// The row of a method.
pub(crate) fn row(method: &str) -> Option<Row> {
    ROWS.iter().copied().find(|row| row.method == method)
}
