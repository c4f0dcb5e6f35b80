//! Leading and trailing bits of a word, as bounds. No instruction may enter: those that give a value its bits are in
//! `results`.

/// Leading and trailing bits of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Lower bound of the leading zero bits.
    pub zeros: u8,
    /// Lower bound of the equal leading bits; 1 means unknown.
    pub signs: u8,
    /// Lower bound of the trailing zero bits.
    pub trailing: u8,
}

impl Bits {
    /// Nothing is known.
    pub const UNKNOWN: Bits = Bits { zeros: 0, signs: 1, trailing: 0 };

    /// Bits of a known word.
    #[inline]
    pub fn of(word: u32) -> Bits {
        Bits {
            zeros: word.leading_zeros() as u8,
            signs: word.leading_zeros().max(word.leading_ones()) as u8,
            trailing: word.trailing_zeros() as u8,
        }
    }

    pub(super) fn zeros(zeros: u32) -> Bits {
        let zeros = zeros.min(32) as u8;
        Bits { zeros, signs: zeros.max(1), trailing: if zeros == 32 { 32 } else { 0 } }
    }

    pub(super) fn signs(signs: u32) -> Bits {
        Bits { zeros: 0, signs: signs.clamp(1, 32) as u8, trailing: 0 }
    }

    /// Bits of a value that is one of two.
    pub(super) fn either(self, other: Bits) -> Bits {
        Bits {
            zeros: self.zeros.min(other.zeros),
            signs: self.signs.min(other.signs),
            trailing: self.trailing.min(other.trailing),
        }
    }

    pub(super) fn with_trailing(self, trailing: u8) -> Bits {
        Bits { trailing, ..self }
    }

    /// The bits that are known to be zero.
    pub fn known_zeros(self) -> u32 {
        let below = |count: u8| u32::MAX.checked_shr(32 - u32::from(count)).unwrap_or(0);
        below(self.trailing) | !below(32 - self.zeros)
    }
}
