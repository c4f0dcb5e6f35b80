//! A text that is kept cut into units, and cut again only where it changes.
//!
//! It is here so that a keystroke in a large file costs what the unit costs that it falls into. The law: after any edits
//! the pieces are those of the text cut from scratch. It holds because a unit depends on the bytes that the splitter looked
//! at to find it, which a piece remembers, and on nothing before it but the line that it begins on.

use std::sync::Arc;

use crate::UnitKind;
use crate::split::{Splitter, line_ends};

/// One unit of a text, without its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// What it holds.
    pub kind: UnitKind,
    /// The (first) name that it declares; a section's name; else empty.
    pub name: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    /// How many lines end in it.
    pub lines: u32,
    /// How many bytes from its start on were looked at; one more than there are if the end of the text was.
    seen: u32,
}

/// A part of a text that another one replaces, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replaced {
    /// First byte.
    pub start: u32,
    /// Behind the last byte of the old text.
    pub old_end: u32,
    /// Behind the last byte of the new text.
    pub new_end: u32,
}

impl Replaced {
    /// The part in which two texts differ, if they do.
    pub fn between(old: &str, new: &str) -> Option<Replaced> {
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let start = same_length(old.chunks(BLOCK), new.chunks(BLOCK), |old, new| {
            old.iter().zip(new).take_while(|(old, new)| old == new).count()
        });
        if start == old.len() && start == new.len() {
            return None;
        }
        let same = same_length(old[start..].rchunks(BLOCK), new[start..].rchunks(BLOCK), |old, new| {
            old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count()
        });
        let ends = (old.len() - same, new.len() - same);
        Some(Replaced { start: start as u32, old_end: ends.0 as u32, new_end: ends.1 as u32 })
    }
}

/// Texts are compared in blocks of so many bytes, which is fast, and byte by byte in the first that differ.
const BLOCK: usize = 4096;

fn same_length<'a>(
    old: impl Iterator<Item = &'a [u8]>,
    new: impl Iterator<Item = &'a [u8]>,
    within: impl Fn(&[u8], &[u8]) -> usize,
) -> usize {
    let mut same = 0;
    for (old, new) in old.zip(new) {
        if old != new {
            return same + within(old, new);
        }
        same += old.len();
    }
    same
}

/// A text with the units that it is cut into. Copies share everything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CutText {
    text: Arc<str>,
    pieces: Arc<[Piece]>,
}

impl CutText {
    /// Cuts a text from scratch.
    ///
    /// # Panics
    /// If the text is 4 GiB or longer; a driver refuses such files before.
    pub fn new(text: Arc<str>) -> CutText {
        let mut splitter = Splitter::new(&text, 0);
        let pieces = std::iter::from_fn(|| piece(&mut splitter, &text)).collect();
        CutText { text, pieces }
    }

    /// The whole text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Its units; joined they are the text.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The text after a change: outside of `replaced` it must be as it was.
    ///
    /// # Panics
    /// As [`CutText::new`].
    #[must_use]
    pub fn changed(&self, text: Arc<str>, replaced: Replaced) -> CutText {
        debug_assert!(Replaced::between(&self.text, &text).is_none_or(|it| it.start >= replaced.start));
        // The first unit that depends on what has changed; those above it stay.
        let mut start = 0;
        let mut first = 0;
        for piece in self.pieces.iter() {
            if start + piece.seen as usize > replaced.start as usize {
                break;
            }
            start += piece.text.len();
            first += 1;
        }
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.pieces.len() + 1);
        pieces.extend_from_slice(&self.pieces[..first]);
        let mut splitter = Splitter::new(&text, start);
        // Where the old unit `next` starts, as bytes from the end of either text.
        let mut next = first;
        let mut old_rest = self.text.len() - start;
        let mut behind = text.as_bytes()[replaced.new_end as usize..].iter();
        let settled = behind.position(|byte| !matches!(byte, b' ' | b'\t'));
        let settled = settled.map_or(usize::MAX, |at| replaced.new_end as usize + at + 1);
        while let Some(piece) = piece(&mut splitter, &text) {
            start += piece.text.len();
            pieces.push(piece);
            if start < settled {
                continue;
            }
            // Behind the change the two texts are the same: what starts at the same byte of it is the same.
            let rest = text.len() - start;
            while old_rest > rest {
                old_rest -= self.pieces[next].text.len();
                next += 1;
            }
            if old_rest == rest {
                pieces.extend_from_slice(&self.pieces[next..]);
                break;
            }
        }
        CutText { text, pieces: pieces.into() }
    }
}

fn piece(splitter: &mut Splitter<'_>, text: &str) -> Option<Piece> {
    let (unit, seen) = splitter.next_unit()?;
    let own = unit.text(text);
    let lines = line_ends(own.as_bytes());
    Some(Piece {
        kind: unit.kind,
        name: unit.name.into(),
        text: own.into(),
        lines,
        seen: (seen - unit.start as usize) as u32,
    })
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
        let before = CutText::new(text.into());
        let at = text.find("ret; }\n.entry c").unwrap();
        let after = change(&before, at, at, "bar.sync 0; ");
        assert_eq!(after, CutText::new(after.text.clone()));
        let kept =
            before.pieces.iter().zip(after.pieces.iter()).map(|(old, new)| Arc::ptr_eq(&old.text, &new.text));
        assert_eq!(kept.collect::<Vec<_>>(), [true, true, false, true, true]);
    }

    #[test]
    fn differences() {
        let replaced = |start, old_end, new_end| Some(Replaced { start, old_end, new_end });
        assert_eq!(Replaced::between("abc", "abc"), None);
        assert_eq!(Replaced::between("abc", "axc"), replaced(1, 2, 2));
        assert_eq!(Replaced::between("aaa", "aa"), replaced(2, 3, 2));
        assert_eq!(Replaced::between("", "aa"), replaced(0, 0, 2));
        let long = "x".repeat(3 * BLOCK + 7);
        assert_eq!(
            Replaced::between(&long, &format!("{long}y")),
            replaced(3 * 4096 + 7, 3 * 4096 + 7, 3 * 4096 + 8)
        );
        assert_eq!(
            Replaced::between(&format!("{long}y{long}"), &format!("{long}z{long}")).unwrap().start,
            3 * 4096 + 7
        );
    }
}
