//! Dominators, post-dominators and dominance frontiers (the iterative algorithm of Cooper, Harvey and Kennedy, and
//! that of Lengauer and Tarjan where it is too slow).
//!
//! It is here because SSA construction, the verifier, convergence placement and code motion need them. Queries are
//! constant time through the numbering of the tree.

mod absent;
mod iterated;
mod lengauer_tarjan;
mod post;

pub use iterated::IteratedFrontiers;
pub(crate) use post::ends_on_the_way;

use crate::csr::Csr;
use crate::{BlockId, Cfg};
use absent::{NO_BLOCK, NONE};
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// A dominator tree, or a post-dominator tree.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// Immediate dominator; `NO_BLOCK` for roots and unreachable blocks.
    parent: TiVec<BlockId, BlockId>,
    /// Numbering of the tree: a dominates b if b's interval is within a's.
    enter: TiVec<BlockId, u32>,
    leave: TiVec<BlockId, u32>,
    children: Csr<BlockId, BlockId>,
    roots: Vec<BlockId>,
}

impl Dominators {
    /// The dominator tree. Unreachable blocks are outside it.
    pub fn new(cfg: &Cfg) -> Dominators {
        let count = cfg.count();
        let parent = solve(count, cfg.order(), |block, visit| {
            cfg.predecessors(block).iter().for_each(|&p| visit(p));
        });
        Dominators::number(parent, cfg.order(), count)
    }

    fn number(parent: TiVec<BlockId, BlockId>, order: &[BlockId], count: usize) -> Dominators {
        let mut below = Vec::with_capacity(count);
        let mut roots = Vec::new();
        for &block in order {
            match parent[block] {
                NO_BLOCK => roots.push(block),
                p => below.push((p, block)),
            }
        }
        let children = Csr::new(count, &below);
        let mut enter: TiVec<BlockId, u32> = ti_vec![NONE; count];
        let mut leave: TiVec<BlockId, u32> = ti_vec![0; count];
        let mut clock = 0;
        let mut stack: Vec<(BlockId, usize)> = Vec::new();
        for &root in &roots {
            stack.push((root, 0));
            enter[root] = clock;
            clock += 1;
            while let Some((block, next)) = stack.last_mut() {
                if let Some(&child) = children.of(*block).get(*next) {
                    *next += 1;
                    enter[child] = clock;
                    clock += 1;
                    stack.push((child, 0));
                } else {
                    leave[*block] = clock;
                    stack.pop();
                }
            }
        }
        Dominators { parent, enter, leave, children, roots }
    }

    /// The immediate (post-)dominator; `None` for roots and unreachable blocks.
    #[inline]
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        Some(self.parent[block]).filter(|&p| p != NO_BLOCK)
    }

    /// True if `a` (post-)dominates `b`, or is `b`. False if one of them is unreachable.
    #[inline]
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.enter[a] != NONE
            && self.enter[b] != NONE
            && self.enter[a] <= self.enter[b]
            && self.leave[b] <= self.leave[a]
    }

    /// The blocks that this block immediately dominates.
    #[inline]
    pub fn children(&self, block: BlockId) -> &[BlockId] {
        self.children.of(block)
    }

    /// The roots: the entry, or for post-dominance the children of the virtual exit.
    pub fn roots(&self) -> &[BlockId] {
        &self.roots
    }

    /// Place of a block in a walk of the tree, parents before children, and one past that of the last block below it;
    /// `None` if the block is outside the tree.
    pub fn interval(&self, block: BlockId) -> Option<(u32, u32)> {
        Some((self.enter[block], self.leave[block])).filter(|&(enter, _)| enter != NONE)
    }

    /// All blocks of the tree, parents before children.
    pub fn preorder(&self) -> Vec<BlockId> {
        let mut order = Vec::with_capacity(self.parent.len());
        let mut stack: Vec<BlockId> = self.roots.iter().rev().copied().collect();
        while let Some(block) = stack.pop() {
            order.push(block);
            stack.extend(self.children(block).iter().rev());
        }
        order
    }

    /// The dominance frontier of each block. Sorted, without duplicates.
    pub fn frontiers(&self, cfg: &Cfg) -> TiVec<BlockId, Vec<BlockId>> {
        self.frontiers_over(cfg, |_, _| true)
    }

    /// Dominance frontiers without back edges: meeting points within one iteration.
    pub fn frontiers_ahead(&self, cfg: &Cfg) -> TiVec<BlockId, Vec<BlockId>> {
        self.frontiers_over(cfg, |from, to| cfg.position(from) < cfg.position(to))
    }

    fn frontiers_over(
        &self,
        cfg: &Cfg,
        counts: impl Fn(BlockId, BlockId) -> bool,
    ) -> TiVec<BlockId, Vec<BlockId>> {
        let mut frontiers: TiVec<BlockId, Vec<BlockId>> = ti_vec![Vec::new(); self.parent.len()];
        for &block in cfg.order() {
            let predecessors = cfg.predecessors(block);
            // The entry may be a loop header with one predecessor: it is in its own frontier then.
            if predecessors.len() < 2 && self.immediate(block).is_some() {
                continue;
            }
            for &predecessor in predecessors.iter().filter(|&&p| counts(p, block)) {
                let mut runner = Some(predecessor);
                while runner != self.immediate(block) {
                    let Some(current) = runner else { break };
                    let frontier = &mut frontiers[current];
                    // From here on an earlier predecessor took the same path.
                    if frontier.last() == Some(&block) {
                        break;
                    }
                    frontier.push(block);
                    runner = self.immediate(current);
                }
            }
        }
        frontiers
    }
}

/// Immediate dominators of the nodes in `order` (RPO, root first); nodes outside keep `NO_BLOCK`. The iterative
/// algorithm is fastest on most graphs. Where it would take more than a few steps per edge, the algorithm of Lengauer
/// and Tarjan is used.
fn solve(
    count: usize,
    order: &[BlockId],
    for_each_predecessor: impl Fn(BlockId, &mut dyn FnMut(BlockId)),
) -> TiVec<BlockId, BlockId> {
    let mut position: TiVec<BlockId, u32> = ti_vec![NONE; count];
    for (place, &node) in order.iter().enumerate() {
        position[node] = place as u32;
    }
    let mut parent: TiVec<BlockId, BlockId> = ti_vec![NO_BLOCK; count];
    let Some(&root) = order.first() else { return parent };
    parent[root] = root;
    let mut changed = true;
    let mut steps = 64 + 16 * order.len();
    while changed {
        changed = false;
        for &node in &order[1..] {
            let mut best = NO_BLOCK;
            for_each_predecessor(node, &mut |predecessor| {
                if position[predecessor] == NONE || parent[predecessor] == NO_BLOCK || steps == 0 {
                    return;
                }
                best = match best {
                    NO_BLOCK => predecessor,
                    known => meet(&parent, &position, known, predecessor, &mut steps),
                };
            });
            if steps == 0 {
                return lengauer_tarjan::solve(count, order, for_each_predecessor);
            }
            if best != parent[node] {
                parent[node] = best;
                changed = true;
            }
        }
    }
    parent[root] = NO_BLOCK;
    parent
}

/// The nearest common ancestor of two nodes; any node if the steps run out.
fn meet(
    parent: &TiSlice<BlockId, BlockId>,
    position: &TiSlice<BlockId, u32>,
    mut a: BlockId,
    mut b: BlockId,
    steps: &mut usize,
) -> BlockId {
    while a != b && *steps > 0 {
        *steps -= 1;
        if position[a] > position[b] { a = parent[a] } else { b = parent[b] }
    }
    a
}
