//! Handles of textures and surfaces, on a chip that reads them from uniform registers.
//!
//! A handle that is still in a general register is moved right before the instruction that reads it. The move is
//! in the same block, since only a subset of the warp may execute it. It is done here because later passes keep
//! the instructions together.
//!
//! A texture without a separate sampler has zero in the register after its handle.

use oriole_chip::Chip;
use oriole_ori::handle::{handle, lone_handle, make_uniform, takes_handle};
use oriole_ori::{Destination, File, Function, Instruction, Origin, Pseudo, Source, SourceKind, Value};
use std::collections::BTreeMap;

/// Gives all handles their uniform registers.
pub fn complete(chip: Chip, function: &mut Function) {
    let mut samplers: BTreeMap<Value, Value> = BTreeMap::new();
    for block in function.block_ids() {
        // Few blocks have one: the instructions of the others stay where they are.
        if !function.block(block).instructions.iter().any(takes_handle) {
            continue;
        }
        let instructions = std::mem::take(&mut function.block_mut(block).instructions);
        let mut done = Vec::with_capacity(instructions.len());
        for mut instruction in instructions {
            if let Some(value) = handle(function, &instruction) {
                let register = function.new_value(File::UR, None);
                done.push(copy(register, Source::value(value), instruction.origin));
                make_uniform(chip, &mut instruction, register);
            }
            if let Some(texture) = lone_handle(function, &mut instruction).map(|values| values[0]) {
                let sampler = *samplers.entry(texture).or_insert_with(|| function.new_value(File::UR, None));
                if let Some(values) = lone_handle(function, &mut instruction) {
                    values.push(sampler);
                }
            }
            done.push(instruction);
        }
        function.block_mut(block).instructions = done;
    }
    if !samplers.is_empty() {
        make_samplers(function, &samplers);
    }
}

/// Writes the zeros next to the handles that they belong to.
fn make_samplers(function: &mut Function, samplers: &BTreeMap<Value, Value>) {
    for block in &mut function.blocks {
        let instructions = std::mem::take(&mut block.instructions);
        for instruction in instructions {
            let mut zeros = Vec::new();
            let origin = instruction.origin;
            instruction.for_each_definition(|value| zeros.extend(samplers.get(&value).copied()));
            block.instructions.push(instruction);
            let zero = || Source::plain(SourceKind::Zero(File::UR));
            block.instructions.extend(zeros.into_iter().map(|sampler| copy(sampler, zero(), origin)));
        }
    }
}

fn copy(to: Value, from: Source, origin: Origin) -> Instruction {
    let mut copy = Instruction::new(Pseudo::Copy, origin);
    copy.destinations.push(Destination::new(File::UR, [to]));
    copy.sources.push(from);
    copy
}
