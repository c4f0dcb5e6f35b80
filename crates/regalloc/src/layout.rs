//! Block layout after allocation: the order of the blocks, and the branches that it needs. It sees no registers.

use crate::cold_blocks;
use oriole_options::AllocateOptions;
use oriole_ori::branches::{fold_equal_targets, guarded_branch, is_plain_branch, skip_empty_blocks};
use oriole_ori::effects::is_transfer;
use oriole_ori::{BlockId, Function, Instruction, Opcode, Origin, Source, SourceKind, canonical, edges};
use oriole_sass::Op;
use rustc_hash::FxHashSet;

/// Sends branches through the blocks that were made for moves between registers and stayed empty.
pub fn thread(function: &mut Function) {
    // A branch whose two targets are equal now is removed, which may leave another block empty. After two rounds the
    // rest of such chains costs a jump.
    for _ in 0..2 {
        let skipped = skip_empty_blocks(function);
        if !fold_equal_targets(function) || !skipped {
            break;
        }
    }
}

/// Inverts a branch that goes to the next block, followed by a jump: the jump is removed.
fn fall_through(function: &mut Function, id: BlockId, next: BlockId, alone: &FxHashSet<Origin>) {
    let Some(index) = guarded_branch(function, id) else { return };
    let here = function.block_mut(id);
    if here.instructions[index + 1..].iter().any(|jump| alone.contains(&jump.origin)) {
        return;
    }
    let [taken, other] = here.successors[..] else { return };
    if taken != next || other == next {
        return;
    }
    here.instructions.truncate(index + 1);
    let branch = &mut here.instructions[index];
    if let Some(guard) = &mut branch.guard {
        guard.negated = !guard.negated;
    }
    branch.sources[0].kind = SourceKind::Block(other);
    here.successors.swap(0, 1);
}

/// Inverts the end of a latch that otherwise ends the thread: the branch goes back and the exit follows, so a loop
/// iterates with one branch.
fn turn_back(function: &mut Function, id: BlockId) {
    let here = function.block_mut(id);
    let [back] = here.successors[..] else { return };
    let jump = here.instructions.last().is_some_and(is_plain_branch);
    let at = here.instructions.len().checked_sub(1 + usize::from(jump));
    let Some(exit) = at.map(|at| &mut here.instructions[at]).filter(|it| it.opcode == Opcode::Sass(Op::EXIT))
    else {
        return;
    };
    if back > id || exit.guard.is_none() {
        return;
    }
    let end = Instruction { guard: None, ..exit.clone() };
    if let Some(guard) = &mut exit.guard {
        guard.negated = !guard.negated;
    }
    exit.opcode = Op::BRA.into();
    exit.sources.push(Source::plain(SourceKind::Block(back)));
    here.instructions.truncate(here.instructions.len() - usize::from(jump));
    here.instructions.push(end);
}

/// True if the code follows the source, in its order: each statement with a read result has code, and so has each
/// jump.
pub fn follows_source(function: &Function, options: &AllocateOptions) -> bool {
    options.level == 0 && function.routine.is_none()
}

/// Statements that are only a jump: one to the next block stays.
fn lone_jumps(function: &Function) -> FxHashSet<Origin> {
    let (mut jumps, mut others) = (FxHashSet::default(), FxHashSet::default());
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        if !is_plain_branch(instruction) || !jumps.insert(instruction.origin) {
            others.insert(instruction.origin);
        }
    }
    jumps.retain(|origin| !others.contains(origin));
    jumps
}

/// Lays out the blocks, removes jumps to the next block, and adds missing ones.
pub fn layout(function: &mut Function, options: &AllocateOptions) {
    canonical::order_blocks(function);
    if options.level == 0 {
        order_as_source(function);
    } else if options.cold_blocks {
        cold_blocks::move_to_end(function);
    }
    let alone = if follows_source(function, options) { lone_jumps(function) } else { FxHashSet::default() };
    let empty = function.blocks.iter().any(|block| block.instructions.is_empty());
    let origins = empty.then(|| edges::end_origins(function, function.graph().cfg()));
    for block in function.block_ids() {
        let next = BlockId(block.0 + 1);
        if options.thread_branches || options.level == 0 {
            fall_through(function, block, next, &alone);
        }
        if options.thread_branches {
            turn_back(function, block);
        }
        let here = &mut function.blocks[block];
        let ends = here.instructions.last().is_some_and(|i| is_transfer(i) && i.guard.is_none());
        if ends {
            let jumps = here.instructions.last().is_some_and(|i| {
                is_plain_branch(i)
                    && i.sources[0].kind == SourceKind::Block(next)
                    && !alone.contains(&i.origin)
            });
            if jumps {
                here.instructions.pop();
            }
        } else if let Some(&goes_on) = here.successors.last()
            && goes_on != next
        {
            let led = origins.as_ref().map_or(Origin(0), |origins| origins[block]);
            let origin = here.instructions.last().map_or(led, |i| i.origin);
            let mut jump = Instruction::new(Op::BRA, origin);
            jump.sources.push(Source::plain(SourceKind::Block(goes_on)));
            here.instructions.push(jump);
        }
    }
}

/// Sorts the blocks by the source positions of their ends, as far as known; blocks of one source instruction keep
/// their order.
fn order_as_source(function: &mut Function) {
    let graph = function.graph();
    let cfg = graph.cfg();
    let ends = edges::end_origins(function, cfg);
    let mut order = cfg.order().to_vec();
    if let Some((_entry, others)) = order.split_first_mut() {
        let begins =
            |block| function.block(block).instructions.first().map_or(ends[block], |first| first.origin);
        others.sort_by_key(|&block| (ends[block].0, begins(block).0));
    }
    canonical::arrange_blocks(function, &order);
}
