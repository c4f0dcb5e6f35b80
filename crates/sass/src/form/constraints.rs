//! Constraints of a form besides operand kinds: modifiers, signs, suffixes and names as bits of a mask, so that
//! legality is a comparison of masks. The masks are computed with the table, when this crate is compiled. They are
//! integers in a few arrays without pointers, so that a process needs no initialization. Forms of all chips that may say
//! the same have them in common.
//!
//! No word is encoded here: the fields check whether values fit.

use super::encoding::{Form, NO_BIT, SELF, Set, SlotKind, Token};
use crate::{Mod, Mods, Operand, OperandKind, Symbol};

/// Most words of 64 bits that a mask has; most have one or two.
const MOST_WORDS: usize = 5;

/// One bit for each word of a form's vocabulary.
type Mask = [u64; MOST_WORDS];

/// The parts of a form that its constraints follow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Says {
    /// The tokens that the form always has.
    pub always: &'static [Token],
    /// The modifier fields; their bits do not matter.
    pub sets: &'static [Set],
}

/// The constraints of one form.
#[derive(Clone, Copy, Debug)]
pub struct Constraints {
    /// Every modifier, sign, suffix and name of the form, sorted; the index is the bit.
    pub vocabulary: &'static [Word],
    /// Tokens that the form always has.
    pub always: &'static [Always],
    /// For each set how many rows it has.
    pub rows: &'static [u16],
    /// For each set the union mask of its rows, then the masks of the rows, those with the most bits first.
    pub masks: &'static [u64],
}

/// A token of an instruction besides its values: its kind, its slot, its name. One integer, for fast sorting and
/// search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Word(u32);

impl Word {
    const fn new(what: u8, slot: u8, name: u16) -> Word {
        Word((what as u32) << 24 | (slot as u32) << 16 | name as u32)
    }

    const fn modifier(name: Mod) -> Word {
        Word::new(0, 0, name as u16)
    }

    const fn negate(slot: u8) -> Word {
        Word::new(1, slot, 0)
    }

    const fn absolute(slot: u8) -> Word {
        Word::new(2, slot, 0)
    }

    const fn invert(slot: u8) -> Word {
        Word::new(3, slot, 0)
    }

    const fn suffix(slot: u8, name: Mod) -> Word {
        Word::new(4, slot, name as u16)
    }

    const fn symbol(slot: u8, symbol: Symbol) -> Word {
        Word::new(5, slot, symbol as u16)
    }

    /// The word of a token in a set of this slot; the position of a suffix in the text does not matter.
    pub const fn of(token: Token, slot: u8) -> Word {
        match token {
            Token::Mod(name) => Word::modifier(name),
            Token::Negate(own) => Word::negate(own_or(own, slot)),
            Token::Absolute(own) => Word::absolute(own_or(own, slot)),
            Token::Invert(own) => Word::invert(own_or(own, slot)),
            Token::Suffix(own, _, name) => Word::suffix(own_or(own, slot), name),
            Token::Symbol(own, symbol) => Word::symbol(own_or(own, slot), symbol),
        }
    }
}

/// The slot that a token names, or that of its set.
const fn own_or(own: u8, slot: u8) -> u8 {
    if own == SELF { slot } else { own }
}

/// A token that a form always has: the bit, and the slot of its operand if it is a suffix.
#[derive(Clone, Copy, Debug)]
pub struct Always {
    pub bit: u16,
    pub suffixed: Option<u8>,
}

/// Used length of each array of a pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub words: usize,
    pub always: usize,
    pub sets: usize,
    pub masks: usize,
}

impl Sizes {
    const NONE: Sizes = Sizes { words: 0, always: 0, sets: 0, masks: 0 };

    /// Enough for all these constraints.
    pub const fn of(all: &[Says]) -> Sizes {
        let mut sizes = Sizes::NONE;
        let mut at = 0;
        while at < all.len() {
            let form = &all[at];
            let (mut words, mut masks, mut set) = (form.always.len(), 0, 0);
            while set < form.sets.len() {
                let rows = form.sets[set].rows;
                let mut row = 0;
                while row < rows.len() {
                    words += rows[row].tokens.len();
                    row += 1;
                }
                masks += 1 + rows.len();
                set += 1;
            }
            sizes.words += words;
            sizes.always += form.always.len();
            sizes.sets += form.sets.len();
            sizes.masks += masks * mask_len(words);
            at += 1;
        }
        sizes
    }
}

/// Length in 64-bit words of a mask for a vocabulary of this size.
pub const fn mask_len(vocabulary: usize) -> usize {
    if vocabulary == 0 { 1 } else { vocabulary.div_ceil(64) }
}

/// The constraints of all forms, concatenated in each array.
#[derive(Debug)]
pub(super) struct Pool<
    const COUNT: usize,
    const WORDS: usize,
    const ALWAYS: usize,
    const SETS: usize,
    const MASKS: usize,
> {
    ends: [Sizes; COUNT],
    words: [Word; WORDS],
    always: [Always; ALWAYS],
    rows: [u16; SETS],
    masks: [u64; MASKS],
    used: Sizes,
}

impl<const COUNT: usize, const WORDS: usize, const ALWAYS: usize, const SETS: usize, const MASKS: usize>
    Pool<COUNT, WORDS, ALWAYS, SETS, MASKS>
{
    /// The constraints, one by one.
    pub const fn of(all: &[Says; COUNT]) -> Self {
        let mut pool = Pool {
            ends: [Sizes::NONE; COUNT],
            words: [Word(0); WORDS],
            always: [Always { bit: 0, suffixed: None }; ALWAYS],
            rows: [0; SETS],
            masks: [0; MASKS],
            used: Sizes::NONE,
        };
        let mut at = 0;
        while at < COUNT {
            pool.add(&all[at]);
            pool.ends[at] = pool.used;
            at += 1;
        }
        pool
    }

    /// The pool without the lengths in its type.
    pub const fn table(&'static self) -> ConstraintTable {
        ConstraintTable {
            ends: &self.ends,
            words: &self.words,
            always: &self.always,
            rows: &self.rows,
            masks: &self.masks,
        }
    }

    const fn add(&mut self, form: &Says) {
        let first = self.used.words;
        self.add_words(first, form.always, SELF);
        let mut set = 0;
        while set < form.sets.len() {
            let mut row = 0;
            while row < form.sets[set].rows.len() {
                self.add_words(first, form.sets[set].rows[row].tokens, form.sets[set].slot);
                row += 1;
            }
            set += 1;
        }
        let mut at = 0;
        while at < form.always.len() {
            let suffixed = match form.always[at] {
                Token::Suffix(slot, ..) => Some(slot),
                _ => None,
            };
            let bit = self.place(first, Word::of(form.always[at], SELF)) - first;
            self.always[self.used.always] = Always { bit: bit as u16, suffixed };
            self.used.always += 1;
            at += 1;
        }
        set = 0;
        while set < form.sets.len() {
            self.add_set(first, &form.sets[set]);
            set += 1;
        }
    }

    /// Index of a word, or its insertion point, in the vocabulary that begins at `first`.
    const fn place(&self, first: usize, word: Word) -> usize {
        let (mut low, mut high) = (first, self.used.words);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.words[middle].0 < word.0 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Adds the words of these tokens to the vocabulary that begins at `first`.
    const fn add_words(&mut self, first: usize, tokens: &[Token], slot: u8) {
        let mut token = 0;
        while token < tokens.len() {
            let word = Word::of(tokens[token], slot);
            let place = self.place(first, word);
            if place == self.used.words || self.words[place].0 != word.0 {
                let mut at = self.used.words;
                while at > place {
                    self.words[at] = self.words[at - 1];
                    at -= 1;
                }
                self.words[place] = word;
                self.used.words += 1;
            }
            token += 1;
        }
    }

    /// Adds the masks of a set; rows with equal bit counts keep their table order.
    const fn add_set(&mut self, first: usize, set: &Set) {
        let len = mask_len(self.used.words - first);
        assert!(len <= MOST_WORDS, "a form can say more than a mask holds");
        let said = self.used.masks;
        let mut most = 0;
        let mut row = 0;
        while row < set.rows.len() {
            if set.rows[row].tokens.len() > most {
                most = set.rows[row].tokens.len();
            }
            row += 1;
        }
        self.used.masks += len;
        let mut left = most + 1;
        while left > 0 {
            left -= 1;
            row = 0;
            while row < set.rows.len() {
                if set.rows[row].tokens.len() == left {
                    self.add_row(first, set.rows[row].tokens, set.slot, said);
                    self.used.masks += len;
                }
                row += 1;
            }
        }
        self.rows[self.used.sets] = set.rows.len() as u16;
        self.used.sets += 1;
    }

    /// Sets the bits of these tokens in the next mask and in the one at `said`.
    const fn add_row(&mut self, first: usize, tokens: &[Token], slot: u8, said: usize) {
        let mut token = 0;
        while token < tokens.len() {
            let bit = self.place(first, Word::of(tokens[token], slot)) - first;
            self.masks[self.used.masks + bit / 64] |= 1 << (bit % 64);
            self.masks[said + bit / 64] |= 1 << (bit % 64);
            token += 1;
        }
    }
}

/// The constraints of all forms.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConstraintTable {
    /// For each of them how much is taken up to its end.
    ends: &'static [Sizes],
    words: &'static [Word],
    always: &'static [Always],
    rows: &'static [u16],
    masks: &'static [u64],
}

impl ConstraintTable {
    /// The constraints of a form.
    pub fn get(&self, form: &Form) -> Constraints {
        let says = usize::from(form.says);
        let first = says.checked_sub(1).map_or(Sizes::NONE, |before| self.ends[before]);
        let end = self.ends[says];
        Constraints {
            vocabulary: &self.words[first.words..end.words],
            always: &self.always[first.always..end.always],
            rows: &self.rows[first.sets..end.sets],
            masks: &self.masks[first.masks..end.masks],
        }
    }
}

fn is_disjoint(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a & b == 0)
}

/// True if all bits of the first mask are in the second.
fn is_covered(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a & !b == 0)
}

fn set_bit(mask: &mut Mask, bit: usize) {
    mask[bit / 64] |= 1 << (bit % 64);
}

fn has_bit(mask: &Mask, bit: usize) -> bool {
    mask[bit / 64] >> (bit % 64) & 1 == 1
}

/// The row of a set that has most of the wanted tokens and no others. The masks are those of the set.
fn best_row<'a>(masks: &'a [u64], wanted: &[u64]) -> Option<&'a [u64]> {
    let (said, rows) = masks.split_at(wanted.len());
    let mut rows = rows.chunks_exact(wanted.len());
    if is_disjoint(said, wanted) {
        return rows.next_back().filter(|row| row.iter().all(|&bits| bits == 0));
    }
    rows.find(|row| is_covered(row, wanted))
}

impl Constraints {
    /// True if the form has the modifiers, and the signs, suffixes and name of each operand. `slots` gives the slot
    /// of each operand.
    pub fn allow(&self, form: &Form, mods: &Mods, operands: &[Operand], slots: &[u8]) -> bool {
        let mut wanted: Mask = [0; MOST_WORDS];
        let mut want = |word: Word| match self.vocabulary.binary_search(&word) {
            Ok(bit) => {
                set_bit(&mut wanted, bit);
                true
            }
            Err(_) => false,
        };
        if !mods.iter().all(|name| want(Word::modifier(name))) {
            return false;
        }
        for (operand, &at) in operands.iter().zip(slots) {
            let slot = &form.slots[usize::from(at)];
            // A sign with a bit of its own is not a word.
            let signs = [
                (operand.negate && slot.negate == NO_BIT, Word::negate(at)),
                (operand.absolute && slot.absolute == NO_BIT, Word::absolute(at)),
                (operand.invert && slot.invert == NO_BIT, Word::invert(at)),
            ];
            let symbol = match (slot.kind, operand.kind) {
                (SlotKind::Symbol, OperandKind::Symbol(symbol)) => Some(symbol),
                _ => None,
            };
            if !signs.into_iter().all(|(present, word)| !present || want(word))
                || !operand.suffixes.iter().all(|name| want(Word::suffix(at, name)))
                || !symbol.is_none_or(|symbol| want(Word::symbol(at, symbol)))
            {
                return false;
            }
        }
        let mut said: Mask = [0; MOST_WORDS];
        for always in self.always {
            let bit = usize::from(always.bit);
            // The suffix of an omitted operand is not required.
            if !has_bit(&wanted, bit) && always.suffixed.is_none_or(|slot| slots.contains(&slot)) {
                return false;
            }
            set_bit(&mut said, bit);
        }
        let len = mask_len(self.vocabulary.len());
        let (wanted, mut masks) = (&wanted[..len], self.masks);
        for &rows in self.rows {
            let (own, others) = masks.split_at((1 + usize::from(rows)) * len);
            let Some(row) = best_row(own, wanted) else { return false };
            said.iter_mut().zip(row).for_each(|(said, row)| *said |= row);
            masks = others;
        }
        is_covered(wanted, &said)
    }
}
