//! Order of memory accesses: loads that may be repeated, and instructions that may come between them.
//!
//! It is here because numbering, forwarding and vector accesses keep a load as long as nothing disturbs it, by the same
//! rule. Addresses are not compared here.

use oriole_ori::{Instruction, Opcode, Space, effects};
use oriole_sass::{Effect, Op};

/// True for a load that gives the same as an earlier one unless memory changed in between.
pub fn is_plain_load(instruction: &Instruction) -> bool {
    let Some(memory) = instruction.memory else { return false };
    memory.reads
        && !memory.writes
        && !memory.ordered
        && memory.space != Space::Constant
        && instruction.guard.is_none()
        && !effects::is_convergent(instruction)
        && matches!(instruction.opcode, Opcode::Sass(op) if op.info().effect == Effect::Load)
        && instruction.destinations.len() == 1
        && instruction.destinations[0].fixed.is_none()
}

/// True for a texture fetch that gives the same as an earlier one. Textures are read-only: what a fetch gives of memory that the
/// same launch has written is undefined.
pub fn is_plain_fetch(instruction: &Instruction) -> bool {
    instruction.guard.is_none()
        && instruction.memory.is_none()
        && matches!(instruction.opcode, Opcode::Sass(Op::TEX | Op::TLD | Op::TLD4 | Op::TXD))
        && instruction.destinations.iter().all(|destination| destination.fixed.is_none())
}

/// True if a fetch after it is not the same as one before it: writes of surfaces, and waits for other threads. Undefined or not, what
/// programs may expect is left to them.
pub fn disturbs_textures(instruction: &Instruction) -> bool {
    let stores = matches!(instruction.opcode, Opcode::Sass(op) if op.info().effect == Effect::Store)
        && instruction.memory.is_some_and(|memory| !memory.ordered);
    let reaches_textures = !stores || oriole_ori::handle::takes_handle(instruction);
    reaches_textures && disturbs_memory(instruction)
}

/// True if it may change memory that a load reads, or waits until another thread may have.
pub fn disturbs_memory(instruction: &Instruction) -> bool {
    if let Some(memory) = instruction.memory {
        return memory.writes || memory.ordered;
    }
    if instruction.call.is_some() {
        return true;
    }
    // An instruction that is neither pure arithmetic nor removable may be a barrier, a fence or worse.
    !effects::is_pure(instruction)
        && !effects::is_removable(instruction)
        && !effects::is_product_step(instruction)
}
