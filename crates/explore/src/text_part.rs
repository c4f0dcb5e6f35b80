//! A part of the text of a file as a reader sees it: lines whose tokens have kinds, each with its place in the source.
//!
//! It is here because `.loc` gives the places, and only the kinds of tokens distinguish it from a comment. No code is known here.

use oriole_ide::{Analysis, Cancellable, FileId, Range, RegisterMarks, TokenKind};

use crate::sources::Place;

/// A stretch of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextPart {
    /// Number of its first line, from 1.
    pub first_line: u32,
    /// Its lines.
    pub lines: Vec<TextLine>,
    /// For each line its place in the source.
    pub places: Vec<Option<Place>>,
}

/// A line as stretches of one kind each.
pub type TextLine = Vec<(Option<TokenKind>, String)>;

/// A part of the text of a file.
pub(crate) fn part(analysis: &Analysis, id: FileId, range: Range) -> Cancellable<TextPart> {
    let (Some(text), Some(lines)) = (analysis.text(id), analysis.lines(id)) else {
        return Ok(TextPart { first_line: 1, lines: Vec::new(), places: Vec::new() });
    };
    let mut list: Vec<TextLine> = vec![Vec::new()];
    let mut add = |kind: Option<TokenKind>, stretch: &str| {
        for (at, line) in stretch.split('\n').enumerate() {
            if at > 0 {
                list.push(Vec::new());
            }
            let line = line.strip_suffix('\r').unwrap_or(line);
            if let (false, Some(last)) = (line.is_empty(), list.last_mut()) {
                last.push((kind, line.to_owned()));
            }
        }
    };
    let mut at = range.start as usize;
    for token in analysis.tokens(id, Some(range), &RegisterMarks::default())? {
        let (start, end) = (token.range.start as usize, token.range.end.min(range.end) as usize);
        if start < at || end <= start {
            continue;
        }
        add(None, &text[at..start]);
        add(Some(token.kind), &text[start..end]);
        at = end;
    }
    add(None, &text[at..range.end as usize]);
    Ok(TextPart { first_line: lines.line(range.start) + 1, places: places(&list), lines: list })
}

/// The place in the source of each line, from the `.loc` before it.
fn places(lines: &[TextLine]) -> Vec<Option<Place>> {
    let mut now = None;
    let place = |line: &TextLine| {
        now = location(line).or(now);
        now
    };
    lines.iter().map(place).collect()
}

/// The file and line of a `.loc`; nothing for another statement, or one that is in a comment.
fn location(line: &TextLine) -> Option<Place> {
    let mut stretches = line.iter().filter(|(_, text)| !text.trim().is_empty());
    let (kind, first) = stretches.next()?;
    if *kind != Some(TokenKind::Directive) || first != ".loc" {
        return None;
    }
    let rest: String = stretches.map(|(_, text)| format!("{text} ")).collect();
    let mut numbers = rest.split_whitespace();
    let (file, line) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    // Line 0 is that of no source.
    (line > 0).then_some((file, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_place_of_the_loc_before_them() {
        let word = |kind, text: &str| (kind, text.to_owned());
        let loc = |file: &str, line: &str| {
            vec![
                word(None, "\t"),
                word(Some(TokenKind::Directive), ".loc"),
                word(None, " "),
                word(Some(TokenKind::Number), file),
                word(Some(TokenKind::Number), line),
            ]
        };
        let add = vec![word(Some(TokenKind::Opcode), "add")];
        let comment = vec![word(Some(TokenKind::Comment), ".loc 1 9 1")];
        let lines = [add.clone(), loc("1", "7"), add.clone(), comment, loc("2", "0"), add];
        assert_eq!(
            places(&lines),
            [None, Some((1, 7)), Some((1, 7)), Some((1, 7)), Some((1, 7)), Some((1, 7))]
        );
    }
}
