//! An instruction's words matched with a row: the form, and how far the words are from a row that they do not fit.

use smallvec::SmallVec;

use super::columns::{Row, Slot};
use super::token::Token;
use crate::{Modifiers, Space, Type};

/// An instruction's words, matched with a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Form {
    /// The row.
    pub row: &'static Row,
    /// Modifiers in the order written.
    pub modifiers: Modifiers,
    /// Types in the order written.
    pub types: SmallVec<[Type; 2]>,
    /// First state space; [`Space::Generic`] where the row takes one and none is written.
    pub space: Option<Space>,
    /// Second state space.
    pub second_space: Option<Space>,
    /// Vector width, 1 where none is written.
    pub vector: u8,
}

/// The result of matching one row.
pub(super) struct Trial {
    pub(super) form: Form,
    /// For each slot the word that filled it.
    pub(super) filled: SmallVec<[Option<usize>; 12]>,
    /// Words that fit no slot.
    pub(super) unfit: SmallVec<[usize; 2]>,
    /// Slots that needed a word and got none.
    pub(super) missing: SmallVec<[usize; 2]>,
}

impl Trial {
    /// Higher is worse; zero fits.
    pub(super) fn cost(&self, tokens: &[Token<'_>]) -> usize {
        let words: usize =
            self.unfit.iter().map(|&word| if matches!(tokens[word], Token::Type(_)) { 6 } else { 5 }).sum();
        let missing: usize = self
            .missing
            .iter()
            .map(|&slot| match self.form.row.slots[slot] {
                // All written words fit; the word that selects the form was forgotten (`mul.u32`).
                Slot::Head(_) if self.unfit.is_empty() => 5,
                Slot::Head(_) => 9,
                _ => 4,
            })
            .sum();
        words + missing
    }
}
