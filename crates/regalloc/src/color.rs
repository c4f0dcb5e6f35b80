//! Graph colouring for the register files whose live ranges are never split: uniform registers, uniform predicates,
//! convergence barriers. A move would have to happen in code that only part of the warp executes.
//!
//! Values that are adjacent in some operand (a tuple) form a bundle with one base register; an operand that wants a value in two
//! different places gets copies. Bundles are coloured in the order of their first definition.

use crate::AllocateError;
use crate::abi;
use crate::operands::{Group, alignment, destinations, is_parallel_copy, is_partial, replace, sources};
use crate::set::RegisterSet;
use crate::work::Work;
use oriole_chip::RegisterFiles;
use oriole_ori::{Cfg, Destination, File, Instruction, Liveness, Opcode, Pseudo, Source, SourceKind, Value};
use oriole_sass::Op;
use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::{TiVec, ti_vec};

/// Colours one file. All its values get a register in `work`.
pub fn color(work: &mut Work, file: File, files: &RegisterFiles) -> Result<(), AllocateError> {
    if !work.function.values.iter().any(|v| v.file == file) {
        return Ok(());
    }
    if file == File::UR && !work.function.is_entry {
        // Uniform registers that survive a call belong to the caller.
        let graph = Graph::new(work, file);
        let across = |v: &Value| graph.across_calls.get(*v).copied().unwrap_or(false);
        let evicted = graph.order.iter().copied().filter(across).collect();
        spill_or_rematerialize(work, &evicted);
    }
    let mut handled: FxHashSet<Value> = FxHashSet::default();
    loop {
        let mut bundles = bundle(work, file);
        let graph = Graph::new(work, file);
        let Err(conflicts) = assign(work, file, files, &mut bundles, &graph) else { return Ok(()) };
        // Of the conflict set, the half with the most interferences is spilled or rematerialized.
        let mut evicted: Vec<Value> = conflicts.into_iter().filter(|v| !handled.contains(v)).collect();
        evicted.retain(|v| work.original[*v] == *v);
        evicted.sort_unstable_by_key(|v| (std::cmp::Reverse(graph.neighbors[*v].len()), *v));
        evicted.truncate(evicted.len().div_ceil(2));
        if file != File::UR || evicted.is_empty() {
            return Err(AllocateError::Pressure { file });
        }
        handled.extend(evicted.iter().copied());
        spill_or_rematerialize(work, &evicted.into_iter().collect());
    }
}

/// A value's bundle and its place in it.
struct Bundles {
    parent: TiVec<Value, Value>,
    /// Distance of the value from its parent's base, in registers.
    offset: TiVec<Value, i32>,
    /// Members by root; only multi-value bundles and values that occur.
    members: FxHashMap<Value, Vec<(i32, Value)>>,
    /// Demands by root: (offset, alignment, fixed register).
    demands: FxHashMap<Value, Vec<(i32, u8, Option<u8>)>>,
}

impl Bundles {
    fn find(&mut self, v: Value) -> (Value, i32) {
        let mut at = v;
        let mut distance = 0;
        while self.parent[at] != at {
            distance += self.offset[at];
            at = self.parent[at];
        }
        if at != v {
            self.parent[v] = at;
            self.offset[v] = distance;
        }
        (at, distance)
    }

    /// True if the group was joined: all members in a row, each place held by one value.
    fn join(&mut self, group: &Group) -> bool {
        let mut seen = FxHashSet::default();
        if !group.values.iter().all(|v| seen.insert(*v)) {
            return false;
        }
        let (first, base) = self.find(group.values[0]);
        // Try it on copies of the member lists, so that a failure leaves nothing behind.
        let mut places: FxHashMap<i32, Value> = FxHashMap::default();
        let mut joined: Vec<(Value, i32)> = vec![(first, 0)];
        for (k, &v) in group.values.iter().enumerate() {
            let (root, offset) = self.find(v);
            let shift = base + k as i32 - offset;
            match joined.iter().find(|(r, _)| *r == root) {
                Some(&(_, known)) if known != shift => return false,
                Some(_) => {}
                None => joined.push((root, shift)),
            }
        }
        for &(root, shift) in &joined {
            for &(offset, v) in self.members.get(&root).map_or(&[][..], |m| m) {
                if places.insert(offset + shift, v).is_some_and(|other| other != v) {
                    return false;
                }
            }
        }
        let least_recently_used = places.keys().max().unwrap_or(&0) - places.keys().min().unwrap_or(&0);
        if least_recently_used > 16 {
            return false;
        }
        for &(root, shift) in &joined[1..] {
            self.parent[root] = first;
            self.offset[root] = shift;
            let members = self.members.remove(&root).unwrap_or_default();
            let demands = self.demands.remove(&root).unwrap_or_default();
            self.members.entry(first).or_default().extend(members.iter().map(|&(o, v)| (o + shift, v)));
            self.demands.entry(first).or_default().extend(demands.iter().map(|&(o, a, f)| (o + shift, a, f)));
        }
        self.demands.entry(first).or_default().push((base, alignment(group.values.len()), group.fixed));
        true
    }
}

/// Finds bundles; puts copies before operands that cannot join.
fn bundle(work: &mut Work, file: File) -> Bundles {
    let mut bundles = Bundles {
        parent: work.function.values.keys().collect(),
        offset: ti_vec![0; work.function.values.len()],
        members: FxHashMap::default(),
        demands: FxHashMap::default(),
    };
    for (value, data) in work.function.values.iter_enumerated() {
        if data.file == file {
            bundles.members.insert(value, vec![(0, value)]);
        }
    }
    for block in work.function.block_ids() {
        let mut instructions = std::mem::take(&mut work.function.blocks[block].instructions);
        // What stands before (false) and behind (true) an instruction, by its index.
        let mut copies: Vec<(usize, bool, Instruction)> = Vec::new();
        for (index, instruction) in instructions.iter_mut().enumerate() {
            if !is_parallel_copy(instruction) {
                join_operands(work, &mut bundles, file, instruction, |behind, copy| {
                    copies.push((index, behind, copy));
                });
            }
        }
        if copies.is_empty() {
            work.function.blocks[block].instructions = instructions;
            continue;
        }
        let marks = std::mem::take(&mut work.inserted[block]);
        let mut out = Vec::with_capacity(instructions.len() + copies.len());
        let mut out_marks = Vec::with_capacity(instructions.len() + copies.len());
        copies.sort_by_key(|&(index, behind, _)| (index, behind));
        let mut copies = copies.into_iter().peekable();
        for (index, (instruction, mark)) in instructions.into_iter().zip(marks).enumerate() {
            while let Some((.., copy)) = copies.next_if(|&(at, behind, _)| at == index && !behind) {
                out.push(copy);
                out_marks.push(true);
            }
            out.push(instruction);
            out_marks.push(mark);
            while let Some((.., copy)) = copies.next_if(|&(at, ..)| at == index) {
                out.push(copy);
                out_marks.push(true);
            }
        }
        work.function.blocks[block].instructions = out;
        work.inserted[block] = out_marks;
    }
    bundles
}

/// Joins the values of each operand of an instruction; an operand that cannot join gets copies, which are given away:
/// true for one that belongs behind the instruction.
fn join_operands(
    work: &mut Work,
    bundles: &mut Bundles,
    file: File,
    instruction: &mut Instruction,
    mut give: impl FnMut(bool, Instruction),
) {
    let origin = instruction.origin;
    let reads = sources(&work.function, instruction, file, work.stack_pointer);
    let writes = destinations(instruction, file);
    let writing = writes.len();
    for (k, group) in writes.into_iter().chain(reads).enumerate() {
        if (group.values.len() == 1 && group.fixed.is_none()) || bundles.join(&group) {
            continue;
        }
        let copies: Vec<Value> = group
            .values
            .iter()
            .map(|_| {
                let new = work.new_value(file);
                bundles.parent.push(new);
                bundles.offset.push(0);
                bundles.members.insert(new, vec![(0, new)]);
                new
            })
            .collect();
        let guarded = k < writing && is_partial(instruction);
        for (&copy, &v) in copies.iter().zip(&group.values) {
            let between = |to: Value, from: Value| {
                let mut between = Instruction::new(Pseudo::Copy, origin);
                between.destinations.push(Destination::new(file, [to]));
                between.sources.push(Source::value(from));
                between
            };
            if k >= writing || guarded {
                give(false, between(copy, v));
            }
            if k < writing {
                give(true, between(v, copy));
            }
        }
        replace(instruction, group.operand, &copies);
        for (&copy, &v) in copies.iter().zip(&group.values) {
            work.original[copy] = work.original[v];
        }
        let fresh = Group { values: copies.into_iter().collect(), ..group };
        bundles.join(&fresh);
    }
}

/// Who is alive together, who wants to share, who lives across a call.
struct Graph {
    neighbors: TiVec<Value, Vec<Value>>,
    /// Pairs joined by a copy, in program order.
    friends: TiVec<Value, Vec<Value>>,
    across_calls: TiVec<Value, bool>,
    /// Values in order of first definition or use.
    order: Vec<Value>,
}

impl Graph {
    fn new(work: &Work, file: File) -> Graph {
        let function = &work.function;
        let count = function.values.len();
        let mut graph = Graph {
            neighbors: ti_vec![Vec::new(); count],
            friends: ti_vec![Vec::new(); count],
            across_calls: ti_vec![false; count],
            order: Vec::new(),
        };
        let mut met: TiVec<Value, bool> = ti_vec![false; count];
        let cfg = Cfg::new(function);
        let liveness = Liveness::of(function, &cfg, |value| function.file(value) == file);
        let is_ours = |v: &Value| function.file(*v) == file;
        for &block in cfg.order() {
            for instruction in &function.block(block).instructions {
                let mut meet = |v: Value| {
                    if is_ours(&v) && !std::mem::replace(&mut met[v], true) {
                        graph.order.push(v);
                    }
                };
                instruction.for_each_use(&mut meet);
                instruction.for_each_definition(&mut meet);
            }
        }
        for &block in cfg.order() {
            let mut live: Vec<Value> = liveness.live_out(block).iter().copied().filter(is_ours).collect();
            for instruction in function.block(block).instructions.iter().rev() {
                let mut defined: Vec<Value> = Vec::new();
                instruction.for_each_definition(|v| {
                    if is_ours(&v) {
                        defined.push(v);
                    }
                });
                let copied_from = |d: Value| -> Option<Value> {
                    let at = instruction.destinations.iter().position(|x| x.values.first() == Some(&d))?;
                    let copies =
                        matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Copy | Pseudo::ParallelCopy));
                    match &instruction.sources.get(at)?.kind {
                        SourceKind::Values(s) if copies && is_ours(&s[0]) => Some(s[0]),
                        _ => None,
                    }
                };
                for (k, &d) in defined.iter().enumerate() {
                    let single = instruction.opcode == Opcode::Pseudo(Pseudo::Copy);
                    let from = copied_from(d);
                    if let Some(from) = from {
                        graph.friends[d].push(from);
                        graph.friends[from].push(d);
                    }
                    for &other in live.iter().chain(&defined[..k]) {
                        // A copy and its source may share while both hold the same.
                        if other != d && !(single && from == Some(other) && instruction.guard.is_none()) {
                            graph.neighbors[d].push(other);
                            graph.neighbors[other].push(d);
                        }
                    }
                }
                if instruction.guard.is_none() {
                    live.retain(|v| !defined.contains(v));
                }
                let calls = instruction.call.as_ref().is_some_and(|c| match file {
                    File::B => instruction.opcode == Opcode::Pseudo(Pseudo::Call),
                    _ => c.clobbers_uniform,
                });
                if calls {
                    live.iter().for_each(|&v| graph.across_calls[v] = true);
                }
                instruction.for_each_use(|v| {
                    if is_ours(&v) && !live.contains(&v) {
                        live.push(v);
                    }
                });
                if instruction.guard.is_some() {
                    for &d in &defined {
                        if !live.contains(&d) {
                            live.push(d);
                        }
                    }
                }
                // Several results of one instruction, and old values of guarded ones, are alive with each other.
            }
            // What enters the entry block alive is unknown, but it occupies its register.
            if cfg.predecessors(block).is_empty() {
                for (k, &a) in live.iter().enumerate() {
                    for &b in &live[..k] {
                        graph.neighbors[a].push(b);
                        graph.neighbors[b].push(a);
                    }
                }
            }
        }
        for list in &mut graph.neighbors {
            list.sort_unstable();
            list.dedup();
        }
        graph
    }
}

/// First register that may be used, and one past the last.
fn range(file: File, files: &RegisterFiles) -> (u8, u8) {
    let file = match file {
        File::UR => files.uniform,
        File::UP => files.uniform_predicate,
        File::B => files.barrier,
        File::R | File::P => unreachable!("these files are scanned"),
    };
    (file.first_usable, file.end_usable)
}

/// Assigns the registers. If some bundle finds none, the conflict set comes back: its own values first, then those that
/// interfere.
fn assign(
    work: &mut Work,
    file: File,
    files: &RegisterFiles,
    bundles: &mut Bundles,
    graph: &Graph,
) -> Result<(), Vec<Value>> {
    let (low, high) = range(file, files);
    let saved_from = match file {
        File::UR => abi::FIRST_SAVED_UNIFORM,
        File::B => abi::FIRST_SAVED_BARRIER,
        _ => u8::MAX,
    };
    let mut placed: TiVec<Value, Option<u8>> = ti_vec![None; work.function.values.len()];
    let mut done: FxHashSet<Value> = FxHashSet::default();
    // Bundles with a fixed place first.
    let mut order: Vec<Value> = Vec::new();
    for fixed in [true, false] {
        for &v in &graph.order {
            let (root, _) = bundles.find(v);
            let is_fixed = bundles.demands.get(&root).is_some_and(|d| d.iter().any(|(_, _, f)| f.is_some()));
            if is_fixed == fixed && done.insert(root) {
                order.push(root);
            }
        }
    }
    for root in order {
        let mut members = bundles.members.get(&root).cloned().unwrap_or_default();
        members.sort_unstable();
        let demands = bundles.demands.get(&root).cloned().unwrap_or_default();
        let mut taken: Vec<(i32, RegisterSet)> = Vec::new();
        let mut across = false;
        for &(offset, v) in &members {
            let mut set = RegisterSet::default();
            for &n in &graph.neighbors[v] {
                if let Some(r) = placed[n] {
                    set.insert(r);
                }
            }
            across |= graph.across_calls[v];
            taken.push((offset, set));
        }
        let fits = |base: i32| {
            let aligned = demands.iter().all(|&(offset, align, fixed)| {
                let r = base + offset;
                r >= 0 && r % i32::from(align) == 0 && fixed.is_none_or(|f| i32::from(f) == r)
            });
            aligned
                && taken.iter().all(|(offset, set)| {
                    let r = base + offset;
                    let lowest = if across { saved_from.min(high) } else { low };
                    r >= i32::from(lowest) && r < i32::from(high) && !set.contains(r as u8)
                })
        };
        let conflicts = || {
            let own = members.iter().map(|m| m.1);
            let others = members.iter().flat_map(|m| graph.neighbors[m.1].iter().copied());
            let mut conflicts: Vec<Value> = own.chain(others).collect();
            conflicts.sort_unstable();
            conflicts.dedup();
            conflicts
        };
        if across && saved_from == u8::MAX {
            return Err(conflicts());
        }
        // The place of a friend first.
        let hints =
            members.iter().flat_map(|&(offset, v)| graph.friends[v].iter().map(move |f| (offset, *f)));
        let mut choice = None;
        for (offset, friend) in hints {
            if let Some(r) = placed[friend] {
                let base = i32::from(r) - offset;
                if fits(base) {
                    choice = Some(base);
                    break;
                }
            }
        }
        let span = members.iter().map(|m| m.0).max().unwrap_or(0).unsigned_abs() as i32 + 16;
        let choice = choice
            .or_else(|| (-span..i32::from(high) + span).find(|&base| fits(base)))
            .ok_or_else(conflicts)?;
        for &(offset, v) in &members {
            placed[v] = Some((choice + offset) as u8);
        }
    }
    for (value, register) in placed.into_iter_enumerated() {
        if register.is_some() && work.function.values[value].file == file {
            work.register[value] = register;
        }
    }
    Ok(())
}

/// Takes uniform values out of their registers between definition and use: what can be made without reading a
/// register is made again before each use, the others are kept in a general register.
fn spill_or_rematerialize(work: &mut Work, evicted: &FxHashSet<Value>) {
    let mut rematerializations: FxHashMap<Value, Instruction> = FxHashMap::default();
    let mut definitions: FxHashMap<Value, u32> = FxHashMap::default();
    for instruction in work.function.blocks.iter().flat_map(|b| &b.instructions) {
        let made =
            matches!(instruction.opcode, Opcode::Sass(Op::ULDC | Op::UMOV)) && instruction.guard.is_none();
        let constant = instruction
            .sources
            .iter()
            .all(|s| matches!(s.kind, SourceKind::Const { .. } | SourceKind::Imm(_) | SourceKind::Zero(_)));
        instruction.for_each_definition(|v| {
            *definitions.entry(v).or_default() += 1;
            if made && constant {
                rematerializations.insert(v, instruction.clone());
            }
        });
    }
    rematerializations.retain(|v, _| definitions[v] == 1 && evicted.contains(v));
    // Where the others are kept.
    let mut kept: FxHashMap<Value, Value> = FxHashMap::default();
    let mut order: Vec<Value> =
        evicted.iter().copied().filter(|v| !rematerializations.contains_key(v)).collect();
    order.sort_unstable();
    for v in order {
        let general = work.new_value(File::R);
        work.original[general] = work.original[v];
        kept.insert(v, general);
    }
    for block in work.function.block_ids() {
        let old = std::mem::take(&mut work.function.blocks[block].instructions);
        let marks = std::mem::take(&mut work.inserted[block]);
        let mut out = Vec::with_capacity(old.len());
        let mut out_marks = Vec::with_capacity(old.len());
        for (mut instruction, mark) in old.into_iter().zip(marks) {
            let origin = instruction.origin;
            // The old value of a guarded result is read, too; it comes back into the register of the result.
            if is_partial(&instruction) {
                for group in destinations(&instruction, File::UR) {
                    for v in group.values.iter().filter(|v| kept.contains_key(v)) {
                        out.push(copy(File::UR, *v, kept[v], origin));
                        out_marks.push(true);
                    }
                }
            }
            if !is_parallel_copy(&instruction) {
                for group in sources(&work.function, &instruction, File::UR, work.stack_pointer) {
                    let mut values: Vec<Value> = group.values.to_vec();
                    for k in 0..values.len() {
                        let v = group.values[k];
                        if values[k] != v {
                            continue;
                        }
                        if let Some(rematerialization) = rematerializations.get(&v) {
                            let mut made = rematerialization.clone();
                            made.origin = origin;
                            for component in &mut made.destinations[0].values {
                                let new = work.new_value(File::UR);
                                work.original[new] = work.original[*component];
                                values.iter_mut().filter(|s| **s == *component).for_each(|s| *s = new);
                                *component = new;
                            }
                            out.push(made);
                            out_marks.push(true);
                        } else if let Some(&general) = kept.get(&v) {
                            let new = work.new_value(File::UR);
                            work.original[new] = work.original[v];
                            values.iter_mut().filter(|s| **s == v).for_each(|s| *s = new);
                            out.push(copy(File::UR, new, general, origin));
                            out_marks.push(true);
                        }
                    }
                    replace(&mut instruction, group.operand, &values);
                }
            } else {
                // Sources of many copies at once come back into their own registers before it.
                instruction.for_each_use(|v| {
                    if let Some(&general) = kept.get(&v) {
                        out.push(copy(File::UR, v, general, origin));
                        out_marks.push(true);
                    }
                });
            }
            let mut behind = Vec::new();
            instruction.for_each_definition(|v| {
                if let Some(&general) = kept.get(&v) {
                    behind.push(copy(File::R, general, v, origin));
                }
            });
            out.push(instruction);
            out_marks.push(mark);
            out_marks.extend(behind.iter().map(|_| true));
            out.extend(behind);
        }
        work.function.blocks[block].instructions = out;
        work.inserted[block] = out_marks;
    }
}

fn copy(file: File, to: Value, from: Value, origin: oriole_ori::Origin) -> Instruction {
    let mut copy = Instruction::new(Pseudo::Copy, origin);
    copy.destinations.push(Destination::new(file, [to]));
    copy.sources.push(Source::value(from));
    copy
}
