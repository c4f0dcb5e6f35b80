//! Blocks that only end the thread.
//!
//! It is here because divergence, convergence and branch optimization leave them out: threads that have ended are not
//! waited for. Only this question may enter.

use crate::{BlockId, Function, Opcode};
use oriole_sass::Op;

/// True if the block only ends the thread; it has no effect on other threads.
pub fn is_bare_exit(function: &Function, block: BlockId) -> bool {
    let block = function.block(block);
    block.phis.is_empty()
        && block.successors.is_empty()
        && matches!(block.instructions.as_slice(), [only] if only.opcode == Opcode::Sass(Op::EXIT) && only.guard.is_none())
}
