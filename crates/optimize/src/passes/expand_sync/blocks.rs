//! Blocks of the pass: new ones on edges, and the cuts that give every barrier a block of its own to end in.

use oriole_ori::effects::called_address;
use oriole_ori::{Block, BlockId, Function, Opcode, Phi, PhiSources, Pseudo, canonical, edges};

/// The block that returns from a function, if it has one of them.
pub(super) fn returning_block(function: &Function) -> Option<BlockId> {
    let returns =
        |block: &Block| block.instructions.iter().any(|i| i.opcode == Opcode::Pseudo(Pseudo::Return));
    let mut all = function.block_ids().filter(|&id| returns(function.block(id)));
    all.next().filter(|_| all.next().is_none())
}

/// Gives each loop one back edge: threads that end an iteration in different blocks reconverge there. True if a loop
/// had several.
pub(super) fn merge_latches(function: &mut Function) -> bool {
    let graph = function.graph();
    let loops = graph.loops();
    let mut merged = false;
    for lap in loops.loops.iter().filter(|lap| lap.latches.len() > 1) {
        // Latches keep their ids: a merge adds a block and moves edges.
        insert_block(function, lap.header, &lap.latches);
        merged = true;
    }
    merged
}

/// Ends a block after each indirect call, where lanes of different targets reconverge. True if a call was inside a
/// block.
pub(super) fn end_blocks_at_calls(function: &mut Function) -> bool {
    let mut ended = false;
    for id in function.block_ids() {
        // From the last one on: the code after it is then in a block of its own.
        while let Some(at) = last_call_inside(function.block(id)) {
            let rest = function.blocks.next_key();
            let block = function.block_mut(id);
            let instructions = block.instructions.split_off(at + 1);
            let successors = std::mem::replace(&mut block.successors, smallvec::smallvec![rest]);
            for &successor in &successors {
                edges::rename_predecessor(function, successor, id, rest);
            }
            function.blocks.push(Block { instructions, successors, ..Block::default() });
            ended = true;
        }
    }
    if ended {
        canonical::order_blocks(function);
    }
    ended
}

/// The last indirect call that is not the last instruction of its block.
fn last_call_inside(block: &Block) -> Option<usize> {
    let end = block.instructions.len().checked_sub(1)?;
    block.instructions[..end].iter().rposition(|instruction| called_address(instruction).is_some())
}

/// Puts a new block before `target` on the edges from these predecessors; phis are divided between the two.
pub(super) fn insert_block(function: &mut Function, target: BlockId, from: &[BlockId]) -> BlockId {
    let new = function.blocks.next_key();
    function.blocks.push(Block { successors: smallvec::smallvec![target], ..Block::default() });
    for &predecessor in from {
        edges::redirect(function, predecessor, target, new);
    }
    let phis = std::mem::take(&mut function.block_mut(target).phis);
    // There may be as many edges as blocks.
    let mut moving = from.to_vec();
    moving.sort_unstable();
    for mut phi in phis {
        // One edge out of possibly many: only its source is touched.
        if let ([predecessor], true) = (from, phi.sources.len() > 1) {
            let source = phi.sources.iter_mut().find(|(block, _)| block == predecessor);
            source.into_iter().for_each(|(block, _)| *block = new);
            function.block_mut(target).phis.push(phi);
            continue;
        }
        let (mut moved, kept): (PhiSources, PhiSources) =
            phi.sources.into_iter().partition(|(block, _)| moving.binary_search(block).is_ok());
        if kept.is_empty() {
            phi.sources = moved;
            function.block_mut(new).phis.push(phi);
            continue;
        }
        phi.sources = kept;
        match moved.len() {
            0 => {}
            1 => phi.sources.extend(moved.pop().map(|(_, only)| (new, only))),
            _ => {
                let data = function.values[phi.destination];
                let merged = function.new_value(data.file, data.source);
                function.block_mut(new).phis.push(Phi { destination: merged, sources: moved });
                phi.sources.push((new, merged.into()));
            }
        }
        function.block_mut(target).phis.push(phi);
    }
    new
}
