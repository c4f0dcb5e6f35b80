//! Whole units of a file, and the bodies of functions.

use crate::module::Module;
use crate::text::{Change, replacement};
use oriole_syntax::SyntaxKind::{BLOCK, FILE_DIRECTIVE, FUNCTION, L_BRACE, LOC_DIRECTIVE, R_BRACE};
use oriole_syntax::UnitKind;

/// Debug sections, and everything that says where code comes from: one change.
pub(super) fn debug_information(module: &Module<'_>) -> Vec<Change> {
    let sections = module.roots().filter(|(kind, _)| *kind == UnitKind::DebugSection).map(|(_, root)| root);
    let places = module.nodes().filter(|node| matches!(node.kind(), LOC_DIRECTIVE | FILE_DIRECTIVE));
    let all: Change = sections.chain(places).flat_map(|node| module.without(node)).collect();
    if all.is_empty() { Vec::new() } else { vec![all] }
}

/// Functions, variables, sections and text that is none of these.
pub(super) fn units(module: &Module<'_>) -> Vec<Change> {
    let whole = module.roots().filter(|(kind, _)| !matches!(kind, UnitKind::Header | UnitKind::Trailer));
    whole.filter(|(_, root)| !root.range().is_empty()).map(|(_, root)| module.without(root)).collect()
}

/// The text between the braces of a function.
pub(super) fn bodies(module: &Module<'_>) -> Vec<Change> {
    let bodies = module.of_kind(FUNCTION).filter_map(|function| function.child(BLOCK));
    let inner = bodies.filter_map(|body| {
        let (open, close) = (body.token(L_BRACE)?, body.token(R_BRACE)?);
        let range = open.range().end..close.range().start;
        let empty = module.text[range.clone()].trim().is_empty();
        (!empty).then(|| vec![replacement(range, "\n")])
    });
    inner.collect()
}
