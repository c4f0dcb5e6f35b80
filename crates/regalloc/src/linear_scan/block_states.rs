//! The state of the linear scan at block boundaries: the location of each value on entry and exit, and the stores after
//! definitions.

use super::{COPY, FREE, InOrder, Location, NONE, Occupants, Scan, location};
use crate::moves::Emitter;
use crate::next_use::{LOOP_EXIT, NEVER};
use crate::set::RegisterSet;
use oriole_ori::{BlockId, File, Value};
use smallvec::SmallVec;

/// Registers that are kept free in a loop: tuples need room to be assembled, predicates are single.
fn slack(file: File) -> u32 {
    match file {
        File::R => 4,
        _ => 1,
    }
}

impl Scan<'_> {
    /// Sets the state for the top of a block.
    pub(super) fn enter(&mut self, block: BlockId) {
        self.block = block;
        self.depth = self.inputs.graph.loops().depth(block);
        self.occupant = Occupants::none();
        self.usable = match &self.inputs.grants {
            Some(grants) => self.registers.usable.within(RegisterSet::range(0, grants.at_entry[block])),
            None => self.registers.usable,
        };
        let live_in: Vec<(Value, u32)> = self.inputs.next_use.at_entry(block).to_vec();
        for &(v, _) in &live_in {
            self.assigned[v] = NONE;
            self.in_memory[v] = false;
        }
        let position = self.inputs.graph.cfg().position(block);
        let done: SmallVec<[BlockId; 4]> = self
            .inputs
            .graph
            .cfg()
            .predecessors(block)
            .iter()
            .copied()
            .filter(|&p| self.inputs.graph.cfg().position(p) < position)
            .collect();
        let is_header = done.len() < self.inputs.graph.cfg().predecessors(block).len();
        // The most frequent predecessor decides; ties go to the last, which is nearest. A slow path restores
        // everything to the locations of the others.
        let chosen = done.iter().copied().max_by_key(|&p| {
            (!self.inputs.slow[p], self.inputs.graph.loops().depth(p), self.inputs.graph.cfg().position(p))
        });
        if let Some(chosen) = chosen {
            let others: Vec<BlockId> = done.iter().copied().filter(|&p| p != chosen).collect();
            let mut unknown = Vec::new();
            let exits = std::mem::take(&mut self.exit);
            let mut chosen = InOrder::new(&exits[chosen]);
            let mut ends: SmallVec<[InOrder; 4]> = others.iter().map(|&p| InOrder::new(&exits[p])).collect();
            for &(v, _) in &live_in {
                let Some(exit) = chosen.location(v) else {
                    unknown.push(v);
                    continue;
                };
                self.assigned[v] = exit.register;
                let everywhere = ends.iter_mut().all(|end| end.location(v).is_none_or(|l| l.in_memory));
                let stays = !is_header || self.inputs.single[v];
                self.in_memory[v] = self.stored_at_definition[v]
                    || (exit.in_memory && ((everywhere && stays) || exit.register == NONE));
                if exit.register != NONE && !self.usable.contains(exit.register) {
                    // Another path here has fewer registers.
                    self.assigned[v] = NONE;
                    if self.inputs.rematerializations[v].is_none() {
                        self.mark_stored_at_definition(v);
                        self.in_memory[v] = true;
                    }
                } else if exit.register != NONE {
                    self.occupant.set(usize::from(exit.register), v.0);
                }
            }
            drop(ends);
            self.exit = exits;
            // Values unknown on the chosen path may be known on another: they get a location all the same.
            for v in unknown {
                if self.inputs.rematerializations[v].is_some() {
                    continue;
                }
                let found = others.iter().find_map(|&p| location(&self.exit[p], v));
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
                    self.in_memory[v] = true;
                }
            }
            self.begin();
        }
        if is_header {
            self.thin_out(block, &live_in);
            for &(v, _) in &live_in {
                self.settle(v);
            }
        }
        self.entry[block] = Some(
            live_in
                .iter()
                .map(|&(v, _)| (v, self.here(v)))
                .filter(|(_, l)| l.register != NONE || l.in_memory)
                .collect(),
        );
    }

    /// On entry to a loop with high register pressure: values that are only live through it are spilled before it.
    pub(super) fn thin_out(&mut self, block: BlockId, live_in: &[(Value, u32)]) {
        let available = self.usable.len();
        let wanted = self.inputs.pressure[block] + slack(self.registers.file);
        let Some(mut excess) = wanted.checked_sub(available) else { return };
        let mut carried: Vec<(u32, Value)> = live_in
            .iter()
            .filter(|&&(v, distance)| distance >= LOOP_EXIT && self.assigned[v] != NONE)
            .map(|&(v, distance)| (distance, v))
            .collect();
        carried.sort_unstable_by(|a, b| b.cmp(a));
        for (_, v) in carried {
            if excess == 0 {
                break;
            }
            excess -= 1;
            self.occupant.set(usize::from(self.assigned[v]), FREE);
            self.assigned[v] = NONE;
            if self.inputs.rematerializations[v].is_none() {
                // The edge into the loop stores it, or its definition does.
                self.mark_stored_at_definition(v);
                self.in_memory[v] = true;
            }
        }
    }

    pub(super) fn here(&self, v: Value) -> Location {
        Location { register: self.assigned[v], in_memory: self.in_memory[v] }
    }

    pub(super) fn leave(&mut self) {
        let exit: Vec<(Value, Location)> = self
            .inputs
            .next_use
            .at_exit(self.block)
            .iter()
            .map(|&(v, _)| (v, self.here(v)))
            .filter(|(_, l)| l.register != NONE || l.in_memory)
            .collect();
        self.exit[self.block] = exit;
        // The next block finds its own next uses; values that it does not read have none.
        for &(v, _) in self.inputs.next_use.at_exit(self.block) {
            self.next[v] = NEVER;
        }
        for r in self.occupant.taken().iter() {
            let occupant = self.occupant[usize::from(r)];
            if occupant != COPY {
                self.assigned[Value(occupant)] = NONE;
            }
        }
        self.work.function.block_mut(self.block).instructions = std::mem::take(&mut self.out);
        self.work.inserted[self.block] = std::mem::take(&mut self.marks);
    }

    /// Inserts stores after the only definitions of values that were spilled later.
    pub(super) fn insert_stores(&mut self) {
        let mut sites: Vec<(BlockId, u32, Value, u8)> = Vec::new();
        for (value, stored) in self.stored_at_definition.iter_enumerated() {
            if let (true, Some(site)) = (*stored, self.site[value]) {
                sites.push((site.block, site.index, value, site.register));
            }
        }
        sites.sort_unstable();
        let mut at = 0;
        while at < sites.len() {
            let block = sites[at].0;
            let old = std::mem::take(&mut self.work.function.blocks[block].instructions);
            let old_marks = std::mem::take(&mut self.work.inserted[block]);
            let mut out = Vec::with_capacity(old.len() + 4);
            let mut marks = Vec::with_capacity(old.len() + 4);
            for (index, (instruction, mark)) in old.into_iter().zip(old_marks).enumerate() {
                let origin = instruction.origin;
                out.push(instruction);
                marks.push(mark);
                while at < sites.len() && sites[at].0 == block && sites[at].1 as usize == index + 1 {
                    let (_, _, v, register) = sites[at];
                    at += 1;
                    let owners = &self.inputs.affinities;
                    let mut emitter = Emitter {
                        work: self.work,
                        file: self.registers.file,
                        origin,
                        out: &mut out,
                        marks: &mut marks,
                    };
                    emitter.store(owners.owner(v), v, register);
                }
            }
            self.work.function.blocks[block].instructions = out;
            self.work.inserted[block] = marks;
        }
    }
}
