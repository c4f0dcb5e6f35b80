//! A text split into units, and split again only where it changes.
//!
//! A keystroke in a large file costs as much as the unit that it falls into. Invariant: after any edits the pieces are
//! those of the text split from scratch. It holds because a unit depends on the bytes that the splitter examined to
//! find it, which a piece remembers, and on nothing before it but the line that it begins on.

use std::sync::Arc;

use crate::split::Splitter;
use crate::{Replaced, UnitKind, UnitSource};

/// One unit of a text, without its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The kind of the unit.
    pub kind: UnitKind,
    /// The (first) name that it declares; a section's name; else empty.
    pub name: Arc<str>,
    /// Its text and tree.
    pub source: triomphe::Arc<UnitSource>,
    /// Number of bytes examined from its start on; one more than there are if the end of the text was examined.
    seen: u32,
}

impl Piece {
    /// Its text.
    pub fn text(&self) -> &Arc<str> {
        self.source.text()
    }
}

/// A text with its units. Copies share everything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CutText {
    /// A `String`, since concatenation is one copy, and a large text is copied with each keystroke.
    text: Arc<String>,
    pieces: Arc<[Piece]>,
    /// First byte of each piece.
    starts: Arc<[u32]>,
}

impl CutText {
    /// Splits a text from scratch.
    ///
    /// # Panics
    /// If the text is 4 GiB or longer; a driver refuses such files before.
    pub fn new(text: impl Into<String>) -> CutText {
        let text = Arc::new(text.into());
        let mut splitter = Splitter::new(&text, 0);
        let pieces = std::iter::from_fn(|| Found::next(&mut splitter, &text));
        let pieces = pieces.map(|found| found.piece(UnitSource::new(found.kind, found.text))).collect();
        CutText::of(text, pieces)
    }

    fn of(text: Arc<String>, pieces: Vec<Piece>) -> CutText {
        let mut behind = 0;
        let starts = pieces.iter().map(|piece| {
            let start = behind;
            behind += piece.text().len() as u32;
            start
        });
        CutText { text, starts: starts.collect(), pieces: pieces.into() }
    }

    /// The whole text.
    pub fn text(&self) -> &Arc<String> {
        &self.text
    }

    /// The units; concatenated they are the text.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The first byte of each unit.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The text after a change: outside of `replaced` it must be unchanged.
    ///
    /// # Panics
    /// As [`CutText::new`].
    #[must_use]
    pub fn changed(&self, text: Arc<String>, replaced: Replaced) -> CutText {
        debug_assert!(Replaced::between(&self.text, &text).is_none_or(|it| it.start >= replaced.start));
        // The first unit that depends on the change; those above it stay.
        let mut start = 0;
        let mut first = 0;
        for piece in self.pieces.iter() {
            if start + piece.seen as usize > replaced.start as usize {
                break;
            }
            start += piece.text().len();
            first += 1;
        }
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.pieces.len() + 1);
        pieces.extend_from_slice(&self.pieces[..first]);
        let mut splitter = Splitter::new(&text, start);
        // Start of the old unit `next`, as bytes from the end of either text.
        let mut next = first;
        let mut old_rest = self.text.len() - start;
        let mut behind = text.as_bytes()[replaced.new_end as usize..].iter();
        let settled = behind.position(|byte| !matches!(byte, b' ' | b'\t'));
        let settled = settled.map_or(usize::MAX, |at| replaced.new_end as usize + at + 1);
        // An old unit that begins before the change, and where.
        let (mut above, mut above_start) = (first, start);
        while let Some(found) = Found::next(&mut splitter, &text) {
            while above_start < start && above_start <= replaced.start as usize && above < self.pieces.len() {
                above_start += self.pieces[above].text().len();
                above += 1;
            }
            let old = self.pieces.get(above).filter(|_| above_start == start);
            pieces.push(match old.and_then(|old| Some((old, replaced.within(start, old.text().len())?))) {
                Some((old, _)) if **old.text() == *found.text && old.kind == found.kind => {
                    Piece { seen: found.seen, ..old.clone() }
                }
                Some((old, replaced)) => {
                    found.piece(UnitSource::changed(&old.source, found.kind, found.text, replaced))
                }
                None => found.piece(UnitSource::new(found.kind, found.text)),
            });
            start += found.text.len();
            if start < settled {
                continue;
            }
            // After the change the two texts are equal: a unit that starts at the same byte is the same unit.
            let rest = text.len() - start;
            while old_rest > rest {
                old_rest -= self.pieces[next].text().len();
                next += 1;
            }
            if old_rest == rest {
                pieces.extend_from_slice(&self.pieces[next..]);
                break;
            }
        }
        CutText::of(text, pieces)
    }
}

/// A unit as the splitter finds it.
struct Found<'a> {
    kind: UnitKind,
    name: Box<str>,
    text: &'a str,
    seen: u32,
}

impl Found<'_> {
    fn next<'a>(splitter: &mut Splitter<'_>, text: &'a str) -> Option<Found<'a>> {
        let (unit, seen) = splitter.next_unit()?;
        let seen = (seen - unit.start as usize) as u32;
        Some(Found { kind: unit.kind, text: unit.text(text), name: unit.name, seen })
    }

    fn piece(&self, source: UnitSource) -> Piece {
        Piece {
            kind: self.kind,
            name: (*self.name).into(),
            source: triomphe::Arc::new(source),
            seen: self.seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: &CutText, start: usize, end: usize, new: &str) -> CutText {
        let text = [&old.text[..start], new, &old.text[end..]].concat();
        let replaced =
            Replaced { start: start as u32, old_end: end as u32, new_end: (start + new.len()) as u32 };
        old.changed(text.into(), replaced)
    }

    #[test]
    fn what_was_not_looked_at_is_kept() {
        let text = ".version 8.0\n.target sm_90\n.entry a { ret; }\n.entry b { ret; }\n.entry c { ret; }\n";
        let before = CutText::new(text);
        let at = text.find("ret; }\n.entry c").unwrap();
        let after = change(&before, at, at, "bar.sync 0; ");
        assert_eq!(after, CutText::new(after.text.as_str()));
        let kept = before
            .pieces
            .iter()
            .zip(after.pieces.iter())
            .map(|(old, new)| triomphe::Arc::ptr_eq(&old.source, &new.source));
        assert_eq!(kept.collect::<Vec<_>>(), [true, true, false, true, true]);
    }
}
