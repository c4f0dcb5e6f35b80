//! Phases 10, 16, 33, 61 and 84, OriPerformLiveDead: removes what nobody reads.
//!
//! Instructions with effects are kept, and what they read, and so on backwards; the rest goes, phis included. Works in
//! SSA and outside it (there a register that is read anywhere keeps all its definitions). A predicate result that
//! nobody reads becomes `PT`.

use oriole_ori::{Destination, File, Function, Instruction, Value, effects};

/// No entry in a list of definitions.
const NONE: u32 = u32::MAX;

/// One place where a value is defined, and the entry of the next such place.
struct Definition {
    block: u32,
    /// Index of the instruction, or of the phi with the highest bit set.
    place: u32,
    next: u32,
}

/// Marks phis among the places.
const PHI: u32 = 1 << 31;

/// Removes dead code. Returns true if something went.
pub fn run(function: &mut Function) -> bool {
    let mut needed = vec![false; function.values.len()];
    let mut work: Vec<Value> = Vec::new();
    let mut last = vec![NONE; function.values.len()];
    let mut definitions: Vec<Definition> = Vec::with_capacity(function.values.len());
    let mut define = |value: Value, block: u32, place: u32| {
        let next = std::mem::replace(&mut last[value.0 as usize], definitions.len() as u32);
        definitions.push(Definition { block, place, next });
    };
    // For all instructions in the order of storage, and where those of each block begin.
    let mut kept: Vec<bool> = Vec::new();
    let mut starts: Vec<usize> = Vec::with_capacity(function.blocks.len());
    for (id, block) in (0..).zip(&function.blocks) {
        for (index, phi) in (0..).zip(&block.phis) {
            define(phi.destination, id, PHI | index);
        }
        starts.push(kept.len());
        for (index, instruction) in (0..).zip(&block.instructions) {
            instruction.for_each_definition(|value| define(value, id, index));
            let keep = !effects::is_removable(instruction);
            kept.push(keep);
            if keep {
                instruction.for_each_use(|value| need(&mut needed, &mut work, value));
            }
        }
    }
    while let Some(value) = work.pop() {
        let mut at = last[value.0 as usize];
        while let Some(&Definition { block, place, next }) = definitions.get(at as usize) {
            at = next;
            let here = &function.blocks[block as usize];
            if place & PHI != 0 {
                for (_, source) in &here.phis[(place & !PHI) as usize].sources {
                    source.for_each_value(|value| need(&mut needed, &mut work, value));
                }
            } else if !std::mem::replace(&mut kept[starts[block as usize] + place as usize], true) {
                here.instructions[place as usize].for_each_use(|value| need(&mut needed, &mut work, value));
            }
        }
    }
    let mut changed = false;
    for (block, &start) in function.blocks.iter_mut().zip(&starts) {
        let phis = block.phis.len();
        block.phis.retain(|phi| needed[phi.destination.0 as usize]);
        changed |= block.phis.len() != phis;
        let kept = &kept[start..start + block.instructions.len()];
        if kept.iter().any(|keep| !keep) {
            changed = true;
            let mut keep = kept.iter();
            block.instructions.retain(|_| keep.next().copied().unwrap_or(true));
        }
        for instruction in &mut block.instructions {
            changed |= drop_predicates(instruction, &needed);
        }
    }
    changed
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
    let mut still_tied = oriole_ori::Values::new();
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
