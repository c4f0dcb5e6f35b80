//! Places barriers: `BSYNC` before the join, `BSSY` at the anchor, and `BREAK` where lanes turn away.

use super::blocks::insert_block;
use super::sites::Barrier;
use oriole_ori::convergence::Anchor;
use oriole_ori::effects::called_address;
use oriole_ori::{
    BlockId, Destination, File, Function, Instruction, Origin, Source, SourceKind, canonical, edges,
};
use oriole_sass::Op;
use std::collections::BTreeMap;

/// Places the barriers of these sites.
pub(super) fn place(function: &mut Function, sites: &[Barrier]) {
    // All waits are placed first, then the setups before loops: lanes that meet at a loop header reconverge before
    // they enter. Block sets refer to the original function, so edges are identified by their ends.
    let ends = edges::end_origins(function, function.graph().cfg());
    let mut in_source: Vec<u32> = ends.iter().map(|&Origin(ordinal)| ordinal).collect();
    in_source.sort_unstable();
    for barrier in sites {
        let mut into_join: Vec<BlockId> = barrier.inside.clone();
        if let Anchor::End(block) = barrier.site.anchor {
            into_join.push(block);
        }
        into_join.retain(|&block| function.block(block).successors.contains(&barrier.site.join));
        // The wait ends the block before the join in the source, or belongs to the instruction that all of this was
        // expanded from.
        let mut led = into_join.iter().map(|&block| ends[block]);
        let origin = match function.block(barrier.site.join).instructions.first().map(|first| first.origin) {
            Some(join) if led.any(|end| end == join) => join,
            Some(join) => {
                let before = in_source.partition_point(|&end| end < join.0).checked_sub(1);
                before.map_or(join, |at| Origin(in_source[at]))
            }
            None => led.max_by_key(|end| end.0).unwrap_or(Origin(0)),
        };
        let mut wait = Instruction::new(Op::BSYNC, origin);
        wait.sources.push(Source::value(barrier.value));
        let gather = insert_block(function, barrier.site.join, &into_join);
        debug_assert_eq!(gather, barrier.gather);
        function.block_mut(gather).instructions.push(wait);
    }
    let mut preheaders: BTreeMap<BlockId, BlockId> = BTreeMap::new();
    // A preheader changes only the edges into its own header, so one graph serves all of them.
    let graph = function.graph();
    let (cfg, dominators) = (graph.cfg(), graph.dominators());
    for barrier in sites {
        let mut set_up = Instruction::new(Op::BSSY, Origin(0));
        set_up.destinations.push(Destination::new(File::B, [barrier.value]));
        set_up.sources.push(Source::plain(SourceKind::Block(barrier.gather)));
        match barrier.site.anchor {
            Anchor::End(id) => {
                set_up.origin = ends[id];
                let block = function.block_mut(id);
                let end = edges::end_of_code(block);
                let calls =
                    end.checked_sub(1).filter(|&at| called_address(&block.instructions[at]).is_some());
                block.instructions.insert(calls.unwrap_or(end), set_up);
            }
            Anchor::Entry(header) => {
                let before = match preheaders.get(&header) {
                    Some(&before) => before,
                    None => {
                        // Back edges come from inside the loop or from waits of barriers within it; a predecessor
                        // that the header does not dominate is an entry.
                        let enters = |p: &BlockId| !dominators.dominates(header, *p);
                        let entering: Vec<BlockId> =
                            cfg.predecessors(header).iter().copied().filter(enters).collect();
                        let before = insert_block(function, header, &entering);
                        preheaders.insert(header, before);
                        before
                    }
                };
                let first = function.block(header).instructions.first();
                set_up.origin = first.map_or(ends[header], |first| first.origin);
                function.block_mut(before).instructions.push(set_up);
            }
        }
    }
    let Some(first_new) = sites.first().map(|barrier| barrier.gather) else { return };
    for barrier in sites {
        for &(from, to) in &barrier.leaving {
            leave(function, barrier, ends[from], from, to, first_new);
        }
    }
    canonical::order_blocks(function);
}

/// Threads on this edge leave the barrier.
fn leave(
    function: &mut Function,
    barrier: &Barrier,
    origin: Origin,
    from: BlockId,
    to: BlockId,
    first_new: BlockId,
) {
    let mut instruction = Instruction::new(Op::BREAK, origin);
    instruction.sources.push(Source::value(barrier.value));
    if function.block(from).successors.len() == 1 {
        let block = function.block_mut(from);
        let end = edges::end_of_code(block);
        block.instructions.insert(end, instruction);
        return;
    }
    // The edge may lead through blocks that were placed on it.
    let leads = |mut block: BlockId| {
        while block >= first_new {
            block = function.block(block).successors[0];
        }
        block == to
    };
    let Some(next) = function.block(from).successors.iter().copied().find(|&s| leads(s)) else { return };
    let between = insert_block(function, next, &[from]);
    function.block_mut(between).instructions.push(instruction);
}
