//! Edges of the control-flow graph: redirecting, splitting, cutting. Shared by the passes that change control flow.

use crate::{Block, BlockId, Cfg, ConstBase, Function, Origin, SourceKind, Table, effects};
use typed_index_collections::{TiVec, ti_vec};

/// Makes every edge `from -> old` go to `new`: successors, branch operands, and the jump table of an indexed branch.
/// Phis are the caller's business.
pub fn redirect(function: &mut Function, from: BlockId, old: BlockId, new: BlockId) {
    let block = function.block_mut(from);
    let mut named = false;
    for successor in &mut block.successors {
        if *successor == old {
            *successor = new;
        }
    }
    for instruction in &mut block.instructions {
        if !effects::is_transfer(instruction) {
            continue;
        }
        for source in &mut instruction.sources {
            if let SourceKind::Block(target) = &mut source.kind {
                named = true;
                if *target == old {
                    *target = new;
                }
            }
        }
    }
    let indexed = block.instructions.last().is_some_and(|last| effects::is_indirect_branch(last) && !named);
    if indexed {
        redirect_table(function, from, old, new);
    }
}

/// The jump table of an indexed branch: the one that its block reads, or else one with the same targets. Tables are
/// not shared between branches.
fn redirect_table(function: &mut Function, from: BlockId, old: BlockId, new: BlockId) {
    let mut read = Vec::new();
    for instruction in &function.block(from).instructions {
        for source in &instruction.sources {
            if let Some(ConstBase::Table(table)) = source.kind.const_base() {
                let table = *table as usize;
                read.extend(matches!(function.tables.get(table), Some(Table::Targets(_))).then_some(table));
            }
        }
    }
    if read.is_empty() {
        let successors = &function.block(from).successors;
        let matches = |table: &Table| match table {
            Table::Targets(targets) => targets.iter().all(|t| *t == old || successors.contains(t)),
            Table::Words(_) | Table::Functions => false,
        };
        read.extend((0..function.tables.len()).filter(|&index| matches(&function.tables[index])));
    }
    for index in read {
        if let Table::Targets(targets) = &mut function.tables[index] {
            targets.iter_mut().filter(|target| **target == old).for_each(|target| *target = new);
        }
    }
}

/// Puts an empty block on every edge from a block with several successors to one with several predecessors, so that
/// code can be placed on each edge. Returns true if there was one.
pub fn split_critical(function: &mut Function) -> bool {
    split_critical_if(function, |_| true)
}

/// Splits critical edges into the blocks that the filter selects.
pub fn split_critical_if(function: &mut Function, wanted: impl Fn(&Block) -> bool) -> bool {
    let graph = function.graph();
    let cfg = graph.cfg();
    let mut changed = false;
    for &from in cfg.order() {
        let mut targets = function.block(from).successors.clone();
        targets.sort_unstable();
        targets.dedup();
        if targets.len() < 2 {
            continue;
        }
        for to in targets {
            if cfg.predecessors(to).len() < 2 || !wanted(function.block(to)) {
                continue;
            }
            let middle = function.blocks.next_key();
            function.blocks.push(Block { successors: smallvec::smallvec![to], ..Block::default() });
            redirect(function, from, to, middle);
            rename_predecessor(function, to, from, middle);
            changed = true;
        }
    }
    changed
}

/// Phis of a block that take a source from `old` take it from `new` instead.
pub fn rename_predecessor(function: &mut Function, block: BlockId, old: BlockId, new: BlockId) {
    for phi in &mut function.block_mut(block).phis {
        for (predecessor, _) in &mut phi.sources {
            if *predecessor == old {
                *predecessor = new;
            }
        }
    }
}

/// The phis of a block forget a predecessor.
pub fn forget_predecessor(function: &mut Function, block: BlockId, predecessor: BlockId) {
    for phi in &mut function.block_mut(block).phis {
        phi.sources.retain(|(from, _)| *from != predecessor);
    }
}

/// Index of the first of the trailing transfers of a block: code at the end of a block is inserted before it. A
/// guarded exit is an ordinary instruction, so only branches (and instructions after them) count.
pub fn end_of_code(block: &Block) -> usize {
    let mut end = block.instructions.len();
    while end > 0 {
        let instruction = &block.instructions[end - 1];
        let ends_thread = effects::leaves_function(instruction);
        if effects::is_transfer(instruction) && !(ends_thread && instruction.guard.is_some()) {
            end -= 1;
        } else {
            break;
        }
    }
    end
}

/// Origin for code inserted at the end of each block: that of the last instruction there, or of a predecessor's if
/// the block is empty.
pub fn end_origins(function: &Function, cfg: &Cfg) -> TiVec<BlockId, Origin> {
    let mut ends = ti_vec![Origin(0); function.blocks.len()];
    // In RPO a predecessor of each block except the entry comes before it.
    for &id in cfg.order() {
        let last = function.block(id).instructions.last().map(|last| last.origin);
        let before = cfg.predecessors(id).first().map(|&predecessor| ends[predecessor]);
        ends[id] = last.or(before).unwrap_or(Origin(0));
    }
    ends
}

/// Gives the function an entry without predecessors: if block 0 has some, its contents move to a new block that block
/// 0 falls into.
pub fn detach_entry(function: &mut Function) {
    if function.graph().cfg().predecessors(BlockId(0)).is_empty() {
        return;
    }
    let body = function.blocks.next_key();
    let contents = std::mem::take(function.block_mut(BlockId(0)));
    function.blocks.push(contents);
    for id in function.block_ids() {
        redirect(function, id, BlockId(0), body);
    }
    function.block_mut(BlockId(0)).successors = smallvec::smallvec![body];
}
