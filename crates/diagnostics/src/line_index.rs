//! From byte offsets to lines and columns.
//!
//! Pure arithmetic over one text, kept here because the terminal, the editor
//! layer and the line tables must count lines the same way.

/// A position as people count it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LineColumn {
    /// Line number, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// The starts of all lines of one text. A line ends at `\n`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineIndex {
    starts: Box<[u32]>,
    len: u32,
}

impl LineIndex {
    /// Scans `text` once. Texts above 4 GiB are clipped to the offsets that
    /// fit; the driver refuses such files earlier.
    pub fn new(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts =
            std::iter::once(0).chain(newlines.filter_map(|(at, _)| u32::try_from(at + 1).ok())).collect();
        Self { starts, len: u32::try_from(text.len()).unwrap_or(u32::MAX) }
    }

    /// Line and column of a byte offset; offsets past the end give the end.
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let offset = offset.min(self.len);
        let line = self.starts.partition_point(|&start| start <= offset);
        LineColumn { line: line as u32, column: offset - self.starts[line - 1] + 1 }
    }

    /// Byte range of a line (from 1) without its line end marker's position
    /// being trimmed, or `None` where the text has no such line.
    pub fn line_range(&self, line: u32) -> Option<std::ops::Range<u32>> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.starts.get(index)?;
        Some(start..self.starts.get(index + 1).copied().unwrap_or(self.len))
    }

    /// Number of lines; an empty text has one.
    pub fn line_count(&self) -> u32 {
        self.starts.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::{LineColumn, LineIndex};

    #[test]
    fn counts_lines_and_columns() {
        let index = LineIndex::new("ab\ncd\n");
        assert_eq!(index.line_column(0), LineColumn { line: 1, column: 1 });
        assert_eq!(index.line_column(2), LineColumn { line: 1, column: 3 });
        assert_eq!(index.line_column(3), LineColumn { line: 2, column: 1 });
        assert_eq!(index.line_column(99), LineColumn { line: 3, column: 1 });
        assert_eq!(index.line_range(2), Some(3..6));
        assert_eq!(index.line_range(4), None);
        assert_eq!(index.line_count(), 3);
    }
}
