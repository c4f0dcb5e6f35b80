//! Copies and operations in flight in a cluster, and what each warp knows of them: the state that the rules read and
//! change.
//!
//! Copies are executed at once; only the rules that a program must keep because hardware is asynchronous are checked.
//! No rule may enter: those of shared memory, of tensor memory and of synchronization have files of their own.

use super::bytes::Bytes;
use super::clocks::{Clocks, Who};
use super::race::Race;
use std::collections::BTreeMap;

/// Bytes of a cell: no copy moves fewer.
const CELL: u64 = 4;

/// The time of a use that is still in flight.
pub(super) const GOING_ON: u32 = u32::MAX;

/// A phase of an mbarrier: its address, and the parity that is waited for.
pub type Phase = (u64, bool);

/// A copy that reads shared memory.
pub(super) struct Reading {
    pub(super) bytes: Bytes,
    pub(super) pc: u32,
    pub(super) who: Who,
    /// The group that it was closed in.
    pub(super) group: Option<u32>,
}

/// A copy that writes shared memory.
pub(super) struct Writing {
    pub(super) pc: u32,
    pub(super) who: Who,
    /// The group that it was closed in, if it belongs to groups.
    pub(super) group: Option<u32>,
    /// Warps that know of its completion, and since when.
    pub(super) known: Vec<(usize, u32)>,
}

/// A copy in flight: its index in the list of all.
pub type CopyNumber = usize;

/// The last use of a cell by a warp.
#[derive(Clone, Copy)]
pub(super) struct Use {
    pub(super) warp: usize,
    pub(super) then: u32,
    pub(super) pc: u32,
}

/// State of a few bytes.
#[derive(Clone, Default)]
pub(super) struct Cell {
    /// The copy that wrote them last.
    pub(super) copy: Option<CopyNumber>,
    pub(super) uses: Vec<Use>,
    /// Operations on tensor memory that read them.
    pub(super) readers: Vec<CopyNumber>,
}

/// Operations in flight in a cluster, and the rules that the current instruction broke.
#[derive(Default)]
pub struct Transfers {
    /// True if the kernel has copies or MMAs that read shared memory asynchronously.
    pub(super) watched: bool,
    pub(super) clocks: Clocks,
    /// By block, the last writer of each byte since the last fence: instruction index plus one, or zero.
    pub(super) written: BTreeMap<u32, Vec<u32>>,
    pub(super) reading: Vec<Reading>,
    pub(super) copies: Vec<Writing>,
    /// Operations in flight in tensor memory.
    pub(super) tensor: TensorState,
    /// mbarriers of the older format, which are read with plain loads.
    pub(super) counted: Vec<Bytes>,
    /// Copies that belong to groups and were not waited for.
    pub(super) grouped: Vec<CopyNumber>,
    /// Copies by the phase that signals them.
    pub(super) by_phase: BTreeMap<Phase, Vec<CopyNumber>>,
    pub(super) cells: BTreeMap<u32, Vec<Cell>>,
    /// Groups that each warp has closed.
    pub(super) groups: BTreeMap<Who, u32>,
    /// Broken rules, each with the other instruction.
    pub found: Vec<(Race, u32)>,
}

/// A few cells of tensor memory: rank of the block, half of the lanes of a warp, column.
pub type TensorCell = (u32, u32, u32);

/// A load or a store of a warp.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) warp: usize,
    pub(super) then: u32,
    pub(super) pc: u32,
    pub(super) stores: bool,
}

/// State of a few cells.
#[derive(Default)]
pub(super) struct Cells {
    pub(super) writer: Option<CopyNumber>,
    pub(super) readers: Vec<CopyNumber>,
    pub(super) accesses: Vec<Access>,
}

/// Operations in flight in the tensor memories of a cluster.
#[derive(Default)]
pub(super) struct TensorState {
    pub(super) cells: BTreeMap<TensorCell, Cells>,
    /// Operations that no warp is known to have waited for.
    pub(super) open: Vec<CopyNumber>,
    /// Loads and stores that their warp has not waited for.
    pub(super) accessed: Vec<(usize, TensorCell)>,
}

impl Transfers {
    /// True if the rules are checked.
    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// Nothing is in flight.
    pub fn new(watched: bool, blocks: usize, warps_of_block: usize) -> Transfers {
        Transfers { watched, clocks: Clocks::new(blocks, warps_of_block), ..Transfers::default() }
    }

    /// The state of some bytes.
    pub(super) fn cells(&mut self, bytes: Bytes) -> &mut [Cell] {
        let (first, end) = (bytes.start / CELL, (bytes.start + bytes.size).div_ceil(CELL));
        let cells = self.cells.entry(bytes.rank).or_default();
        if cells.len() < end as usize {
            cells.resize(end as usize, Cell::default());
        }
        &mut cells[first as usize..end as usize]
    }

    /// True if a warp knows that a copy is there.
    pub(super) fn has_come(&self, copy: CopyNumber, warp: usize) -> bool {
        let known = &self.copies[copy].known;
        known.iter().any(|&(other, then)| self.clocks.knows(warp, other, then))
    }

    /// A warp learns that a copy is complete.
    pub(super) fn find_out(&mut self, copy: CopyNumber, who: Who) {
        let warp = self.clocks.number(who);
        if !self.has_come(copy, warp) {
            let now = self.clocks.now(warp);
            self.copies[copy].known.push((warp, now));
        }
    }

    /// The index of a new copy.
    pub(super) fn begin_copy(&mut self, pc: u32, who: Who) -> CopyNumber {
        let id = self.copies.len();
        if self.watched {
            self.copies.push(Writing { pc, who, group: None, known: Vec::new() });
        }
        id
    }

    /// A phase will signal a copy.
    pub(super) fn tell_by(&mut self, phase: Phase, copy: CopyNumber) {
        let told = self.by_phase.entry(phase).or_default();
        // Those of the phase before the last one, which has the same parity, were found complete there.
        told.retain(|&other| self.copies[other].known.is_empty());
        told.push(copy);
    }

    /// A phase will signal a copy, if it does not already.
    pub(super) fn tell_once(&mut self, phase: Phase, copy: CopyNumber) {
        if !self.by_phase.entry(phase).or_default().contains(&copy) {
            self.tell_by(phase, copy);
        }
    }
}
