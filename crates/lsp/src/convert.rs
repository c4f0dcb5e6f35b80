//! Values of the editor's interface as values of the protocol.

use std::sync::Arc;

use gen_lsp_types as lsp;
use oriole_diagnostics::Severity;
use oriole_ide::{
    Access, Analysis, CallItem, Edit, Encoding, FileDiagnostic, FileId, Fold, FoldKind, LineIndex, Position,
    Range, Symbol, SymbolKind, Tag,
};

/// A text with the data for converting positions in it.
#[derive(Clone)]
pub(crate) struct Text {
    pub text: Arc<String>,
    pub lines: Arc<LineIndex>,
    pub encoding: Encoding,
}

impl Text {
    pub fn of(analysis: &Analysis, file: FileId, encoding: Encoding) -> Option<Text> {
        Some(Text { text: analysis.text(file)?, lines: analysis.lines(file)?, encoding })
    }

    pub fn position(&self, at: u32) -> lsp::Position {
        let position = self.lines.position(&self.text, at, self.encoding);
        lsp::Position { line: position.line, character: position.column }
    }

    pub fn range(&self, range: Range) -> lsp::Range {
        lsp::Range { start: self.position(range.start), end: self.position(range.end) }
    }

    pub fn offset(&self, position: lsp::Position) -> u32 {
        let position = Position { line: position.line, column: position.character };
        self.lines.offset(&self.text, position, self.encoding)
    }

    pub fn bytes(&self, range: lsp::Range) -> Range {
        Range::new(self.offset(range.start), self.offset(range.end))
    }

    pub fn edits(&self, edits: &[Edit]) -> Vec<lsp::TextEdit> {
        let edit = |edit: &Edit| lsp::TextEdit { range: self.range(edit.range), new_text: edit.text.clone() };
        edits.iter().map(edit).collect()
    }
}

pub(crate) fn markdown(text: String) -> lsp::MarkupContent {
    lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value: text }
}

pub(crate) fn diagnostic(text: &Text, uri: &str, diagnostic: &FileDiagnostic) -> lsp::Diagnostic {
    let severity = match diagnostic.severity {
        Severity::Error => lsp::DiagnosticSeverity::Error,
        Severity::Warning => lsp::DiagnosticSeverity::Warning,
        Severity::Note => lsp::DiagnosticSeverity::Information,
    };
    let related: Vec<lsp::DiagnosticRelatedInformation> = diagnostic
        .related
        .iter()
        .map(|related| lsp::DiagnosticRelatedInformation {
            location: lsp::Location { uri: uri.into(), range: text.range(related.range) },
            message: related.message.clone(),
        })
        .collect();
    let tags: Vec<lsp::DiagnosticTag> = diagnostic
        .tags
        .iter()
        .map(|tag| match tag {
            Tag::Unnecessary => lsp::DiagnosticTag::Unnecessary,
        })
        .collect();
    lsp::Diagnostic {
        range: text.range(diagnostic.range),
        severity: Some(severity),
        code: Some(diagnostic.code.as_str().to_owned().into()),
        code_description: Some(lsp::CodeDescription { href: diagnostic.code.href().into() }),
        source: Some("oriole".to_owned()),
        message: diagnostic.message.clone().into(),
        tags: (!tags.is_empty()).then_some(tags),
        related_information: (!related.is_empty()).then_some(related),
        data: None,
    }
}

pub(crate) fn symbol_kind(kind: SymbolKind) -> lsp::SymbolKind {
    match kind {
        SymbolKind::Kernel => lsp::SymbolKind::Event,
        SymbolKind::Function => lsp::SymbolKind::Function,
        SymbolKind::Variable => lsp::SymbolKind::Variable,
        SymbolKind::Parameter => lsp::SymbolKind::TypeParameter,
        SymbolKind::Register => lsp::SymbolKind::Field,
        SymbolKind::Label => lsp::SymbolKind::Key,
        SymbolKind::Snippet => lsp::SymbolKind::Module,
    }
}

#[allow(deprecated, reason = "the structure has a field that must be named")]
pub(crate) fn symbol(text: &Text, symbol: &Symbol) -> lsp::DocumentSymbol {
    let children: Vec<lsp::DocumentSymbol> =
        symbol.children.iter().map(|child| self::symbol(text, child)).collect();
    lsp::DocumentSymbol {
        name: symbol.name.clone(),
        detail: (!symbol.detail.is_empty()).then(|| symbol.detail.clone()),
        kind: symbol_kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: text.range(symbol.full),
        selection_range: text.range(symbol.range),
        children: (!children.is_empty()).then_some(children),
    }
}

pub(crate) fn highlight_kind(access: Access) -> lsp::DocumentHighlightKind {
    match access {
        Access::Read | Access::Call => lsp::DocumentHighlightKind::Read,
        Access::Write => lsp::DocumentHighlightKind::Write,
        Access::Declare => lsp::DocumentHighlightKind::Text,
    }
}

pub(crate) fn fold(text: &Text, fold: Fold) -> lsp::FoldingRange {
    let range = text.range(fold.range);
    lsp::FoldingRange {
        start_line: range.start.line,
        start_character: Some(range.start.character),
        end_line: range.end.line,
        end_character: Some(range.end.character),
        kind: match fold.kind {
            FoldKind::Block => None,
            FoldKind::Comment => Some(lsp::FoldingRangeKind::Comment),
            FoldKind::Header => Some(lsp::FoldingRangeKind::Imports),
        },
        collapsed_text: None,
    }
}

pub(crate) fn call_item(text: &Text, uri: &str, item: &CallItem) -> lsp::CallHierarchyItem {
    let kind = if item.is_kernel { SymbolKind::Kernel } else { SymbolKind::Function };
    lsp::CallHierarchyItem {
        name: item.name.clone(),
        kind: symbol_kind(kind),
        tags: None,
        detail: (!item.detail.is_empty()).then(|| item.detail.clone()),
        uri: uri.into(),
        range: text.range(item.full),
        selection_range: text.range(item.range),
        data: None,
    }
}
