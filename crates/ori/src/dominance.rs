//! Dominators, post-dominators and dominance frontiers (the iterative algorithm of Cooper, Harvey and Kennedy, and
//! that of Lengauer and Tarjan where it is too slow).
//!
//! It is here because SSA construction, the verifier, convergence placement and code motion need them. Queries are
//! constant time through the numbering of the tree.

mod iterated;
mod lengauer_tarjan;

pub use iterated::IteratedFrontiers;

use crate::csr::Csr;
use crate::{BlockId, Cfg, Function, Opcode};
use oriole_sass::Op;
use rustc_hash::FxHashSet;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

const NONE: u32 = u32::MAX;
const NO_BLOCK: BlockId = BlockId(NONE);

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
