//! Rewrites of the branches that end blocks: folding of equal targets, and jump threading through empty blocks.
//!
//! It is here because control flow is simplified before SSA and again after allocation, in independent crates. Each
//! rewrite works in SSA and outside of it: an edge moves only where no phi has to distinguish it.

use crate::{BlockId, Function, Instruction, Opcode, Source, SourceKind, edges};
use oriole_sass::Op;
use typed_index_collections::{TiVec, ti_vec};

fn last_is_plain_branch(function: &Function, id: BlockId) -> bool {
    function.block(id).instructions.last().is_some_and(is_plain_branch)
}

/// An unconditional `BRA`.
pub fn is_plain_branch(instruction: &Instruction) -> bool {
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

/// Index of the guarded branch of a block: last, or before a last plain branch.
pub fn guarded_branch(function: &Function, id: BlockId) -> Option<usize> {
    let instructions = &function.block(id).instructions;
    let index = instructions.iter().position(is_guarded_branch)?;
    let rest = &instructions[index + 1..];
    (rest.is_empty() || (rest.len() == 1 && is_plain_branch(&rest[0]))).then_some(index)
}

/// A conditional branch whose two targets are the same block.
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

/// Redirects edges into an empty or jump-only block to its target. A phi at that target could no longer distinguish
/// the edges, so a block that leads to phis stays.
pub fn skip_empty_blocks(function: &mut Function) -> bool {
    skip_blocks(function, |function, id| {
        let instructions = &function.block(id).instructions;
        instructions.is_empty() || (instructions.len() == 1 && last_is_plain_branch(function, id))
    })
}

/// Like [`skip_empty_blocks`], but a block that holds only a jump stays.
pub fn skip_blocks_without_code(function: &mut Function) -> bool {
    skip_blocks(function, |function, id| function.block(id).instructions.is_empty())
}

/// Final target of each block's chain of empty blocks. Each block is visited once. Blocks of a cycle, which is an
/// endless loop, and blocks that lead into one keep their targets.
fn resolve(forward: &mut TiVec<BlockId, BlockId>) {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnTheWay,
        Done,
    }
    let mut state = ti_vec![State::New; forward.len()];
    let mut way = Vec::new();
    for start in forward.keys() {
        let mut at = start;
        while state[at] == State::New {
            state[at] = State::OnTheWay;
            way.push(at);
            at = forward[at];
        }
        // A block that forwards to itself is the end of its chain, not a cycle.
        let is_ring = state[at] == State::OnTheWay && forward[at] != at;
        let end = if state[at] == State::Done { forward[at] } else { at };
        for id in way.drain(..) {
            forward[id] = if is_ring { id } else { end };
            state[id] = State::Done;
        }
    }
}

fn skip_blocks(function: &mut Function, empty: impl Fn(&Function, BlockId) -> bool) -> bool {
    let mut forward: TiVec<BlockId, BlockId> = function.block_ids().collect();
    for id in function.block_ids().skip(1) {
        let block = function.block(id);
        let [target] = block.successors[..] else { continue };
        if empty(function, id) && block.phis.is_empty() && function.block(target).phis.is_empty() {
            forward[id] = target;
        }
    }
    resolve(&mut forward);
    let mut changed = false;
    for id in function.block_ids() {
        let mut successors = function.block(id).successors.clone();
        successors.sort_unstable();
        successors.dedup();
        for successor in successors {
            let end = forward[successor];
            if end != successor {
                edges::redirect(function, id, successor, end);
                let asked = function.block(successor).nounroll;
                function.block_mut(end).nounroll |= asked;
                changed = true;
            }
        }
    }
    changed
}
