//! Parallel copies, as at the end of a block before a join: the scan decides where the new values go and turns the
//! copies of its register file into moves.

use super::{NONE, Scan, location};
use crate::error::AllocateError;
use crate::moves::Emitter;
use crate::next_use::NEVER;
use crate::places::{From, Move, Place};
use crate::set::RegisterSet;
use oriole_ori::{Destination, Instruction, Origin, Pseudo, Source, SourceKind, Value};

/// One copy of the current register file.
struct Copy {
    destination: Value,
    source: Source,
    /// The next use of the destination.
    next: u32,
}

/// Locations of the destinations.
struct Plan {
    /// Index of the copy and the location of its destination, in the order of the decisions.
    places: Vec<(usize, Place)>,
    /// Registers that were free or whose values die here.
    available: RegisterSet,
    /// Those that are assigned to a destination.
    taken: RegisterSet,
}

impl Plan {
    fn assign(&mut self, copy: usize, place: Place) {
        if let Place::Register(register) = place {
            self.taken.insert(register);
        }
        self.places.push((copy, place));
    }
}

impl Scan<'_> {
    /// The copies of this file become moves; the rest of the instruction defines the new values.
    pub(super) fn parallel_copy(
        &mut self,
        mut instruction: Instruction,
        after_definitions: &[(Value, u32)],
        after_uses: &[(Value, u32)],
    ) -> Result<(), AllocateError> {
        self.begin();
        let copies = self.take_copies(&mut instruction, after_definitions)?;
        let before = self.free();
        let places = self.assign_destinations(&copies, after_uses);
        self.emit_copies(&copies, &places, before, instruction.origin);
        self.update_after_copies(&copies, &places, after_definitions, after_uses);
        self.out.push(instruction);
        self.marks.push(false);
        self.begin();
        Ok(())
    }

    /// The value of this file that a source reads.
    fn source_value(&self, source: &Source) -> Option<Value> {
        match &source.kind {
            SourceKind::Values(s) if self.work.function.file(s[0]) == self.registers.file => Some(s[0]),
            _ => None,
        }
    }

    /// Takes the copies of this file out of the instruction.
    fn take_copies(
        &self,
        instruction: &mut Instruction,
        after_definitions: &[(Value, u32)],
    ) -> Result<Vec<Copy>, AllocateError> {
        // There may be as many as there are values: the list is sorted to be searched.
        let mut after_each = after_definitions.to_vec();
        after_each.sort_unstable();
        let next_use = |v: Value| {
            after_each.binary_search_by_key(&v, |(u, _)| *u).ok().map_or(NEVER, |at| after_each[at].1)
        };
        let destinations = std::mem::take(&mut instruction.destinations);
        let sources = std::mem::take(&mut instruction.sources);
        let mut copies = Vec::with_capacity(sources.len());
        for (d, source) in destinations.into_iter().zip(sources) {
            match d.values.first() {
                Some(&v) if d.file == self.registers.file => {
                    copies.push(Copy { destination: v, source, next: next_use(v) });
                }
                _ => {
                    if self.source_value(&source).is_some() {
                        return Err(AllocateError::Input("a parallel copy between files".into()));
                    }
                    instruction.destinations.push(d);
                    instruction.sources.push(source);
                }
            }
        }
        Ok(copies)
    }

    /// Decides where the destinations go. Those that are dead go nowhere.
    fn assign_destinations(&mut self, copies: &[Copy], after_uses: &[(Value, u32)]) -> Vec<(usize, Place)> {
        // Dying sources release their registers.
        let mut available = self.free();
        for &(v, next) in after_uses {
            if next == NEVER && self.assigned[v] != NONE {
                available.insert(self.assigned[v]);
            }
        }
        let places = Vec::with_capacity(copies.len());
        let mut plan = Plan { places, available, taken: RegisterSet::default() };
        // Hints first, so that no value takes the register that another one is hinted to.
        let mut late = self.assign_hinted(copies, &mut plan);
        late.sort_by_key(|&k| (copies[k].next, k));
        self.assign_late(copies, &late, after_uses, &mut plan);
        plan.places
    }

    /// Assigns the destinations that the successor expects in a register or slot, or that fit in their source's
    /// register. Returns the other live ones.
    fn assign_hinted(&self, copies: &[Copy], plan: &mut Plan) -> Vec<usize> {
        let entry = match self.work.function.block(self.block).successors.as_slice() {
            &[only] => self.entry[only].as_deref(),
            _ => None,
        };
        let mut late = Vec::new();
        for (k, copy) in copies.iter().enumerate().filter(|(_, copy)| copy.next != NEVER) {
            let d = copy.destination;
            let hint = match entry.and_then(|e| location(e, d)) {
                Some(l) if l.register == NONE => {
                    plan.assign(k, self.slot_place(d));
                    continue;
                }
                Some(l) => l.register,
                None => match (self.home(d), self.source_value(&copy.source)) {
                    (Some(home), _) => home,
                    (None, Some(s)) if !self.in_tuple(d) => self.assigned[s],
                    _ => NONE,
                },
            };
            if hint != NONE && plan.available.contains(hint) && !plan.taken.contains(hint) {
                plan.assign(k, Place::Register(hint));
            } else {
                late.push(k);
            }
        }
        late
    }

    /// Assigns the destinations without a usable hint, the soonest used first: a free register, that of a value with a
    /// farther next use, or a slot.
    fn assign_late(&mut self, copies: &[Copy], late: &[usize], after_uses: &[(Value, u32)], plan: &mut Plan) {
        for &k in late {
            let d = copies[k].destination;
            let free = plan.available.without(plan.taken);
            let place = match self.pick(free, d) {
                Some(r) => Place::Register(r),
                None => {
                    let sources = after_uses.iter().map(|&(v, _)| self.assigned[v]).filter(|&r| r != NONE);
                    let mut avoid = plan.taken;
                    sources.for_each(|r| avoid.insert(r));
                    match self.eviction_candidate(avoid) {
                        Some(x) if self.next[x] > copies[k].next => {
                            let r = self.assigned[x];
                            self.spill(x);
                            plan.available.insert(r);
                            Place::Register(r)
                        }
                        _ => self.slot_place(d),
                    }
                }
            };
            if let Place::Register(r) = place {
                // The rest of its tuple goes next to it.
                self.remember(d, r);
            }
            plan.assign(k, place);
        }
    }

    /// Appends the stores of evicted values and the moves. `before` are the registers that were free before the copy.
    fn emit_copies(
        &mut self,
        copies: &[Copy],
        places: &[(usize, Place)],
        before: RegisterSet,
        origin: Origin,
    ) {
        let file = self.registers.file;
        let mut moves = Vec::with_capacity(places.len());
        let mut made = Vec::new();
        let mut targets = RegisterSet::default();
        for &(k, to) in places {
            let Copy { destination: into, source, .. } = &copies[k];
            let into = *into;
            if let Place::Register(r) = to {
                targets.insert(r);
            }
            let Some(value) = self.source_value(source) else {
                let mut constant = Instruction::new(Pseudo::Copy, origin);
                constant.destinations.push(Destination::new(file, [into]));
                constant.sources.push(source.clone());
                made.push(Move { to, into, from: From::Made(Box::new(constant)), value: into });
                continue;
            };
            let register = self.start_of(value);
            if register != NONE {
                moves.push(Move { to, into, from: From::Place(Place::Register(register)), value });
            } else if let Some(rematerialization) = &self.inputs.rematerializations[value] {
                made.push(Move { to, into, from: From::Made(rematerialization.clone()), value });
            } else if self.in_memory[value] || self.stored_at_definition[value] {
                moves.push(Move { to, into, from: From::Place(self.slot_place(value)), value });
            }
        }
        moves.extend(made);
        let scratch = before.within(self.free()).without(targets);
        let owners = &self.inputs.affinities;
        let mut emitter =
            Emitter { work: self.work, file, origin, out: &mut self.out, marks: &mut self.marks };
        for &(v, from) in &self.stores {
            emitter.store(owners.owner(v), v, from);
        }
        emitter.parallel(moves, scratch);
    }

    /// Updates the state after the copy.
    fn update_after_copies(
        &mut self,
        copies: &[Copy],
        places: &[(usize, Place)],
        after_definitions: &[(Value, u32)],
        after_uses: &[(Value, u32)],
    ) {
        for &(v, next) in after_uses {
            self.next[v] = next;
            if next == NEVER {
                self.put(v, NONE);
                self.in_memory[v] = false;
            }
        }
        for &(d, next) in after_definitions {
            self.put(d, NONE);
            self.in_memory[d] = false;
            self.next[d] = next;
        }
        for &(k, to) in places {
            let d = copies[k].destination;
            match to {
                Place::Register(r) => self.put(d, r),
                Place::Slot(_) => self.in_memory[d] = true,
            }
        }
    }
}
