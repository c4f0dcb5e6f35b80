//! Copies in flight in shared memory: bulk copies of the engine, and copies of threads. Copies are executed at once
//! here; the rules that a program must keep because hardware is asynchronous are checked separately.
//!
//! * The engine and `wgmma` see writes of threads only after a proxy fence.
//! * The source of a copy may be overwritten once its group has been waited for.
//! * The target of a copy may be touched by a warp that has found the phase of its mbarrier complete or waited for
//!   its group, and by warps that acquired that from such a warp.
//! * The target of a copy must not be in use: its users have released, and the warp that starts the copy has
//!   acquired.
//!
//! The check has false negatives, but no false positives: a fence by any thread counts for all, and all lanes of a
//! warp know the same.

use crate::clocks::{Clocks, Who};
use crate::tensor::TensorState;
use std::collections::BTreeMap;

/// A rule that is broken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Race {
    /// A copy or an MMA reads data that threads wrote, without a proxy fence.
    ProxyFenceMissing,
    /// Shared memory is overwritten before its copy was waited for.
    SourceOverwritten,
    /// Shared memory is used before the mbarrier of the copy to it, or the wait for it, signals completion.
    CopyNotArrived,
    /// A copy overwrites shared memory that may still be in use: no synchronization orders them.
    TargetInUse,
    /// Tensor memory is used before the mbarrier of the operation that writes it signals completion.
    ResultNotThere,
    /// Tensor memory is overwritten that an operation may still read.
    OperandOverwritten,
    /// An operation uses tensor memory whose load or store the warp has not waited for, or not signalled; or a load
    /// uses data that a store of its own warp may not have written.
    AccessGoingOn,
}

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

    fn meets(&self, other: &Bytes) -> bool {
        let (end, other_end) = (self.start + self.size, other.start + other.size);
        self.rank == other.rank && self.start < other_end && other.start < end
    }
}

/// Bytes at a shared address with the rank of its block.
pub fn shared_bytes(address: u64, size: u32) -> Bytes {
    let (rank, start) = ((address >> RANK_BIT) as u32, address & ((1 << RANK_BIT) - 1));
    Bytes { rank, start, size: size.into() }
}

/// Bytes of a cell: no copy moves fewer.
const CELL: u64 = 4;

/// The time of a use that is still in flight.
pub(crate) const GOING_ON: u32 = u32::MAX;

/// A phase of an mbarrier: its address, and the parity that is waited for.
pub type Phase = (u64, bool);

/// A copy that reads shared memory.
struct Reading {
    bytes: Bytes,
    pc: u32,
    who: Who,
    /// The group that it was closed in.
    group: Option<u32>,
}

/// A copy that writes shared memory.
pub(crate) struct Writing {
    pub pc: u32,
    pub who: Who,
    /// The group that it was closed in, if it belongs to groups.
    group: Option<u32>,
    /// Warps that know of its completion, and since when.
    pub known: Vec<(usize, u32)>,
}

/// A copy in flight: its index in the list of all.
pub type CopyNumber = usize;

/// The last use of a cell by a warp.
#[derive(Clone, Copy)]
struct Use {
    warp: usize,
    then: u32,
    pc: u32,
}

/// State of a few bytes.
#[derive(Clone, Default)]
struct Cell {
    /// The copy that wrote them last.
    copy: Option<CopyNumber>,
    uses: Vec<Use>,
    /// Operations on tensor memory that read them.
    readers: Vec<CopyNumber>,
}

/// Operations in flight in a cluster, and the rules that the current instruction broke.
#[derive(Default)]
pub struct Transfers {
    /// True if the kernel has copies or MMAs that read shared memory asynchronously.
    watched: bool,
    pub(crate) clocks: Clocks,
    /// By block, the last writer of each byte since the last fence: instruction index plus one, or zero.
    written: BTreeMap<u32, Vec<u32>>,
    reading: Vec<Reading>,
    pub(crate) copies: Vec<Writing>,
    /// Operations in flight in tensor memory.
    pub(crate) tensor: TensorState,
    /// mbarriers of the older format, which are read with plain loads.
    counted: Vec<Bytes>,
    /// Copies that belong to groups and were not waited for.
    grouped: Vec<CopyNumber>,
    /// Copies by the phase that signals them.
    by_phase: BTreeMap<Phase, Vec<CopyNumber>>,
    cells: BTreeMap<u32, Vec<Cell>>,
    /// Groups that each warp has closed.
    groups: BTreeMap<Who, u32>,
    /// Broken rules, each with the other instruction.
    pub found: Vec<(Race, u32)>,
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

    fn cells(&mut self, bytes: Bytes) -> &mut [Cell] {
        let (first, end) = (bytes.start / CELL, (bytes.start + bytes.size).div_ceil(CELL));
        let cells = self.cells.entry(bytes.rank).or_default();
        if cells.len() < end as usize {
            cells.resize(end as usize, Cell::default());
        }
        &mut cells[first as usize..end as usize]
    }

    /// True if a warp knows that a copy is there.
    pub(crate) fn has_come(&self, copy: CopyNumber, warp: usize) -> bool {
        let known = &self.copies[copy].known;
        known.iter().any(|&(other, then)| self.clocks.knows(warp, other, then))
    }

    /// The first copy to these bytes that a warp does not know to be there.
    fn early(&mut self, bytes: Bytes, warp: usize) -> Option<CopyNumber> {
        let mut copies: Vec<CopyNumber> = self.cells(bytes).iter().filter_map(|cell| cell.copy).collect();
        copies.dedup();
        copies.into_iter().find(|&copy| !self.has_come(copy, warp))
    }

    fn note_early(&mut self, bytes: Bytes, who: Who) {
        let early = self.early(bytes, self.clocks.number(who));
        self.found.extend(early.map(|copy| (Race::CopyNotArrived, self.copies[copy].pc)));
    }

    /// A warp uses the bytes until `then`.
    fn use_cells(&mut self, bytes: Bytes, pc: u32, who: Who, then: u32) {
        let warp = self.clocks.number(who);
        for cell in self.cells(bytes) {
            match cell.uses.iter_mut().find(|known| known.warp == warp) {
                Some(known) => *known = Use { warp, then, pc },
                None => cell.uses.push(Use { warp, then, pc }),
            }
        }
    }

    /// A thread reads or writes shared memory.
    pub fn touch(&mut self, bytes: Bytes, writes: bool, pc: u32, who: Who) {
        if !self.watched {
            return;
        }
        for object in self.counted.iter().filter(|object| object.meets(&bytes)) {
            self.clocks.found_over(object.address(), who);
        }
        self.note_early(bytes, who);
        self.use_cells(bytes, pc, who, self.clocks.now(self.clocks.number(who)));
        if writes {
            self.overwrite(bytes);
            self.overwrite_operands(bytes, who, Race::SourceOverwritten);
            self.mark_written(bytes, pc + 1);
        }
    }

    /// A thread arrives at an mbarrier of the older format. A warp that loads it acquires from that.
    pub fn count_arrival(&mut self, object: Bytes, who: Who) {
        if self.watched {
            self.clocks.change_object(object.address(), Some(who), true);
            if !self.counted.contains(&object) {
                self.counted.push(object);
            }
        }
    }

    fn mark_written(&mut self, bytes: Bytes, mark: u32) {
        let memory = self.written.entry(bytes.rank).or_default();
        let end = (bytes.start + bytes.size) as usize;
        if memory.len() < end {
            memory.resize(end, 0);
        }
        memory[bytes.start as usize..end].fill(mark);
    }

    /// The bytes change: copies that read them must be through.
    fn overwrite(&mut self, bytes: Bytes) {
        let reader = self.reading.iter().find(|one| one.bytes.meets(&bytes));
        self.found.extend(reader.map(|one| (Race::SourceOverwritten, one.pc)));
    }

    /// The bytes change: operations on tensor memory that read them must be complete, as far as the warp knows.
    fn overwrite_operands(&mut self, bytes: Bytes, who: Who, race: Race) {
        let warp = self.clocks.number(who);
        let mut readers: Vec<CopyNumber> =
            self.cells(bytes).iter_mut().flat_map(|cell| std::mem::take(&mut cell.readers)).collect();
        readers.dedup();
        let reader = readers.into_iter().find(|&reader| !self.has_come(reader, warp));
        self.found.extend(reader.map(|reader| (race, self.copies[reader].pc)));
    }

    /// An operation on tensor memory reads shared memory.
    pub fn operation_reads(&mut self, bytes: Bytes, operation: CopyNumber, who: Who) {
        if self.watched {
            self.read_apart(bytes, who);
            self.cells(bytes).iter_mut().for_each(|cell| {
                if cell.readers.last() != Some(&operation) {
                    cell.readers.push(operation);
                }
            });
        }
    }

    /// A read through another proxy than that of threads.
    fn read_apart(&mut self, bytes: Bytes, who: Who) {
        self.note_early(bytes, who);
        if let Some(memory) = self.written.get(&bytes.rank) {
            let written = memory.iter().skip(bytes.start as usize).take(bytes.size as usize);
            let writer = written.copied().find(|&writer| writer != 0);
            self.found.extend(writer.map(|writer| (Race::ProxyFenceMissing, writer - 1)));
        }
    }

    /// A copy reads shared memory.
    pub fn read(&mut self, bytes: Bytes, pc: u32, who: Who, grouped: bool) {
        if !self.watched {
            return;
        }
        self.read_apart(bytes, who);
        // An mbarrier that signals the copy also signals that its source was read.
        if grouped {
            self.reading.push(Reading { bytes, pc, who, group: None });
        }
    }

    /// A `wgmma` reads shared memory, asynchronously.
    pub fn product_reads(&mut self, bytes: Bytes, pc: u32, who: Who) {
        if self.watched {
            self.read_apart(bytes, who);
            self.use_cells(bytes, pc, who, GOING_ON);
        }
    }

    /// A `wgmma` that read these bytes is complete.
    pub fn product_ends(&mut self, bytes: Bytes, who: Who) {
        if self.watched {
            let warp = self.clocks.number(who);
            let now = self.clocks.now(warp);
            let uses = self.cells(bytes).iter_mut().flat_map(|cell| &mut cell.uses);
            uses.filter(|one| one.warp == warp && one.then == GOING_ON).for_each(|one| one.then = now);
        }
    }

    /// A warp starts a copy to shared memory, which a phase signals, or else the group that it will be closed in.
    pub fn start(&mut self, pc: u32, who: Who, phase: Option<Phase>) -> CopyNumber {
        let id = self.begin_copy(pc, who);
        if self.watched {
            match phase {
                Some(phase) => self.tell_by(phase, id),
                None => self.grouped.push(id),
            }
        }
        id
    }

    /// The index of a new copy.
    pub(crate) fn begin_copy(&mut self, pc: u32, who: Who) -> CopyNumber {
        let id = self.copies.len();
        if self.watched {
            self.copies.push(Writing { pc, who, group: None, known: Vec::new() });
        }
        id
    }

    fn tell_by(&mut self, phase: Phase, copy: CopyNumber) {
        let told = self.by_phase.entry(phase).or_default();
        // Those of the phase before the last one, which has the same parity, were found complete there.
        told.retain(|&other| self.copies[other].known.is_empty());
        told.push(copy);
    }

    /// A phase will also signal the copies of a warp that belong to groups.
    pub fn tell_copies_by(&mut self, phase: Phase, who: Who) {
        let copies = self.grouped.clone();
        for copy in copies {
            let one = &self.copies[copy];
            if one.who != who || !one.known.is_empty() {
                continue;
            }
            self.tell_once(phase, copy);
        }
    }

    /// A phase will signal a copy, if it does not already.
    pub(crate) fn tell_once(&mut self, phase: Phase, copy: CopyNumber) {
        if !self.by_phase.entry(phase).or_default().contains(&copy) {
            self.tell_by(phase, copy);
        }
    }

    /// Treats the copies of a warp as complete: their completion is not tracked.
    pub fn forget_copies(&mut self, who: Who) {
        let warp = self.clocks.number(who);
        for &copy in &self.grouped {
            let copy = &mut self.copies[copy];
            if copy.who == who {
                copy.known.push((warp, 0));
            }
        }
    }

    /// A copy writes shared memory.
    pub fn write(&mut self, bytes: Bytes, copy: CopyNumber, who: Who) {
        if !self.watched {
            return;
        }
        self.overwrite(bytes);
        let warp = self.clocks.number(who);
        if let Some(other) = self.early(bytes, warp).filter(|&other| other != copy) {
            self.found.push((Race::CopyNotArrived, self.copies[other].pc));
        }
        let uses: Vec<Use> = self.cells(bytes).iter().flat_map(|cell| cell.uses.iter().copied()).collect();
        let in_use = uses.into_iter().find(|one| {
            let own = one.warp == warp && one.then != GOING_ON;
            !own && !self.clocks.knows(warp, one.warp, one.then)
        });
        self.found.extend(in_use.map(|one| (Race::TargetInUse, one.pc)));
        self.overwrite_operands(bytes, who, Race::TargetInUse);
        for cell in self.cells(bytes) {
            *cell = Cell { copy: Some(copy), ..Cell::default() };
        }
        self.mark_written(bytes, 0);
    }

    /// A warp arrives at a barrier of its block; with `waits` it continues when all have arrived.
    pub fn arrive(&mut self, who: Who, barrier: usize, waits: bool) {
        if self.watched {
            self.clocks.arrive(who, barrier, waits);
        }
    }

    /// All have arrived at a barrier of a block.
    pub fn met(&mut self, rank: u32, barrier: usize) {
        self.clocks.met(rank, barrier);
    }

    /// An mbarrier changes: by the arrival of `who`, if it was one, and `over` if that completes the phase.
    pub fn change_object(&mut self, object: u64, who: Option<Who>, over: bool) {
        if self.watched {
            self.clocks.change_object(object, who, over);
        }
    }

    /// A warp finds a phase complete.
    pub fn phase_over(&mut self, phase: Phase, who: Who) {
        if self.watched {
            self.clocks.found_over(phase.0, who);
            let told = self.by_phase.get(&phase).cloned().unwrap_or_default();
            told.into_iter().for_each(|copy| self.find_out(copy, who));
        }
    }

    /// A warp learns that a copy is complete.
    fn find_out(&mut self, copy: CopyNumber, who: Who) {
        let warp = self.clocks.number(who);
        if !self.has_come(copy, warp) {
            let now = self.clocks.now(warp);
            self.copies[copy].known.push((warp, now));
        }
    }

    /// A warp executes an instruction.
    pub fn go_on(&mut self, who: Who) {
        if self.watched {
            self.clocks.go_on(who);
        }
    }

    /// A proxy fence.
    pub fn fence(&mut self) {
        self.written.clear();
    }

    /// A warp arrives at the barrier of its cluster.
    pub fn arrive_at_cluster(&mut self, who: Who) {
        if self.watched {
            self.clocks.arrive_at_cluster(who);
        }
    }

    /// A warp waits for the barrier of its cluster.
    pub fn wait_for_cluster(&mut self, who: Who) {
        if self.watched {
            self.clocks.wait_for_cluster(who);
        }
    }

    /// A warp releases or acquires through memory.
    pub fn through_memory(&mut self, who: Who) {
        if self.watched {
            self.clocks.through_memory(who);
        }
    }

    /// Closes the group of the copies that a warp has started.
    pub fn close_group(&mut self, who: Who) {
        if !self.watched {
            return;
        }
        let count = self.groups.entry(who).or_default();
        *count += 1;
        let open = self.reading.iter_mut().filter(|one| one.who == who && one.group.is_none());
        open.for_each(|one| one.group = Some(*count));
        for &copy in &self.grouped {
            let copy = &mut self.copies[copy];
            if copy.who == who {
                copy.group.get_or_insert(*count);
            }
        }
    }

    /// A warp has waited for all of its groups except the last `left`.
    pub fn wait_for_groups(&mut self, who: Who, left: u32) {
        let through = self.groups.get(&who).copied().unwrap_or(0).saturating_sub(left);
        let done = |group: Option<u32>| group.is_some_and(|group| group <= through);
        self.reading.retain(|one| one.who != who || !done(one.group));
        let (there, rest): (Vec<CopyNumber>, Vec<CopyNumber>) = self.grouped.iter().partition(|&&copy| {
            let copy = &self.copies[copy];
            copy.who == who && done(copy.group)
        });
        self.grouped = rest;
        there.into_iter().for_each(|copy| self.find_out(copy, who));
    }
}
