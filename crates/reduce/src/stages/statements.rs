//! Statements of bodies: scopes, instructions, labels, and the braces of scopes that stay.

use crate::module::Module;
use crate::text::Change;
use oriole_syntax::SyntaxKind::{
    BLOCK, BRANCH_TARGETS, CALL_PROTOTYPE, CALL_TARGETS, ERROR, INSTRUCTION, L_BRACE, LABEL, LOC_DIRECTIVE,
    PRAGMA, R_BRACE,
};

/// Scopes within bodies with all that they hold.
pub(super) fn scopes(module: &Module<'_>) -> Vec<Change> {
    let blocks = module.of_kind(BLOCK).flat_map(|block| block.children());
    blocks.filter(|child| child.kind() == BLOCK).map(|scope| module.without(scope)).collect()
}

/// Instructions, and what goes with no name: a label or a declaration that others need would spoil its whole group.
pub(super) fn instructions(module: &Module<'_>) -> Vec<Change> {
    let statements = module.of_kind(BLOCK).flat_map(|block| block.children());
    let loose =
        statements.filter(|child| matches!(child.kind(), INSTRUCTION | LOC_DIRECTIVE | PRAGMA | ERROR));
    let mut changes: Vec<Change> = loose.map(|statement| module.without(statement)).collect();
    // Scopes come before what they hold in the tree, and groups are neighbours in the text.
    changes.sort_by_key(|change| change.first().map_or(0, |edit| edit.range.start));
    changes
}

/// The two braces of a scope.
pub(super) fn braces(module: &Module<'_>) -> Vec<Change> {
    let blocks = module.of_kind(BLOCK).flat_map(|block| block.children());
    let scopes = blocks.filter(|child| child.kind() == BLOCK);
    let pairs = scopes.filter_map(|scope| Some((scope.token(L_BRACE)?, scope.token(R_BRACE)?)));
    pairs.map(|(open, close)| vec![module.removed(open.range()), module.removed(close.range())]).collect()
}

/// Whether a statement gives a name to a place or to a list.
pub(super) fn is_named(kind: oriole_syntax::SyntaxKind) -> bool {
    matches!(kind, LABEL | BRANCH_TARGETS | CALL_TARGETS | CALL_PROTOTYPE)
}
