//! Phase 15, OriBranchOpt: equal branch targets, branches to branches, empty blocks, chains of blocks, branches to an
//! exit.
//!
//! An exit at the end of a loop is the other way round: there the guarded branch goes back, and the exit follows it, so
//! that an iteration has one transfer.
//!
//! Each rewrite works in SSA and outside it: an edge is moved only where no phi would have to choose.

use oriole_options::Optimization;
use oriole_ori::branches::{fold_equal_targets, guarded_branch, is_plain_branch, skip_empty_blocks};
use oriole_ori::edges;
use oriole_ori::{
    Block, BlockId, FormChange, Function, Instruction, Outcome, Pass, canonical, effects, exits::is_bare_exit,
};
use oriole_sass::Op;
use typed_index_collections::{TiVec, ti_vec};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    optimization: Some(Optimization::Branches),
    ..Pass::new(|function, _| {
        run(function);
        Outcome::Changed
    })
};

/// Simplifies control flow and removes unreachable blocks.
pub fn run(function: &mut Function) {
    if function.blocks.is_empty() {
        return;
    }
    // Each round redirects every edge as far as possible; rounds are bounded because each one that changes something
    // removes an instruction, an edge or a block.
    loop {
        let mut changed = fold_equal_targets(function);
        changed |= exit_in_place(function);
        changed |= exit_after_loop(function);
        changed |= skip_empty_blocks(function);
        changed |= join_chains(function);
        if !changed {
            break;
        }
    }
    remove_unreachable(function);
}

/// Drops unreachable blocks, and their phi sources.
pub fn remove_unreachable(function: &mut Function) {
    canonical::order_blocks(function);
}

/// A branch to a block that only exits becomes an exit, unless the other way is back to the start of a loop.
fn exit_in_place(function: &mut Function) -> bool {
    let mut changed = false;
    let graph = function.graph();
    for id in function.block_ids() {
        match function.block(id).successors[..] {
            [taken, other] if taken != other => {
                let Some(index) = guarded_branch(function, id) else { continue };
                let taken_exits = is_bare_exit(function, taken);
                if !taken_exits && !is_bare_exit(function, other) {
                    continue;
                }
                let gone = if taken_exits { taken } else { other };
                let stays = if taken_exits { other } else { taken };
                if graph.cfg().position(stays) <= graph.cfg().position(id) {
                    continue;
                }
                let block = function.block_mut(id);
                let branch = &mut block.instructions[index];
                branch.opcode = Op::EXIT.into();
                branch.sources.clear();
                if !taken_exits {
                    let guard = branch.guard.as_mut().expect("a guarded branch");
                    guard.negated = !guard.negated;
                    // The old target is the fall-through now.
                    block.instructions.truncate(index + 1);
                }
                block.successors = smallvec::smallvec![stays];
                edges::forget_predecessor(function, gone, id);
                changed = true;
            }
            [only] if is_bare_exit(function, only) && only != id => {
                let exit = function.block(only).instructions[0].clone();
                let block = function.block_mut(id);
                if block.instructions.last().is_some_and(is_plain_branch) {
                    block.instructions.pop();
                }
                // An indexed branch with one target stays.
                if block.instructions.last().is_some_and(effects::is_indirect_branch) {
                    continue;
                }
                block.instructions.push(exit);
                block.successors.clear();
                edges::forget_predecessor(function, only, id);
                changed = true;
            }
            _ => {}
        }
    }
    changed
}

/// A guarded exit before a branch back to the start of a loop becomes an exit after it.
fn exit_after_loop(function: &mut Function) -> bool {
    let mut changed = false;
    let graph = function.graph();
    let cfg = graph.cfg();
    for &id in cfg.order() {
        let block = function.block(id);
        let [header] = block.successors[..] else { continue };
        let [.., exit, back] = block.instructions.as_slice() else { continue };
        if cfg.position(header) > cfg.position(id)
            || !effects::is_guarded_exit(exit)
            || !is_plain_branch(back)
        {
            continue;
        }
        let guard = exit.guard.map(|guard| oriole_ori::Guard { negated: !guard.negated, ..guard });
        let (mut exit, mut back) = (exit.clone(), back.clone());
        (exit.guard, back.guard) = (None, guard);
        let last = function.blocks.next_key();
        function.blocks.push(Block { instructions: vec![exit], ..Block::default() });
        let block = function.block_mut(id);
        block.instructions.truncate(block.instructions.len() - 2);
        block.instructions.push(back);
        block.successors.push(last);
        changed = true;
    }
    changed
}

/// Merges a block with its only successor if it is the only predecessor of that.
pub fn join_chains(function: &mut Function) -> bool {
    let mut changed = false;
    let graph = function.graph();
    let cfg = graph.cfg();
    let mut count: TiVec<BlockId, u32> = ti_vec![0u32; function.blocks.len()];
    for &id in cfg.order() {
        count[id] = cfg.predecessors(id).len() as u32;
    }
    let mut gone: TiVec<BlockId, bool> = ti_vec![false; function.blocks.len()];
    for &id in cfg.order() {
        if gone[id] {
            continue;
        }
        while let [next] = function.block(id).successors[..] {
            let ends_plainly = match function.block(id).instructions.last() {
                Some(last) => {
                    is_plain_branch(last) || !effects::is_transfer(last) || effects::is_guarded_exit(last)
                }
                None => true,
            };
            if next == id || next == BlockId(0) || count[next] != 1 || !ends_plainly {
                break;
            }
            let taken = std::mem::take(function.block_mut(next));
            gone[next] = true;
            let block = function.block_mut(id);
            if block.instructions.last().is_some_and(is_plain_branch) {
                block.instructions.pop();
            }
            // A phi with one predecessor is a copy.
            for phi in taken.phis {
                let Some((_, source)) = phi.sources.into_iter().next() else { continue };
                let file = function.values[phi.destination].file;
                let block = function.block_mut(id);
                let origin = block.instructions.last().map_or(oriole_ori::Origin(0), |last| last.origin);
                let mut copy = Instruction::new(oriole_ori::Pseudo::Copy, origin);
                copy.destinations.push(oriole_ori::Destination::new(file, [phi.destination]));
                copy.sources.push(source.source());
                block.instructions.push(copy);
            }
            let block = function.block_mut(id);
            block.instructions.extend(taken.instructions);
            block.nounroll |= taken.nounroll;
            block.cold |= taken.cold;
            block.successors = taken.successors.clone();
            for successor in taken.successors {
                edges::rename_predecessor(function, successor, next, id);
            }
            changed = true;
        }
    }
    changed
}
