//! How instruction words lie in the code of a kernel. Everybody who turns the number of an instruction into an address, or
//! an address into a number, asks here; what is inside of a word only the form table knows.

use crate::Chip;

/// Words of equal length, one after the other, each with its scheduling control inside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WordShape {
    bytes: u32,
}

/// Words of 128 bits.
pub(crate) const LONG_WORDS: WordShape = WordShape { bytes: 16 };

impl WordShape {
    /// The address of an instruction, from the start of the code; of the number of all, the size of the code.
    pub const fn address(self, index: u32) -> u32 {
        index * self.bytes
    }

    /// The number of the instruction at an address, or of the one that the address lies in.
    pub const fn index(self, address: u32) -> u32 {
        address / self.bytes
    }

    /// True if an instruction begins at the address.
    pub const fn begins_at(self, address: i64) -> bool {
        address >= 0 && address % self.bytes as i64 == 0
    }

    /// The number of instructions that fill so many bytes.
    pub const fn count(self, bytes: u64) -> u64 {
        bytes / self.bytes as u64
    }
}

impl Chip {
    /// The shape of its instruction words.
    pub const fn words(self) -> WordShape {
        self.row().words
    }
}
