//! Bundles: values that are adjacent in some operand share one base register. An operand that would need a value in two
//! registers gets copies. No register is chosen here.

use crate::operands::{
    Group, Slot, destinations, is_parallel_copy, is_partial, replace, sources, wants_places,
};
use crate::work::Work;
use oriole_ori::{Destination, File, Instruction, Pseudo, Source, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::{TiVec, ti_vec};

/// The bundle of a value and its offset there.
pub(super) struct Bundles {
    parent: TiVec<Value, Value>,
    /// Distance of the value from its parent's base, in registers.
    offset: TiVec<Value, i32>,
    /// Members by root; only multi-value bundles and values that occur.
    pub(super) members: FxHashMap<Value, Vec<(i32, Value)>>,
    /// Demands by root: (offset, alignment, fixed register).
    pub(super) demands: FxHashMap<Value, Vec<(i32, u8, Option<u8>)>>,
}

impl Bundles {
    pub(super) fn find(&mut self, v: Value) -> (Value, i32) {
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
pub(super) fn bundle(work: &mut Work, file: File) -> Bundles {
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
