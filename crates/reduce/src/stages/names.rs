//! Names: registers that are counted without gaps, and short names for functions, variables, parameters and labels.
//!
//! A name is replaced wherever it occurs, so the module means the same afterwards; whether the property depends on the name
//! is for the property to say.

use crate::module::{At, Module};
use crate::text::{Change, replacement};
use oriole_syntax::NodeRef;
use oriole_syntax::SyntaxKind::{DECLARATOR, FUNCTION, IDENT, INT_NUMBER, LABEL, REGISTER_RANGE};
use rustc_hash::{FxHashMap, FxHashSet};

/// For each range of registers: the registers that occur, counted from 0, and the range as long as that.
pub(super) fn registers(module: &Module<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (_, root) in module.roots() {
        let declarators = root.descendants().filter(|node| node.kind() == DECLARATOR);
        let ranges: Vec<_> = declarators
            .filter_map(|node| Some((node.token(IDENT)?, node.child(REGISTER_RANGE)?.token(INT_NUMBER)?)))
            .collect();
        let mut by_prefix: FxHashMap<&str, Vec<_>> = FxHashMap::default();
        for token in root.all_tokens().filter(|token| token.kind() == IDENT) {
            let stem = token.text().trim_end_matches(|digit: char| digit.is_ascii_digit());
            if stem.len() < token.text().len() {
                by_prefix.entry(stem).or_default().push(token);
            }
        }
        for (prefix, count) in &ranges {
            // Two ranges of one name are two scopes; that name stays.
            if ranges.iter().filter(|other| other.0.text() == prefix.text()).count() > 1 {
                continue;
            }
            let mut numbers: FxHashMap<&str, usize> = FxHashMap::default();
            let mut change = Vec::new();
            for token in by_prefix.get(prefix.text()).into_iter().flatten() {
                let next = numbers.len();
                let number = *numbers.entry(token.text()).or_insert(next);
                let name = format!("{}{number}", prefix.text());
                if name != token.text() {
                    change.push(replacement(token.range(), name));
                }
            }
            let length = numbers.len().to_string();
            if count.text() != length {
                change.push(replacement(count.range(), length));
            }
            if !change.is_empty() {
                changes.push(change);
            }
        }
    }
    changes
}

/// The name that a node declares in a file.
fn declared<'t>(node: At<NodeRef<'t>>) -> Option<&'t str> {
    let plain = matches!(node.kind(), FUNCTION | DECLARATOR | LABEL) && node.child(REGISTER_RANGE).is_none();
    plain.then(|| node.token(IDENT)).flatten().map(|name| name.text())
}

/// Short names in the place of longer ones.
pub(super) fn names(module: &Module<'_>) -> Vec<Change> {
    let mut places: FxHashMap<&str, Vec<_>> = FxHashMap::default();
    for token in module.tokens().filter(|token| token.kind() == IDENT) {
        places.entry(token.text()).or_default().push(token.range());
    }
    let mut taken: FxHashSet<String> = places.keys().map(|name| (*name).to_owned()).collect();
    let mut seen = FxHashSet::default();
    let mut changes = Vec::new();
    for node in module.nodes() {
        let Some(name) = declared(node).filter(|name| seen.insert(*name)) else { continue };
        let letter = match node.kind() {
            FUNCTION => "f",
            LABEL => "L",
            _ => "v",
        };
        let free = (0..).map(|number| format!("{letter}{number}")).find(|short| !taken.contains(short));
        let Some(short) = free.filter(|short| short.len() < name.len()) else { continue };
        let change = places.get(name).into_iter().flatten();
        changes.push(change.map(|range| replacement(range.clone(), short.clone())).collect());
        taken.insert(short);
    }
    changes
}
