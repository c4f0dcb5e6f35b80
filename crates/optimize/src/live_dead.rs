//! Phases 10, 16, 33, 61 and 84, OriPerformLiveDead: removes what nobody reads.
//!
//! Instructions with effects are kept, and what they read, and so on backwards; the rest goes, phis included. Works in
//! SSA and outside it (there a register that is read anywhere keeps all its definitions). A predicate result that
//! nobody reads becomes `PT`.

use oriole_ori::{Destination, File, Function, Instruction, Value, effects};

/// Removes dead code. Returns true if something went.
pub fn run(function: &mut Function) -> bool {
    let mut needed = vec![false; function.values.len()];
    let mut work: Vec<Value> = Vec::new();
    // For each value where it is defined: block, and index of phi or instruction.
    let mut definitions: Vec<smallvec::SmallVec<[(u32, Place); 1]>> =
        vec![Default::default(); function.values.len()];
    let mut kept: Vec<Vec<bool>> = Vec::with_capacity(function.blocks.len());
    for id in function.block_ids() {
        let block = function.block(id);
        for (index, phi) in block.phis.iter().enumerate() {
            definitions[phi.destination.0 as usize].push((id.0, Place::Phi(index)));
        }
        let mut marks = Vec::with_capacity(block.instructions.len());
        for (index, instruction) in block.instructions.iter().enumerate() {
            instruction
                .for_each_definition(|v| definitions[v.0 as usize].push((id.0, Place::Instruction(index))));
            let keep = !effects::is_removable(instruction);
            marks.push(keep);
            if keep {
                instruction.for_each_use(|v| need(&mut needed, &mut work, v));
            }
        }
        kept.push(marks);
    }
    while let Some(value) = work.pop() {
        for &(block, place) in &definitions[value.0 as usize] {
            let block_ref = &function.blocks[block as usize];
            match place {
                Place::Phi(index) => {
                    for (_, source) in &block_ref.phis[index].sources {
                        source.for_each_value(|v| need(&mut needed, &mut work, v));
                    }
                }
                Place::Instruction(index) => {
                    if !std::mem::replace(&mut kept[block as usize][index], true) {
                        block_ref.instructions[index].for_each_use(|v| need(&mut needed, &mut work, v));
                    }
                }
            }
        }
    }
    let mut changed = false;
    for (block, marks) in function.blocks.iter_mut().zip(&kept) {
        let phis = block.phis.len();
        block.phis.retain(|phi| needed[phi.destination.0 as usize]);
        changed |= block.phis.len() != phis;
        if marks.iter().any(|keep| !keep) {
            changed = true;
            let mut index = 0;
            block.instructions.retain(|_| {
                index += 1;
                marks[index - 1]
            });
        }
        for instruction in &mut block.instructions {
            changed |= drop_predicates(instruction, &needed);
        }
    }
    changed
}

#[derive(Clone, Copy)]
enum Place {
    Phi(usize),
    Instruction(usize),
}

fn need(needed: &mut [bool], work: &mut Vec<Value>, value: Value) {
    if !std::mem::replace(&mut needed[value.0 as usize], true) {
        work.push(value);
    }
}

/// Predicate results that nobody reads are dropped, with the old values tied to them.
fn drop_predicates(instruction: &mut Instruction, needed: &[bool]) -> bool {
    if instruction.call.is_some() || matches!(instruction.opcode, oriole_ori::Opcode::Pseudo(_)) {
        return false;
    }
    let dead = |destination: &Destination| {
        matches!(destination.file, File::P | File::UP)
            && !destination.values.is_empty()
            && destination.fixed.is_none()
            && destination.values.iter().all(|v| !needed[v.0 as usize])
    };
    if !instruction.destinations.iter().any(dead) {
        return false;
    }
    let mut tied = instruction.tied.iter().copied();
    let mut still_tied = smallvec::SmallVec::new();
    for destination in &mut instruction.destinations {
        let old: Vec<Value> = tied.by_ref().take(destination.values.len()).collect();
        if dead(destination) {
            *destination = Destination::dropped(destination.file, destination.width);
        } else {
            still_tied.extend(old);
        }
    }
    instruction.tied = still_tied;
    true
}
