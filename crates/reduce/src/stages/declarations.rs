//! Declarations: those that nothing refers to, all others, parameters with their arguments, attributes and initial values.

use super::statements::is_named;
use crate::module::{At, Module};
use crate::text::{Change, replacement};
use oriole_syntax::NodeRef;
use oriole_syntax::SyntaxKind::{
    ALIGN_CLAUSE, ARGUMENT_LIST, ATTRIBUTE, COMMA, DECLARATOR, DIMENSION, DOTTED, FUNCTION, IDENT,
    INITIALIZER, INSTRUCTION, INT_NUMBER, LITERAL, NAME, OPCODE, OPERAND_LIST, PARAMETER, PARAMETER_LIST,
    PERFORMANCE_DIRECTIVE, PRAGMA, PTR_CLAUSE, VARIABLE,
};
use rustc_hash::FxHashMap;

/// How often each name occurs in a module.
fn occurrences<'a>(module: &'a Module<'_>) -> FxHashMap<&'a str, usize> {
    let mut counts = FxHashMap::default();
    for token in module.tokens().filter(|token| token.kind() == IDENT) {
        *counts.entry(token.text()).or_insert(0) += 1;
    }
    counts
}

/// The range of registers that a declarator declares: its prefix.
fn prefix<'t>(declarator: At<NodeRef<'t>>) -> Option<&'t str> {
    let range = declarator.child(oriole_syntax::SyntaxKind::REGISTER_RANGE);
    range.and_then(|_| declarator.token(IDENT)).map(|name| name.text())
}

/// Declarations and labels whose names occur nowhere else.
pub(super) fn unused(module: &Module<'_>) -> Vec<Change> {
    let counts = occurrences(module);
    // Prefixes of all names that end with a number, for registers that are declared as a range.
    let numbered: rustc_hash::FxHashSet<&str> =
        counts.keys().map(|name| name.trim_end_matches(|digit: char| digit.is_ascii_digit())).collect();
    let own = |declarator: At<NodeRef<'_>>| match (prefix(declarator), declarator.token(IDENT)) {
        // The prefix itself is one occurrence, and if it ends with a digit, `numbered` holds less of it.
        (Some(prefix), _) => counts
            .keys()
            .filter(|_| numbered.contains(prefix.trim_end_matches(|digit: char| digit.is_ascii_digit())))
            .all(|name| *name == prefix || !name.starts_with(prefix)),
        (None, Some(name)) => counts.get(name.text()).is_none_or(|&count| count < 2),
        (None, None) => false,
    };
    let mut changes = Vec::new();
    for node in module.nodes() {
        let goes = if node.kind() == VARIABLE {
            node.children().filter(|child| child.kind() == DECLARATOR).all(own)
        } else {
            is_named(node.kind()) && label(node).is_none_or(|name| counts.get(name).is_none_or(|&it| it < 2))
        };
        if goes {
            changes.push(module.without(node));
        }
    }
    changes
}

/// The name of a label, or of a list after one.
fn label(node: At<NodeRef<'_>>) -> Option<&str> {
    let own = node.token(IDENT);
    own.or_else(|| node.children().next()?.token(IDENT)).map(|name| name.text())
}

/// All declarations, labels, and single names of declarations that have several.
pub(super) fn all(module: &Module<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for node in module.nodes() {
        if is_named(node.kind()) || node.kind() == VARIABLE {
            changes.push(module.without(node));
        }
        let names: Vec<_> = node.children().filter(|child| child.kind() == DECLARATOR).collect();
        if node.kind() == VARIABLE && names.len() > 1 {
            for (at, name) in names.iter().enumerate() {
                // The first one goes with the comma after it.
                let comma = node.token(COMMA).filter(|_| at == 0);
                let end = comma.map_or(name.range().end, |comma| comma.range().end);
                changes.push(vec![module.removed(name.range().start..end)]);
            }
        }
    }
    changes
}

/// Directives of functions, linkage, alignment, and what is said of pointers.
pub(super) fn attributes(module: &Module<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for node in module.nodes() {
        match node.kind() {
            PERFORMANCE_DIRECTIVE | ATTRIBUTE | ALIGN_CLAUSE | PTR_CLAUSE | PRAGMA => {
                changes.push(module.without(node));
            }
            FUNCTION | VARIABLE => {
                let words = node.tokens().filter(|token| token.kind() == DOTTED);
                let linkage = words.filter(|word| {
                    matches!(word.text(), ".visible" | ".weak" | ".extern" | ".common" | ".v2" | ".v4")
                });
                changes.extend(linkage.map(|word| vec![module.removed(word.range())]));
            }
            _ => {}
        }
    }
    changes
}

/// Initial values, and the sizes of arrays.
pub(super) fn values(module: &Module<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for node in module.nodes() {
        match node.kind() {
            INITIALIZER => changes.push(module.without(node)),
            DIMENSION => {
                changes.push(module.without(node));
                let size = node.child(LITERAL).and_then(|size| size.token(INT_NUMBER));
                if let Some(size) = size.filter(|size| size.text() != "1") {
                    changes.push(vec![replacement(size.range(), "1")]);
                }
            }
            _ => {}
        }
    }
    changes
}

/// Parameters, each with its argument in every call of the function by its name.
pub(super) fn parameters(module: &Module<'_>) -> Vec<Change> {
    let mut calls: FxHashMap<&str, Vec<At<NodeRef<'_>>>> = FxHashMap::default();
    for call in module.of_kind(INSTRUCTION) {
        let is_call = call.child(OPCODE).and_then(|opcode| opcode.token(IDENT));
        if is_call.is_none_or(|word| word.text() != "call") {
            continue;
        }
        let Some(operands) = call.child(OPERAND_LIST) else { continue };
        let mut behind = operands.children().skip_while(|operand| operand.kind() != NAME);
        let name = behind.next().and_then(|name| name.token(IDENT));
        let arguments = behind.find(|operand| operand.kind() == ARGUMENT_LIST);
        if let (Some(name), Some(arguments)) = (name, arguments) {
            calls.entry(name.text()).or_default().push(arguments);
        }
    }
    let mut changes = Vec::new();
    for function in module.of_kind(FUNCTION) {
        let name = function.token(IDENT).map_or("", |name| name.text());
        let list = function.child(PARAMETER_LIST);
        let parameters =
            list.into_iter().flat_map(|list| list.children()).filter(|child| child.kind() == PARAMETER);
        for (at, parameter) in parameters.enumerate() {
            let mut change = module.without(parameter);
            for arguments in calls.get(name).into_iter().flatten() {
                change.extend(arguments.children().nth(at).map(|argument| module.removed(argument.range())));
            }
            changes.push(change);
        }
    }
    changes
}
