//! Ranges and changes of text, in bytes.

/// A half-open range of bytes, counted from the start of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Range {
    /// First byte.
    pub start: u32,
    /// First byte after.
    pub end: u32,
}

impl Range {
    /// The range from `start` up to, not including, `end`.
    pub const fn new(start: u32, end: u32) -> Range {
        Range { start, end: if end < start { start } else { end } }
    }

    /// The empty range before a byte.
    pub const fn point(at: u32) -> Range {
        Range { start: at, end: at }
    }

    /// Length in bytes.
    pub const fn len(self) -> u32 {
        self.end - self.start
    }

    /// Whether it holds no byte.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether a position is in the range or at its end: a cursor after a word still selects the word.
    pub const fn touches(self, at: u32) -> bool {
        self.start <= at && at <= self.end
    }

    /// Whether the two share a byte, or a point is in the other.
    pub const fn meets(self, other: Range) -> bool {
        self.start < other.end && other.start < self.end
            || self.is_empty() && other.touches(self.start)
            || other.is_empty() && self.touches(other.start)
    }

    /// Whether the other is inside.
    pub const fn holds(self, other: Range) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// This range, `by` bytes further on.
    pub const fn shifted(self, by: u32) -> Range {
        Range { start: self.start.saturating_add(by), end: self.end.saturating_add(by) }
    }

    /// The text under the range, clipped to the text and to character borders, so that a stale range cannot panic.
    pub fn slice(self, text: &str) -> &str {
        oriole_diagnostics::Span::between(self.start, self.end).slice(text)
    }
}

impl From<oriole_diagnostics::Span> for Range {
    fn from(span: oriole_diagnostics::Span) -> Range {
        Range::new(span.start, span.end())
    }
}

/// A proposed edit: the ranges of one list refer to the current text, and do not overlap.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Edit {
    /// The replaced range.
    pub range: Range,
    /// The new text.
    pub text: String,
}

impl Edit {
    /// Replaces a range.
    pub fn new(range: Range, text: impl Into<String>) -> Edit {
        Edit { range, text: text.into() }
    }

    /// Inserts before a byte.
    pub fn insert(at: u32, text: impl Into<String>) -> Edit {
        Edit::new(Range::point(at), text)
    }

    /// The text after edits, which may be given in any order.
    pub fn apply(text: &str, edits: &[Edit]) -> String {
        let mut sorted: Vec<&Edit> = edits.iter().collect();
        sorted.sort_by_key(|edit| edit.range);
        let mut out = String::with_capacity(text.len() + 64);
        let mut at = 0u32;
        for edit in sorted {
            out.push_str(Range::new(at, edit.range.start).slice(text));
            out.push_str(&edit.text);
            at = at.max(edit.range.end);
        }
        out.push_str(Range::new(at, text.len() as u32).slice(text));
        out
    }
}

/// A change of a text. The ranges of a list refer to the text after the changes before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Change {
    /// The replaced range; `None` for the whole text.
    pub range: Option<Range>,
    /// The new text.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_any_order() {
        let edits = [Edit::new(Range::new(4, 5), "E"), Edit::insert(0, ">"), Edit::new(Range::new(1, 3), "")];
        assert_eq!(Edit::apply("abcdef", &edits), ">adEf");
    }
}
