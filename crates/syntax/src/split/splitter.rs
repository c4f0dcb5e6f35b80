//! The splitter: its place in the text, and the bytes that its decisions depend on.

use std::cell::Cell;

use crate::lexer::is_name_byte;
use crate::unit::{Unit, UnitKind};

/// Splits units off a text, one after the other.
pub(crate) struct Splitter<'a> {
    pub(super) whole: &'a str,
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    /// From here on the text has no `*/`.
    pub(super) no_close_from: usize,
    /// End of the bytes that the current unit has examined; one more than the length of the text if it looked for the
    /// end.
    pub(super) seen: Cell<usize>,
}

impl<'a> Splitter<'a> {
    /// Begins at the start of a unit.
    ///
    /// # Panics
    /// If the text is 4 GiB or longer.
    pub(crate) fn new(text: &'a str, at: usize) -> Splitter<'a> {
        assert!(
            u32::try_from(text.len()).is_ok(),
            "a file of 4 GiB or more must be refused before splitting"
        );
        Splitter { whole: text, text: text.as_bytes(), at, no_close_from: usize::MAX, seen: Cell::new(at) }
    }

    /// The next unit, without its line number, and the end of the bytes examined to find it; `None` after the last one.
    /// Of the text before the unit only the line that it begins on is read.
    pub(crate) fn next_unit(&mut self) -> Option<(Unit, usize)> {
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        self.seen.set(start);
        let item = self.trivia_end(start);
        self.at = item;
        let (kind, name) = if item == self.text.len() {
            (UnitKind::Trailer, Box::default())
        } else {
            self.item(item, self.whole)
        };
        debug_assert!(self.at > start, "a unit has at least one byte");
        let len = (self.at - start) as u32;
        self.look(self.at - 1);
        Some((Unit { kind, name, start: start as u32, len, line: 1 }, self.seen.get()))
    }

    /// Notes that a decision depends on a byte, or on the text ending before it.
    #[inline]
    pub(super) fn look(&self, at: usize) {
        self.seen.set(self.seen.get().max((at + 1).min(self.text.len() + 1)));
    }

    #[inline]
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.look(at);
        self.text.get(at).copied().unwrap_or(0)
    }

    /// The dotted word that begins at `at`, as far as splitting cares.
    #[inline]
    pub(super) fn word(&self, at: usize) -> &'a [u8] {
        let rest = &self.text[at..];
        let len = 1 + rest[1..].iter().take_while(|&&byte| is_name_byte(byte)).count();
        self.look(at + len);
        &rest[..len]
    }

    /// Whether the dot at `at` begins a word of its own: `.reg`, not the dot of
    /// `add.u32`, `8.0` or `[a].unified`.
    #[inline]
    pub(super) fn starts_directive(&self, at: usize) -> bool {
        at == 0 || !is_name_byte(self.text[at - 1]) && !matches!(self.text[at - 1], b']' | b':')
    }

    #[inline]
    pub(super) fn line_end(&self, at: usize) -> usize {
        let end = memchr::memchr2(b'\n', b'\r', &self.text[at..]).map_or(self.text.len(), |len| at + len);
        self.look(end);
        end
    }
}
