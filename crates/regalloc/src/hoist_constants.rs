//! Constants that both sides of a branch move into the same register are moved there once, before the branch: for
//! example accumulators that are zero at a loop entry, and after the loop where it is never entered.
//!
//! It is here because only after allocation the registers are known to be equal. A register that a side writes before
//! reading is dead at the branch, so nothing is lost.

use crate::edges::tail_start;
use crate::set::RegisterSet;
use oriole_ori::{Assignment, BlockId, File, Function, Instruction, Opcode, Pseudo, SourceKind, Value};
use oriole_sass::Op;

/// Hoists such constants in the whole function.
pub fn hoist(function: &mut Function, assignment: &Assignment) {
    let graph = function.graph();
    let cfg = graph.cfg();
    for &block in cfg.order() {
        let &[one, other] = function.block(block).successors.as_slice() else { continue };
        if one == other || [one, other].iter().any(|&side| side == block || cfg.predecessors(side).len() != 1)
        {
            continue;
        }
        let mut mine = constants(function, assignment, one);
        // An indirect branch reads its target register before it jumps.
        let instructions = &function.block(block).instructions;
        let end = tail_start(instructions);
        for branch in &instructions[end..] {
            branch.for_each_use(|value| {
                let read = general_register(function, assignment, value);
                mine.retain(|&(_, register)| Some(register) != read);
            });
        }
        let theirs = if mine.is_empty() { Vec::new() } else { constants(function, assignment, other) };
        let twin = |&(at, register): &(usize, u8)| {
            let constant = &function.block(one).instructions[at];
            let same = |&&(place, there): &&(usize, u8)| {
                there == register && is_same(constant, &function.block(other).instructions[place])
            };
            theirs.iter().find(same).map(|&(place, _)| (at, place))
        };
        let twins: Vec<(usize, usize)> = mine.iter().filter_map(twin).collect();
        let hoisted: Vec<Instruction> = take(function, one, twins.iter().map(|twin| twin.0).collect());
        take(function, other, twins.iter().map(|twin| twin.1).collect());
        function.block_mut(block).instructions.splice(end..end, hoisted);
    }
}

fn general_register(function: &Function, assignment: &Assignment, value: Value) -> Option<u8> {
    let register = assignment.registers.get(value).copied().flatten();
    register.filter(|_| function.file(value) == File::R)
}

/// The instructions of a block that put a constant into a general register which no earlier instruction of the block
/// reads or writes, with that register.
fn constants(function: &Function, assignment: &Assignment, block: BlockId) -> Vec<(usize, u8)> {
    let mut touched = RegisterSet::default();
    let mut found = Vec::new();
    let register = |value: Value| general_register(function, assignment, value);
    for (index, instruction) in function.block(block).instructions.iter().enumerate() {
        // Register effects of calls are not analyzed.
        if instruction.call.is_some() || matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Parameters)) {
            break;
        }
        let target = instruction.destinations.first().and_then(|d| d.values.first()).copied();
        if let Some(target) = target.filter(|_| is_constant(instruction)).and_then(register)
            && !touched.contains(target)
        {
            found.push((index, target));
        }
        instruction.for_each_use(|value| register(value).into_iter().for_each(|r| touched.insert(r)));
        instruction.for_each_definition(|value| register(value).into_iter().for_each(|r| touched.insert(r)));
    }
    found
}

/// An unguarded move of an immediate or zero to one register.
fn is_constant(instruction: &Instruction) -> bool {
    let [source] = instruction.sources.as_slice() else { return false };
    let [destination] = instruction.destinations.as_slice() else { return false };
    instruction.guard.is_none()
        && destination.values.len() == 1
        && matches!(instruction.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy))
        && matches!(source.kind, SourceKind::Zero(File::R) | SourceKind::Imm(_))
}

fn is_same(one: &Instruction, other: &Instruction) -> bool {
    one.opcode == other.opcode && one.mods == other.mods && one.sources == other.sources
}

/// Takes instructions at these places out of a block.
fn take(function: &mut Function, block: BlockId, mut places: Vec<usize>) -> Vec<Instruction> {
    let mut taken = Vec::with_capacity(places.len());
    places.sort_unstable();
    let mut next = places.into_iter().peekable();
    let instructions = std::mem::take(&mut function.block_mut(block).instructions);
    for (index, instruction) in instructions.into_iter().enumerate() {
        match next.next_if_eq(&index) {
            Some(_) => taken.push(instruction),
            None => function.block_mut(block).instructions.push(instruction),
        }
    }
    taken
}
