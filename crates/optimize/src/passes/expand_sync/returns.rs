//! The barrier of a function whose lanes may return at different times: from its start to its return.

use super::blocks::{insert_block, returning_block};
use super::sites::Barrier;
use oriole_ori::convergence::Anchor;
use oriole_ori::effects::waits_for_all;
use oriole_ori::{
    Block, BlockId, Destination, Divergence, File, Function, Instruction, Source, SourceKind, canonical,
    edges,
};
use oriole_sass::Op;
use typed_index_collections::{TiVec, ti_vec};

/// True for a function whose lanes may return at different times: it has a divergent branch without a barrier.
pub(super) fn returns_apart(function: &Function, sites: &[Barrier], divergence: &Divergence) -> bool {
    if returning_block(function).is_none() {
        return false;
    }
    let mut gathered: TiVec<BlockId, bool> = ti_vec![false; function.blocks.len()];
    for barrier in sites.iter().filter(|barrier| barrier.whole) {
        barrier.inside.iter().for_each(|&block| gathered[block] = true);
        if let Anchor::End(block) = barrier.site.anchor {
            gathered[block] = true;
        }
    }
    let parts = |id: BlockId| divergence.is_divergent_branch(id) && !divergence.keeps_together(function, id);
    function.block_ids().any(|id| !gathered[id] && parts(id))
}

/// Reconverges the lanes of a function before it returns: the caller assumes convergence and does not know the body.
/// Each lane passes the start and the return once, whatever cycles are in between. Not done if an instruction on the
/// way waits for all lanes of the warp. True if there is such a barrier now.
pub(super) fn gather_before_return(function: &mut Function) -> bool {
    let waits = |block: &Block| block.instructions.iter().any(waits_for_all);
    let Some(last) = returning_block(function).filter(|_| !function.blocks.iter().any(waits)) else {
        return false;
    };
    let first = BlockId(0);
    let graph = function.graph();
    let cfg = graph.cfg();
    let before: Vec<BlockId> = cfg.predecessors(last).to_vec();
    if first == last || before.is_empty() || !cfg.predecessors(first).is_empty() {
        return false;
    }
    let ends = edges::end_origins(function, cfg);
    let origin = function.block(last).instructions.first().map_or(ends[last], |first| first.origin);
    let value = function.new_value(File::B, None);
    let gather = insert_block(function, last, &before);
    let mut wait = Instruction::new(Op::BSYNC, origin);
    wait.sources.push(Source::value(value));
    function.block_mut(gather).instructions.push(wait);
    let mut set_up = Instruction::new(Op::BSSY, ends[first]);
    set_up.destinations.push(Destination::new(File::B, [value]));
    set_up.sources.push(Source::plain(SourceKind::Block(gather)));
    let block = function.block_mut(first);
    let end = edges::end_of_code(block);
    block.instructions.insert(end, set_up);
    canonical::order_blocks(function);
    true
}
