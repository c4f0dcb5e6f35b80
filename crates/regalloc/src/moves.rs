//! Sequentializes parallel moves between registers of one file, spill slots, and constants. Slots of general
//! registers are words of the frame; slots of predicates are general values, allocated later.

mod pending;

use crate::operands::local_address;
use crate::places::{From, Move, Place};
use crate::set::RegisterSet;
use crate::work::Work;
use oriole_ori::{Destination, File, Instruction, MemoryInfo, Origin, Pseudo, Source, SourceKind, Value};
use oriole_sass::{Mod, Op};
use pending::Pending;

/// Appends the instructions of moves that happen at once. `scratch` are registers free before and after.
pub struct Emitter<'a> {
    /// The function.
    pub work: &'a mut Work,
    /// The register file.
    pub file: File,
    /// Statement that the moves are booked on.
    pub origin: Origin,
    /// Receives the instructions.
    pub out: &'a mut Vec<Instruction>,
    /// Their marks.
    pub marks: &'a mut Vec<bool>,
}

impl Emitter<'_> {
    fn push(&mut self, instruction: Instruction) {
        self.out.push(instruction);
        self.marks.push(true);
    }

    fn instruction(&self, opcode: impl Into<oriole_ori::Opcode>) -> Instruction {
        Instruction::new(opcode, self.origin)
    }

    /// Register to register.
    pub fn copy(&mut self, into: Value, to: u8, value: Value, from: u8) {
        if to == from {
            return;
        }
        let d = self.work.part_in(into, to);
        let s = self.work.part_in(value, from);
        let mut copy = self.instruction(Pseudo::Copy);
        copy.destinations.push(Destination::new(self.file, [d]));
        copy.sources.push(Source::value(s));
        self.push(copy);
    }

    /// Two registers change their contents.
    fn swap(&mut self, a: (Value, u8), b: (Value, u8)) {
        let in_a = self.work.part_in(b.0, a.1);
        let in_b = self.work.part_in(a.0, b.1);
        let from_a = self.work.part_in(a.0, a.1);
        let from_b = self.work.part_in(b.0, b.1);
        let mut swap = self.instruction(Pseudo::ParallelCopy);
        swap.destinations.push(Destination::new(self.file, [in_a]));
        swap.destinations.push(Destination::new(self.file, [in_b]));
        swap.sources.push(Source::value(from_b));
        swap.sources.push(Source::value(from_a));
        self.push(swap);
    }

    /// The general value that holds a spilled predicate.
    fn predicate_slot(&mut self, owner: Value) -> Value {
        let key = self.work.slot_value(owner);
        debug_assert_eq!(self.file, File::P);
        key
    }

    /// Register to slot.
    pub fn store(&mut self, owner: Value, value: Value, from: u8) {
        let s = self.work.part_in(value, from);
        if self.file == File::P {
            let slot = self.predicate_slot(owner);
            let mut select = self.instruction(Op::SEL);
            select.destinations.push(Destination::new(File::R, [slot]));
            select.sources.push(Source::plain(SourceKind::Zero(File::R)));
            select.sources.push(Source::imm(1));
            select.sources.push(Source { invert: true, ..Source::value(s) });
            return self.push(select);
        }
        self.work.stores += 1;
        let slot = self.work.slot(owner);
        let mut store = self.instruction(Op::STL);
        store.sources.push(local_address(self.work.stack_pointer, self.work.slot_offset(slot)));
        store.sources.push(Source::value(s));
        store.memory = Some(MemoryInfo::SPILL_STORE);
        self.push(store);
    }

    /// Slot to register.
    pub fn load(&mut self, into: Value, to: u8, owner: Value) {
        let d = self.work.part_in(into, to);
        if self.file == File::P {
            let slot = self.predicate_slot(owner);
            let mut test = self.instruction(Op::ISETP);
            test.mods.insert(Mod::NE);
            test.mods.insert(Mod::AND);
            test.destinations.push(Destination::new(File::P, [d]));
            test.destinations.push(Destination::dropped(File::P, 1));
            test.sources.push(Source::value(slot));
            test.sources.push(Source::plain(SourceKind::Zero(File::R)));
            test.sources.push(Source::plain(SourceKind::True(File::P)));
            return self.push(test);
        }
        self.work.loads += 1;
        let slot = self.work.slot(owner);
        let mut load = self.instruction(Op::LDL);
        load.destinations.push(Destination::new(File::R, [d]));
        load.sources.push(local_address(self.work.stack_pointer, self.work.slot_offset(slot)));
        load.memory = Some(MemoryInfo::SPILL_LOAD);
        self.push(load);
    }

    /// A rematerialized constant.
    pub fn make(&mut self, into: Value, to: u8, rematerialization: &Instruction) {
        let d = self.work.part_in(into, to);
        let mut made = rematerialization.clone();
        made.origin = self.origin;
        made.destinations[0] = Destination::new(self.file, [d]);
        self.push(made);
    }

    /// Emits parallel moves. No two have the same destination.
    pub fn parallel(&mut self, mut moves: Vec<Move>, scratch: RegisterSet) {
        moves.retain(|m| m.from != From::Place(m.to));
        // Constants come last, register by register: halves of a pair may be one instruction.
        moves.sort_by_key(|m| match m.from {
            From::Made(_) => Some(m.to),
            From::Place(_) => None,
        });
        match moves.as_slice() {
            [] => return,
            [only] => return self.single(only, scratch.first().as_slice()),
            _ => {}
        }
        let mut pending = Pending::new(moves);
        let mut scratch: Vec<u8> = scratch.iter().collect();
        loop {
            while let Some(m) = pending.next_ready() {
                self.single(&m, &scratch);
            }
            let Some(index) = pending.next_in_cycle() else { return };
            self.break_cycle(&mut pending, index, &mut scratch);
        }
    }

    /// Breaks a cycle: the content of a move's destination is saved to a scratch register, or swapped with the
    /// source, or saved to memory.
    fn break_cycle(&mut self, pending: &mut Pending, index: usize, scratch: &mut Vec<u8>) {
        let m = pending.moves[index].clone().expect("a pending move");
        let From::Place(from) = m.from else { unreachable!("a constant never waits") };
        let held = pending.value_read_from(m.to);
        let temporary = match (m.to, from) {
            _ if !scratch.is_empty() => Place::Register(scratch.remove(0)),
            (Place::Register(to), Place::Register(source)) => {
                self.swap((held, to), (m.value, source));
                pending.swapped(index, m.to, from);
                return;
            }
            // A cycle through slots without a free register: the emergency slot holds one.
            _ => Place::Slot(self.work.emergency_slot(self.file, 1)),
        };
        let save = Move { to: temporary, into: held, from: From::Place(m.to), value: held };
        self.single(&save, scratch);
        pending.saved(index, m.to, temporary);
    }

    fn single(&mut self, m: &Move, scratch: &[u8]) {
        match (m.to, &m.from) {
            (Place::Register(to), From::Place(Place::Register(from))) => {
                self.copy(m.into, to, m.value, *from)
            }
            (Place::Register(to), From::Place(Place::Slot(owner))) => self.load(m.into, to, *owner),
            (Place::Slot(owner), From::Place(Place::Register(from))) => self.store(owner, m.value, *from),
            (Place::Register(to), From::Made(rematerialization)) => self.make(m.into, to, rematerialization),
            (Place::Slot(owner), from) if self.file == File::P => {
                // Between general values no predicate is needed.
                let d = self.predicate_slot(owner);
                let source = match from {
                    From::Place(Place::Slot(other)) => Source::value(self.predicate_slot(*other)),
                    // Predicate constants are copies of PT or !PT.
                    From::Made(rematerialization)
                        if rematerialization.sources.first().is_some_and(|s| s.invert) =>
                    {
                        Source::plain(SourceKind::Zero(File::R))
                    }
                    _ => Source::imm(1),
                };
                let mut copy = self.instruction(Pseudo::Copy);
                copy.destinations.push(Destination::new(File::R, [d]));
                copy.sources.push(source);
                self.push(copy);
            }
            (Place::Slot(owner), from) => {
                // Memory to memory needs a register; with none free, one is saved temporarily.
                let (register, aside) = match scratch.first() {
                    Some(&free) => (free, None),
                    None => (0, Some(self.work.emergency_slot(self.file, 0))),
                };
                let undefined_value = self.work.undefined_value(self.file);
                if let Some(aside) = aside {
                    self.store(aside, undefined_value, register);
                }
                match from {
                    From::Place(Place::Slot(other)) => self.load(m.value, register, *other),
                    From::Made(rematerialization) => self.make(m.value, register, rematerialization),
                    From::Place(Place::Register(_)) => unreachable!("a register is stored directly"),
                }
                self.store(owner, m.value, register);
                if let Some(aside) = aside {
                    self.load(undefined_value, register, aside);
                }
            }
        }
    }
}
