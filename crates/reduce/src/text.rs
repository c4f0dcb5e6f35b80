//! Changes of a text: what is replaced by what, and the text that several changes together give.
//!
//! Stages describe changes of one text, and the search applies any set of them, so a change never depends on another
//! one. Of two that overlap the outer one counts.

use oriole_syntax::{SyntaxKind, tokenize};
use std::ops::Range;

/// Bytes of a text, and what takes their place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Edit {
    pub range: Range<usize>,
    pub with: String,
}

/// Edits that belong together: none is made without the others, unless a larger edit replaces its place.
pub(crate) type Change = Vec<Edit>;

/// Removes some bytes together with the white space before them; after them, if they are the first of a longer line.
pub(crate) fn removal(text: &str, range: Range<usize>) -> Edit {
    const BLANKS: [char; 2] = [' ', '\t'];
    let on_line = text[..range.start].trim_end_matches(BLANKS);
    let behind = text[range.end..].trim_start_matches(BLANKS);
    let goes_on = behind.len() < text.len() - range.end && !behind.starts_with(['\r', '\n']);
    let range = if goes_on && (on_line.is_empty() || on_line.ends_with('\n')) {
        on_line.len()..text.len() - behind.len()
    } else {
        text[..range.start].trim_end_matches([' ', '\t', '\r', '\n', '\u{c}']).len()..range.end
    };
    Edit { range, with: String::new() }
}

/// Puts other bytes in the place of some.
pub(crate) fn replacement(range: Range<usize>, with: impl Into<String>) -> Edit {
    Edit { range, with: with.into() }
}

/// The text after some changes of it. Commas that separate nothing any more go, too.
pub(crate) fn applied<'a>(text: &str, changes: impl Iterator<Item = &'a Change>) -> String {
    let mut edits: Vec<&Edit> = changes.flatten().collect();
    edits.sort_by_key(|edit| (edit.range.start, std::cmp::Reverse(edit.range.end)));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let mut places = Vec::new();
    for edit in edits {
        if edit.range.start < done {
            // The white space before two neighbours may be the same; what is removed twice is removed once.
            if edit.with.is_empty() && edit.range.end > done {
                done = edit.range.end;
            }
            continue;
        }
        out += &text[done..edit.range.start];
        places.push(out.len());
        out += &edit.with;
        done = edit.range.end;
    }
    out += &text[done..];
    without_lost_commas(out, &places)
}

/// Removes commas next to the places where something was removed, if there is no item before or after them.
fn without_lost_commas(text: String, places: &[usize]) -> String {
    let at_risk = |at: usize| {
        let after = text[at..].trim_start().as_bytes().first();
        let before = text[..at].trim_end().as_bytes().last();
        after == Some(&b',') || before == Some(&b',')
    };
    if !places.iter().any(|&at| at_risk(at)) {
        return text;
    }
    let tokens: Vec<_> =
        tokenize(&text, &mut Vec::new()).into_iter().filter(|token| !token.kind.is_trivia()).collect();
    let mut lost = Vec::new();
    let mut before = SyntaxKind::SEMICOLON;
    for (at, token) in tokens.iter().enumerate() {
        if token.kind != SyntaxKind::COMMA {
            before = token.kind;
            continue;
        }
        use SyntaxKind::{COMMA, L_BRACE, L_BRACKET, L_PAREN, R_BRACE, R_BRACKET, R_PAREN, SEMICOLON};
        let after = tokens.get(at + 1).map_or(SEMICOLON, |token| token.kind);
        let opens = matches!(before, L_PAREN | L_BRACKET | L_BRACE | SEMICOLON);
        let closes = matches!(after, COMMA | R_PAREN | R_BRACKET | R_BRACE | SEMICOLON);
        if opens || closes {
            lost.push(token.start as usize);
        } else {
            before = COMMA;
        }
    }
    // Only what a change left: a comma that was lost before is none of ours.
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for at in lost {
        let near = places.partition_point(|&place| place <= at);
        let before = near.checked_sub(1).and_then(|index| places.get(index)).copied();
        let behind = places.get(near).copied();
        let close = before.is_some_and(|place| text[place..at].trim().is_empty())
            || behind.is_some_and(|place| text[at + 1..place].trim().is_empty());
        if close {
            out += &text[done..at];
            done = at + 1;
        }
    }
    out + &text[done..]
}

#[cfg(test)]
mod tests {
    use super::{applied, removal, replacement};

    #[test]
    fn lists_stay_lists() {
        let text = "f(a, b, c) { x, ,y; }";
        let item = |name: &str| {
            let at = text.find(name).expect("an item");
            vec![removal(text, at..at + 1)]
        };
        let after = |names: &[&str]| {
            let changes: Vec<_> = names.iter().map(|name| item(name)).collect();
            applied(text, changes.iter())
        };
        assert_eq!(after(&["a"]), "f( b, c) { x, ,y; }");
        assert_eq!(after(&["b"]), "f(a, c) { x, ,y; }");
        assert_eq!(after(&["b", "c"]), "f(a) { x, ,y; }");
        assert_eq!(after(&["a", "b", "c"]), "f() { x, ,y; }");
    }

    #[test]
    fn the_outer_change_counts() {
        let text = "{ a; b; }";
        let inner = vec![replacement(2..3, "z")];
        let outer = vec![removal(text, 2..7)];
        assert_eq!(applied(text, [&inner, &outer].into_iter()), "{ }");
        assert_eq!(applied(text, [&inner].into_iter()), "{ z; b; }");
    }
}
