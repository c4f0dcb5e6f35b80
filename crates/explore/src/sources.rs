//! The files of the source that PTX names, and which of its lines come from them: `.file` and `.loc`.
//!
//! It is here because a page shows the source next to the PTX, and both directives are needed for that only. No file is
//! read: the caller reads those that it may.

use std::collections::BTreeMap;

use oriole_ide::TokenKind;

use crate::view::TextLine;

/// A file of the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Source {
    /// Its name, as the code has it.
    pub name: String,
    /// Its lines; none if it cannot be read.
    pub lines: Vec<String>,
}

/// A line of a source: the file by its number, and the line from 1.
pub type Place = (u32, u32);

/// The names of the files by the numbers that `.file` gives them.
pub fn source_names(text: &str) -> BTreeMap<u32, String> {
    let name = |line: &str| {
        let rest = line.trim_start().strip_prefix(".file")?.trim_start();
        let (number, rest) = rest.split_once(char::is_whitespace)?;
        let name = rest.trim_start().strip_prefix('"')?.split('"').next()?;
        Some((number.parse().ok()?, name.to_owned()))
    };
    text.lines().filter_map(name).collect()
}

/// The place in the source of each line, from the `.loc` before it.
pub(crate) fn places(lines: &[TextLine]) -> Vec<Option<Place>> {
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
    fn files_and_lines_of_the_source() {
        let names =
            source_names(".file 1 \"a b.cu\", 17, 4\n  .file\t2 \"/x/y.h\"\n.file 3\n// .file 4 \"no\"");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), [(1, "a b.cu".into()), (2, "/x/y.h".into())]);
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
