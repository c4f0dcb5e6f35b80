//! Asynchronous copies: bulk copies of bytes, bulk tensor copies, tensor maps and cache policies.

use super::atomic::AtomicOperation;
use super::operand::{Destination, Location, Source};
use smallvec::SmallVec;

/// An ordering operation of a program. The interpreter executes sequentially and copies at once, so that no byte
/// depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// A fence of memory.
    ThroughMemory,
    /// A fence between the accesses of threads and those of copies.
    BetweenProxies,
    /// The copies of the thread since the last one are a group.
    CloseGroup,
    /// At most this many groups are still in flight.
    WaitForGroups(u32),
    /// No copy is still in flight, whether its group was closed or not.
    WaitForAll,
}

/// A bulk copy of bytes.
#[derive(Clone, Debug)]
pub struct BulkStep {
    /// The target.
    pub to: Location,
    /// The source.
    pub from: Location,
    /// Bytes.
    pub size: Source,
    /// The operation that combines elements of this many bytes with the target.
    pub combine: Option<(AtomicOperation, usize)>,
    /// The bytes of each sixteen that are copied, if not all.
    pub mask: Option<Source>,
    /// The mbarriers to signal.
    pub signal: Signal,
}

/// The mbarrier that counts the bytes of a bulk copy, and the blocks that get one each.
#[derive(Clone, Debug, Default)]
pub struct Signal {
    /// The mbarrier of the target.
    pub object: Option<Location>,
    /// The ranks of the blocks, if there are several, as a mask: each has a target and an mbarrier at the same offsets.
    pub blocks: Option<Source>,
    /// In a pair of blocks the signalled block has the same position in the pair as the block of the named mbarrier.
    pub in_pairs: bool,
}

/// A bulk tensor copy.
#[derive(Clone, Debug)]
pub struct BoxStep {
    /// Generic address of the tensor map.
    pub map: Source,
    /// The corner of the tile.
    pub coordinates: SmallVec<[Source; 5]>,
    /// im2col offsets, or halo and offset.
    pub offsets: SmallVec<[Source; 3]>,
    /// The traversal of the tile.
    pub walk: Walk,
    /// The tile in shared memory; `None` for a prefetch.
    pub shared: Option<Location>,
    /// From the tensor to shared memory, not the other way.
    pub loads: bool,
    /// The operation that combines the tile with the tensor; the tensor has the type.
    pub combine: Option<AtomicOperation>,
    /// The mbarriers to signal.
    pub signal: Signal,
}

/// The traversal of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walk {
    /// Dimension by dimension.
    Tile,
    /// im2col: pixels, dimension by dimension.
    Image,
    /// Pixels along lines, followed by a halo.
    Line,
    /// 128 pixels along lines, with a halo after every 32 of them.
    Parts,
    /// Four rows by their indices.
    Rows,
}

/// Bits of memory that are replaced by bits of a value.
#[derive(Clone, Debug)]
pub struct FieldPart {
    /// Offset of the word.
    pub offset: u64,
    /// Its bytes.
    pub bytes: usize,
    /// The bits that change.
    pub mask: u64,
    /// Subtracted from the value.
    pub less: u64,
    /// The lowest bit taken from it, and its new position.
    pub from: u32,
    /// See `from`.
    pub to: u32,
    /// Bits that are set in addition.
    pub set: u64,
}

/// A replaced field of a tensor map.
#[derive(Clone, Debug)]
pub struct FieldStep {
    /// The map.
    pub map: Location,
    /// The changed parts.
    pub parts: SmallVec<[FieldPart; 2]>,
    /// The new value.
    pub value: Source,
}

/// A cache policy.
#[derive(Clone, Debug)]
pub enum PolicyStep {
    /// For a fraction of the accesses.
    Fraction {
        /// Result.
        destination: Destination,
        /// The effect of the policy, in the encoding of the hardware.
        kind: u32,
        /// The fraction.
        fraction: Source,
    },
    /// For a range of addresses.
    Range {
        /// Result.
        destination: Destination,
        /// The effect of the policy, in the encoding of the hardware.
        kind: u32,
        /// The start of the range.
        start: Location,
        /// Bytes of the first priority.
        first: Source,
        /// Bytes of both.
        total: Source,
    },
}
