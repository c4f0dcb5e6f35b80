//! Locations of values at the ends of blocks: the result of a scan, which the repair of edges reads.
//!
//! It is here because both read and write it, and only data enters.

use oriole_ori::{BlockId, Value};
use typed_index_collections::TiVec;

/// No register.
pub const NONE: u8 = u8::MAX;

/// Location of a value at a block boundary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// Its register, or [`NONE`].
    pub register: u8,
    /// Its slot holds it too.
    pub in_memory: bool,
}

/// Everything the edges need afterwards.
pub struct BlockStates {
    /// For each block the locations of its live-in values of the file, sorted by value; `None` if unreachable.
    pub entry: TiVec<BlockId, Option<Vec<(Value, Location)>>>,
    /// Locations at the end of each block.
    pub exit: TiVec<BlockId, Vec<(Value, Location)>>,
    /// Values stored right after their only definition: their slot is always valid.
    pub stored_at_definition: TiVec<Value, bool>,
}

/// Location of a value, from a sorted list.
pub fn location(list: &[(Value, Location)], v: Value) -> Option<Location> {
    list.binary_search_by_key(&v, |(u, _)| *u).ok().map(|at| list[at].1)
}
