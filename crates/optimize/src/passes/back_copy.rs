//! Phase 83, OriBackCopyPropagate: a result that is only copied is written to the copy's destination directly.
//!
//! Outside SSA, within a block: `t <- ...; d <- t` becomes `d <- ...` if nothing else reads t, and d is neither read
//! nor written between. Components of parallel copies are handled one by one.

use oriole_options::Optimization;
use oriole_ori::{FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo, Value};
use typed_index_collections::{TiVec, ti_vec};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    optimization: Some(Optimization::BackCopy),
    ..Pass::new(|function, _| Outcome::changed_if(run(function)))
};

/// Removes such copies. True if there was one.
pub fn run(function: &mut Function) -> bool {
    let mut changed = false;
    let count = function.values.len();
    let mut definitions: TiVec<Value, u32> = ti_vec![0u32; count];
    let mut uses: TiVec<Value, u32> = ti_vec![0u32; count];
    for block in &function.blocks {
        for instruction in &block.instructions {
            instruction.for_each_definition(|v| definitions[v] += 1);
            instruction.for_each_use(|v| uses[v] += 1);
        }
    }
    // Per block, tagged with the block's index: last read or write of each value, and last write.
    let mut touched: TiVec<Value, (u32, usize)> = ti_vec![(u32::MAX, 0); count];
    let mut written: TiVec<Value, (u32, Option<usize>)> = ti_vec![(u32::MAX, None); count];
    // The last copy that names each value, by block and index, and the count of its components that do.
    let mut named: TiVec<Value, ((u32, usize), usize)> = ti_vec![((u32::MAX, 0), 0); count];
    for id in function.block_ids() {
        let mut instructions = std::mem::take(&mut function.block_mut(id).instructions);
        for at in 0..instructions.len() {
            if instructions[at].is_copy() && instructions[at].guard.is_none() {
                // Count how many components name each value: another component that touches it would see the new
                // value too early.
                for_each_component_value(&instructions[at], |v| {
                    let (copy, times) = named[v];
                    named[v] = ((id.0, at), if copy == (id.0, at) { times + 1 } else { 1 });
                });
                let mut keep = vec![true; instructions[at].destinations.len()];
                for (component, kept) in keep.iter_mut().enumerate() {
                    let copy = &instructions[at];
                    let destination = &copy.destinations[component];
                    let to = destination.values.first().copied();
                    let from = copy.sources[component].as_plain_value();
                    let (Some(to), Some(from)) = (to, from) else { continue };
                    let (block, Some(place)) = written[from] else { continue };
                    if block != id.0 {
                        continue;
                    }
                    let (block, last) = touched[to];
                    let untouched = block != id.0 || last < place;
                    let only = uses[from] == 1 && definitions[from] == 1;
                    let own =
                        destination.values.iter().filter(|v| **v == to).count() + usize::from(from == to);
                    let movable = destination.fixed.is_none()
                        && function.file(to) == function.file(from)
                        && named[to].1 == own
                        && writes_alone(&instructions[place], from);
                    if !(untouched && only && movable) {
                        continue;
                    }
                    named[from].1 -= 1;
                    copy.destinations[component].values.iter().for_each(|&v| named[v].1 -= 1);
                    instructions[place].for_each_definition_mut(|v| {
                        if *v == from {
                            *v = to;
                        }
                    });
                    *kept = false;
                    changed = true;
                    touched[to] = (id.0, at);
                }
                if keep.contains(&false) {
                    let mut kept = keep.iter();
                    instructions[at].destinations.retain(|_| kept.next() != Some(&false));
                    let mut kept = keep.iter();
                    instructions[at].sources.retain(|_| kept.next() != Some(&false));
                }
            }
            let instruction = &instructions[at];
            instruction.for_each_use(|v| touched[v] = (id.0, at));
            instruction.for_each_definition(|v| {
                touched[v] = (id.0, at);
                // A partial write keeps the old value: its register cannot be replaced by another.
                written[v] = (id.0, (!instruction.is_partial()).then_some(at));
            });
        }
        instructions.retain(|i| !(i.is_copy() && i.destinations.is_empty()));
        function.block_mut(id).instructions = instructions;
    }
    changed
}

/// True if the value is a whole operand of an ordinary instruction and no convention fixes its register. Elements of
/// tuples stay: a register that is written in several places should not be constrained to be adjacent to others.
fn writes_alone(instruction: &Instruction, value: Value) -> bool {
    instruction.call.is_none()
        && !matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Parameters | Pseudo::Undefined))
        && instruction.destinations.iter().any(|d| d.values.as_slice() == [value] && d.fixed.is_none())
}

/// Every value that a component of the copy reads or writes, as often as it does.
fn for_each_component_value(copy: &Instruction, mut visit: impl FnMut(Value)) {
    copy.sources.iter().for_each(|source| source.for_each_value(&mut visit));
    copy.destinations.iter().for_each(|destination| destination.values.iter().copied().for_each(&mut visit));
}
