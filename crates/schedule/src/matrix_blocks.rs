//! Recognizes blocks that multiply matrices, of Ori and of machine instructions.
//!
//! It is here because such blocks are scheduled, and get their scoreboards, by rules of their own. It says which they
//! are; no rule is here.

use crate::units::Units;
use oriole_latency::{Model, Unit};
use oriole_ori::effects::is_product_step_of;
use oriole_ori::{Function, Instruction, MachineBlock, MachineInstruction, Opcode};
use oriole_sass::{Mods, Op};

/// True if an instruction multiplies matrices, and only its operands restrict its motion.
fn multiplies(op: Op, mods: &Mods) -> bool {
    op.info().units.contains(&Unit::Tensor) && op.info().aligned && !is_product_step_of(op, mods)
}

/// True if instructions multiply matrices that are loaded from shared memory, or copied there.
fn is_matrix_block<'a>(instructions: impl Iterator<Item = (Op, &'a Mods)> + Clone) -> bool {
    instructions.clone().any(|(op, mods)| multiplies(op, mods))
        && instructions.clone().any(|(op, _)| matches!(op, Op::LDSM | Op::LDGSTS))
}

/// Opcode and modifiers of an instruction of Ori, `None` for a pseudo-instruction.
pub fn operation(instruction: &Instruction) -> Option<(Op, &Mods)> {
    let Opcode::Sass(op) = instruction.opcode else { return None };
    Some((op, &instruction.mods))
}

/// True if a block multiplies matrices.
pub fn is_matrix(instructions: &[Instruction]) -> bool {
    is_matrix_block(instructions.iter().filter_map(operation))
}

/// True if a function has a block that multiplies matrices.
pub fn has_matrix_blocks(function: &Function) -> bool {
    function.blocks.iter().any(|block| is_matrix(&block.instructions))
}

/// True for a block of machine instructions that multiplies matrices.
pub fn is_matrix_code(instructions: &[MachineInstruction]) -> bool {
    is_matrix_block(instructions.iter().map(|it| (it.instruction.op, &it.instruction.mods)))
}

/// Unit usage of a block of machine instructions, if it multiplies matrices.
pub fn machine_units(model: &Model, block: &MachineBlock) -> Option<Units> {
    let all = block.instructions.iter().map(|it| Some((it.instruction.op, &it.instruction.mods)));
    is_matrix_code(&block.instructions).then(|| Units::new(model, all))
}
