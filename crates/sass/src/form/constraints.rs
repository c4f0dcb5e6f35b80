//! What a form takes beside operands of the right kinds: modifiers, signs, suffixes and names as bits of a mask, so that
//! legality is decided by comparing masks. Each form's masks are computed once, when an instruction first asks for it.
//!
//! No word is made here: whether numbers fit their fields is asked of the fields.

use super::{Form, NO_BIT, SELF, SlotKind, Token};
use crate::{Mod, Mods, Operand, OperandKind, Symbol};
use smallvec::SmallVec;

/// One bit for each word of the form's vocabulary.
type Mask = SmallVec<[u64; 2]>;

/// The constraints of one form.
#[derive(Debug)]
pub struct Constraints {
    /// Every modifier, sign, suffix and name that the form can say, sorted; the index is the bit.
    vocabulary: Box<[Word]>,
    /// What the form always says: the bit, and the slot of the operand that says it where that is a suffix.
    always: Box<[(u32, Option<u8>)]>,
    sets: Box<[Choice]>,
    /// Two operands have a field in common.
    pub shares_fields: bool,
}

/// Something that an instruction says beside its numbers: what it is, the slot that says it, its name. One number, so that
/// it is sorted and searched quickly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Word(u32);

impl Word {
    const fn new(what: u8, slot: u8, name: u16) -> Word {
        Word((what as u32) << 24 | (slot as u32) << 16 | name as u32)
    }

    fn modifier(name: Mod) -> Word {
        Word::new(0, 0, name as u16)
    }

    fn negate(slot: u8) -> Word {
        Word::new(1, slot, 0)
    }

    fn absolute(slot: u8) -> Word {
        Word::new(2, slot, 0)
    }

    fn invert(slot: u8) -> Word {
        Word::new(3, slot, 0)
    }

    fn suffix(slot: u8, name: Mod) -> Word {
        Word::new(4, slot, name as u16)
    }

    fn symbol(slot: u8, symbol: Symbol) -> Word {
        Word::new(5, slot, symbol as u16)
    }

    /// What a token stands for in a set of this slot; where a suffix is written plays no part.
    fn of(token: Token, slot: u8) -> Word {
        let at = |own: u8| if own == SELF { slot } else { own };
        match token {
            Token::Mod(name) => Word::modifier(name),
            Token::Negate(own) => Word::negate(at(own)),
            Token::Absolute(own) => Word::absolute(at(own)),
            Token::Invert(own) => Word::invert(at(own)),
            Token::Suffix(own, _, name) => Word::suffix(at(own), name),
            Token::Symbol(own, symbol) => Word::symbol(at(own), symbol),
        }
    }
}

/// A set of the form: exactly one of its rows holds.
#[derive(Debug)]
struct Choice {
    /// What any of the rows says.
    said: Mask,
    /// The rows as masks, those that say most first.
    rows: Box<[Mask]>,
}

impl Choice {
    /// The row that says most of what is wanted and nothing else.
    fn best(&self, wanted: &Mask) -> Option<&Mask> {
        if is_disjoint(&self.said, wanted) {
            return self.rows.last().filter(|row| row.iter().all(|&bits| bits == 0));
        }
        self.rows.iter().find(|row| is_covered(row, wanted))
    }
}

fn is_disjoint(a: &Mask, b: &Mask) -> bool {
    a.iter().zip(b).all(|(a, b)| a & b == 0)
}

/// True if all bits of the first mask are in the second.
fn is_covered(a: &Mask, b: &Mask) -> bool {
    a.iter().zip(b).all(|(a, b)| a & !b == 0)
}

/// A mask of so many words without a bit; most have two at most.
fn no_bits(words: usize) -> Mask {
    match words {
        0..=2 => Mask::from_buf_and_len([0; 2], words),
        _ => smallvec::smallvec![0; words],
    }
}

fn set_bit(mask: &mut Mask, bit: u32) {
    mask[bit as usize / 64] |= 1 << (bit % 64);
}

fn has_bit(mask: &Mask, bit: u32) -> bool {
    mask[bit as usize / 64] >> (bit % 64) & 1 == 1
}

impl Constraints {
    /// The constraints of a form.
    pub(super) fn of(form: &Form) -> Constraints {
        let in_sets = form.sets.iter().flat_map(|set| {
            set.rows
                .iter()
                .flat_map(move |row| row.tokens.iter().map(move |&token| Word::of(token, set.slot)))
        });
        let mut vocabulary: Vec<Word> =
            form.always.iter().map(|&token| Word::of(token, SELF)).chain(in_sets).collect();
        vocabulary.sort_unstable();
        vocabulary.dedup();
        let words = vocabulary.len().div_ceil(64);
        let bit = |word: Word| vocabulary.binary_search(&word).unwrap_or_default() as u32;
        let always = form.always.iter().map(|&token| {
            let slot = match token {
                Token::Suffix(slot, ..) => Some(slot),
                _ => None,
            };
            (bit(Word::of(token, SELF)), slot)
        });
        let sets = form.sets.iter().map(|set| {
            let mut said = no_bits(words);
            let mut rows: Vec<(usize, Mask)> = Vec::with_capacity(set.rows.len());
            for row in set.rows {
                let mut mask = no_bits(words);
                for &token in row.tokens {
                    let bit = bit(Word::of(token, set.slot));
                    set_bit(&mut mask, bit);
                    set_bit(&mut said, bit);
                }
                rows.push((row.tokens.len(), mask));
            }
            // Of rows that say as much the first one of the table comes first.
            rows.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
            Choice { said, rows: rows.into_iter().map(|(_, mask)| mask).collect() }
        });
        Constraints {
            always: always.collect(),
            sets: sets.collect(),
            shares_fields: shares_fields(form),
            vocabulary: vocabulary.into_boxed_slice(),
        }
    }

    /// True if the form can say the modifiers, and of each operand its signs, suffixes and name. `slots` gives for each
    /// operand its slot.
    pub fn allow(&self, form: &Form, mods: &Mods, operands: &[Operand], slots: &[u8]) -> bool {
        let mut wanted = no_bits(self.vocabulary.len().div_ceil(64));
        let mut want = |word: Word| match self.vocabulary.binary_search(&word) {
            Ok(bit) => {
                set_bit(&mut wanted, bit as u32);
                true
            }
            Err(_) => false,
        };
        if !mods.iter().all(|name| want(Word::modifier(name))) {
            return false;
        }
        for (operand, &at) in operands.iter().zip(slots) {
            let slot = &form.slots[usize::from(at)];
            // A sign with a bit of its own is no word.
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
        let mut said = no_bits(wanted.len());
        for &(bit, slot) in &self.always {
            // The suffix of an operand that is left out is not asked for.
            if !has_bit(&wanted, bit) && slot.is_none_or(|slot| slots.contains(&slot)) {
                return false;
            }
            set_bit(&mut said, bit);
        }
        for set in &self.sets {
            let Some(row) = set.best(&wanted) else { return false };
            said.iter_mut().zip(row).for_each(|(said, row)| *said |= row);
        }
        is_covered(&wanted, &said)
    }
}

/// True if fields of two operands overlap.
fn shares_fields(form: &Form) -> bool {
    let mut seen = 0u128;
    form.slots.iter().any(|slot| {
        let own = slot.fields.iter().fold(0, |mask, field| mask | field.mask());
        let shared = seen & own != 0;
        seen |= own;
        shared
    })
}
