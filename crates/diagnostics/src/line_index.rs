//! From bytes to lines and columns and back, in the units of people and editors.
//!
//! The terminal, the editor layer and the line tables must count lines the same way. An editor keeps the index with its
//! text and updates it with each change, so that typing in a large file does not scan it.

use std::borrow::Cow;
use std::ops::Range;

use crate::Span;

/// A position as people count it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LineColumn {
    /// Line number, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// The unit of a column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Sixteen-bit units, as JavaScript counts.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

/// A position as editors count it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Position {
    /// Line, from 0.
    pub line: u32,
    /// Units before it on the line.
    pub column: u32,
}

/// The starts of the lines of one text. A line ends at `\n`; in the document of an editor also at a `\r` that no `\n` follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
    length: u32,
}

fn starts_in(text: &str, from: u32) -> impl Iterator<Item = u32> + '_ {
    text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(move |(at, _)| from + at as u32 + 1)
}

impl LineIndex {
    /// Scans a text of at most 4 GiB.
    pub fn new(text: &str) -> LineIndex {
        let starts = std::iter::once(0).chain(starts_in(text, 0)).collect();
        LineIndex { starts, length: text.len() as u32 }
    }

    /// Scans the document of an editor, whose lines end at `\n`, `\r\n` and `\r`.
    pub fn of_document(text: &str) -> LineIndex {
        if !text.contains('\r') {
            return LineIndex::new(text);
        }
        let bytes = text.as_bytes();
        let ends = (0..bytes.len()).filter(|&at| match bytes[at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        let starts = std::iter::once(0).chain(ends.map(|at| at as u32 + 1)).collect();
        LineIndex { starts, length: text.len() as u32 }
    }

    /// Updates the index after a change of its text. If the replaced range contains or touches a `\r`, the document of
    /// an editor is scanned again instead.
    pub fn change(&mut self, range: Range<u32>, text: &str) {
        let from = self.starts.partition_point(|&start| start <= range.start);
        let to = self.starts.partition_point(|&start| start <= range.end);
        let (grown, gone) = (text.len() as u32, range.end - range.start);
        let moved = |start: u32| start - gone + grown;
        self.starts[to..].iter_mut().for_each(|start| *start = moved(*start));
        self.starts.splice(from..to, starts_in(text, range.start));
        self.length = moved(self.length);
    }

    /// Number of lines; an empty text has one.
    pub fn count(&self) -> u32 {
        self.starts.len() as u32
    }

    /// The line of a byte, from 0.
    pub fn line(&self, at: u32) -> u32 {
        self.starts.partition_point(|&start| start <= at.min(self.length)) as u32 - 1
    }

    /// The bytes of a line with its line end; `None` after the last line.
    pub fn range(&self, line: u32) -> Option<Range<u32>> {
        let start = *self.starts.get(line as usize)?;
        Some(start..self.starts.get(line as usize + 1).copied().unwrap_or(self.length))
    }

    /// Line and column of a byte as people count them; a byte past the end gives the end.
    pub fn line_column(&self, at: u32) -> LineColumn {
        let line = self.line(at);
        LineColumn { line: line + 1, column: at.min(self.length) - self.starts[line as usize] + 1 }
    }

    /// The position of a byte. The text must be the one that the index was made for.
    pub fn position(&self, text: &str, at: u32, encoding: Encoding) -> Position {
        let line = self.line(at);
        let start = self.starts[line as usize];
        let before = Span::between(start, at.min(self.length)).slice(text);
        let column = match encoding {
            Encoding::Utf8 => before.len(),
            _ if before.is_ascii() => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
            Encoding::Utf32 => before.chars().count(),
        };
        Position { line, column: column as u32 }
    }

    /// The byte at a position; a column after the end of the line means its end, a line after the last one the end of
    /// the text.
    pub fn offset(&self, text: &str, position: Position, encoding: Encoding) -> u32 {
        self.offset_in(|line| Span::between(line.start, line.end).slice(text).into(), position, encoding)
    }

    /// As `offset`, for a text that is needed for one line only.
    pub fn offset_in<'a>(
        &self,
        line: impl FnOnce(Range<u32>) -> Cow<'a, str>,
        position: Position,
        encoding: Encoding,
    ) -> u32 {
        let Some(range) = self.range(position.line) else { return self.length };
        let start = range.start;
        let line = line(range);
        let line = &*line;
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let wanted = position.column as usize;
        let mut units = 0;
        let mut at = 0;
        if line.is_ascii() || encoding == Encoding::Utf8 {
            at = wanted.min(line.len());
            while !line.is_char_boundary(at) {
                at -= 1;
            }
        } else {
            for character in line.chars() {
                let width = if encoding == Encoding::Utf16 { character.len_utf16() } else { 1 };
                if units + width > wanted {
                    break;
                }
                units += width;
                at += character.len_utf8();
            }
        }
        start + at as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_in_every_encoding() {
        let text = "a\né😀b\r\nend";
        let index = LineIndex::new(text);
        let at = text.find('b').unwrap() as u32;
        for (encoding, column) in [(Encoding::Utf8, 6), (Encoding::Utf16, 3), (Encoding::Utf32, 2)] {
            let position = Position { line: 1, column };
            assert_eq!(index.position(text, at, encoding), position);
            assert_eq!(index.offset(text, position, encoding), at);
            let beyond = Position { line: 1, column: 99 };
            assert_eq!(index.offset(text, beyond, encoding), at + 1);
        }
        assert_eq!(index.offset(text, Position { line: 9, column: 0 }, Encoding::Utf8), text.len() as u32);
        // A position in the middle of a surrogate pair is that of the character itself.
        assert_eq!(index.offset(text, Position { line: 1, column: 2 }, Encoding::Utf16), 4);
    }

    #[test]
    fn documents_have_lines_that_end_with_a_carriage_return() {
        let index = LineIndex::of_document("a\rb\r\nc\n\rd");
        let lines: Vec<_> = (0..index.count()).filter_map(|line| index.range(line)).collect();
        assert_eq!(lines, [0..2, 2..5, 5..7, 7..8, 8..9]);
        assert_eq!(LineIndex::new("a\rb\n").count(), 2);
        let place = Position { line: 1, column: 9 };
        assert_eq!(
            index.offset("a\rb\r\nc\n\rd", place, Encoding::Utf16),
            3,
            "behind the last letter of the line"
        );
    }

    #[test]
    fn counts_lines_and_columns() {
        let index = LineIndex::new("ab\ncd\n");
        assert_eq!(index.line_column(0), LineColumn { line: 1, column: 1 });
        assert_eq!(index.line_column(2), LineColumn { line: 1, column: 3 });
        assert_eq!(index.line_column(3), LineColumn { line: 2, column: 1 });
        assert_eq!(index.line_column(99), LineColumn { line: 3, column: 1 });
        assert_eq!(index.range(1), Some(3..6));
        assert_eq!(index.range(3), None);
        assert_eq!(index.count(), 3);
    }

    #[test]
    fn a_mended_index_is_a_new_one() {
        let mut text = "one\ntwo\n\nthree\n".to_owned();
        let mut index = LineIndex::new(&text);
        let changes = [
            (0, 0, "x\ny"),
            (3, 9, ""),
            (2, 2, "\n\n"),
            (0, 5, "q"),
            (4, 8, "long\nlines\nhere"),
            (0, 20, ""),
        ];
        for (start, end, new) in changes {
            let range = start..end.min(text.len() as u32);
            index.change(range.clone(), new);
            text.replace_range(range.start as usize..range.end as usize, new);
            assert_eq!(index, LineIndex::new(&text), "{text:?}");
        }
    }
}
