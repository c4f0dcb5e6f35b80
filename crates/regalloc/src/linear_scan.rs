//! Linear scan over the blocks in reverse post-order, for one register file: it tracks which value is in which register,
//! moves values out of the way of tuples and calls, and evicts the value with the farthest next use when registers run out
//! (Belady's rule on next-use distances, after Braun and Hack, "Register Spilling and Live-Range Splitting for SSA-Form
//! Programs", 2009). A live range may be split or spilled at any instruction; where predecessors of a block disagree about a
//! value's location, resolution moves are placed on the edges (see `edges`).
//!
//! It takes values with several definitions: a guarded definition stays in the register of the old value.

use crate::AllocateError;
mod block_states;
mod choice;
mod occupancy;
mod parallel;
mod scan_inputs;

pub use scan_inputs::ScanInputs;

use crate::moves::{Emitter, From, Move, Place};
use crate::next_use::NEVER;
use crate::operands::{Group, Slot, destinations, is_parallel_copy, is_partial, replace, sources};
use crate::set::RegisterSet;
use crate::work::Work;
use occupancy::{COPY, FREE, Occupants};
use oriole_ori::{BlockId, File, Instruction, Opcode, Origin, Pseudo, Value};
use oriole_sass::Class;
use smallvec::SmallVec;
use typed_index_collections::{TiVec, ti_vec};

/// No register.
pub const NONE: u8 = u8::MAX;

/// The registers that may be used, and which to prefer.
#[derive(Clone, Debug)]
pub struct Registers {
    /// The file.
    pub file: File,
    /// All that may be used.
    pub usable: RegisterSet,
    /// One past the highest.
    pub count: u16,
    /// To be taken first (functions: what need not be saved).
    pub cheap: RegisterSet,
    /// Of free registers take the least recently used, not the lowest: independent instructions get fewer false
    /// dependences.
    pub least_recently_used: bool,
    /// When to give up; `None` for never.
    pub budget: Option<CostBudget>,
}

/// The cost at which an allocation is abandoned.
#[derive(Clone, Copy, Debug)]
pub struct CostBudget {
    /// Instructions that the allocator puts in, each counted by [`weight`].
    pub moves: u64,
    /// Accesses to the frame.
    pub memory: u32,
}

/// How often an instruction counts that lies in so many loops.
pub fn weight(depth: u32) -> u64 {
    8u64.pow(depth.min(6))
}

/// Where a value is at the border of a block.
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
    /// The same at the end.
    pub exit: TiVec<BlockId, Vec<(Value, Location)>>,
    /// Values stored right behind their only definition: their slot is always right.
    pub stored_at_definition: TiVec<Value, bool>,
}

/// The position of an instruction in the output, where a value was defined.
#[derive(Clone, Copy)]
struct Site {
    block: BlockId,
    index: u32,
    register: u8,
    depth: u32,
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
    stored_at_definition: TiVec<Value, bool>,
    web_register: TiVec<Value, u8>,
    // State of the current instruction.
    start: TiVec<Value, u8>,
    touched: Vec<Value>,
    is_touched: TiVec<Value, bool>,
    pinned: RegisterSet,
    defined: RegisterSet,
    forbidden: RegisterSet,
    stores: Vec<(Value, u8)>,
    copies: Vec<(Value, u8)>,
    // Of the current block.
    block: BlockId,
    depth: u32,
    out: Vec<Instruction>,
    marks: Vec<bool>,
    // Reused from block to block: next uses behind each touch, and where those of each instruction end.
    records: Vec<(Value, u32)>,
    ends: Vec<(u32, u32)>,
    entry: TiVec<BlockId, Option<Vec<(Value, Location)>>>,
    exit: TiVec<BlockId, Vec<(Value, Location)>>,
}

/// Runs the scan over all blocks of the function that the inputs are about. The function's instructions are rewritten, or
/// those of `before` are put into it; block states come back for the edges.
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
        stored_at_definition: ti_vec![false; values],
        web_register: ti_vec![NONE; values],
        start: ti_vec![NONE; values],
        touched: Vec::new(),
        is_touched: ti_vec![false; values],
        pinned: RegisterSet::default(),
        defined: RegisterSet::default(),
        forbidden: RegisterSet::default(),
        stores: Vec::new(),
        copies: Vec::new(),
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
    let mut moves = 0;
    for &block in inputs.cfg.order() {
        scan.enter(block);
        scan.run_block()?;
        scan.leave();
        if let Some(budget) = registers.budget {
            let marks = &scan.work.inserted[block];
            moves += weight(scan.depth) * marks.iter().filter(|mark| **mark).count() as u64;
            // What comes behind the scan only adds to this.
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
        let (instructions, marks) = match self.before {
            Some(before) => (before.function.blocks[at].instructions.clone(), before.inserted[at].clone()),
            None => (
                std::mem::take(&mut self.work.function.blocks[at].instructions),
                std::mem::take(&mut self.work.inserted[at]),
            ),
        };
        let length = instructions.len();
        // Next uses behind each touch, found backwards.
        for &(v, distance) in self.inputs.next_use.at_exit(self.block) {
            self.next[v] = distance.saturating_add(length as u32);
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
                }
            }
            let split = records.len() as u32;
            records.extend(touch.uses.iter().map(|&v| (v, self.next[v])));
            touch.kept().for_each(|v| self.next[v] = index as u32);
            ends[index] = (split, records.len() as u32);
        }
        self.out.reserve(length);
        self.marks.reserve(length);
        for (index, (instruction, mark)) in instructions.into_iter().zip(marks).enumerate() {
            let (split, end) = ends[index];
            let begin = ends.get(index + 1).map_or(0, |e| e.1);
            let after_definitions = &records[begin as usize..split as usize];
            let after_uses = &records[split as usize..end as usize];
            if begin == end
                && instruction.call.is_none()
                && instruction.opcode != Opcode::Pseudo(Pseudo::Undefined)
                && !(mark && is_parallel_copy(&instruction))
            {
                // Nothing of this file is read or written.
                self.out.push(instruction);
                self.marks.push(mark);
            } else if is_parallel_copy(&instruction) && !mark {
                self.parallel_copy(instruction, after_definitions, after_uses)?;
            } else {
                self.instruction(instruction, mark, after_definitions, after_uses)?;
            }
        }
        records.clear();
        ends.clear();
        (self.records, self.ends) = (records, ends);
        Ok(())
    }

    fn free(&self) -> RegisterSet {
        self.registers.usable.without(self.occupant.taken())
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
        }
        self.assigned[v] = register;
        if register != NONE {
            self.occupant.set(usize::from(register), v.0);
            self.used[usize::from(register)] = self.clock;
            self.remember(v, register);
        }
    }

    fn remember(&mut self, v: Value, register: u8) {
        let web = self.find(v);
        self.web_register[web] = register;
    }

    fn mark_stored_at_definition(&mut self, v: Value) -> bool {
        if self.stored_at_definition[v] {
            return true;
        }
        // No other path shall pay for a slow path.
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
            // A value that was never anywhere is unknown and needs no memory.
            self.in_memory[v] = from != NONE || self.stored_at_definition[v];
        }
        self.put(v, NONE);
    }

    fn too_few(&self) -> AllocateError {
        AllocateError::TooFewRegisters {
            file: self.registers.file,
            limit: self.registers.usable.len() as u16,
        }
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

    /// Writes out what the decisions of this instruction ask for before it.
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
                made.push((v, to, rematerialization.clone()));
            } else if self.in_memory[v] || self.stored_at_definition[v] {
                moves.push(Move {
                    to: Place::Register(to),
                    into: v,
                    from: From::Place(Place::Slot(v)),
                    value: v,
                });
            }
            // Otherwise the value is unknown on this path: any content will do.
        }
        let scratch = self.free().without(busy).without(self.pinned).without(self.defined);
        let mut emitter = Emitter {
            work: self.work,
            file: self.registers.file,
            origin,
            out: &mut self.out,
            marks: &mut self.marks,
        };
        for &(v, from) in &self.stores {
            emitter.store(v, v, from);
        }
        emitter.parallel(moves, scratch);
        for (v, to, rematerialization) in made {
            emitter.make(v, to, &rematerialization);
        }
    }

    fn instruction(
        &mut self,
        mut instruction: Instruction,
        mark: bool,
        after_definitions: &[(Value, u32)],
        after_uses: &[(Value, u32)],
    ) -> Result<(), AllocateError> {
        let file = self.registers.file;
        self.begin();
        if instruction.opcode == Opcode::Pseudo(Pseudo::Undefined) {
            // Nothing is known of it, so it needs no register.
            for &(v, next) in after_definitions {
                self.put(v, NONE);
                self.in_memory[v] = false;
                self.next[v] = next;
            }
            if instruction.destinations.iter().any(|d| d.file != file) || after_definitions.is_empty() {
                self.out.push(instruction);
                self.marks.push(mark);
            }
            self.begin();
            return Ok(());
        }
        let partial = is_partial(&instruction);
        let reads = sources(&self.work.function, &instruction, file, self.work.stack_pointer);
        let writes = destinations(&instruction, file);
        let lives = |v: Value| after_uses.iter().find(|(u, _)| *u == v).is_some_and(|(_, n)| *n != NEVER);

        // What this instruction overwrites behind the back of values that go on living.
        if let Some(call) = &instruction.call {
            self.forbidden = match file {
                File::R => RegisterSet::from_words(call.clobbers),
                File::P => RegisterSet::from_words([u64::from(call.clobbered_predicates), 0, 0, 0]),
                _ => RegisterSet::default(),
            };
        }
        for group in &writes {
            if let Some(base) = group.fixed {
                (0..group.values.len()).for_each(|k| self.forbidden.insert(base + k as u8));
            }
        }
        if !self.forbidden.is_empty() {
            for r in self.forbidden.within(self.registers.usable).iter() {
                let occupant = self.occupant[usize::from(r)];
                if occupant == FREE || occupant == COPY {
                    continue;
                }
                let v = Value(occupant);
                let used = after_uses.iter().any(|(u, _)| *u == v);
                let dies = (used && !lives(v)) || (!used && self.next[v] == NEVER);
                if !dies {
                    self.relocate(v, RegisterSet::default());
                }
            }
        }

        // Sources: those that have no choice first, then the widest. A guarded result is a source of its old value.
        let mut order: SmallVec<[(Group, bool); 6]> = reads.into_iter().map(|g| (g, false)).collect();
        if partial {
            order.extend(writes.iter().cloned().map(|g| (g, true)));
        }
        // Old values come before sources of the same width: they must be at assigned, a source may be a copy.
        order.sort_by_key(|(g, tied)| (g.fixed.is_none(), !tied, std::cmp::Reverse(g.values.len())));
        // A warp group's multiply writes its accumulators while it still reads: they are read where they are
        // written, and no other source may lie there.
        let early = matches!(instruction.opcode, Opcode::Sass(op) if op.info().class(&instruction.mods) == Class::Group);
        let accumulators = if early && !partial { self.accumulators(&order, &writes) } else { None };
        let mut placed: SmallVec<[(Group, SmallVec<[u8; 4]>); 6]> = SmallVec::new();
        for (group, _) in order {
            let in_place = accumulators == Some(group.operand);
            let registers = self.place_sources(&group, in_place, &lives).ok_or_else(|| self.too_few())?;
            placed.push((group, registers));
        }

        // Sources that die make room for results.
        let mut dying: SmallVec<[Value; 8]> = SmallVec::new();
        for &(v, next) in after_uses {
            self.next[v] = next;
            let tied = partial && after_definitions.iter().any(|(d, _)| *d == v);
            if next == NEVER && !tied {
                dying.push(v);
            }
        }
        let mut read_registers: SmallVec<[(Value, u8); 8]> = SmallVec::new();
        for &v in &dying {
            let assigned = self.assigned[v];
            if assigned != NONE {
                read_registers.push((v, assigned));
                if !early {
                    self.occupant.set(usize::from(assigned), FREE);
                }
            }
        }
        if !early {
            for k in 0..self.copies.len() {
                self.occupant.set(usize::from(self.copies[k].1), FREE);
            }
        }

        // Results.
        let mut results: SmallVec<[(Group, SmallVec<[u8; 4]>); 2]> = SmallVec::new();
        if !partial {
            let mut order: SmallVec<[Group; 2]> = writes.clone();
            order.sort_by_key(|g| (g.fixed.is_none(), std::cmp::Reverse(g.values.len())));
            for group in order {
                let old = placed
                    .iter()
                    .find(|(g, _)| Some(g.operand) == accumulators && g.values.len() == group.values.len());
                let base = match (group.fixed, old) {
                    (Some(base), _) => base,
                    (None, Some((_, registers))) => {
                        for &r in registers {
                            self.occupant.set(usize::from(r), FREE);
                        }
                        registers[0]
                    }
                    (None, None) => self.destination_base(&group, &placed).ok_or_else(|| self.too_few())?,
                };
                let mut range = RegisterSet::default();
                (0..group.values.len()).for_each(|k| range.insert(base + k as u8));
                let mut registers = SmallVec::new();
                for k in 0..group.values.len() {
                    let r = base + k as u8;
                    self.clear(r, range);
                    self.defined.insert(r);
                    registers.push(r);
                }
                results.push((group, registers));
            }
        }
        self.emit_moves(instruction.origin);

        // The instruction itself.
        self.clock += 1;
        for (group, registers) in placed.iter().chain(&results) {
            registers.iter().for_each(|&r| self.used[usize::from(r)] = self.clock);
            let values: SmallVec<[Value; 4]> =
                group.values.iter().zip(registers).map(|(&v, &r)| self.work.part_in(v, r)).collect();
            replace(&mut instruction, group.operand, &values);
        }
        self.out.push(instruction);
        self.marks.push(mark);
        for (v, assigned) in read_registers {
            if self.occupant[usize::from(assigned)] == v.0 {
                self.occupant.set(usize::from(assigned), FREE);
            }
            self.assigned[v] = NONE;
            self.in_memory[v] = false;
        }
        for v in dying {
            self.in_memory[v] = false;
        }
        for k in 0..self.copies.len() {
            let r = usize::from(self.copies[k].1);
            if self.occupant[r] == COPY {
                self.occupant.set(r, FREE);
            }
        }
        let sites = results.iter().map(|(g, r)| (g, r, false));
        let tied = placed.iter().filter(|(g, _)| matches!(g.operand, Slot::Destination(_)));
        for (group, registers, again) in sites.chain(tied.map(|(g, r)| (g, r, true))) {
            for (&v, &r) in group.values.iter().zip(registers) {
                let next = after_definitions.iter().find(|(d, _)| *d == v).map_or(NEVER, |(_, n)| *n);
                self.next[v] = next;
                self.in_memory[v] = self.stored_at_definition[v];
                if !again {
                    self.assigned[v] = r;
                    self.occupant.set(usize::from(r), v.0);
                    self.remember(v, r);
                    self.site[v] = Some(Site {
                        block: self.block,
                        index: self.out.len() as u32,
                        register: r,
                        depth: self.depth,
                    });
                }
                if next == NEVER {
                    self.occupant.set(usize::from(self.assigned[v]), FREE);
                    self.assigned[v] = NONE;
                    self.in_memory[v] = false;
                }
            }
        }
        self.begin();
        Ok(())
    }
}

/// Where a value is, from a sorted list.
pub fn location(list: &[(Value, Location)], v: Value) -> Option<Location> {
    list.binary_search_by_key(&v, |(u, _)| *u).ok().map(|at| list[at].1)
}
