//! Homes of clusters: the range of registers that the first value of a cluster was assigned. The others go there, and
//! other values avoid it.
//!
//! It is here because a home is kept from block to block, with what the current block still does to it. Which value
//! goes where is decided elsewhere.

use super::affinity::{Affinities, ClusterId, Position, SlotId};
use super::locations::NONE;
use crate::next_use::NEVER;
use crate::set::RegisterSet;
use oriole_ori::Value;
use typed_index_collections::{TiVec, ti_vec};

/// Position of the last read of a value that is live after the block.
const BEHIND: u32 = NEVER - 1;

/// Homes of clusters, and how long registers stay without them.
pub(super) struct Homes {
    /// The first register of each cluster, or [`NONE`].
    pub(super) base: TiVec<ClusterId, u8>,
    /// Owner of each register, as far as known.
    pub(super) owner: [Option<Position>; 256],
    /// Registers that have an owner.
    pub(super) owned: RegisterSet,
    /// For each slot the next instruction of the block that defines a value of it, after the current one.
    pub(super) next_definition: TiVec<SlotId, u32>,
    /// Stack of old entries of `next_definition`, for the definitions of the block; the first of them on top.
    later: Vec<u32>,
    /// For each value the instruction of the block that reads it last.
    pub(super) last_read: TiVec<Value, u32>,
}

impl Homes {
    pub(super) fn new(affinities: &Affinities, values: usize) -> Homes {
        Homes {
            base: ti_vec![NONE; affinities.clusters.len()],
            owner: [None; 256],
            owned: RegisterSet::default(),
            next_definition: ti_vec![NEVER; affinities.slots],
            later: Vec::new(),
            last_read: ti_vec![NEVER; values],
        }
    }

    // The walk over a block, backwards.

    /// Records that a value is live-out.
    pub(super) fn lives_on(&mut self, value: Value) {
        self.last_read[value] = BEHIND;
    }

    /// Records the last reader of a value.
    pub(super) fn read_last(&mut self, value: Value, index: u32) {
        self.last_read[value] = index;
    }

    /// Records a definition of a value of this slot.
    pub(super) fn defined_at(&mut self, slot: SlotId, index: u32) {
        self.later.push(std::mem::replace(&mut self.next_definition[slot], index));
    }

    // The scan, forwards.

    /// The scan reaches a definition.
    pub(super) fn passes_definition(&mut self, slot: SlotId) {
        self.next_definition[slot] = self.later.pop().expect("what the walk backwards has seen");
    }

    /// The register of a position, if its cluster has a home.
    pub(super) fn home(&self, position: Position) -> Option<u8> {
        let base = self.base[position.cluster];
        (base != NONE).then(|| base + position.offset)
    }
}
