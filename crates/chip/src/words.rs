//! Layout of instruction words in the code of a kernel. All conversions between instruction index and address are
//! here; only the form table knows the contents of a word.

/// Words of equal length, contiguous, each containing its scheduling control.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WordShape {
    bytes: u32,
}

/// Words of 128 bits.
pub(crate) const LONG_WORDS: WordShape = WordShape { bytes: 16 };

impl WordShape {
    /// Bytes of one instruction.
    pub const fn bytes(self) -> usize {
        self.bytes as usize
    }

    /// The address of an instruction, from the start of the code.
    pub const fn address(self, index: u32) -> u32 {
        index * self.bytes
    }

    /// Bytes of this many instructions.
    pub const fn size(self, count: usize) -> u64 {
        count as u64 * self.bytes as u64
    }

    /// The index of the instruction that contains an address.
    pub const fn index(self, address: u32) -> u32 {
        address / self.bytes
    }

    /// The end address of an instruction, to which branch offsets are relative.
    pub const fn end(self, index: u32) -> i64 {
        (index as i64 + 1) * self.bytes as i64
    }

    /// The index of the instruction that begins at an address, `None` if none can.
    pub fn beginning_at(self, address: i64) -> Option<u32> {
        let bytes = i64::from(self.bytes);
        if address % bytes == 0 { u32::try_from(address / bytes).ok() } else { None }
    }
}
