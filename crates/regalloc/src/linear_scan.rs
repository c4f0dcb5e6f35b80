//! Linear scan over the blocks in reverse post-order, for one register file: it tracks which value is in which
//! register, and moves values out of the way of tuples and calls. When registers run out it evicts the value with the
//! farthest next use (Belady's rule on next-use distances, after Braun and Hack, "Register Spilling and Live-Range
//! Splitting for SSA-Form Programs", 2009). A live range may be split or spilled at any instruction; where
//! predecessors of a block disagree about a value's location, resolution moves are placed on the edges (see `edges`).
//!
//! It takes values with several definitions: a guarded definition stays in the register of the old value.

mod affinity;
mod banks;
mod block_states;
mod calls;
mod choice;
mod home_registers;
mod homes;
mod instruction;
mod locations;
mod occupancy;
mod parallel;
mod registers;
mod scan_inputs;

pub use locations::{BlockStates, InOrder, Location, NONE, location};
pub use registers::{CostBudget, Registers};
pub use scan_inputs::ScanInputs;

use crate::error::AllocateError;
use crate::moves::Emitter;
use crate::next_use::NEVER;
use crate::operands::is_parallel_copy;
use crate::places::{From, Move, Place};
use crate::set::RegisterSet;
use crate::work::Work;
use homes::Homes;
use occupancy::{COPY, FREE, Occupants};
use oriole_ori::effects::register_grant;
use oriole_ori::{BlockId, Instruction, Loops, Opcode, Origin, Pseudo, Value};
use smallvec::SmallVec;
use typed_index_collections::{TiVec, ti_vec};

/// The position of an instruction in the output, where a value was defined.
#[derive(Clone, Copy)]
struct Site {
    block: BlockId,
    index: u32,
    register: u8,
    depth: u32,
}

/// The next instruction: one of an unchanged function, or the first of the remaining instructions taken out of it. It
/// is moved once, into the output.
enum Next<'a> {
    Kept(&'a Instruction),
    Taken(&'a mut std::vec::IntoIter<Instruction>),
}

impl Next<'_> {
    fn instruction(&self) -> &Instruction {
        match self {
            Next::Kept(kept) => kept,
            Next::Taken(left) => &left.as_slice()[0],
        }
    }

    fn into_instruction(self) -> Instruction {
        match self {
            Next::Kept(kept) => kept.clone(),
            Next::Taken(left) => left.next().expect("the instruction that was looked at"),
        }
    }
}

pub struct Scan<'a> {
    work: &'a mut Work,
    before: Option<&'a Work>,
    registers: &'a Registers,
    inputs: &'a ScanInputs,
    // State at the current point, by value.
    assigned: TiVec<Value, u8>,
    in_memory: TiVec<Value, bool>,
    next: TiVec<Value, u32>,
    occupant: Occupants,
    /// When each register was touched last, in instructions.
    used: [u32; 256],
    clock: u32,
    site: TiVec<Value, Option<Site>>,
    /// Results of loads that nothing has read yet: a move of one waits for memory.
    in_flight: TiVec<Value, bool>,
    stored_at_definition: TiVec<Value, bool>,
    homes: Homes,
    // State of the current instruction.
    start: TiVec<Value, u8>,
    touched: Vec<Value>,
    is_touched: TiVec<Value, bool>,
    /// Usable registers at the current point.
    usable: RegisterSet,
    pinned: RegisterSet,
    defined: RegisterSet,
    forbidden: RegisterSet,
    stores: Vec<(Value, u8)>,
    copies: Vec<(Value, u8)>,
    /// Sources that are last used here, each with its register or [`NONE`].
    dying: Vec<(Value, u8)>,
    // Of the current block.
    block: BlockId,
    depth: u32,
    out: Vec<Instruction>,
    marks: Vec<bool>,
    // Reused from block to block: next uses after each touch, and the end of those of each instruction.
    records: Vec<(Value, u32)>,
    ends: Vec<(u32, u32)>,
    entry: TiVec<BlockId, Option<Vec<(Value, Location)>>>,
    exit: TiVec<BlockId, Vec<(Value, Location)>>,
}

/// Scans all blocks of the function that the inputs describe. The function's instructions are rewritten, or those of
/// `before` are moved into it; returns block states for the edges.
pub fn scan(
    work: &mut Work,
    before: Option<&Work>,
    registers: &Registers,
    inputs: &ScanInputs,
) -> Result<BlockStates, AllocateError> {
    let function = &work.function;
    let values = function.values.len();
    let blocks = function.blocks.len();
    let mut scan = Scan {
        before,
        registers,
        inputs,
        assigned: ti_vec![NONE; values],
        in_memory: ti_vec![false; values],
        next: ti_vec![NEVER; values],
        occupant: Occupants::none(),
        used: [0; 256],
        clock: 0,
        site: ti_vec![None; values],
        in_flight: ti_vec![false; values],
        stored_at_definition: ti_vec![false; values],
        homes: Homes::new(&inputs.affinities, values),
        start: ti_vec![NONE; values],
        touched: Vec::new(),
        is_touched: ti_vec![false; values],
        usable: registers.usable,
        pinned: RegisterSet::default(),
        defined: RegisterSet::default(),
        forbidden: RegisterSet::default(),
        stores: Vec::new(),
        copies: Vec::new(),
        dying: Vec::new(),
        block: BlockId(0),
        depth: 0,
        out: Vec::new(),
        marks: Vec::new(),
        records: Vec::new(),
        ends: Vec::new(),
        entry: ti_vec![None; blocks],
        exit: ti_vec![Vec::new(); blocks],
        work,
    };
    inputs.calls.results(&inputs.affinities).for_each(|(v, register)| scan.remember(v, register));
    let mut moves = 0;
    for &block in inputs.graph.cfg().order() {
        scan.enter(block);
        scan.run_block()?;
        scan.leave();
        if let Some(budget) = registers.budget {
            let marks = &scan.work.inserted[block];
            moves += Loops::weight_at(scan.depth) * marks.iter().filter(|mark| **mark).count() as u64;
            // Later steps only add to this.
            if moves > budget.moves || scan.work.stores + scan.work.loads > budget.memory {
                return Err(AllocateError::Pressure { file: registers.file });
            }
        }
    }
    scan.insert_stores();
    Ok(BlockStates { entry: scan.entry, exit: scan.exit, stored_at_definition: scan.stored_at_definition })
}

impl Scan<'_> {
    // One block.

    fn run_block(&mut self) -> Result<(), AllocateError> {
        let at = self.block;
        let (mut taken, kept, marks) = match self.before {
            Some(before) => {
                let kept = before.function.blocks[at].instructions.as_slice();
                (Vec::new().into_iter(), kept, before.inserted[at].clone())
            }
            None => {
                let taken = std::mem::take(&mut self.work.function.blocks[at].instructions);
                (taken.into_iter(), &[][..], std::mem::take(&mut self.work.inserted[at]))
            }
        };
        let length = marks.len();
        // Next uses after each touch, found backwards.
        for &(v, distance) in self.inputs.next_use.at_exit(self.block) {
            self.next[v] = distance.saturating_add(length as u32);
            self.homes.lives_on(v);
        }
        let mut records = std::mem::take(&mut self.records);
        let mut ends = std::mem::take(&mut self.ends);
        ends.resize(length, (0, 0));
        let inputs = self.inputs;
        for (index, touch) in inputs.touches.of(self.block).enumerate().rev() {
            for &v in touch.definitions {
                records.push((v, self.next[v]));
                if !touch.partial {
                    self.next[v] = NEVER;
                    if let Some(slot) = inputs.affinities.shared_slot(v) {
                        self.homes.defined_at(slot, index as u32);
                    }
                }
            }
            let split = records.len() as u32;
            records.extend(touch.uses.iter().map(|&v| (v, self.next[v])));
            for v in touch.kept() {
                if std::mem::replace(&mut self.next[v], index as u32) == NEVER {
                    self.homes.read_last(v, index as u32);
                }
            }
            ends[index] = (split, records.len() as u32);
        }
        // A few more, for moves.
        self.out.reserve(length + length / 8);
        self.marks.reserve(length + length / 8);
        for (index, (mark, touch)) in marks.into_iter().zip(inputs.touches.of(at)).enumerate() {
            let next = match kept.get(index) {
                Some(kept) => Next::Kept(kept),
                None if taken.len() == 0 => break,
                None => Next::Taken(&mut taken),
            };
            let instruction = next.instruction();
            if !touch.partial {
                let defined = touch.definitions.iter().rev();
                defined
                    .filter_map(|&v| inputs.affinities.shared_slot(v))
                    .for_each(|slot| self.homes.passes_definition(slot));
            }
            let (split, end) = ends[index];
            let begin = ends.get(index + 1).map_or(0, |e| e.1);
            let after_definitions = &records[begin as usize..split as usize];
            let after_uses = &records[split as usize..end as usize];
            let is_copy = is_parallel_copy(instruction) && !mark;
            if let Some(count) = register_grant(instruction).filter(|_| inputs.grants.is_some()) {
                self.change_registers(count, next, mark);
            } else if begin == end
                && instruction.call.is_none()
                && instruction.opcode != Opcode::Pseudo(Pseudo::Undefined)
                && !(mark && is_parallel_copy(instruction))
            {
                // Nothing of this file is read or written.
                self.push(next, mark);
            } else if is_copy {
                self.parallel_copy(next.into_instruction(), after_definitions, after_uses)?;
            } else {
                self.instruction(next, mark, after_definitions, after_uses)?;
            }
        }
        records.clear();
        ends.clear();
        (self.records, self.ends) = (records, ends);
        Ok(())
    }

    /// Moves values out of registers above `count` before the instruction that releases those, or makes more
    /// registers usable.
    fn change_registers(&mut self, count: u16, next: Next<'_>, mark: bool) {
        self.begin();
        self.usable = self.registers.usable.within(RegisterSet::range(0, count));
        for register in self.occupant.taken().without(self.usable).iter() {
            let occupant = self.occupant[usize::from(register)];
            if occupant != COPY && self.registers.usable.contains(register) {
                self.relocate(Value(occupant), RegisterSet::default());
            }
        }
        self.emit_moves(next.instruction().origin);
        self.push(next, mark);
        self.begin();
    }

    /// Appends the next instruction to the output.
    fn push(&mut self, next: Next<'_>, mark: bool) {
        self.out.push(next.into_instruction());
        self.marks.push(mark);
    }

    fn free(&self) -> RegisterSet {
        self.usable.without(self.occupant.taken())
    }

    fn touch(&mut self, v: Value) {
        if !self.is_touched[v] {
            self.is_touched[v] = true;
            self.start[v] = self.assigned[v];
            self.touched.push(v);
        }
    }

    fn start_of(&self, v: Value) -> u8 {
        if self.is_touched[v] { self.start[v] } else { self.assigned[v] }
    }

    fn put(&mut self, v: Value, register: u8) {
        self.touch(v);
        let old = self.assigned[v];
        if old != NONE {
            self.occupant.set(usize::from(old), FREE);
            // The move waits, and later ones do not.
            self.in_flight[v] = false;
        }
        self.assigned[v] = register;
        if register != NONE {
            self.occupant.set(usize::from(register), v.0);
            self.used[usize::from(register)] = self.clock;
            self.remember(v, register);
        }
    }

    fn mark_stored_at_definition(&mut self, v: Value) -> bool {
        if self.stored_at_definition[v] {
            return true;
        }
        // Other paths must not pay for a slow path.
        let slow = |block: BlockId| self.inputs.slow[block];
        let cheap = self.site[v]
            .is_some_and(|site| site.depth <= self.depth && (slow(site.block) || !slow(self.block)));
        if self.inputs.single[v] && cheap {
            self.stored_at_definition[v] = true;
            return true;
        }
        false
    }

    /// Evicts a value from its register.
    fn spill(&mut self, v: Value) {
        if !self.in_memory[v] && self.inputs.rematerializations[v].is_none() {
            let from = self.start_of(v);
            if !self.mark_stored_at_definition(v) && from != NONE {
                self.stores.push((v, from));
            }
            // A value without any location is undefined and needs no memory.
            self.in_memory[v] = from != NONE || self.stored_at_definition[v];
        }
        self.put(v, NONE);
    }

    fn too_few(&self) -> AllocateError {
        AllocateError::TooFewRegisters { file: self.registers.file, limit: self.usable.len() as u16 }
    }

    fn begin(&mut self) {
        self.pinned = RegisterSet::default();
        self.defined = RegisterSet::default();
        self.forbidden = RegisterSet::default();
        self.stores.clear();
        self.copies.clear();
        for v in self.touched.drain(..) {
            self.is_touched[v] = false;
        }
    }

    /// Emits the moves that this instruction needs before it.
    fn emit_moves(&mut self, origin: Origin) {
        if self.stores.is_empty() && self.copies.is_empty() && self.touched.is_empty() {
            return;
        }
        let mut moves = Vec::new();
        let mut made = Vec::new();
        let mut busy = RegisterSet::default();
        let targets: SmallVec<[(Value, u8); 8]> = self
            .touched
            .iter()
            .map(|&v| (v, self.assigned[v]))
            .filter(|&(_, r)| r != NONE)
            .chain(self.copies.iter().copied())
            .collect();
        for &v in &self.touched {
            if self.start[v] != NONE {
                busy.insert(self.start[v]);
            }
        }
        for &(v, to) in &targets {
            busy.insert(to);
            let from = self.start_of(v);
            if from != NONE {
                moves.push(Move {
                    to: Place::Register(to),
                    into: v,
                    from: From::Place(Place::Register(from)),
                    value: v,
                });
            } else if let Some(rematerialization) = &self.inputs.rematerializations[v] {
                made.push((v, to, rematerialization));
            } else if self.in_memory[v] || self.stored_at_definition[v] {
                moves.push(Move {
                    to: Place::Register(to),
                    into: v,
                    from: From::Place(self.slot_place(v)),
                    value: v,
                });
            }
            // Otherwise the value is unknown on this path: any content will do.
        }
        let scratch = self.free().without(busy).without(self.pinned).without(self.defined);
        let owners = &self.inputs.affinities;
        let mut emitter = Emitter {
            work: self.work,
            file: self.registers.file,
            origin,
            out: &mut self.out,
            marks: &mut self.marks,
        };
        for &(v, from) in &self.stores {
            emitter.store(owners.owner(v), v, from);
        }
        emitter.parallel(moves, scratch);
        made.sort_unstable_by_key(|&(_, to, _)| to);
        for (v, to, rematerialization) in made {
            emitter.make(v, to, rematerialization);
        }
    }
}

impl Scan<'_> {
    /// Slot of a spilled value.
    fn slot_place(&self, v: Value) -> Place {
        Place::Slot(self.inputs.affinities.owner(v))
    }
}
