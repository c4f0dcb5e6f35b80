//! Graph colouring for the register files whose live ranges are never split: uniform registers, uniform predicates,
//! convergence barriers. A move would have to be in code that only a subset of the warp executes.
//!
//! Values that are adjacent in some operand (a tuple) form a bundle with one base register; an operand that needs a
//! value in two registers gets copies. Bundles are coloured in the order of their first definition.

mod spill;

use crate::abi;
use crate::error::AllocateError;
use crate::operands::{
    Group, Slot, destinations, is_parallel_copy, is_partial, replace, sources, wants_places,
};
use crate::set::RegisterSet;
use crate::work::Work;
use oriole_chip::RegisterFiles;
use oriole_ori::effects::is_convergent;
use oriole_ori::{
    Cfg, Destination, Divergence, File, FlowGraph, Function, Instruction, Liveness, Opcode, Pseudo, Source,
    SourceKind, Value, values_across_blocks,
};
use oriole_sass::Op;
use rustc_hash::{FxHashMap, FxHashSet};
use spill::spill_or_rematerialize;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// Colours one file. All its values get a register in `work`.
pub fn color(work: &mut Work, file: File, files: &RegisterFiles) -> Result<(), AllocateError> {
    if !work.function.values.iter().any(|v| v.file == file) {
        return Ok(());
    }
    let mut files = *files;
    if file == File::UR && !work.function.is_entry {
        // Callee-saved uniform registers belong to the caller.
        files.uniform.end_usable = files.uniform.end_usable.min(abi::FIRST_SAVED_UNIFORM);
        let graph = Graph::new(work, file);
        let across = |v: &Value| graph.across_calls.get(*v).copied().unwrap_or(false);
        let evicted = graph.order.iter().copied().filter(across).collect();
        spill_or_rematerialize(work, &evicted);
    }
    if work.function.routine.is_some() {
        files.barrier.end_usable = abi::ROUTINE_BARRIERS;
    }
    let mut handled: FxHashSet<Value> = FxHashSet::default();
    loop {
        let mut bundles = bundle(work, file);
        let graph = Graph::new(work, file);
        let Err(conflicts) = assign(work, file, &files, &mut bundles, &graph) else { return Ok(()) };
        // Half of the conflict set, with the most interferences, is spilled or rematerialized.
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

/// The bundle of a value and its offset there.
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
    fn join(&mut self, group: &Group<'_>) -> bool {
        let mut seen = FxHashSet::default();
        if !group.values.iter().all(|v| seen.insert(*v)) {
            return false;
        }
        let (first, base) = self.find(group.values[0]);
        // Try it on copies of the member lists, so that a failure changes nothing.
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
        let span = places.keys().max().unwrap_or(&0) - places.keys().min().unwrap_or(&0);
        if span > 16 {
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
        self.demands.entry(first).or_default().push((base, group.align, group.fixed));
        true
    }
}

/// Finds bundles; inserts copies before operands that cannot join.
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
        // Copies before (false) and after (true) an instruction, by its index.
        let mut copies: Vec<(usize, bool, Instruction)> = Vec::new();
        for (index, instruction) in instructions.iter_mut().enumerate() {
            if !is_parallel_copy(instruction) && wants_places(&work.function, instruction, file) {
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

/// Joins the values of each operand of an instruction. An operand that cannot be joined gets copies, which are
/// returned: with true for one after the instruction.
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
    let mut replaced: Vec<(Slot, Vec<Value>)> = Vec::new();
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
        let partial = k < writing && is_partial(instruction);
        for (&copy, &v) in copies.iter().zip(group.values) {
            let between = |to: Value, from: Value| {
                let mut between = Instruction::new(Pseudo::Copy, origin);
                between.destinations.push(Destination::new(file, [to]));
                between.sources.push(Source::value(from));
                between
            };
            if k >= writing || partial {
                give(false, between(copy, v));
            }
            if k < writing {
                give(true, between(v, copy));
            }
        }
        for (&copy, &v) in copies.iter().zip(group.values) {
            work.original[copy] = work.original[v];
        }
        bundles.join(&Group { values: &copies, ..group });
        replaced.push((group.operand, copies));
    }
    for (operand, copies) in replaced {
        replace(instruction, operand, &copies);
    }
}

/// The interference graph: interfering values, copy-related pairs, values live across calls.
struct Graph {
    neighbors: TiVec<Value, Vec<Value>>,
    /// Pairs joined by a copy, in program order.
    copy_related: TiVec<Value, Vec<Value>>,
    across_calls: TiVec<Value, bool>,
    /// Convergence barriers that are live across calls of routines.
    across_routines: TiVec<Value, bool>,
    /// Values in order of first definition or use.
    order: Vec<Value>,
}

impl Graph {
    fn new(work: &Work, file: File) -> Graph {
        let function = &work.function;
        let count = function.values.len();
        let mut graph = Graph {
            neighbors: ti_vec![Vec::new(); count],
            copy_related: ti_vec![Vec::new(); count],
            across_calls: ti_vec![false; count],
            across_routines: ti_vec![false; count],
            order: Vec::new(),
        };
        let shape = function.graph();
        let cfg = shape.cfg();
        let liveness = Liveness::of(function, cfg, |value| function.file(value) == file);
        let changes_nothing = graph.find_order(function, cfg, file);
        let mut left = changes_nothing.as_slice();
        for &block in cfg.order() {
            let live = liveness.live_out(block).iter().copied();
            let mut live: Vec<Value> = live.filter(|v| function.file(*v) == file).collect();
            let instructions = &function.block(block).instructions;
            let (own, others) = left.split_at(instructions.len());
            left = others;
            for (instruction, _) in instructions.iter().zip(own).rev().filter(|(_, nothing)| !**nothing) {
                graph.step_backwards(function, file, instruction, &mut live);
            }
            // Values live-in at the entry block are undefined, but occupy registers.
            if cfg.predecessors(block).is_empty() {
                for (k, &a) in live.iter().enumerate() {
                    live[..k].iter().for_each(|&b| graph.interfere(a, b));
                }
            }
        }
        graph.keep_from_parts(function, &shape, file);
        for list in &mut graph.neighbors {
            list.sort_unstable();
            list.dedup();
        }
        graph
    }

    /// Adds interference for divergent code: a subset of the warp must not overwrite values that other lanes still
    /// need, wherever those are. Values local to a divergent block interfere with all values live across blocks, and
    /// those interfere with the clobbers of functions called by a subset of the warp.
    fn keep_from_parts(&mut self, function: &Function, shape: &FlowGraph, file: File) {
        if !matches!(file, File::UR | File::UP) || !may_write_in_parts(function, file) {
            return;
        }
        let cfg = shape.cfg();
        let divergence = Divergence::new(function, shape);
        let crosses = values_across_blocks(function);
        let crossing: Vec<Value> = self.order.iter().copied().filter(|&v| crosses[v]).collect();
        for &block in cfg.order() {
            if divergence.is_uniform_block(block) {
                continue;
            }
            for instruction in &function.block(block).instructions {
                instruction.for_each_definition(|v| {
                    if function.file(v) == file && !crosses[v] {
                        crossing.iter().for_each(|&other| self.interfere(v, other));
                    }
                });
                if file == File::UR && instruction.call.as_ref().is_some_and(|call| call.clobbers_uniform) {
                    crossing.iter().for_each(|&v| self.across_calls[v] = true);
                }
            }
        }
    }

    fn interfere(&mut self, a: Value, b: Value) {
        self.neighbors[a].push(b);
        self.neighbors[b].push(a);
    }

    /// Finds the order of the values. Returns for each instruction, in block order, whether it does not affect the
    /// file.
    fn find_order(&mut self, function: &Function, cfg: &Cfg, file: File) -> Vec<bool> {
        let mut met: TiVec<Value, bool> = ti_vec![false; function.values.len()];
        let mut changes_nothing = Vec::new();
        for instruction in cfg.order().iter().flat_map(|&block| &function.block(block).instructions) {
            let mut nothing = instruction.call.is_none();
            let mut meet = |v: Value| {
                if function.file(v) == file {
                    nothing = false;
                    if !std::mem::replace(&mut met[v], true) {
                        self.order.push(v);
                    }
                }
            };
            instruction.for_each_use(&mut meet);
            instruction.for_each_definition(&mut meet);
            changes_nothing.push(nothing);
        }
        changes_nothing
    }

    /// Steps from the values live after an instruction to those live before it. Several results of one instruction,
    /// and old values of partial ones, interfere with each other.
    fn step_backwards(
        &mut self,
        function: &Function,
        file: File,
        instruction: &Instruction,
        live: &mut Vec<Value>,
    ) {
        let is_ours = |v: Value| function.file(v) == file;
        let partial = is_partial(instruction);
        let mut defined: Vec<Value> = Vec::new();
        instruction.for_each_definition(|v| {
            if is_ours(v) {
                defined.push(v);
            }
        });
        let single = instruction.opcode == Opcode::Pseudo(Pseudo::Copy);
        for (k, &d) in defined.iter().enumerate() {
            let from = copied_from(instruction, d).filter(|&from| is_ours(from));
            if let Some(from) = from {
                self.copy_related[d].push(from);
                self.copy_related[from].push(d);
            }
            for &other in live.iter().chain(&defined[..k]) {
                // A copy and its source may share a register while both hold the same.
                if other != d && !(single && from == Some(other) && !partial) {
                    self.interfere(d, other);
                }
            }
        }
        if !partial {
            live.retain(|v| !defined.contains(v));
        }
        let calls = instruction.call.as_ref().is_some_and(|c| match file {
            File::B => instruction.opcode == Opcode::Pseudo(Pseudo::Call),
            _ => c.clobbers_uniform,
        });
        if calls {
            live.iter().for_each(|&v| self.across_calls[v] = true);
        }
        if instruction.opcode == Opcode::Pseudo(Pseudo::CallHelper) {
            live.iter().for_each(|&v| self.across_routines[v] = true);
        }
        let mut begin = |v: Value| {
            if !live.contains(&v) {
                live.push(v);
            }
        };
        instruction.for_each_use(|v| {
            if is_ours(v) {
                begin(v);
            }
        });
        if partial {
            defined.iter().for_each(|&d| begin(d));
        }
    }
}

/// True if some block after the first copies something to the file, gathers something of the lanes there, or calls a function
/// that may write it. All other writes are where the whole warp executes.
fn may_write_in_parts(function: &Function, file: File) -> bool {
    let moves = [Opcode::Pseudo(Pseudo::Copy), Opcode::Sass(Op::UMOV)];
    function.blocks.iter().skip(1).flat_map(|block| &block.instructions).any(|instruction| {
        let writes = (moves.contains(&instruction.opcode) || is_convergent(instruction))
            && instruction.destinations.iter().any(|destination| destination.file == file);
        writes || instruction.call.as_ref().is_some_and(|call| call.clobbers_uniform)
    })
}

/// The source of a copy to a destination.
fn copied_from(instruction: &Instruction, d: Value) -> Option<Value> {
    if !matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Copy | Pseudo::ParallelCopy)) {
        return None;
    }
    let at = instruction.destinations.iter().position(|x| x.values.first() == Some(&d))?;
    match &instruction.sources.get(at)?.kind {
        SourceKind::Values(s) => Some(s[0]),
        _ => None,
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

/// Assigns the registers. If some bundle finds none, returns the conflict set: its own values first, then those that
/// interfere.
fn assign(
    work: &mut Work,
    file: File,
    files: &RegisterFiles,
    bundles: &mut Bundles,
    graph: &Graph,
) -> Result<(), Vec<Value>> {
    let mut placed: TiVec<Value, Option<u8>> = ti_vec![None; work.function.values.len()];
    for root in order(bundles, graph) {
        let mut members = bundles.members.get(&root).cloned().unwrap_or_default();
        members.sort_unstable();
        let demands = bundles.demands.get(&root).map_or(&[][..], |demands| demands);
        let base = base_register(file, files, &members, demands, graph, &placed);
        let base = base.ok_or_else(|| conflicts(&members, graph))?;
        for &(offset, v) in &members {
            placed[v] = Some((base + offset) as u8);
        }
    }
    for (value, register) in placed.into_iter_enumerated() {
        if register.is_some() && work.function.values[value].file == file {
            work.register[value] = register;
        }
    }
    Ok(())
}

/// The roots of the bundles, those with a fixed register first.
fn order(bundles: &mut Bundles, graph: &Graph) -> Vec<Value> {
    let mut done: FxHashSet<Value> = FxHashSet::default();
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
    order
}

/// The members of a bundle and the values that interfere with them.
fn conflicts(members: &[(i32, Value)], graph: &Graph) -> Vec<Value> {
    let own = members.iter().map(|m| m.1);
    let others = members.iter().flat_map(|m| graph.neighbors[m.1].iter().copied());
    let mut conflicts: Vec<Value> = own.chain(others).collect();
    conflicts.sort_unstable();
    conflicts.dedup();
    conflicts
}

/// A base register for a bundle: one that gives a copy-related value the same register, else the lowest.
fn base_register(
    file: File,
    files: &RegisterFiles,
    members: &[(i32, Value)],
    demands: &[(i32, u8, Option<u8>)],
    graph: &Graph,
    placed: &TiSlice<Value, Option<u8>>,
) -> Option<i32> {
    let (low, high) = range(file, files);
    let across = members.iter().any(|m| graph.across_calls[m.1]);
    let lowest = match file {
        File::B if !across && members.iter().any(|m| graph.across_routines[m.1]) => {
            low.max(abi::ROUTINE_BARRIERS)
        }
        _ if !across => low,
        File::UR => abi::FIRST_SAVED_UNIFORM.min(high),
        File::B => abi::FIRST_SAVED_BARRIER.min(high),
        _ => return None,
    };
    let taken = members.iter().map(|&(offset, v)| {
        let mut set = RegisterSet::default();
        graph.neighbors[v].iter().filter_map(|&n| placed[n]).for_each(|r| set.insert(r));
        (offset, set)
    });
    let taken: Vec<(i32, RegisterSet)> = taken.collect();
    let fits = |base: &i32| {
        let aligned = demands.iter().all(|&(offset, align, fixed)| {
            let r = base + offset;
            r >= 0 && r % i32::from(align) == 0 && fixed.is_none_or(|f| i32::from(f) == r)
        });
        aligned
            && taken.iter().all(|(offset, set)| {
                let r = base + offset;
                r >= i32::from(lowest) && r < i32::from(high) && !set.contains(r as u8)
            })
    };
    let hints = members
        .iter()
        .flat_map(|&(offset, v)| graph.copy_related[v].iter().map(move |other| (offset, *other)));
    let mut hinted = hints.filter_map(|(offset, related)| Some(i32::from(placed[related]?) - offset));
    let span = members.iter().map(|m| m.0).max().unwrap_or(0).unsigned_abs() as i32 + 16;
    hinted.find(fits).or_else(|| (-span..i32::from(high) + span).find(fits))
}
