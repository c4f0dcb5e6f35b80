//! What the engine of bulk copies has under way. Copies are done at once here; the rules that a program must keep because a
//! machine takes its time are checked apart from that.
//!
//! * What threads wrote, the engine sees behind a fence between the two ways to memory only.
//! * What a copy reads may be overwritten when its group has been waited for.
//! * What a copy writes may be touched when its barrier object has been found in the next phase, or by whom somebody met who
//!   found it so.
//!
//! The check errs on the side of silence: a fence by any thread counts for all, and whoever arrives anywhere passes on what
//! it knows.

use crate::launch::HazardKind;
use oriole_sass::{Instruction, Mod, Op, OperandKind};
use std::collections::BTreeMap;

/// A warp: the rank of its block, and its number there.
pub(crate) type Who = (u32, usize);

/// Bytes of shared memory of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bytes {
    pub rank: u32,
    pub start: u64,
    pub size: u64,
}

impl Bytes {
    fn meets(&self, other: &Bytes) -> bool {
        let (end, other_end) = (self.start + self.size, other.start + other.size);
        self.rank == other.rank && self.start < other_end && other.start < end
    }
}

/// A copy that reads shared memory.
struct Reading {
    bytes: Bytes,
    pc: u32,
    who: Who,
    /// The group that it was closed in.
    group: Option<u32>,
}

/// A copy that writes shared memory.
struct Writing {
    bytes: Bytes,
    pc: u32,
    /// The address of its barrier object.
    object: u64,
    /// Who has found the object in the next phase.
    informed: Vec<Who>,
}

/// What is under way in a cluster, and which rules were broken by the instruction at hand.
#[derive(Default)]
pub(crate) struct Transfers {
    /// Whether the kernel has bulk copies at all.
    watched: bool,
    /// By block, who wrote each byte since the last fence: place of the instruction and one, or zero.
    written: BTreeMap<u32, Vec<u32>>,
    reading: Vec<Reading>,
    writing: Vec<Writing>,
    /// Groups that each warp has closed.
    groups: BTreeMap<Who, u32>,
    /// What is wrong, and with which other instruction.
    pub found: Vec<(HazardKind, u32)>,
}

/// True for instructions of the engine.
pub(crate) fn is_bulk(op: Op) -> bool {
    matches!(op, Op::UBLKCP | Op::UBLKRED | Op::UTMALDG | Op::UTMASTG | Op::UTMAREDG)
}

impl Transfers {
    /// Nothing is under way.
    pub(crate) fn new(watched: bool) -> Transfers {
        Transfers { watched, ..Transfers::default() }
    }

    /// A thread reads or writes shared memory.
    pub(crate) fn touch(&mut self, bytes: Bytes, writes: bool, pc: u32, who: Who) {
        if !self.watched {
            return;
        }
        let early = |one: &&Writing| one.bytes.meets(&bytes) && !one.informed.contains(&who);
        let early = self.writing.iter().find(early).map(|one| (HazardKind::CopyNotArrived, one.pc));
        self.found.extend(early);
        if writes {
            self.overwrite(bytes);
            let memory = self.written.entry(bytes.rank).or_default();
            let end = (bytes.start + bytes.size) as usize;
            if memory.len() < end {
                memory.resize(end, 0);
            }
            memory[bytes.start as usize..end].fill(pc + 1);
        }
    }

    /// The bytes change: copies that read them must be through.
    fn overwrite(&mut self, bytes: Bytes) {
        let reader = self.reading.iter().find(|one| one.bytes.meets(&bytes));
        self.found.extend(reader.map(|one| (HazardKind::SourceOverwritten, one.pc)));
    }

    /// A copy reads shared memory.
    pub(crate) fn read(&mut self, bytes: Bytes, pc: u32, who: Who, grouped: bool) {
        if !self.watched {
            return;
        }
        let early = self.writing.iter().find(|one| one.bytes.meets(&bytes) && !one.informed.contains(&who));
        self.found.extend(early.map(|one| (HazardKind::CopyNotArrived, one.pc)));
        if let Some(memory) = self.written.get(&bytes.rank) {
            let written = memory.iter().skip(bytes.start as usize).take(bytes.size as usize);
            let writer = written.copied().find(|&writer| writer != 0);
            self.found.extend(writer.map(|writer| (HazardKind::ProxyFenceMissing, writer - 1)));
        }
        // Where a barrier object tells that the copy is there, it tells that it was read.
        if grouped {
            self.reading.push(Reading { bytes, pc, who, group: None });
        }
    }

    /// A copy writes shared memory, and tells an object.
    pub(crate) fn write(&mut self, bytes: Bytes, object: u64, pc: u32) {
        if !self.watched {
            return;
        }
        self.overwrite(bytes);
        self.writing.retain(|one| !one.bytes.meets(&bytes));
        self.writing.push(Writing { bytes, pc, object, informed: Vec::new() });
    }

    /// A warp finds the phase of an object over.
    pub(crate) fn phase_over(&mut self, object: u64, who: Who) {
        for one in self.writing.iter_mut().filter(|one| one.object == object) {
            if !one.informed.contains(&who) {
                one.informed.push(who);
            }
        }
    }

    /// What other instructions of a warp mean for copies.
    pub(crate) fn follow(&mut self, instruction: &Instruction, who: Who) {
        let has = |name| instruction.mods.has(name);
        match instruction.op {
            _ if !self.watched => {}
            Op::FENCE if has(Mod::VIEW) && has(Mod::ASYNC) => self.written.clear(),
            Op::BAR | Op::UCGABAR_ARV => self.tell(who),
            Op::SYNCS if has(Mod::ARRIVE) => self.tell(who),
            Op::UTMACMDFLUSH | Op::LDGDEPBAR => {
                let count = self.groups.entry(who).or_default();
                *count += 1;
                let open = self.reading.iter_mut().filter(|one| one.who == who && one.group.is_none());
                open.for_each(|one| one.group = Some(*count));
            }
            Op::DEPBAR if has(Mod::LE) => {
                let left = match instruction.operands.get(1).map(|operand| operand.kind) {
                    Some(OperandKind::Imm(left)) => left as u32,
                    _ => 0,
                };
                let through = self.groups.get(&who).copied().unwrap_or(0).saturating_sub(left);
                self.reading.retain(|one| one.who != who || one.group.is_none_or(|group| group > through));
            }
            _ => {}
        }
    }

    /// What the warp knows, those that it meets know as well.
    fn tell(&mut self, who: Who) {
        self.writing.retain(|one| !one.informed.contains(&who));
    }
}
