//! A byte range inside one unit's text.
//!
//! Spans never hold a position in a file: the unit of a diagnostic may move without changing its diagnostics.

/// A half-open byte range, counted from the first byte of its unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Span {
    /// First byte, relative to the unit.
    pub start: u32,
    /// Length in bytes; zero marks a point between two bytes.
    pub len: u32,
}

impl Span {
    /// The range of `len` bytes that begins at `start`.
    pub const fn new(start: u32, len: u32) -> Self {
        Self { start, len }
    }

    /// The empty range before byte `at`.
    pub const fn point(at: u32) -> Self {
        Self { start: at, len: 0 }
    }

    /// The range from byte `start` up to, not including, byte `end`.
    pub const fn between(start: u32, end: u32) -> Self {
        Self { start, len: end.saturating_sub(start) }
    }

    /// The first byte after the range.
    pub const fn end(self) -> u32 {
        self.start.saturating_add(self.len)
    }

    /// The smallest range that holds both.
    pub fn cover(self, other: Self) -> Self {
        Self::between(self.start.min(other.start), self.end().max(other.end()))
    }

    /// The text under the span; clipped to `text` and to character borders, so
    /// that a stale span can never panic.
    pub fn slice(self, text: &str) -> &str {
        let clip = |at: u32| {
            let mut at = (at as usize).min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        &text[clip(self.start)..clip(self.end()).max(clip(self.start))]
    }
}

impl From<std::ops::Range<u32>> for Span {
    fn from(range: std::ops::Range<u32>) -> Self {
        Self::between(range.start, range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn slicing_never_panics() {
        let text = "aé";
        assert_eq!(Span::new(0, 1).slice(text), "a");
        assert_eq!(Span::new(2, 9).slice(text), "é");
        assert_eq!(Span::new(90, 9).slice(text), "");
    }

    #[test]
    fn cover_joins() {
        assert_eq!(Span::new(4, 2).cover(Span::new(1, 1)), Span::between(1, 6));
    }
}
