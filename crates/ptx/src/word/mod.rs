//! The words after an opcode: one enum of all words of the tables, one enum for each position of modifiers, and the
//! modifiers of one instruction.
//!
//! Stages match on names that the compiler checks instead of comparing text. Types, state spaces and vector widths are
//! not modifiers; the meaning of a word must not enter.

mod names;
mod positions;

pub use names::Word;
pub use positions::*;

use smallvec::SmallVec;

impl Word {
    /// The word spelled so, without its dot.
    pub fn from_name(name: &str) -> Option<Word> {
        names::BY_SPELLING.binary_search_by_key(&name, |row| row.0).ok().map(|at| names::BY_SPELLING[at].1)
    }

    /// Its spelling, without a dot.
    pub fn name(self) -> &'static str {
        names::SPELLINGS[self as usize]
    }
}

/// A position of modifiers: an enum of words of which a form takes one.
pub trait Position: Copy + 'static {
    /// The words, and the meaning of each at this position.
    const WORDS: &'static [(Word, Self)];
}

/// The modifiers of one instruction in the order written.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Modifiers(pub SmallVec<[Word; 4]>);

impl Modifiers {
    /// True if the word is among them.
    pub fn has(&self, word: Word) -> bool {
        self.0.contains(&word)
    }

    /// The word at a position, if one is written.
    pub fn at<P: Position>(&self) -> Option<P> {
        self.0.iter().find_map(|word| P::WORDS.iter().find(|row| row.0 == *word)).map(|row| row.1)
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = Word> + '_ {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_its_spelling() {
        for (spelling, word) in names::BY_SPELLING {
            assert_eq!(word.name(), spelling);
            assert_eq!(Word::from_name(spelling), Some(word));
        }
        assert_eq!(Word::from_name("strange"), None);
    }

    #[test]
    fn the_word_at_a_position() {
        let modifiers = Modifiers([Word::Ftz, Word::Rz].into_iter().collect());
        assert_eq!(modifiers.at::<Rounding>(), Some(Rounding::Rz));
        assert_eq!(modifiers.at::<Scope>(), None);
    }
}
