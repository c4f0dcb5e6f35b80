//! A text under a sequence of changes, each relative to the result of the ones before it.
//!
//! Only the part between the first and the last change is copied. So a rename with hundreds of changes in one kernel
//! of a large file costs about as much as one change.

use std::borrow::Cow;
use std::sync::Arc;

use oriole_syntax::Replaced;

use crate::{Change, Encoding, LineIndex, Position};

/// A text with changes.
pub struct EditedText<'a> {
    old: &'a str,
    /// The range of the old text that `middle` replaces, in bytes.
    start: usize,
    end: usize,
    middle: String,
    lines: Arc<LineIndex>,
    changed: bool,
}

impl<'a> EditedText<'a> {
    /// A text, with its lines, before the first change.
    pub fn new(old: &'a str, lines: Arc<LineIndex>) -> EditedText<'a> {
        EditedText { old, start: 0, end: 0, middle: String::new(), lines, changed: false }
    }

    fn middle_end(&self) -> usize {
        self.start + self.middle.len()
    }

    fn len(&self) -> usize {
        self.middle_end() + self.old.len() - self.end
    }

    fn is_char_boundary(&self, at: usize) -> bool {
        if at <= self.start {
            self.old.is_char_boundary(at)
        } else if at <= self.middle_end() {
            self.middle.is_char_boundary(at - self.start)
        } else {
            self.old.is_char_boundary(at - self.middle_end() + self.end)
        }
    }

    /// A part of the current text, which begins and ends between characters.
    fn slice(&self, range: std::ops::Range<u32>) -> Cow<'_, str> {
        let (start, end) = (range.start as usize, (range.end as usize).min(self.len()));
        let behind = |at: usize| at - self.middle_end() + self.end;
        if end <= self.start {
            return Cow::Borrowed(&self.old[start..end]);
        }
        if start >= self.middle_end() {
            return Cow::Borrowed(&self.old[behind(start)..behind(end)]);
        }
        let mut text = String::with_capacity(end - start);
        text.push_str(&self.old[start.min(self.start)..self.start]);
        let within = |at: usize| at.clamp(self.start, self.middle_end()) - self.start;
        text.push_str(&self.middle[within(start)..within(end)]);
        text.push_str(&self.old[self.end..behind(end.max(self.middle_end()))]);
        Cow::Owned(text)
    }

    /// The byte at a position of the current text.
    pub fn offset(&self, position: Position, encoding: Encoding) -> u32 {
        self.lines.offset_in(|line| self.slice(line), position, encoding)
    }

    /// Makes a change. A range outside of the text is clipped.
    pub fn apply(&mut self, change: &Change) {
        let Some(range) = change.range else {
            (self.start, self.end, self.changed) = (0, self.old.len(), true);
            self.middle.clone_from(&change.text);
            self.lines = Arc::new(LineIndex::of_document(&change.text));
            return;
        };
        let clip = |at: u32| {
            let mut at = (at as usize).min(self.len());
            while !self.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (start, end) = (clip(range.start), clip(range.end.max(range.start)));
        // Whether a carriage return ends a line depends on the next byte.
        let before = start.checked_sub(1).filter(|&at| self.is_char_boundary(at)).unwrap_or(start);
        let carriage = change.text.contains('\r') || self.slice(before as u32..end as u32).contains('\r');
        if !carriage {
            Arc::make_mut(&mut self.lines).change(start as u32..end as u32, &change.text);
        }
        if !self.changed {
            (self.start, self.end, self.changed) = (start, start, true);
        }
        if start < self.start {
            self.middle.insert_str(0, &self.old[start..self.start]);
            self.start = start;
        }
        if end > self.middle_end() {
            let more = end - self.middle_end();
            self.middle.push_str(&self.old[self.end..self.end + more]);
            self.end += more;
        }
        self.middle.replace_range(start - self.start..end - self.start, &change.text);
        if carriage {
            let text = [&self.old[..self.start], &self.middle, &self.old[self.end..]].concat();
            self.lines = Arc::new(LineIndex::of_document(&text));
        }
    }

    /// The text, its lines and the replaced part of the old text; `None` if there was no change.
    pub fn finish(self) -> Option<(String, Arc<LineIndex>, Replaced)> {
        let text = [&self.old[..self.start], &self.middle, &self.old[self.end..]].concat();
        let ends = (self.end as u32, self.middle_end() as u32);
        let replaced = Replaced { start: self.start as u32, old_end: ends.0, new_end: ends.1 };
        self.changed.then_some((text, self.lines, replaced))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Range;

    /// Carriage returns that are inserted, removed, and separated from the line feeds after them.
    #[test]
    fn lines_that_end_with_carriage_returns() {
        let old = "one\rtwo\r\nthree\n";
        let mut plain = old.to_owned();
        let mut edited = EditedText::new(old, Arc::new(LineIndex::of_document(old)));
        for (start, end, text) in
            [(4, 4, "\n"), (4, 5, ""), (9, 9, "x"), (2, 2, "\r"), (0, 4, "é"), (3, 3, "a\nb")]
        {
            edited.apply(&Change { range: Some(Range::new(start, end)), text: text.to_owned() });
            plain.replace_range(start as usize..end as usize, text);
            assert_eq!(*edited.lines, LineIndex::of_document(&plain), "{plain:?}");
        }
    }

    #[test]
    fn changes_here_and_there() {
        let old = "one\ntwo é\nthree\nfour\n";
        let mut plain = old.to_owned();
        let mut edited = EditedText::new(old, Arc::new(LineIndex::new(old)));
        let changes = [
            (10, 10, "zero\n"),
            (2, 3, "E!"),
            (20, 99, ""),
            (9, 10, "-"),
            (0, 0, "\n"),
            (5, 14, "x\ny"),
            (3, 3, ""),
        ];
        for (start, end, text) in changes {
            edited.apply(&Change { range: Some(Range::new(start, end)), text: text.to_owned() });
            let clip = |at: u32| (0..=at as usize).rev().find(|&at| plain.is_char_boundary(at)).unwrap_or(0);
            let range = clip(start)..clip(end.min(plain.len() as u32));
            plain.replace_range(range, text);
            let length = plain.len() as u32;
            for start in (0..=length).filter(|&at| plain.is_char_boundary(at as usize)) {
                for end in (start..=length).filter(|&at| plain.is_char_boundary(at as usize)) {
                    assert_eq!(edited.slice(start..end), plain[start as usize..end as usize]);
                }
            }
        }
        let (text, lines, replaced) = edited.finish().unwrap();
        assert_eq!((text.as_str(), &*lines), (plain.as_str(), &LineIndex::new(&plain)));
        let end = replaced.new_end as usize;
        assert_eq!(&plain[end..], &old[replaced.old_end as usize..]);
        assert_eq!(&plain[..replaced.start as usize], &old[..replaced.start as usize]);
    }
}
