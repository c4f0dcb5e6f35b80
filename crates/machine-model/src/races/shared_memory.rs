//! The rules of shared memory, for bulk copies of the engine, copies of threads, and `wgmma`.
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

use super::bytes::Bytes;
use super::clocks::Who;
use super::in_flight::{Cell, CopyNumber, GOING_ON, Phase, Reading, Transfers, Use};
use super::race::Race;

impl Transfers {
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
}
