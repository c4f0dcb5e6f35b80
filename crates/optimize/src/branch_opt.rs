//! Phase 15, OriBranchOpt: branches to the same place, branches to branches, empty blocks, chains of blocks, branches
//! to an exit.
//!
//! Each rewrite works in SSA and outside it: an edge is moved only where no phi would have to choose.

use oriole_options::Optimization;
use oriole_ori::edges;
use oriole_ori::{
    BlockId, Cfg, FormChange, Function, Instruction, Opcode, Outcome, Pass, Source, SourceKind, canonical,
    divergence::is_bare_exit,
};
use oriole_sass::Op;

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
    // Each round moves every edge as far as it goes; rounds are bounded because each one that changes something
    // removes an instruction, an edge or a block.
    loop {
        let mut changed = fold_equal_targets(function);
        changed |= exit_in_place(function);
        changed |= skip_empty_blocks(function);
        changed |= join_chains(function);
        if !changed {
            break;
        }
    }
    remove_unreachable(function);
}

/// Drops blocks that control cannot reach, and what phis took from them.
pub fn remove_unreachable(function: &mut Function) {
    canonical::order_blocks(function);
}

fn last_is_plain_branch(function: &Function, id: BlockId) -> bool {
    function.block(id).instructions.last().is_some_and(is_plain_branch)
}

/// An unconditional `BRA`.
fn is_plain_branch(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::BRA)
        && instruction.guard.is_none()
        && matches!(instruction.sources.as_slice(), [Source { kind: SourceKind::Block(_), .. }])
}

/// A `BRA` with a guard and nothing else.
fn is_guarded_branch(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::BRA)
        && instruction.guard.is_some()
        && matches!(instruction.sources.as_slice(), [Source { kind: SourceKind::Block(_), .. }])
}

/// Where the guarded branch of a block stands: last, or before a last plain branch.
fn guarded_branch(function: &Function, id: BlockId) -> Option<usize> {
    let instructions = &function.block(id).instructions;
    let index = instructions.iter().position(is_guarded_branch)?;
    let rest = &instructions[index + 1..];
    (rest.is_empty() || (rest.len() == 1 && is_plain_branch(&rest[0]))).then_some(index)
}

/// A conditional branch whose two ways lead to one block.
pub fn fold_equal_targets(function: &mut Function) -> bool {
    let mut changed = false;
    for id in function.block_ids() {
        if let [taken, other] = function.block(id).successors[..]
            && taken == other
            && let Some(index) = guarded_branch(function, id)
        {
            let block = function.block_mut(id);
            block.instructions.remove(index);
            block.successors = smallvec::smallvec![other];
            changed = true;
        }
    }
    changed
}

/// A branch to a block that only exits becomes an exit.
fn exit_in_place(function: &mut Function) -> bool {
    let mut changed = false;
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
                let block = function.block_mut(id);
                let branch = &mut block.instructions[index];
                branch.opcode = Op::EXIT.into();
                branch.sources.clear();
                if !taken_exits {
                    let guard = branch.guard.as_mut().expect("a guarded branch");
                    guard.negated = !guard.negated;
                    // What was the target is now where control goes on.
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
                // An indexed branch with one target stays as it is.
                if block.instructions.last().is_some_and(oriole_ori::effects::is_indirect_branch) {
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

/// Edges into a block without code go on to where it leads. Phis at the end of such a way would have to tell the edges
/// apart, so a block that leads to phis stays.
pub fn skip_empty_blocks(function: &mut Function) -> bool {
    let count = function.blocks.len();
    let mut forward: Vec<BlockId> = function.block_ids().collect();
    for id in function.block_ids().skip(1) {
        let block = function.block(id);
        let [target] = block.successors[..] else { continue };
        let empty = block.instructions.is_empty()
            || (block.instructions.len() == 1 && last_is_plain_branch(function, id));
        if empty && block.phis.is_empty() && function.block(target).phis.is_empty() {
            forward[id.0 as usize] = target;
        }
    }
    let mut changed = false;
    for id in function.block_ids() {
        let mut successors = function.block(id).successors.clone();
        successors.sort_unstable();
        successors.dedup();
        for successor in successors {
            // A ring of empty blocks is an endless loop: the walk ends after as many steps as there are blocks.
            let mut end = successor;
            for _ in 0..count {
                let next = forward[end.0 as usize];
                if next == end {
                    break;
                }
                end = next;
            }
            // Ways through a chain are shortened, so that the next walk along it is short.
            forward[successor.0 as usize] = end;
            if end != successor && forward[end.0 as usize] == end {
                edges::redirect(function, id, successor, end);
                changed = true;
            }
        }
    }
    changed
}

/// A block with one successor that has one predecessor takes it in.
pub fn join_chains(function: &mut Function) -> bool {
    let mut changed = false;
    let cfg = Cfg::new(function);
    let mut count = vec![0u32; function.blocks.len()];
    for &id in cfg.order() {
        count[id.0 as usize] = cfg.predecessors(id).len() as u32;
    }
    let mut gone = vec![false; function.blocks.len()];
    for &id in cfg.order() {
        if gone[id.0 as usize] {
            continue;
        }
        while let [next] = function.block(id).successors[..] {
            let ends_plainly = match function.block(id).instructions.last() {
                Some(last) => {
                    is_plain_branch(last) || !oriole_ori::effects::is_transfer(last) || is_guarded_exit(last)
                }
                None => true,
            };
            if next == id || next == BlockId(0) || count[next.0 as usize] != 1 || !ends_plainly {
                break;
            }
            let taken = std::mem::take(function.block_mut(next));
            gone[next.0 as usize] = true;
            let block = function.block_mut(id);
            if block.instructions.last().is_some_and(is_plain_branch) {
                block.instructions.pop();
            }
            // A phi of one predecessor is a copy.
            for phi in taken.phis {
                let Some((_, source)) = phi.sources.into_iter().next() else { continue };
                let file = function.values[phi.destination.0 as usize].file;
                let block = function.block_mut(id);
                let origin = block.instructions.last().map_or(oriole_ori::Origin(0), |last| last.origin);
                let mut copy = Instruction::new(oriole_ori::Pseudo::Copy, origin);
                copy.destinations.push(oriole_ori::Destination::new(file, [phi.destination]));
                copy.sources.push(source.source());
                block.instructions.push(copy);
            }
            let block = function.block_mut(id);
            block.instructions.extend(taken.instructions);
            block.successors = taken.successors.clone();
            for successor in taken.successors {
                edges::rename_predecessor(function, successor, next, id);
            }
            changed = true;
        }
    }
    changed
}

fn is_guarded_exit(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::EXIT) && instruction.guard.is_some()
}
