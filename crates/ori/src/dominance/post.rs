//! Post-dominators: the tree over a virtual exit, for all blocks or without those whose threads are known to end.
//!
//! It is apart from dominators because it depends on where threads end, which instructions decide.

use super::absent::NO_BLOCK;
use super::{Dominators, solve};
use crate::{BlockId, Cfg, Function, Opcode};
use oriole_sass::Op;
use rustc_hash::FxHashSet;
use typed_index_collections::{TiVec, ti_vec};

impl Dominators {
    /// The post-dominator tree over a virtual exit. Blocks without successors are children of the virtual exit; so is
    /// every block that reaches no end: nothing post-dominates it.
    pub fn post(function: &Function, cfg: &Cfg) -> Dominators {
        Dominators::post_with(function, cfg, |_| true)
    }

    /// The post-dominator tree of the blocks that the filter keeps (threads in other blocks are known to end). Blocks
    /// that are filtered out are children of the virtual exit. Threads that end early, at a guarded exit or in a
    /// filtered block, do not count. If a cycle has no other exit, the virtual exit follows the last block of it in
    /// which threads end.
    pub fn post_with(function: &Function, cfg: &Cfg, keep: impl Fn(BlockId) -> bool) -> Dominators {
        let count = function.blocks.len();
        // The virtual exit is an extra node after the blocks.
        let exit = function.blocks.next_key();
        let is_kept: TiVec<BlockId, bool> = function.block_ids().map(keep).collect();
        let kept: TiVec<BlockId, Successors> = function
            .block_ids()
            .map(|from| {
                let successors = function.block(from).successors.iter().copied();
                successors.filter(|&to| is_kept[from] && is_kept[to]).collect()
            })
            .collect();
        let mut leads_out: TiVec<BlockId, bool> = ti_vec![false; count];
        let mut back = BackWalk { cfg, is_kept: &is_kept, seen: ti_vec![false; count] };
        // Postorder of the reversed graph, from every end, then from cycles without a kept exit.
        let mut order: Vec<BlockId> = Vec::with_capacity(count + 1);
        for &end in cfg.order().iter().filter(|&&block| kept[block].is_empty()) {
            leads_out[end] = true;
            back.walk(end, &mut order);
        }
        let ends_inside = |block: BlockId| {
            ends_on_the_way(function, block)
                || function.block(block).successors.iter().any(|&to| !is_kept[to])
        };
        for start in back.last_cycles() {
            if back.seen[start] {
                continue;
            }
            let cycle = reached(&kept, start);
            let end = cycle
                .into_iter()
                .filter(|&block| ends_inside(block))
                .max_by_key(|&block| cfg.position(block));
            let from = order.len();
            back.walk(end.unwrap_or(start), &mut order);
            match end {
                Some(end) => leads_out[end] = true,
                None => order[from..].iter().for_each(|&block| leads_out[block] = true),
            }
        }
        order.push(exit);
        order.reverse();
        let mut parent = solve(count + 1, &order, |block, visit| {
            if block == exit {
                return;
            }
            if leads_out[block] {
                visit(exit);
            }
            kept[block].iter().for_each(|&s| visit(s));
        });
        parent.truncate(count);
        for p in &mut parent {
            if *p == exit {
                *p = NO_BLOCK;
            }
        }
        order.retain(|&b| b != exit);
        Dominators::number(parent, &order, count)
    }
}

type Successors = smallvec::SmallVec<[BlockId; 4]>;

/// True if threads may end in the block although control continues after it.
pub(crate) fn ends_on_the_way(function: &Function, block: BlockId) -> bool {
    function.block(block).instructions.iter().any(|i| i.opcode == Opcode::Sass(Op::EXIT) && i.guard.is_some())
}

/// Backward walk over the kept blocks.
struct BackWalk<'a> {
    cfg: &'a Cfg,
    is_kept: &'a TiVec<BlockId, bool>,
    seen: TiVec<BlockId, bool>,
}

impl BackWalk<'_> {
    /// Adds the unseen blocks that lead to `start`, in postorder.
    fn walk(&mut self, start: BlockId, order: &mut Vec<BlockId>) {
        if std::mem::replace(&mut self.seen[start], true) {
            return;
        }
        let mut stack = vec![(start, 0usize)];
        while let Some((block, next)) = stack.last_mut() {
            let (to, at) = (*block, *next);
            *next += 1;
            match self.cfg.predecessors(to).get(at) {
                Some(&from) if self.is_kept[from] && self.is_kept[to] => {
                    if !std::mem::replace(&mut self.seen[from], true) {
                        stack.push((from, 0));
                    }
                }
                Some(_) => {}
                None => {
                    order.push(to);
                    stack.pop();
                }
            }
        }
    }

    /// Unseen blocks, sorted so that a block that reaches no block seen before is on a cycle without exit (the first
    /// pass of Kosaraju's algorithm).
    fn last_cycles(&self) -> Vec<BlockId> {
        let mut walk = BackWalk { seen: self.seen.clone(), ..*self };
        let mut order = Vec::new();
        for &block in self.cfg.order().iter().rev() {
            walk.walk(block, &mut order);
        }
        order.reverse();
        order
    }
}

/// Blocks reachable from a block, itself included.
fn reached(kept: &TiVec<BlockId, Successors>, start: BlockId) -> FxHashSet<BlockId> {
    let mut found = FxHashSet::default();
    let mut work = vec![start];
    while let Some(block) = work.pop() {
        if found.insert(block) {
            work.extend(&kept[block]);
        }
    }
    found
}
