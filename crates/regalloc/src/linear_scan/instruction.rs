//! One instruction of the scan: moves its sources to registers, assigns its results, and inserts the required moves
//! before it.

use super::calls::overwritten_by;
use super::occupancy::{COPY, FREE};
use super::{NONE, Next, Scan, Site};
use crate::error::AllocateError;
use crate::next_use::NEVER;
use crate::operands::{
    Group, Slot, accumulators, destinations, is_group_product, is_partial, sources, values_mut,
};
use crate::set::RegisterSet;
use oriole_ori::classify::is_texture;
use oriole_ori::{Instruction, Opcode, Pseudo, Space, Value};
use smallvec::SmallVec;

/// A group of values and the lowest of their consecutive registers.
pub(super) type Assigned<'a> = (Group<'a>, u8);

/// The operands of an instruction in the current register file, each with its lowest register.
type Operands = SmallVec<[(Slot, u8); 8]>;

/// True if a value that the instruction reads is read again.
fn lives(after_uses: &[(Value, u32)], v: Value) -> bool {
    after_uses.iter().find(|(u, _)| *u == v).is_some_and(|(_, next)| *next != NEVER)
}

/// True if the results come from memory that may be far away, or from a texture.
fn loads_slowly(instruction: &Instruction) -> bool {
    if is_texture(instruction) {
        return true;
    }
    let far = |space| matches!(space, Space::Global | Space::Generic | Space::Local);
    instruction.memory.as_ref().is_some_and(|memory| memory.reads && far(memory.space))
}

impl Scan<'_> {
    pub(super) fn instruction(
        &mut self,
        next: Next<'_>,
        mark: bool,
        after_definitions: &[(Value, u32)],
        after_uses: &[(Value, u32)],
    ) -> Result<(), AllocateError> {
        self.begin();
        if next.instruction().opcode == Opcode::Pseudo(Pseudo::Undefined) {
            self.undefined(next, mark, after_definitions);
        } else {
            let operands = self.assign_operands(next.instruction(), after_definitions, after_uses)?;
            self.push(next, mark);
            if let Some(instruction) = self.out.last_mut() {
                for (operand, base) in operands {
                    for (value, register) in values_mut(instruction, operand).iter_mut().zip(base..) {
                        *value = self.work.part_in(*value, register);
                    }
                }
            }
        }
        self.begin();
        Ok(())
    }

    /// Assigns the registers of all operands, and advances the state past the instruction, which comes next in the
    /// output.
    fn assign_operands(
        &mut self,
        instruction: &Instruction,
        after_definitions: &[(Value, u32)],
        after_uses: &[(Value, u32)],
    ) -> Result<Operands, AllocateError> {
        let file = self.registers.file;
        let partial = is_partial(instruction);
        let reads = sources(&self.work.function, instruction, file, self.work.stack_pointer);
        let writes = destinations(instruction, file);
        self.clear_overwritten(instruction, &writes, after_uses);
        // A `wgmma` writes its accumulators while it still reads: they are read in place, and no other source may
        // overlap.
        let early = is_group_product(instruction);
        let accumulators = if partial {
            None
        } else {
            accumulators(instruction, &reads, &writes).map(|group| group.operand)
        };

        // Sources: those that have no choice first, then the widest. A guarded result is a source of its old value.
        let mut order: SmallVec<[(Group<'_>, bool); 6]> = reads.into_iter().map(|g| (g, false)).collect();
        if partial {
            order.extend(writes.iter().map(|&g| (g, true)));
        }
        // Old values come before sources of the same width: they must be at their assigned register, a source may be
        // a copy.
        order.sort_by_key(|(g, tied)| (g.fixed.is_none(), !tied, std::cmp::Reverse(g.values.len())));
        let mut placed: SmallVec<[Assigned<'_>; 6]> = SmallVec::new();
        for (group, _) in order {
            let in_place = accumulators == Some(group.operand);
            let base = self.place_sources(&group, in_place, |v| lives(after_uses, v));
            placed.push((group, base.ok_or_else(|| self.too_few())?));
        }
        let tied = if partial { after_definitions } else { &[] };
        self.free_dying(after_uses, tied, early);
        let results =
            if partial { SmallVec::new() } else { self.assign_results(&writes, &placed, accumulators)? };
        self.emit_moves(instruction.origin);

        self.clock += 1;
        let mut operands = Operands::new();
        for &(group, base) in placed.iter().chain(&results) {
            let first = usize::from(base);
            self.used[first..first + group.values.len()].fill(self.clock);
            operands.push((group.operand, base));
        }
        self.end_uses();
        for &(group, base) in &results {
            self.define(&group, base, after_definitions, true);
        }
        for &(group, base) in &placed {
            if matches!(group.operand, Slot::Destination(_)) {
                self.define(&group, base, after_definitions, false);
            }
        }
        if loads_slowly(instruction) {
            for &(v, next) in after_definitions {
                self.in_flight[v] = next != NEVER;
            }
        }
        Ok(operands)
    }

    /// An undefined value needs no register.
    fn undefined(&mut self, next: Next<'_>, mark: bool, after_definitions: &[(Value, u32)]) {
        for &(v, next) in after_definitions {
            self.put(v, NONE);
            self.in_memory[v] = false;
            self.next[v] = next;
        }
        let file = self.registers.file;
        let others = next.instruction().destinations.iter().any(|d| d.file != file);
        if others || after_definitions.is_empty() {
            self.push(next, mark);
        } else {
            drop(next.into_instruction());
        }
    }

    /// Moves live values out of the registers that a call clobbers or that results are fixed to.
    fn clear_overwritten(
        &mut self,
        instruction: &Instruction,
        writes: &[Group<'_>],
        after_uses: &[(Value, u32)],
    ) {
        if let Some(call) = &instruction.call {
            self.forbidden = overwritten_by(call, self.registers.file);
        }
        for group in writes {
            if let Some(base) = group.fixed {
                (0..group.values.len()).for_each(|k| self.forbidden.insert(base + k as u8));
            }
        }
        if self.forbidden.is_empty() {
            return;
        }
        for r in self.forbidden.within(self.usable).iter() {
            let occupant = self.occupant[usize::from(r)];
            if occupant == FREE || occupant == COPY {
                continue;
            }
            let v = Value(occupant);
            let used = after_uses.iter().any(|(u, _)| *u == v);
            let dies = (used && !lives(after_uses, v)) || (!used && self.next[v] == NEVER);
            if !dies {
                self.relocate(v, RegisterSet::default());
            }
        }
    }

    /// Frees the registers of dying sources, and of copies of sources, for results, unless the results are written
    /// while the sources are still read (`early`). `tied` are results that keep the register of a source.
    fn free_dying(&mut self, after_uses: &[(Value, u32)], tied: &[(Value, u32)], early: bool) {
        for &(v, next) in after_uses {
            self.next[v] = next;
            self.in_flight[v] = false;
            if next == NEVER && !tied.iter().any(|(d, _)| *d == v) {
                let register = self.assigned[v];
                self.dying.push((v, register));
                if !early && register != NONE {
                    self.occupant.set(usize::from(register), FREE);
                }
            }
        }
        if !early {
            for &(_, register) in &self.copies {
                self.occupant.set(usize::from(register), FREE);
            }
        }
    }

    /// Assigns registers to the results, those that have no choice first, then the widest.
    fn assign_results<'a>(
        &mut self,
        writes: &[Group<'a>],
        placed: &[Assigned<'a>],
        accumulators: Option<Slot>,
    ) -> Result<SmallVec<[Assigned<'a>; 2]>, AllocateError> {
        let mut results = SmallVec::new();
        let mut order: SmallVec<[Group<'_>; 2]> = SmallVec::from_slice(writes);
        order.sort_by_key(|g| (g.fixed.is_none(), std::cmp::Reverse(g.values.len())));
        for group in order {
            let old = placed
                .iter()
                .find(|(g, _)| Some(g.operand) == accumulators && g.values.len() == group.values.len());
            let base = match (group.fixed, old) {
                (Some(base), _) => base,
                (None, Some(&(_, base))) => {
                    (0..group.values.len()).for_each(|k| self.occupant.set(usize::from(base) + k, FREE));
                    base
                }
                (None, None) => self.destination_base(&group, placed).ok_or_else(|| self.too_few())?,
            };
            let mut range = RegisterSet::default();
            (0..group.values.len()).for_each(|k| range.insert(base + k as u8));
            for k in 0..group.values.len() {
                let r = base + k as u8;
                self.clear(r, range);
                self.defined.insert(r);
            }
            results.push((group, base));
        }
        Ok(results)
    }

    /// Ends the live ranges of dying sources, and the copies of sources that this instruction needed.
    fn end_uses(&mut self) {
        for (v, register) in self.dying.drain(..) {
            if register != NONE {
                if self.occupant[usize::from(register)] == v.0 {
                    self.occupant.set(usize::from(register), FREE);
                }
                self.assigned[v] = NONE;
            }
            self.in_memory[v] = false;
        }
        for &(_, register) in &self.copies {
            let register = usize::from(register);
            if self.occupant[register] == COPY {
                self.occupant.set(register, FREE);
            }
        }
    }

    /// The next instruction of the output writes the results of a group to the registers from `base` on. `new` is
    /// false for guarded results, which keep the register of their old value.
    fn define(&mut self, group: &Group<'_>, base: u8, after_definitions: &[(Value, u32)], new: bool) {
        for (&v, r) in group.values.iter().zip(base..) {
            let next = after_definitions.iter().find(|(d, _)| *d == v).map_or(NEVER, |(_, n)| *n);
            self.next[v] = next;
            self.in_memory[v] = self.stored_at_definition[v];
            if new {
                self.assigned[v] = r;
                self.occupant.set(usize::from(r), v.0);
                self.remember(v, r);
                let index = self.out.len() as u32 + 1;
                self.site[v] = Some(Site { block: self.block, index, register: r, depth: self.depth });
            }
            if next == NEVER {
                self.occupant.set(usize::from(self.assigned[v]), FREE);
                self.assigned[v] = NONE;
                self.in_memory[v] = false;
            }
        }
    }
}
