//! The part in which two texts differ.

/// A part of a text that another one replaces, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replaced {
    /// First byte.
    pub start: u32,
    /// End of the replaced range in the old text.
    pub old_end: u32,
    /// End of the replaced range in the new text.
    pub new_end: u32,
}

impl Replaced {
    /// The part that two consecutive changes replace together.
    #[must_use]
    pub fn then(self, next: Replaced) -> Replaced {
        // Where the bytes after both changes begin, in the text between them.
        let settled = self.new_end.max(next.old_end);
        Replaced {
            start: self.start.min(next.start),
            old_end: settled - self.new_end + self.old_end,
            new_end: settled - next.old_end + next.new_end,
        }
    }

    /// This replacement in coordinates relative to `start`, if it is within `length` bytes from there.
    pub(crate) fn within(self, start: usize, length: usize) -> Option<Replaced> {
        let from = |at: u32| at.checked_sub(start as u32);
        let inner =
            Replaced { start: from(self.start)?, old_end: from(self.old_end)?, new_end: from(self.new_end)? };
        (inner.old_end as usize <= length).then_some(inner)
    }

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

/// Block size of the fast comparison; the first blocks that differ are compared byte by byte.
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

#[cfg(test)]
mod tests {
    use super::*;

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
