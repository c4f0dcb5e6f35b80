//! Phases 108 and 109, OptimizeHotColdInLoop and OptimizeHotColdFlow: blocks that are rarely run go to the end of the code.
//!
//! A branch to a slow path is then one that is not taken, and the code that is run is not interrupted. It is here because
//! blocks get their places after allocation. Only the order of blocks changes.

use oriole_ori::{Block, BlockId, Function, canonical};
use oriole_sass::Op;
use typed_index_collections::{TiVec, ti_vec};

/// Moves cold blocks to the end, each part in the order that it has, which is RPO.
pub(crate) fn move_to_end(function: &mut Function) {
    if !function.blocks.iter().any(is_marked) {
        return;
    }
    let graph = function.graph();
    let cfg = graph.cfg();
    let mut cold: TiVec<BlockId, bool> = ti_vec![false; function.blocks.len()];
    for &id in cfg.order() {
        // Predecessors that come later lead back to a loop: they are run if it is.
        let earlier = |from: &&BlockId| cfg.position(**from) < cfg.position(id);
        let mut before = cfg.predecessors(id).iter().filter(earlier).peekable();
        let only_from_cold = before.peek().is_some() && before.all(|&from| cold[from]);
        cold[id] = id != BlockId(0) && (is_marked(function.block(id)) || only_from_cold);
    }
    let (rare, often): (Vec<BlockId>, Vec<BlockId>) = cfg.order().iter().partition(|&&id| cold[id]);
    if !rare.is_empty() {
        canonical::arrange_blocks(function, &[often, rare].concat());
    }
}

/// True for slow paths, and for code that stops the program.
fn is_marked(block: &Block) -> bool {
    block.cold || block.instructions.iter().any(|instruction| instruction.opcode == Op::BPT.into())
}
