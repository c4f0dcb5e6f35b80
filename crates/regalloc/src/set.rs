//! A set of physical registers of one file.

/// Registers 0..=255 as bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RegisterSet([u64; 4]);

impl RegisterSet {
    /// Even registers.
    pub const EVEN: RegisterSet = RegisterSet([0x5555_5555_5555_5555; 4]);
    /// Odd registers.
    pub const ODD: RegisterSet = RegisterSet([0xaaaa_aaaa_aaaa_aaaa; 4]);

    /// The set of these words, bit n of word k for register `64 k + n`.
    pub fn from_words(words: [u64; 4]) -> RegisterSet {
        RegisterSet(words)
    }

    /// The words of the set, as [`RegisterSet::from_words`] takes them.
    pub fn words(self) -> [u64; 4] {
        self.0
    }

    /// Registers `from..to`.
    pub fn range(from: u16, to: u16) -> RegisterSet {
        let mut set = RegisterSet::default();
        (from..to).for_each(|r| set.insert(r as u8));
        set
    }

    /// Adds a register.
    #[inline]
    pub fn insert(&mut self, register: u8) {
        self.0[usize::from(register >> 6)] |= 1 << (register & 63);
    }

    /// Takes a register away.
    #[inline]
    pub fn remove(&mut self, register: u8) {
        self.0[usize::from(register >> 6)] &= !(1 << (register & 63));
    }

    /// True if it is in the set.
    #[inline]
    pub fn contains(&self, register: u8) -> bool {
        self.0[usize::from(register >> 6)] >> (register & 63) & 1 != 0
    }

    /// Union.
    #[inline]
    pub fn with(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(std::array::from_fn(|k| self.0[k] | other.0[k]))
    }

    /// Difference.
    #[inline]
    pub fn without(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(std::array::from_fn(|k| self.0[k] & !other.0[k]))
    }

    /// Intersection.
    #[inline]
    pub fn within(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(std::array::from_fn(|k| self.0[k] & other.0[k]))
    }

    /// True if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Count of registers.
    #[inline]
    pub fn len(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// The lowest register.
    #[inline]
    pub fn first(&self) -> Option<u8> {
        (0..4).find(|&k| self.0[k] != 0).map(|k| (k as u32 * 64 + self.0[k].trailing_zeros()) as u8)
    }

    /// Registers whose even-odd partner is not in the set: taking one breaks no free pair.
    pub fn lone(&self) -> RegisterSet {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        RegisterSet(std::array::from_fn(|k| {
            let pairs = self.0[k] & (self.0[k] >> 1) & EVEN;
            self.0[k] & !(pairs | pairs << 1)
        }))
    }

    /// Registers in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..4usize).flat_map(move |k| {
            let mut word = self.0[k];
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some((k as u32 * 64 + bit) as u8)
            })
        })
    }
}
