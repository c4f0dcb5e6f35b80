//! The scan: one walk over the blocks in RPO that keeps, for one file, which value lies in which register, moves
//! values out of the way of tuples and calls, and throws out the value whose next use is farthest when registers run
//! short. Values may change their register or go to memory at any instruction; where paths meet with different
//! opinions, moves are put on the edges (see `edges`).
//!
//! It takes values with several definitions: a guarded definition stays in the register of the old value.

use crate::AllocateError;
use crate::moves::{Emitter, From, Move, Place};
use crate::next_use::{LOOP_EXIT, NEVER, NextUse, Touches, touches};
use crate::operands::{Group, Slot, alignment, destinations, is_parallel_copy, is_partial, replace, sources};
use crate::set::RegisterSet;
use crate::work::Work;
use oriole_ori::{
    BlockId, Cfg, File, Instruction, Liveness, Loops, Opcode, Origin, Pseudo, SourceKind, Value,
};
use oriole_sass::Op;
use smallvec::SmallVec;

/// No register.
pub const NONE: u8 = 255;
/// Occupant of a free register.
const FREE: u32 = u32::MAX;
/// Occupant of a register that holds a second copy for one instruction.
const COPY: u32 = u32::MAX - 1;

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
pub struct Borders {
    /// For each block the locations of its live-in values of the file, sorted by value; `None` if unreachable.
    pub entry: Vec<Option<Vec<(Value, Location)>>>,
    /// The same at the end.
    pub exit: Vec<Vec<(Value, Location)>>,
    /// Values stored right behind their only definition: their slot is always right.
    pub stored_at_definition: Vec<bool>,
    /// How to make a value anew.
    pub recipes: Vec<Option<Box<Instruction>>>,
}

/// The position of an instruction in the output, where a value was defined.
#[derive(Clone, Copy)]
struct Site {
    block: u32,
    index: u32,
    register: u8,
    depth: u32,
}

/// Which tuple a value will stand in.
#[derive(Clone)]
struct TupleHint {
    members: SmallVec<[Value; 4]>,
    index: u8,
}

pub struct Scan<'a> {
    work: &'a mut Work,
    registers: &'a Registers,
    cfg: &'a Cfg,
    loops: &'a Loops,
    next_use: NextUse,
    // State at the current point, by value.
    home: Vec<u8>,
    in_memory: Vec<bool>,
    next: Vec<u32>,
    occupant: [u32; 256],
    // Facts and hints by value.
    recipes: Vec<Option<Box<Instruction>>>,
    single: Vec<bool>,
    site: Vec<Option<Site>>,
    stored_at_definition: Vec<bool>,
    web: Vec<u32>,
    web_register: Vec<u8>,
    tuple: Vec<Option<Box<TupleHint>>>,
    // State of the current instruction.
    start: Vec<u8>,
    touched: Vec<Value>,
    is_touched: Vec<bool>,
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
    entry: Vec<Option<Vec<(Value, Location)>>>,
    exit: Vec<Vec<(Value, Location)>>,
    pressure: Vec<u32>,
}

/// Runs the scan over all blocks. The function's instructions are rewritten; block borders come back for the edges.
pub fn scan(
    work: &mut Work,
    registers: &Registers,
    cfg: &Cfg,
    liveness: &Liveness,
    loops: &Loops,
) -> Result<Borders, AllocateError> {
    let function = &work.function;
    let values = function.values.len();
    let blocks = function.blocks.len();
    let next_use = NextUse::new(function, cfg, liveness, loops, registers.file, work.stack_pointer);
    let mut scan = Scan {
        registers,
        cfg,
        loops,
        next_use,
        home: vec![NONE; values],
        in_memory: vec![false; values],
        next: vec![NEVER; values],
        occupant: [FREE; 256],
        recipes: vec![None; values],
        single: vec![false; values],
        site: vec![None; values],
        stored_at_definition: vec![false; values],
        web: (0..values as u32).collect(),
        web_register: vec![NONE; values],
        tuple: vec![None; values],
        start: vec![NONE; values],
        touched: Vec::new(),
        is_touched: vec![false; values],
        pinned: RegisterSet::default(),
        defined: RegisterSet::default(),
        forbidden: RegisterSet::default(),
        stores: Vec::new(),
        copies: Vec::new(),
        block: BlockId(0),
        depth: 0,
        out: Vec::new(),
        marks: Vec::new(),
        entry: vec![None; blocks],
        exit: vec![Vec::new(); blocks],
        pressure: vec![0; blocks],
        work,
    };
    scan.collect_facts();
    for position in 0..cfg.order().len() {
        let block = cfg.order()[position];
        scan.enter(block);
        scan.run_block()?;
        scan.leave();
    }
    scan.insert_stores();
    Ok(Borders {
        entry: scan.entry,
        exit: scan.exit,
        stored_at_definition: scan.stored_at_definition,
        recipes: scan.recipes,
    })
}

/// An instruction whose result can be made again anywhere: no register is read and the result never changes.
fn is_recipe(instruction: &Instruction) -> bool {
    let plain = |kind: &SourceKind| {
        matches!(
            kind,
            SourceKind::Imm(_)
                | SourceKind::Zero(_)
                | SourceKind::True(_)
                | SourceKind::Const { .. }
                | SourceKind::Address32 { .. }
                | SourceKind::Literal(_)
        )
    };
    instruction.guard.is_none()
        && instruction.destinations.len() == 1
        && instruction.destinations[0].values.len() == 1
        && instruction.destinations[0].fixed.is_none()
        && matches!(instruction.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy))
        && instruction.sources.iter().all(|s| plain(&s.kind))
}

impl Scan<'_> {
    /// Recipes, single definitions, webs of copies, tuples to come, pressure of blocks.
    fn collect_facts(&mut self) {
        let file = self.registers.file;
        let function = std::mem::take(&mut self.work.function);
        let stack_pointer = self.work.stack_pointer;
        let mut definitions = vec![0u32; self.home.len()];
        for &block in self.cfg.order() {
            let marks = self.work.inserted[block.0 as usize].clone();
            for (instruction, mark) in function.block(block).instructions.iter().zip(marks) {
                let groups = destinations(instruction, file);
                let copy = is_parallel_copy(instruction);
                for group in &groups {
                    for &v in &group.values {
                        let at = v.0 as usize;
                        // Copies of many values count twice: they have no one place behind which to store.
                        definitions[at] += if copy || is_partial(instruction) { 2 } else { 1 };
                        self.single[at] = definitions[at] == 1;
                        // What an earlier file put in stands for something else than it says.
                        self.recipes[at] = (definitions[at] == 1 && !mark && is_recipe(instruction))
                            .then(|| Box::new(instruction.clone()));
                    }
                    self.note_tuple(group);
                }
                if copy {
                    for (d, s) in instruction.destinations.iter().zip(&instruction.sources) {
                        if let (Some(&d), SourceKind::Values(s)) = (d.values.first(), &s.kind)
                            && function.file(d) == file
                            && function.file(s[0]) == file
                        {
                            let (a, b) = (root(&mut self.web, d), root(&mut self.web, s[0]));
                            self.web[a.max(b) as usize] = a.min(b);
                        }
                    }
                } else {
                    for group in sources(&function, instruction, file, stack_pointer) {
                        self.note_tuple(&group);
                    }
                }
            }
        }
        // Pressure: live at the end, walked backwards.
        for &block in self.cfg.order() {
            let mut count = self.next_use.at_exit(block).len() as u32;
            let mut seen: rustc_hash::FxHashSet<Value> =
                self.next_use.at_exit(block).iter().map(|(v, _)| *v).collect();
            let mut highest = count;
            let mut buffer = Touches { uses: Vec::new(), definitions: Vec::new(), partial: false };
            for index in (0..function.block(block).instructions.len()).rev() {
                touches(&function, (block, index), file, stack_pointer, &mut buffer);
                if !buffer.partial {
                    for v in &buffer.definitions {
                        count -= u32::from(seen.remove(v));
                    }
                }
                for &v in buffer.uses.iter().chain(buffer.definitions.iter().filter(|_| buffer.partial)) {
                    count += u32::from(seen.insert(v));
                }
                highest = highest.max(count);
            }
            self.pressure[block.0 as usize] = highest;
        }
        // A loop is as hungry as its hungriest block.
        for &block in self.cfg.order() {
            let mut inner = self.loops.innermost(block);
            while let Some(index) = inner {
                let header = self.loops.loops[index].header.0 as usize;
                self.pressure[header] = self.pressure[header].max(self.pressure[block.0 as usize]);
                inner = self.loops.loops[index].parent;
            }
        }
        for value in 0..self.web.len() as u32 {
            self.web[value as usize] = root(&mut self.web, Value(value));
        }
        self.work.function = function;
    }

    fn note_tuple(&mut self, group: &Group) {
        if group.values.len() > 1 {
            for (index, v) in group.values.iter().enumerate() {
                if self.tuple[v.0 as usize].is_none() {
                    let hint = TupleHint { members: group.values.clone(), index: index as u8 };
                    self.tuple[v.0 as usize] = Some(Box::new(hint));
                }
            }
        }
    }

    /// The web of copies that a value belongs to.
    fn find(&self, value: Value) -> u32 {
        self.web[value.0 as usize]
    }

    // Borders of blocks.

    /// Sets the state for the top of a block.
    fn enter(&mut self, block: BlockId) {
        self.block = block;
        self.depth = self.loops.depth(block);
        self.occupant = [FREE; 256];
        let live_in: Vec<(Value, u32)> = self.next_use.at_entry(block).to_vec();
        for &(v, _) in &live_in {
            self.home[v.0 as usize] = NONE;
            self.in_memory[v.0 as usize] = false;
        }
        let position = self.cfg.position(block);
        let done: SmallVec<[BlockId; 4]> = self
            .cfg
            .predecessors(block)
            .iter()
            .copied()
            .filter(|&p| self.cfg.position(p) < position)
            .collect();
        let is_header = done.len() < self.cfg.predecessors(block).len();
        // The most frequent predecessor decides; among equals the last, which is nearest.
        let chosen = done.iter().copied().max_by_key(|&p| (self.loops.depth(p), self.cfg.position(p)));
        if let Some(chosen) = chosen {
            let others: Vec<BlockId> = done.iter().copied().filter(|&p| p != chosen).collect();
            let mut unknown = Vec::new();
            for &(v, _) in &live_in {
                let at = v.0 as usize;
                let exit = location(&self.exit[chosen.0 as usize], v);
                let Some(exit) = exit else {
                    unknown.push(v);
                    continue;
                };
                self.home[at] = exit.register;
                let everywhere =
                    others.iter().all(|p| location(&self.exit[p.0 as usize], v).is_none_or(|l| l.in_memory));
                let stays = !is_header || self.single[at];
                self.in_memory[at] = self.stored_at_definition[at]
                    || (exit.in_memory && ((everywhere && stays) || exit.register == NONE));
                if exit.register != NONE {
                    self.occupant[usize::from(exit.register)] = v.0;
                }
            }
            // What is unknown on the chosen path may be known on another: it gets a place all the same.
            for v in unknown {
                let at = v.0 as usize;
                if self.recipes[at].is_some() {
                    continue;
                }
                let found = others.iter().find_map(|p| location(&self.exit[p.0 as usize], v));
                if found.is_none() && !is_header {
                    continue;
                }
                let register = found.map_or(NONE, |l| l.register);
                let free = self.free();
                if register != NONE && free.contains(register) {
                    self.put(v, register);
                } else if let Some(register) = self.pick(free, v) {
                    self.put(v, register);
                } else {
                    self.in_memory[at] = true;
                }
            }
            self.begin();
        }
        if is_header {
            self.thin_out(block, &live_in);
        }
        self.entry[block.0 as usize] = Some(
            live_in
                .iter()
                .map(|&(v, _)| (v, self.here(v)))
                .filter(|(_, l)| l.register != NONE || l.in_memory)
                .collect(),
        );
    }

    /// At the top of a hungry loop: values that it only carries through go to memory before it.
    fn thin_out(&mut self, block: BlockId, live_in: &[(Value, u32)]) {
        let available = self.registers.usable.len();
        let wanted = self.pressure[block.0 as usize] + 4;
        let Some(mut excess) = wanted.checked_sub(available) else { return };
        let mut carried: Vec<(u32, Value)> = live_in
            .iter()
            .filter(|&&(v, distance)| distance >= LOOP_EXIT && self.home[v.0 as usize] != NONE)
            .map(|&(v, distance)| (distance, v))
            .collect();
        carried.sort_unstable_by(|a, b| b.cmp(a));
        for (_, v) in carried {
            if excess == 0 {
                break;
            }
            excess -= 1;
            let at = v.0 as usize;
            self.occupant[usize::from(self.home[at])] = FREE;
            self.home[at] = NONE;
            if self.recipes[at].is_none() {
                // The edge into the loop stores it, or its definition does.
                self.mark_stored_at_definition(v);
                self.in_memory[at] = true;
            }
        }
    }

    fn here(&self, v: Value) -> Location {
        let at = v.0 as usize;
        Location { register: self.home[at], in_memory: self.in_memory[at] }
    }

    fn leave(&mut self) {
        let block = self.block.0 as usize;
        let exit: Vec<(Value, Location)> = self
            .next_use
            .at_exit(self.block)
            .iter()
            .map(|&(v, _)| (v, self.here(v)))
            .filter(|(_, l)| l.register != NONE || l.in_memory)
            .collect();
        self.exit[block] = exit;
        // The next block finds its own next uses; what is not read there has none.
        for &(v, _) in self.next_use.at_exit(self.block) {
            self.next[v.0 as usize] = NEVER;
        }
        for r in 0..256 {
            if self.occupant[r] < COPY {
                self.home[self.occupant[r] as usize] = NONE;
            }
        }
        self.work.function.blocks[block].instructions = std::mem::take(&mut self.out);
        self.work.inserted[block] = std::mem::take(&mut self.marks);
    }

    // One block.

    fn run_block(&mut self) -> Result<(), AllocateError> {
        let at = self.block.0 as usize;
        let length = self.work.function.blocks[at].instructions.len();
        // Next uses behind each touch, found backwards.
        for &(v, distance) in self.next_use.at_exit(self.block) {
            self.next[v.0 as usize] = distance.saturating_add(length as u32).min(NEVER);
        }
        let mut records: Vec<(Value, u32)> = Vec::new();
        let mut ends: Vec<(u32, u32)> = vec![(0, 0); length];
        let mut buffer = Touches { uses: Vec::new(), definitions: Vec::new(), partial: false };
        for index in (0..length).rev() {
            touches(
                &self.work.function,
                (self.block, index),
                self.registers.file,
                self.work.stack_pointer,
                &mut buffer,
            );
            for &v in &buffer.definitions {
                records.push((v, self.next[v.0 as usize]));
                if !buffer.partial {
                    self.next[v.0 as usize] = NEVER;
                }
            }
            let split = records.len() as u32;
            for &v in &buffer.uses {
                records.push((v, self.next[v.0 as usize]));
            }
            for &v in buffer.uses.iter().chain(buffer.definitions.iter().filter(|_| buffer.partial)) {
                self.next[v.0 as usize] = index as u32;
            }
            ends[index] = (split, records.len() as u32);
        }
        let instructions = std::mem::take(&mut self.work.function.blocks[at].instructions);
        let marks = std::mem::take(&mut self.work.inserted[at]);
        for (index, (instruction, mark)) in instructions.into_iter().zip(marks).enumerate() {
            let (split, end) = ends[index];
            let begin = ends.get(index + 1).map_or(0, |e| e.1);
            let after_definitions = &records[begin as usize..split as usize];
            let after_uses = &records[split as usize..end as usize];
            if is_parallel_copy(&instruction) && !mark {
                self.parallel_copy(instruction, after_definitions, after_uses)?;
            } else {
                self.instruction(instruction, mark, after_definitions, after_uses)?;
            }
        }
        Ok(())
    }

    fn free(&self) -> RegisterSet {
        let mut set = RegisterSet::default();
        for r in self.registers.usable.iter() {
            if self.occupant[usize::from(r)] == FREE {
                set.insert(r);
            }
        }
        set
    }

    fn touch(&mut self, v: Value) {
        let at = v.0 as usize;
        if !self.is_touched[at] {
            self.is_touched[at] = true;
            self.start[at] = self.home[at];
            self.touched.push(v);
        }
    }

    fn start_of(&self, v: Value) -> u8 {
        if self.is_touched[v.0 as usize] { self.start[v.0 as usize] } else { self.home[v.0 as usize] }
    }

    fn put(&mut self, v: Value, register: u8) {
        self.touch(v);
        let old = self.home[v.0 as usize];
        if old != NONE {
            self.occupant[usize::from(old)] = FREE;
        }
        self.home[v.0 as usize] = register;
        if register != NONE {
            self.occupant[usize::from(register)] = v.0;
            self.remember(v, register);
        }
    }

    fn remember(&mut self, v: Value, register: u8) {
        let web = self.find(v) as usize;
        self.web_register[web] = register;
    }

    fn mark_stored_at_definition(&mut self, v: Value) -> bool {
        let at = v.0 as usize;
        if self.stored_at_definition[at] {
            return true;
        }
        let cheap = self.site[at].is_some_and(|site| site.depth <= self.depth);
        if self.single[at] && cheap {
            self.stored_at_definition[at] = true;
            return true;
        }
        false
    }

    /// Throws a value out of its register.
    fn spill(&mut self, v: Value) {
        let at = v.0 as usize;
        if !self.in_memory[at] && self.recipes[at].is_none() {
            let from = self.start_of(v);
            if !self.mark_stored_at_definition(v) && from != NONE {
                self.stores.push((v, from));
            }
            // A value that was never anywhere is unknown and needs no memory.
            self.in_memory[at] = from != NONE || self.stored_at_definition[at];
        }
        self.put(v, NONE);
    }

    /// The value to throw out: farthest next use; a copy in memory is worth a little.
    fn victim(&self, avoid: RegisterSet) -> Option<Value> {
        let mut best: Option<((u32, u32), Value)> = None;
        for r in self.registers.usable.without(avoid).iter() {
            let occupant = self.occupant[usize::from(r)];
            if occupant == FREE || occupant == COPY {
                continue;
            }
            let at = occupant as usize;
            let free_of_charge =
                self.in_memory[at] || self.stored_at_definition[at] || self.recipes[at].is_some();
            let key =
                (self.next[at].saturating_add(if free_of_charge { 8 } else { 0 }), u32::from(free_of_charge));
            if best.is_none_or(|(k, _)| key > k) {
                best = Some((key, Value(occupant)));
            }
        }
        best.map(|(_, v)| v)
    }

    /// Picks the best of some free registers for a single value.
    fn pick(&self, free: RegisterSet, v: Value) -> Option<u8> {
        let hint = self.web_register[self.find(v) as usize];
        if hint != NONE && free.contains(hint) {
            return Some(hint);
        }
        if let Some(r) = self.tuple_place(free, v) {
            return Some(r);
        }
        let cheap = free.within(self.registers.cheap);
        let free = if cheap.is_empty() { free } else { cheap };
        self.lone(free)
    }

    /// The lowest register that spoils no free pair, else the lowest.
    fn lone(&self, free: RegisterSet) -> Option<u8> {
        let mut lone = if self.registers.file == File::R { free.lone() } else { RegisterSet::default() };
        // The last register of an odd number has no partner that could be free: taking it would only raise the count.
        if self.registers.count % 2 == 1 {
            lone.remove((self.registers.count - 1) as u8);
        }
        lone.first().or(free.first())
    }

    /// A register that lines up with the tuple the value will stand in.
    fn tuple_place(&self, free: RegisterSet, v: Value) -> Option<u8> {
        let hint = self.tuple[v.0 as usize].as_deref()?;
        let align = alignment(hint.members.len());
        for (k, m) in hint.members.iter().enumerate() {
            let home = self.home[m.0 as usize];
            if *m != v && home != NONE && usize::from(home) >= k && self.occupant[usize::from(home)] == m.0 {
                let base = home - k as u8;
                let r = base.checked_add(hint.index)?;
                if base % align == 0 && free.contains(r) {
                    return Some(r);
                }
            }
        }
        let count = hint.members.len() as u16;
        let mut base = 0u16;
        while base + count <= self.registers.count {
            if (base..base + count).all(|r| free.contains(r as u8)) {
                return Some(base as u8 + hint.index);
            }
            base += u16::from(align);
        }
        None
    }

    /// Moves a value out of its register: to a free one, else it or a better victim goes to memory.
    fn relocate(&mut self, v: Value, avoid: RegisterSet) {
        let avoid = avoid.with(self.pinned).with(self.defined).with(self.forbidden);
        let free = self.free().without(avoid);
        if let Some(r) = self.lone(free) {
            self.put(v, r);
            return;
        }
        match self.victim(avoid) {
            Some(x) if x != v && self.next[x.0 as usize] > self.next[v.0 as usize] => {
                let r = self.home[x.0 as usize];
                self.spill(x);
                self.put(v, r);
            }
            _ => self.spill(v),
        }
    }

    /// Empties a register for somebody else.
    fn clear(&mut self, register: u8, keep: RegisterSet) {
        let occupant = self.occupant[usize::from(register)];
        if occupant != FREE && occupant != COPY {
            let mut avoid = keep;
            avoid.insert(register);
            self.relocate(Value(occupant), avoid);
        }
    }

    /// Cheapest aligned range for a group of sources.
    fn source_base(&self, group: &Group) -> Option<u8> {
        let count = group.values.len() as u16;
        let align = u16::from(alignment(group.values.len()));
        let free = self.free().without(self.forbidden).without(self.pinned).len();
        let cost = |base: u16| -> Option<u32> {
            let mut cost = 0;
            let mut evicted = 0;
            for (k, v) in group.values.iter().enumerate() {
                let r = (base + k as u16) as u8;
                if !self.registers.usable.contains(r) || self.forbidden.contains(r) {
                    return None;
                }
                let occupant = self.occupant[usize::from(r)];
                if occupant == v.0 {
                    continue;
                }
                if self.pinned.contains(r) || occupant == COPY {
                    return None;
                }
                cost += 1;
                if occupant != FREE {
                    evicted += 1;
                    cost += if evicted > free { 16 } else { 1 };
                }
            }
            Some(cost)
        };
        let mut best: Option<(u32, u16)> = None;
        for (k, v) in group.values.iter().enumerate() {
            let home = u16::from(self.home[v.0 as usize]);
            if home != u16::from(NONE) && home >= k as u16 {
                let base = home - k as u16;
                if base % align == 0
                    && base + count <= self.registers.count
                    && let Some(c) = cost(base)
                {
                    if c == 0 {
                        return Some(base as u8);
                    }
                    if best.is_none_or(|b| (c, base) < b) {
                        best = Some((c, base));
                    }
                }
            }
        }
        let mut base = 0;
        while base + count <= self.registers.count {
            if let Some(c) = cost(base)
                && best.is_none_or(|b| (c, base) < b)
            {
                best = Some((c, base));
            }
            base += align;
        }
        best.map(|(_, base)| base as u8)
    }

    /// Brings a group of sources to where it must be and pins it. Gives the registers.
    /// With `in_place` the registers are overwritten: what lives on must be somewhere else too.
    fn place_sources(
        &mut self,
        group: &Group,
        in_place: bool,
        lives: &dyn Fn(Value) -> bool,
    ) -> Option<SmallVec<[u8; 4]>> {
        if group.values.len() == 1 && group.fixed.is_none() && !in_place {
            return self
                .place_single(group.values[0], lives(group.values[0]))
                .map(|r| SmallVec::from_slice(&[r]));
        }
        let base = match group.fixed {
            Some(base) => base,
            None => self.source_base(group)?,
        };
        let mut range = RegisterSet::default();
        (0..group.values.len()).for_each(|k| range.insert(base + k as u8));
        let mut registers = SmallVec::new();
        for (k, &v) in group.values.iter().enumerate() {
            let r = base + k as u8;
            registers.push(r);
            if self.occupant[usize::from(r)] == v.0 && in_place && lives(v) {
                self.relocate(v, range);
            }
            if self.occupant[usize::from(r)] == v.0 {
                self.pinned.insert(r);
                continue;
            }
            if self.pinned.contains(r) {
                return None;
            }
            self.clear(r, range);
            let home = self.home[v.0 as usize];
            let elsewhere = home != NONE && self.pinned.contains(home);
            if elsewhere || ((in_place || self.forbidden.contains(r)) && lives(v)) {
                self.occupant[usize::from(r)] = COPY;
                self.copies.push((v, r));
            } else {
                self.put(v, r);
            }
            self.pinned.insert(r);
        }
        Some(registers)
    }

    /// The source of a warp group's multiply that is as wide as its result: the last such one.
    fn accumulators(&self, order: &[(Group, bool)], writes: &[Group]) -> Option<Slot> {
        let width = writes.first()?.values.len();
        let groups =
            order.iter().filter(|(g, _)| g.values.len() == width && matches!(g.operand, Slot::Source(_)));
        groups.map(|(g, _)| g.operand).max_by_key(|slot| match slot {
            Slot::Source(index) => *index,
            _ => 0,
        })
    }

    fn place_single(&mut self, v: Value, lives: bool) -> Option<u8> {
        let home = self.home[v.0 as usize];
        if home != NONE {
            self.pinned.insert(home);
            return Some(home);
        }
        let outside = if lives { self.pinned.with(self.forbidden) } else { self.pinned };
        let free = self.free().without(outside);
        let register = match self.pick(free, v) {
            Some(r) => r,
            None => match self.victim(outside) {
                Some(x) => {
                    let r = self.home[x.0 as usize];
                    self.spill(x);
                    r
                }
                // Only registers that will be overwritten are left: a copy for this instruction.
                None => {
                    let free = self.free().without(self.pinned);
                    let r = match free.first() {
                        Some(r) => r,
                        None => {
                            let x = self.victim(self.pinned)?;
                            let r = self.home[x.0 as usize];
                            self.spill(x);
                            r
                        }
                    };
                    self.occupant[usize::from(r)] = COPY;
                    self.copies.push((v, r));
                    self.pinned.insert(r);
                    return Some(r);
                }
            },
        };
        self.put(v, register);
        self.pinned.insert(register);
        Some(register)
    }

    /// Cheapest aligned range for results.
    fn destination_base(&self, group: &Group, sources: &[(Group, SmallVec<[u8; 4]>)]) -> Option<u8> {
        let count = group.values.len() as u16;
        let align = u16::from(alignment(group.values.len()));
        if count == 1 {
            let v = group.values[0];
            let free = self.free().without(self.defined);
            // A copy wants the register of its source, an accumulator that of its old value.
            let wish = sources.iter().filter(|(g, _)| g.values.len() == 1).map(|(_, r)| r[0]);
            let hint = self.web_register[self.find(v) as usize];
            if hint == NONE && self.tuple[v.0 as usize].is_none() {
                for r in wish {
                    if free.contains(r) && self.registers.cheap.contains(r) {
                        return Some(r);
                    }
                }
            }
            if let Some(r) = self.pick(free, v) {
                return Some(r);
            }
            let victim = self.victim(self.pinned.with(self.defined))?;
            return Some(self.home[victim.0 as usize]);
        }
        let busy = self.pinned;
        let free_elsewhere = self.free().without(busy).without(self.forbidden).len();
        let wish: SmallVec<[u8; 4]> = sources
            .iter()
            .filter(|(g, r)| g.values.len() == usize::from(count) && r[0] % align as u8 == 0)
            .map(|(_, r)| r[0])
            .collect();
        let hints: SmallVec<[u8; 4]> = group
            .values
            .iter()
            .enumerate()
            .filter_map(|(k, &v)| {
                let r = self.web_register[self.find(v) as usize];
                (r != NONE && usize::from(r) >= k).then(|| r - k as u8)
            })
            .collect();
        let this = self;
        let cost = |base: u16| -> Option<u32> {
            let mut cost = 0;
            let mut evicted = 0;
            for k in 0..count {
                let r = (base + k) as u8;
                if !this.registers.usable.contains(r) || this.defined.contains(r) {
                    return None;
                }
                match this.occupant[usize::from(r)] {
                    FREE => cost += u32::from(!this.registers.cheap.contains(r)),
                    _ if busy.contains(r) => return None,
                    COPY => return None,
                    _ => {
                        evicted += 1;
                        cost += if evicted > free_elsewhere { 32 } else { 4 };
                    }
                }
            }
            let wanted = hints.contains(&(base as u8)) || wish.contains(&(base as u8));
            Some(2 * cost + u32::from(!wanted))
        };
        let mut best: Option<(u32, u16)> = None;
        let mut base = 0;
        while base + count <= self.registers.count {
            if let Some(c) = cost(base)
                && best.is_none_or(|b| (c, base) < b)
            {
                best = Some((c, base));
                if c == 0 {
                    break;
                }
            }
            base += align;
        }
        best.map(|(_, base)| base as u8)
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
            self.is_touched[v.0 as usize] = false;
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
            .map(|&v| (v, self.home[v.0 as usize]))
            .filter(|&(_, r)| r != NONE)
            .chain(self.copies.iter().copied())
            .collect();
        for &v in &self.touched {
            if self.start[v.0 as usize] != NONE {
                busy.insert(self.start[v.0 as usize]);
            }
        }
        for &(v, to) in &targets {
            busy.insert(to);
            let at = v.0 as usize;
            let from = self.start_of(v);
            if from != NONE {
                moves.push(Move {
                    to: Place::Register(to),
                    into: v,
                    from: From::Place(Place::Register(from)),
                    value: v,
                });
            } else if let Some(recipe) = &self.recipes[at] {
                made.push((v, to, recipe.clone()));
            } else if self.in_memory[at] || self.stored_at_definition[at] {
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
        for (v, to, recipe) in made {
            emitter.make(v, to, &recipe);
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
                self.in_memory[v.0 as usize] = false;
                self.next[v.0 as usize] = next;
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
                let dies = (used && !lives(v)) || (!used && self.next[v.0 as usize] == NEVER);
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
        // Old values come before sources of the same width: they must be at home, a source may be a copy.
        order.sort_by_key(|(g, tied)| (g.fixed.is_none(), !tied, std::cmp::Reverse(g.values.len())));
        // A warp group's multiply writes its accumulators while it still reads: they are read where they are
        // written, and no other source may lie there.
        let early = matches!(instruction.opcode, Opcode::Sass(Op::HGMMA | Op::IGMMA | Op::BGMMA | Op::QGMMA));
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
            self.next[v.0 as usize] = next;
            let tied = partial && after_definitions.iter().any(|(d, _)| *d == v);
            if next == NEVER && !tied {
                dying.push(v);
            }
        }
        let mut read_homes: SmallVec<[(Value, u8); 8]> = SmallVec::new();
        for &v in &dying {
            let home = self.home[v.0 as usize];
            if home != NONE {
                read_homes.push((v, home));
                if !early {
                    self.occupant[usize::from(home)] = FREE;
                }
            }
        }
        if !early {
            for k in 0..self.copies.len() {
                self.occupant[usize::from(self.copies[k].1)] = FREE;
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
                            self.occupant[usize::from(r)] = FREE;
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
        for (group, registers) in placed.iter().chain(&results) {
            let values: SmallVec<[Value; 4]> =
                group.values.iter().zip(registers).map(|(&v, &r)| self.work.incarnation(v, r)).collect();
            replace(&mut instruction, group.operand, &values);
        }
        self.out.push(instruction);
        self.marks.push(mark);
        for (v, home) in read_homes {
            if self.occupant[usize::from(home)] == v.0 {
                self.occupant[usize::from(home)] = FREE;
            }
            self.home[v.0 as usize] = NONE;
            self.in_memory[v.0 as usize] = false;
        }
        for v in dying {
            self.in_memory[v.0 as usize] = false;
        }
        for k in 0..self.copies.len() {
            let r = usize::from(self.copies[k].1);
            if self.occupant[r] == COPY {
                self.occupant[r] = FREE;
            }
        }
        let sites = results.iter().map(|(g, r)| (g, r, false));
        let tied = placed.iter().filter(|(g, _)| matches!(g.operand, Slot::Destination(_)));
        for (group, registers, again) in sites.chain(tied.map(|(g, r)| (g, r, true))) {
            for (&v, &r) in group.values.iter().zip(registers) {
                let at = v.0 as usize;
                let next = after_definitions.iter().find(|(d, _)| *d == v).map_or(NEVER, |(_, n)| *n);
                self.next[at] = next;
                self.in_memory[at] = self.stored_at_definition[at];
                if !again {
                    self.home[at] = r;
                    self.occupant[usize::from(r)] = v.0;
                    self.remember(v, r);
                    self.site[at] = Some(Site {
                        block: self.block.0,
                        index: self.out.len() as u32,
                        register: r,
                        depth: self.depth,
                    });
                }
                if next == NEVER {
                    self.occupant[usize::from(self.home[at])] = FREE;
                    self.home[at] = NONE;
                    self.in_memory[at] = false;
                }
            }
        }
        self.begin();
        Ok(())
    }

    /// Many values at once, as at the end of a block before a join. The copies of this file become moves; what
    /// remains of the instruction says where the new values begin.
    fn parallel_copy(
        &mut self,
        mut instruction: Instruction,
        after_definitions: &[(Value, u32)],
        after_uses: &[(Value, u32)],
    ) -> Result<(), AllocateError> {
        let file = self.registers.file;
        self.begin();
        let mut pairs: Vec<(Value, oriole_ori::Source)> = Vec::new();
        let mut rest = (SmallVec::new(), SmallVec::new());
        for (d, s) in instruction.destinations.iter().zip(&instruction.sources) {
            match d.values.first() {
                Some(&v) if d.file == file => pairs.push((v, s.clone())),
                _ => {
                    if let SourceKind::Values(s) = &s.kind
                        && self.work.function.file(s[0]) == file
                    {
                        return Err(AllocateError::Input("a parallel copy between files".into()));
                    }
                    rest.0.push(d.clone());
                    rest.1.push(s.clone());
                }
            }
        }
        let after = |list: &[(Value, u32)], v: Value| list.iter().find(|(u, _)| *u == v).map(|(_, n)| *n);
        // Sources that die give up their registers.
        let mut available = self.free();
        for &(v, next) in after_uses {
            if next == NEVER && self.home[v.0 as usize] != NONE {
                available.insert(self.home[v.0 as usize]);
            }
        }
        let before = self.free();
        let successor = match self.work.function.block(self.block).successors.as_slice() {
            [only] => self.entry[only.0 as usize].take().map(|e| (*only, e)),
            _ => None,
        };
        let mut taken = RegisterSet::default();
        let mut plan: Vec<(Value, Place, usize)> = Vec::new();
        let mut late: Vec<usize> = Vec::new();
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        // Two rounds: wishes first, so that nobody takes what another one wants.
        order.retain(|&k| {
            let d = pairs[k].0;
            let next = after(after_definitions, d).unwrap_or(NEVER);
            if next == NEVER {
                return false;
            }
            let expected = successor.as_ref().and_then(|(_, e)| location(e, d));
            let own = match &pairs[k].1.kind {
                SourceKind::Values(s) if self.work.function.file(s[0]) == file => self.home[s[0].0 as usize],
                _ => NONE,
            };
            let wish = match expected {
                Some(l) if l.register == NONE => {
                    plan.push((d, Place::Slot(d), k));
                    return false;
                }
                Some(l) => l.register,
                None if self.tuple[d.0 as usize].is_none() => own,
                None => NONE,
            };
            if wish != NONE && available.contains(wish) && !taken.contains(wish) {
                taken.insert(wish);
                plan.push((d, Place::Register(wish), k));
                return false;
            }
            late.push(k);
            false
        });
        if let Some((only, entry)) = successor {
            self.entry[only.0 as usize] = Some(entry);
        }
        late.sort_by_key(|&k| (after(after_definitions, pairs[k].0), k));
        let mut placed_now: Vec<(Value, u8)> = Vec::new();
        for k in late {
            let d = pairs[k].0;
            let free = available.without(taken);
            let choice = {
                // Siblings of a tuple that were placed a moment ago count as being there.
                let hint = self.tuple[d.0 as usize].as_deref().and_then(|hint| {
                    let (j, base) =
                        hint.members.iter().enumerate().find_map(|(j, m)| {
                            placed_now.iter().find(|(v, _)| v == m).map(|&(_, r)| (j, r))
                        })?;
                    let r = (usize::from(base) + usize::from(hint.index)).checked_sub(j)? as u8;
                    free.contains(r).then_some(r)
                });
                hint.or_else(|| self.pick(free, d))
            };
            let place = match choice {
                Some(r) => Place::Register(r),
                None => {
                    let next = after(after_definitions, d).unwrap_or(NEVER);
                    let sources_here: RegisterSet = {
                        let mut set = taken;
                        for &(v, _) in after_uses {
                            if self.home[v.0 as usize] != NONE {
                                set.insert(self.home[v.0 as usize]);
                            }
                        }
                        set
                    };
                    match self.victim(sources_here) {
                        Some(x) if self.next[x.0 as usize] > next => {
                            let r = self.home[x.0 as usize];
                            self.spill(x);
                            available.insert(r);
                            Place::Register(r)
                        }
                        _ => Place::Slot(d),
                    }
                }
            };
            if let Place::Register(r) = place {
                taken.insert(r);
                placed_now.push((d, r));
            }
            plan.push((d, place, k));
        }
        let mut moves = Vec::new();
        let mut made = Vec::new();
        for &(d, to, k) in &plan {
            let source = &pairs[k].1;
            match &source.kind {
                SourceKind::Values(s) if self.work.function.file(s[0]) == file => {
                    let s = s[0];
                    let at = s.0 as usize;
                    let from = self.start_of(s);
                    if from != NONE {
                        let from = From::Place(Place::Register(from));
                        moves.push(Move { to, into: d, from, value: s });
                    } else if let Some(recipe) = &self.recipes[at] {
                        made.push((d, to, s, recipe.clone()));
                    } else if self.in_memory[at] || self.stored_at_definition[at] {
                        moves.push(Move { to, into: d, from: From::Place(Place::Slot(s)), value: s });
                    }
                }
                _ => {
                    let mut recipe = match (file, &source.kind) {
                        (
                            File::R,
                            SourceKind::Imm(_) | SourceKind::Const { .. } | SourceKind::Address32 { .. },
                        ) => Instruction::new(Op::MOV, instruction.origin),
                        _ => Instruction::new(Pseudo::Copy, instruction.origin),
                    };
                    recipe.destinations.push(oriole_ori::Destination::new(file, [d]));
                    recipe.sources.push(source.clone());
                    made.push((d, to, d, Box::new(recipe)));
                }
            }
        }
        let mut targets = RegisterSet::default();
        for (_, to, _) in &plan {
            if let Place::Register(r) = to {
                targets.insert(*r);
            }
        }
        let scratch = before.within(self.free()).without(targets);
        let origin = instruction.origin;
        let mut emitter =
            Emitter { work: self.work, file, origin, out: &mut self.out, marks: &mut self.marks };
        for &(v, from) in &self.stores {
            emitter.store(v, v, from);
        }
        for (d, to, value, recipe) in made {
            moves.push(Move { to, into: d, from: From::Made(recipe), value });
        }
        emitter.parallel(moves, scratch);
        // The state behind it.
        for &(v, next) in after_uses {
            self.next[v.0 as usize] = next;
            if next == NEVER {
                self.put(v, NONE);
                self.in_memory[v.0 as usize] = false;
            }
        }
        for &(d, next) in after_definitions {
            self.put(d, NONE);
            self.in_memory[d.0 as usize] = false;
            self.next[d.0 as usize] = next;
        }
        for &(d, to, _) in &plan {
            match to {
                Place::Register(r) => self.put(d, r),
                Place::Slot(_) => self.in_memory[d.0 as usize] = true,
            }
        }
        instruction.destinations = rest.0;
        instruction.sources = rest.1;
        self.out.push(instruction);
        self.marks.push(false);
        self.begin();
        Ok(())
    }

    /// Puts the stores behind the only definitions of values that were spilled later.
    fn insert_stores(&mut self) {
        let mut sites: Vec<(u32, u32, Value, u8)> = Vec::new();
        for (index, stored) in self.stored_at_definition.iter().enumerate() {
            if let (true, Some(site)) = (*stored, self.site[index]) {
                sites.push((site.block, site.index, Value(index as u32), site.register));
            }
        }
        sites.sort_unstable();
        let mut at = 0;
        while at < sites.len() {
            let block = sites[at].0 as usize;
            let old = std::mem::take(&mut self.work.function.blocks[block].instructions);
            let old_marks = std::mem::take(&mut self.work.inserted[block]);
            let mut out = Vec::with_capacity(old.len() + 4);
            let mut marks = Vec::with_capacity(old.len() + 4);
            for (index, (instruction, mark)) in old.into_iter().zip(old_marks).enumerate() {
                let origin = instruction.origin;
                out.push(instruction);
                marks.push(mark);
                while at < sites.len() && sites[at].0 as usize == block && sites[at].1 as usize == index + 1 {
                    let (_, _, v, register) = sites[at];
                    at += 1;
                    let mut emitter = Emitter {
                        work: self.work,
                        file: self.registers.file,
                        origin,
                        out: &mut out,
                        marks: &mut marks,
                    };
                    emitter.store(v, v, register);
                }
            }
            self.work.function.blocks[block].instructions = out;
            self.work.inserted[block] = marks;
        }
    }
}

/// Root of a value in the forest of webs.
fn root(web: &mut [u32], value: Value) -> u32 {
    let mut at = value.0;
    while web[at as usize] != at {
        let up = web[at as usize];
        web[at as usize] = web[up as usize];
        at = up;
    }
    at
}

/// Where a value is, from a sorted list.
pub fn location(list: &[(Value, Location)], v: Value) -> Option<Location> {
    list.binary_search_by_key(&v, |(u, _)| *u).ok().map(|at| list[at].1)
}
