//! The words that the instructions of an allocated function have become.

use crate::Allocated;
use oriole_ori::{BlockId, Instruction, MachineFunction};

/// The words of each block's instructions, without those that finishing adds: no pattern selected them.
pub(crate) fn words<'a>(
    allocated: &'a Allocated,
    finished: &'a MachineFunction,
    block: BlockId,
) -> impl Iterator<Item = (u32, &'a Instruction)> {
    let before = finished.blocks.iter().take(usize::from(block));
    let start: usize = before.map(|block| block.instructions.len()).sum();
    let mut instructions = allocated.function.blocks[block].instructions.iter().peekable();
    let words = (start as u32..).zip(&finished.blocks[block].instructions);
    words.filter(|(_, machine)| machine.row.is_some()).filter_map(move |(at, machine)| {
        let instruction = instructions.next_if(|instruction| instruction.origin == machine.origin);
        debug_assert!(instruction.is_some(), "a word of no instruction");
        Some((at, instruction?))
    })
}
