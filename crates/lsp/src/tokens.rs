//! Semantic tokens as the protocol packs them: five numbers each, relative to the one before; and deltas.

use oriole_ide::{Token, TokenKind};
use serde_json::{Value, json};

use crate::convert::Text;

/// Names of the token types, in the order of [`TokenKind::ALL`]: standard ones where possible, so that every theme
/// highlights them.
const TYPES: [&str; 16] = [
    "macro",
    "keyword",
    "modifier",
    "type",
    "namespace",
    "variable",
    "variable",
    "variable",
    "parameter",
    "property",
    "function",
    "label",
    "number",
    "string",
    "comment",
    "operator",
];

/// Names of the token modifiers, lowest bit first.
const MODIFIERS: [&str; 9] = [
    "declaration",
    "modification",
    "readonly",
    "static",
    "predicate",
    "defaultLibrary",
    "dead",
    "spilled",
    "uniform",
];

/// The distinct types.
fn legend_types() -> Vec<&'static str> {
    let mut types: Vec<&'static str> = Vec::new();
    for name in TYPES {
        if !types.contains(&name) {
            types.push(name);
        }
    }
    types
}

pub(crate) fn legend() -> Value {
    json!({ "tokenTypes": legend_types(), "tokenModifiers": MODIFIERS })
}

/// Packs tokens.
pub(crate) fn pack(text: &Text, tokens: &[Token]) -> Vec<u32> {
    let types = legend_types();
    let number: Vec<u32> =
        TYPES.iter().map(|name| types.iter().position(|known| known == name).unwrap_or(0) as u32).collect();
    let mut data = Vec::with_capacity(5 * tokens.len());
    let (mut line, mut column) = (0, 0);
    for token in tokens {
        let range = text.range(token.range);
        let kind = TokenKind::ALL.iter().position(|&kind| kind == token.kind).unwrap_or(0);
        let flags = [
            token.modifiers.declaration,
            token.modifiers.write,
            token.modifiers.readonly,
            token.modifiers.module,
            token.kind == TokenKind::Predicate,
            token.kind == TokenKind::Special,
            token.modifiers.marks.dead,
            token.modifiers.marks.spilled,
            token.modifiers.marks.uniform,
        ];
        let bits = flags.iter().enumerate().fold(0, |bits, (at, &set)| bits | u32::from(set) << at);
        let delta_line = range.start.line - line;
        let delta = if delta_line == 0 { range.start.character - column } else { range.start.character };
        let length = range.end.character.saturating_sub(range.start.character);
        data.extend([delta_line, delta, length, number[kind], bits]);
        (line, column) = (range.start.line, range.start.character);
    }
    data
}

/// The one range that differs, as an edit of the protocol; null if the two are equal.
pub(crate) fn difference(old: &[u32], new: &[u32]) -> Value {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - prefix;
    let suffix =
        old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    if prefix == old.len() && prefix == new.len() {
        return json!([]);
    }
    let data = &new[prefix..new.len() - suffix];
    json!([{ "start": prefix, "deleteCount": old.len() - suffix - prefix, "data": data }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences() {
        assert_eq!(difference(&[1, 2, 3], &[1, 2, 3]), json!([]));
        assert_eq!(difference(&[1, 2, 3], &[1, 9, 9, 3]), json!([{"start":1,"deleteCount":1,"data":[9,9]}]));
        assert_eq!(difference(&[1, 1], &[1]), json!([{"start":1,"deleteCount":1,"data":[]}]));
    }
}
