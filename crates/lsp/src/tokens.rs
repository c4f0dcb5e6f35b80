//! Semantic tokens as the protocol packs them: five numbers each, relative to the one before; and deltas.

use gen_lsp_types as lsp;
use oriole_ide::{Encoding, LineIndex, Range, Token, TokenKind};
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
    pack_in(&text.text, &text.lines, text.encoding, tokens.iter().copied())
}

/// Packs the tokens of a text with these lines.
pub(crate) fn pack_in(
    text: &str,
    lines: &LineIndex,
    encoding: Encoding,
    tokens: impl Iterator<Item = Token>,
) -> Vec<u32> {
    let types = legend_types();
    let position = |name: &&str| types.iter().position(|known| known == name).unwrap_or(0) as u32;
    let number: Vec<(TokenKind, u32)> =
        TokenKind::ALL.iter().copied().zip(TYPES.iter().map(position)).collect();
    let mut data = Vec::with_capacity(5 * tokens.size_hint().0);
    let (mut line, mut column) = (0, 0);
    let mut places = Places { text, lines, encoding, line: 0, bytes: 0..0, plain: true };
    for token in tokens {
        let (start, length) = places.of(token.range);
        let kind = number.iter().find(|(kind, _)| *kind == token.kind).map_or(0, |(_, number)| *number);
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
        let delta_line = start.line - line;
        let delta = if delta_line == 0 { start.character - column } else { start.character };
        data.extend([delta_line, delta, length, kind, bits]);
        (line, column) = (start.line, start.character);
    }
    data
}

/// Places of tokens in file order: the line of the token before is tried first.
struct Places<'a> {
    text: &'a str,
    lines: &'a LineIndex,
    encoding: Encoding,
    line: u32,
    /// The bytes of the line.
    bytes: std::ops::Range<u32>,
    /// Whether each byte of the line is a column.
    plain: bool,
}

impl Places<'_> {
    /// The start of a token and its length in columns.
    fn of(&mut self, range: Range) -> (lsp::Position, u32) {
        if !self.bytes.contains(&range.start) {
            self.line = self.lines.line(range.start);
            self.bytes = self.lines.range(self.line).unwrap_or(0..0);
            let line = Range::new(self.bytes.start, self.bytes.end).slice(self.text);
            self.plain = self.encoding == Encoding::Utf8 || line.is_ascii();
        }
        if self.plain && self.bytes.contains(&range.start) && range.end < self.bytes.end {
            let start = lsp::Position { line: self.line, character: range.start - self.bytes.start };
            return (start, range.len());
        }
        let place = |at| self.lines.position(self.text, at, self.encoding);
        let (start, end) = (place(range.start), place(range.end));
        let length = end.column.saturating_sub(start.column);
        (lsp::Position { line: start.line, character: start.column }, length)
    }
}

/// Packed tokens as an answer in JSON text.
pub(crate) fn written(data: &[u32]) -> String {
    // Most numbers have one digit or two.
    let mut text = String::with_capacity(64 + 3 * data.len());
    text.push_str("{\"data\":[");
    write_numbers(&mut text, data);
    text.push_str("]}");
    text
}

/// Writes numbers with commas between them.
pub(crate) fn write_numbers(text: &mut String, numbers: &[u32]) {
    let mut digits = [0_u8; 10];
    for (index, &number) in numbers.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_number(text, number, &mut digits);
    }
}

/// Writes a number in decimal: the formatter of the standard library takes several times as long.
fn push_number(text: &mut String, mut number: u32, digits: &mut [u8; 10]) {
    if number < 10 {
        text.push(char::from(b'0' + number as u8));
        return;
    }
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    text.extend(digits[at..].iter().map(|&digit| char::from(digit)));
}

/// The one range that differs, as an edit of the protocol, for numbers that come after `before` equal ones; none if the two are equal.
pub(crate) fn difference(before: usize, old: &[u32], new: &[u32]) -> Value {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - prefix;
    let suffix =
        old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    if prefix == old.len() && prefix == new.len() {
        return json!([]);
    }
    let data = &new[prefix..new.len() - suffix];
    json!([{ "start": before + prefix, "deleteCount": old.len() - suffix - prefix, "data": data }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_json() {
        let numbers = [0, 9, 10, 99, 100, 4_000_000_000, u32::MAX];
        let read: Value = serde_json::from_str(&written(&numbers)).expect("it is JSON");
        assert_eq!(read, json!({ "data": numbers }));
        assert_eq!(written(&[]), "{\"data\":[]}");
    }

    #[test]
    fn differences() {
        assert_eq!(difference(5, &[1, 2, 3], &[1, 2, 3]), json!([]));
        assert_eq!(
            difference(5, &[1, 2, 3], &[1, 9, 9, 3]),
            json!([{"start":6,"deleteCount":1,"data":[9,9]}])
        );
        assert_eq!(difference(0, &[1, 1], &[1]), json!([{"start":1,"deleteCount":1,"data":[]}]));
    }
}
