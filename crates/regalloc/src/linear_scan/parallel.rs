//! Many values at once, as at the end of a block before a join: the scan decides where the new values go and turns the
//! copies of its file into moves.

use super::{NONE, Scan, location};
use crate::AllocateError;
use crate::moves::{Emitter, From, Move, Place};
use crate::next_use::NEVER;
use crate::set::RegisterSet;
use oriole_ori::{Instruction, Pseudo, SourceKind, Value};
use smallvec::SmallVec;

impl Scan<'_> {
    /// Many values at once, as at the end of a block before a join. The copies of this file become moves; what
    /// remains of the instruction says where the new values begin.
    pub(super) fn parallel_copy(
        &mut self,
        mut instruction: Instruction,
        after_definitions: &[(Value, u32)],
        after_uses: &[(Value, u32)],
    ) -> Result<(), AllocateError> {
        let file = self.registers.file;
        self.begin();
        let mut pairs: Vec<(Value, oriole_ori::Source)> = Vec::with_capacity(instruction.sources.len());
        let mut rest = (SmallVec::new(), SmallVec::new());
        let destinations = std::mem::take(&mut instruction.destinations);
        for (d, s) in destinations.into_iter().zip(std::mem::take(&mut instruction.sources)) {
            match d.values.first() {
                Some(&v) if d.file == file => pairs.push((v, s)),
                _ => {
                    if let SourceKind::Values(s) = &s.kind
                        && self.work.function.file(s[0]) == file
                    {
                        return Err(AllocateError::Input("a parallel copy between files".into()));
                    }
                    rest.0.push(d);
                    rest.1.push(s);
                }
            }
        }
        // There may be as many as there are values: the list is sorted to be searched.
        let mut after_each = after_definitions.to_vec();
        after_each.sort_unstable();
        let after = |v: Value| {
            after_each.binary_search_by_key(&v, |(u, _)| *u).ok().map_or(NEVER, |at| after_each[at].1)
        };
        // Sources that die give up their registers.
        let mut available = self.free();
        for &(v, next) in after_uses {
            if next == NEVER && self.assigned[v] != NONE {
                available.insert(self.assigned[v]);
            }
        }
        let before = self.free();
        let successor = match self.work.function.block(self.block).successors.as_slice() {
            &[only] => self.entry[only].take().map(|e| (only, e)),
            _ => None,
        };
        let mut taken = RegisterSet::default();
        let mut plan: Vec<(Value, Place, usize)> = Vec::with_capacity(pairs.len());
        let mut late: Vec<usize> = Vec::new();
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        // Two rounds: hints first, so that no value takes the register that another one is hinted to.
        order.retain(|&k| {
            let d = pairs[k].0;
            let next = after(d);
            if next == NEVER {
                return false;
            }
            let expected = successor.as_ref().and_then(|(_, e)| location(e, d));
            let own = match &pairs[k].1.kind {
                SourceKind::Values(s) if self.work.function.file(s[0]) == file => self.assigned[s[0]],
                _ => NONE,
            };
            let hint = match expected {
                Some(l) if l.register == NONE => {
                    plan.push((d, Place::Slot(d), k));
                    return false;
                }
                Some(l) => l.register,
                None if self.inputs.tuple[d].is_none() => own,
                None => NONE,
            };
            if hint != NONE && available.contains(hint) && !taken.contains(hint) {
                taken.insert(hint);
                plan.push((d, Place::Register(hint), k));
                return false;
            }
            late.push(k);
            false
        });
        if let Some((only, entry)) = successor {
            self.entry[only] = Some(entry);
        }
        late.sort_by_key(|&k| (after(pairs[k].0), k));
        let mut placed_now: Vec<(Value, u8)> = Vec::new();
        for k in late {
            let d = pairs[k].0;
            let free = available.without(taken);
            let choice = {
                // Siblings of a tuple that were placed a moment ago count as being there.
                let hint = self.inputs.tuple[d].as_deref().and_then(|hint| {
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
                    let next = after(d);
                    let sources_here: RegisterSet = {
                        let mut set = taken;
                        for &(v, _) in after_uses {
                            if self.assigned[v] != NONE {
                                set.insert(self.assigned[v]);
                            }
                        }
                        set
                    };
                    match self.eviction_candidate(sources_here) {
                        Some(x) if self.next[x] > next => {
                            let r = self.assigned[x];
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
        let mut moves = Vec::with_capacity(plan.len());
        let mut made = Vec::new();
        for &(d, to, k) in &plan {
            let source = &pairs[k].1;
            match &source.kind {
                SourceKind::Values(s) if self.work.function.file(s[0]) == file => {
                    let s = s[0];
                    let from = self.start_of(s);
                    if from != NONE {
                        let from = From::Place(Place::Register(from));
                        moves.push(Move { to, into: d, from, value: s });
                    } else if let Some(rematerialization) = &self.inputs.rematerializations[s] {
                        made.push((d, to, s, rematerialization.clone()));
                    } else if self.in_memory[s] || self.stored_at_definition[s] {
                        moves.push(Move { to, into: d, from: From::Place(Place::Slot(s)), value: s });
                    }
                }
                _ => {
                    let mut rematerialization = Instruction::new(Pseudo::Copy, instruction.origin);
                    rematerialization.destinations.push(oriole_ori::Destination::new(file, [d]));
                    rematerialization.sources.push(source.clone());
                    made.push((d, to, d, Box::new(rematerialization)));
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
        for (d, to, value, rematerialization) in made {
            moves.push(Move { to, into: d, from: From::Made(rematerialization), value });
        }
        emitter.parallel(moves, scratch);
        // The state behind it.
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
        for &(d, to, _) in &plan {
            match to {
                Place::Register(r) => self.put(d, r),
                Place::Slot(_) => self.in_memory[d] = true,
            }
        }
        instruction.destinations = rest.0;
        instruction.sources = rest.1;
        self.out.push(instruction);
        self.marks.push(false);
        self.begin();
        Ok(())
    }
}
