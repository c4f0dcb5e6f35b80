//! Iterated dominance frontiers of the definitions of one value, without the frontier of each block: their total size
//! is quadratic in nested loops (Sreedhar and Gao, "A Linear Time Algorithm for Placing Phi-Nodes", 1995).
//!
//! Walks subtrees of the dominator tree, the deepest definitions first, and each block at most once. Below a
//! definition it walks only blocks where the value is live: the definition that reaches an edge is the last one above
//! it.

use std::collections::BinaryHeap;

use super::Dominators;
use crate::csr::Csr;
use crate::{BlockId, Cfg};
use typed_index_collections::{TiVec, ti_vec};

const NONE: u32 = u32::MAX;

/// Finds iterated frontiers in one graph, for one value after the other.
#[derive(Debug)]
pub struct IteratedFrontiers<'a> {
    dominators: &'a Dominators,
    /// Depth of each block in the tree.
    level: TiVec<BlockId, u32>,
    /// For each block the successors that it does not dominate immediately.
    joins: Csr<BlockId, BlockId>,
    /// The value for which each block was walked last, and found last.
    walked: TiVec<BlockId, u32>,
    found: TiVec<BlockId, u32>,
    count: u32,
    /// Definitions whose subtrees are still to be walked: levels and blocks.
    roots: BinaryHeap<(u32, BlockId)>,
    stack: Vec<BlockId>,
}

impl<'a> IteratedFrontiers<'a> {
    /// Prepares for the values of a function.
    pub fn new(cfg: &Cfg, dominators: &'a Dominators) -> IteratedFrontiers<'a> {
        let count = dominators.parent.len();
        let mut level: TiVec<BlockId, u32> = ti_vec![0; count];
        for block in dominators.preorder() {
            level[block] = dominators.immediate(block).map_or(0, |parent| level[parent] + 1);
        }
        let mut joins = Vec::new();
        for &block in cfg.order() {
            for &predecessor in cfg.predecessors(block) {
                if dominators.immediate(block) != Some(predecessor) {
                    joins.push((predecessor, block));
                }
            }
        }
        IteratedFrontiers {
            dominators,
            level,
            joins: Csr::new(count, &joins),
            walked: ti_vec![NONE; count],
            found: ti_vec![NONE; count],
            count: 0,
            roots: BinaryHeap::new(),
            stack: Vec::new(),
        }
    }

    /// Blocks of the iterated frontier of `definitions` where the value is live-in, in no particular order.
    pub fn of(
        &mut self,
        definitions: impl IntoIterator<Item = BlockId>,
        is_live_in: impl Fn(BlockId) -> bool,
        mut add: impl FnMut(BlockId),
    ) {
        let now = self.count;
        self.count += 1;
        for block in definitions {
            self.roots.push((self.level[block], block));
        }
        while let Some((highest, root)) = self.roots.pop() {
            if self.walked[root] == now {
                continue;
            }
            self.walked[root] = now;
            self.stack.push(root);
            while let Some(block) = self.stack.pop() {
                for &join in self.joins.of(block) {
                    // A deeper join is dominated by the root.
                    if self.level[join] <= highest && self.found[join] != now && is_live_in(join) {
                        self.found[join] = now;
                        add(join);
                        self.roots.push((self.level[join], join));
                    }
                }
                for &child in self.dominators.children(block) {
                    if self.walked[child] != now && is_live_in(child) {
                        self.walked[child] = now;
                        self.stack.push(child);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Function};
    use typed_index_collections::TiSlice;

    /// Blocks where a value is live: backwards from uses, up to definitions. A block may both use and then define it.
    fn live(
        cfg: &Cfg,
        uses: &TiSlice<BlockId, bool>,
        definitions: &TiSlice<BlockId, bool>,
    ) -> TiVec<BlockId, bool> {
        let mut live = uses.to_vec();
        let mut work: Vec<BlockId> = live.keys().filter(|&b| live[b]).collect();
        while let Some(block) = work.pop() {
            for &before in cfg.predecessors(block) {
                if !definitions[before] && !std::mem::replace(&mut live[before], true) {
                    work.push(before);
                }
            }
        }
        live
    }

    #[test]
    fn they_are_the_frontiers_of_the_frontiers() {
        let mut state = 3u64;
        let mut roll = |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % u64::from(below)) as u32
        };
        let mut phis = 0;
        for round in 0..4_000 {
            let count = 2 + roll(24);
            let mut function = Function::default();
            for at in 0..count {
                // Mostly ahead, as in a function; sometimes anywhere.
                let mut target = || match roll(3) {
                    0 => BlockId(roll(count)),
                    _ => BlockId((at + 1 + roll(3)).min(count - 1)),
                };
                let successors = smallvec::smallvec![target(), target()];
                function.blocks.push(Block { successors, ..Block::default() });
            }
            let graph = function.graph();
            let (cfg, dominators) = (graph.cfg(), graph.dominators());
            let frontiers = dominators.frontiers(cfg);
            let mut iterated = IteratedFrontiers::new(cfg, dominators);
            for _ in 0..6 {
                let mut some = |one_in: u32| -> TiVec<BlockId, bool> {
                    function.block_ids().map(|at| roll(one_in) == 0 && cfg.is_reachable(at)).collect()
                };
                let (uses, definitions) = (some(4), some(5));
                let live = live(cfg, &uses, &definitions);
                let blocks = definitions.keys().filter(|&b| definitions[b]);
                let mut expected: Vec<BlockId> = Vec::new();
                let mut work: Vec<BlockId> = blocks.clone().collect();
                while let Some(block) = work.pop() {
                    for &frontier in &frontiers[block] {
                        if live[frontier] && !expected.contains(&frontier) {
                            expected.push(frontier);
                            work.push(frontier);
                        }
                    }
                }
                let mut found = Vec::new();
                iterated.of(blocks, |block| live[block], |block| found.push(block));
                phis += found.len();
                expected.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, expected, "round {round}: {function:?} {definitions:?} {live:?}");
            }
        }
        assert!(phis > 10_000, "only {phis} phis");
    }
}
