//! Bytes of shared memory, with the block that they belong to.

/// The lowest bit of a block's rank in an address of the shared memory of its cluster.
pub const RANK_BIT: u32 = 24;

/// Bytes of shared memory of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bytes {
    /// The rank of the block.
    pub rank: u32,
    /// Start address.
    pub start: u64,
    /// Byte count.
    pub size: u64,
}

impl Bytes {
    /// The address, with the rank of the block in it.
    pub fn address(&self) -> u64 {
        u64::from(self.rank) << RANK_BIT | self.start
    }

    /// Whether the two have a byte in common.
    pub(super) fn meets(&self, other: &Bytes) -> bool {
        let (end, other_end) = (self.start + self.size, other.start + other.size);
        self.rank == other.rank && self.start < other_end && other.start < end
    }
}

/// Bytes at a shared address with the rank of its block.
pub fn shared_bytes(address: u64, size: u32) -> Bytes {
    let (rank, start) = ((address >> RANK_BIT) as u32, address & ((1 << RANK_BIT) - 1));
    Bytes { rank, start, size: size.into() }
}
