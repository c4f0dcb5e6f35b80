//! The homes of clusters in the scan: the register that a value has at home, and those that others leave to their
//! owners.
//!
//! It is here because both depend on the current block and its loops. No register is assigned here.

use super::Scan;
use super::affinity::{Cluster, ClusterId, Position};
use super::locations::NONE;
use crate::next_use::NEVER;
use crate::set::RegisterSet;
use oriole_ori::Value;

/// The place of the end of a block among its instructions.
const END: u32 = NEVER - 2;

impl Scan<'_> {
    /// The cluster of a value, and its offset there.
    pub(super) fn cluster(&self, v: Value) -> (Cluster, u8) {
        let Position { cluster, offset } = self.inputs.affinities.position(v);
        (self.inputs.affinities.clusters[cluster], offset)
    }

    /// True if a value prefers registers adjacent to others.
    pub(super) fn in_tuple(&self, v: Value) -> bool {
        self.cluster(v).0.width > 1
    }

    /// True if a loop around the current block carries a value of the cluster to its next iteration.
    pub(super) fn is_carried(&self, v: Value) -> bool {
        self.is_carried_here(self.inputs.affinities.position(v).cluster)
    }

    fn is_carried_here(&self, cluster: ClusterId) -> bool {
        let carried = self.inputs.affinities.clusters[cluster].carried;
        carried.is_some_and(|index| self.inputs.graph.loops().contains(index, self.block))
    }

    /// The register that a value has at home, if its cluster has a home.
    pub(super) fn home(&self, v: Value) -> Option<u8> {
        self.homes.home(self.inputs.affinities.position(v))
    }

    /// True if the owner of a register returns before this instruction of the block.
    #[inline]
    fn owner_comes_before(&self, register: u8, index: u32) -> bool {
        let Some(owner) = self.homes.owner[usize::from(register)] else { return false };
        if self.homes.home(owner) != Some(register) {
            return false;
        }
        match self.homes.next_definition[self.inputs.affinities.slot(owner)] {
            // In the next iteration, that is at the end of this one.
            NEVER => index > END && self.is_carried_here(owner.cluster),
            next => next < index,
        }
    }

    /// True if a call clobbers a register, or its owner returns, while a value that is put there now is live.
    pub(super) fn is_claimed(&self, register: u8, v: Value) -> bool {
        self.overwritten(v).contains(register)
            || self.homes.owned.contains(register)
                && self.owner_comes_before(register, self.homes.last_read[v])
    }

    /// Registers that calls clobber while a value of the cluster is live.
    fn overwritten(&self, v: Value) -> RegisterSet {
        self.inputs.calls.overwritten(self.inputs.affinities.position(v).cluster)
    }

    /// The given registers that no call clobbers, and whose owners do not return, while a value is live.
    pub(super) fn unclaimed(&self, registers: RegisterSet, v: Value) -> RegisterSet {
        let registers = registers.without(self.overwritten(v));
        let last_read = self.homes.last_read[v];
        let mut unclaimed = registers;
        for register in registers.within(self.homes.owned).iter() {
            if self.owner_comes_before(register, last_read) {
                unclaimed.remove(register);
            }
        }
        unclaimed
    }

    /// Makes an assigned register the home of the value's cluster, unless it is the wrong place for it, or a loop
    /// needs it elsewhere.
    pub(super) fn remember(&mut self, v: Value, register: u8) {
        let cluster = self.inputs.affinities.position(v).cluster;
        if self.homes.base[cluster] == NONE || !self.is_carried_here(cluster) {
            self.move_home(v, register);
        }
    }

    /// At a loop header: makes the current registers the homes for the next iteration.
    pub(super) fn settle(&mut self, v: Value) {
        if self.assigned[v] != NONE {
            self.move_home(v, self.assigned[v]);
        }
    }

    fn move_home(&mut self, v: Value, register: u8) {
        let id = self.inputs.affinities.position(v).cluster;
        let (cluster, offset) = self.cluster(v);
        let Some(base) = register.checked_sub(offset) else { return };
        let range = base..base.saturating_add(cluster.width);
        let fits = base.is_multiple_of(cluster.align)
            && u16::from(base) + u16::from(cluster.width) <= self.registers.count
            && range.clone().all(|r| self.registers.usable.contains(r));
        if !fits || self.homes.base[id] == base {
            return;
        }
        self.homes.base[id] = base;
        if !cluster.shared {
            return;
        }
        for (register, offset) in range.zip(0..) {
            // An owner that has moved away, or does not return, owns nothing.
            let held = self.homes.owner[usize::from(register)].is_some_and(|owner| owner.cluster != id)
                && self.owner_comes_before(register, NEVER);
            if !held {
                self.homes.owner[usize::from(register)] = Some(Position { cluster: id, offset });
                self.homes.owned.insert(register);
            }
        }
    }
}
