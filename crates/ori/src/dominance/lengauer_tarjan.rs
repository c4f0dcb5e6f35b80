//! Dominators by the algorithm of Lengauer and Tarjan, with path compression: near-linear on every graph.

use super::absent::{NO_BLOCK, NONE};
use crate::BlockId;
use crate::csr::Csr;
use typed_index_collections::{TiVec, ti_vec};

/// Immediate dominators of the nodes in `order`, root first; the root and nodes outside keep `NO_BLOCK`.
pub(super) fn solve(
    count: usize,
    order: &[BlockId],
    for_each_predecessor: impl Fn(BlockId, &mut dyn FnMut(BlockId)),
) -> TiVec<BlockId, BlockId> {
    let mut edges: Vec<(BlockId, BlockId)> = Vec::new();
    for &node in order {
        for_each_predecessor(node, &mut |predecessor| edges.push((predecessor, node)));
    }
    let walk = Walk::new(count, order[0], &Csr::new(count, &edges));
    let size = walk.nodes.len();
    let mut forest = Forest {
        above: vec![NONE; size],
        best: (0..size as u32).collect(),
        semi: (0..size as u32).collect(),
    };
    let mut dominator = vec![0u32; size];
    // The nodes with each semidominator, as chains.
    let (mut first, mut next) = (vec![NONE; size], vec![NONE; size]);
    for node in (1..size as u32).rev() {
        for_each_predecessor(walk.nodes[node as usize], &mut |predecessor| {
            let number = walk.numbers[predecessor];
            if number != NONE {
                let best = forest.lowest(number);
                let semi = forest.semi[best as usize];
                forest.semi[node as usize] = forest.semi[node as usize].min(semi);
            }
        });
        let semi = forest.semi[node as usize] as usize;
        next[node as usize] = std::mem::replace(&mut first[semi], node);
        let parent = walk.parents[node as usize];
        forest.above[node as usize] = parent;
        let mut waiting = std::mem::replace(&mut first[parent as usize], NONE);
        while waiting != NONE {
            let best = forest.lowest(waiting);
            let below = forest.semi[best as usize] < forest.semi[waiting as usize];
            dominator[waiting as usize] = if below { best } else { parent };
            waiting = next[waiting as usize];
        }
    }
    let mut result: TiVec<BlockId, BlockId> = ti_vec![NO_BLOCK; count];
    for node in 1..size {
        if dominator[node] != forest.semi[node] {
            dominator[node] = dominator[dominator[node] as usize];
        }
        result[walk.nodes[node]] = walk.nodes[dominator[node] as usize];
    }
    result
}

/// A depth-first search: nodes by preorder number, numbers by node, and the parent of each number.
struct Walk {
    nodes: Vec<BlockId>,
    numbers: TiVec<BlockId, u32>,
    parents: Vec<u32>,
}

impl Walk {
    fn new(count: usize, root: BlockId, successors: &Csr<BlockId, BlockId>) -> Walk {
        let mut walk = Walk { nodes: vec![root], numbers: ti_vec![NONE; count], parents: vec![0] };
        walk.numbers[root] = 0;
        let mut stack = vec![(root, 0usize)];
        while let Some((node, next)) = stack.last_mut() {
            let Some(&successor) = successors.of(*node).get(*next) else {
                stack.pop();
                continue;
            };
            *next += 1;
            if walk.numbers[successor] == NONE {
                walk.numbers[successor] = walk.nodes.len() as u32;
                walk.parents.push(walk.numbers[*node]);
                walk.nodes.push(successor);
                stack.push((successor, 0));
            }
        }
        walk
    }
}

/// The part of the walk's tree that was linked so far.
struct Forest {
    /// The node above, or one further up after a path was compressed; `NONE` for roots.
    above: Vec<u32>,
    /// The node with the lowest semidominator between each node and `above`, that one left out.
    best: Vec<u32>,
    semi: Vec<u32>,
}

impl Forest {
    /// The node with the lowest semidominator from this one up to its root, the root left out.
    fn lowest(&mut self, node: u32) -> u32 {
        let mut path = Vec::new();
        let mut at = node;
        while self.above[at as usize] != NONE && self.above[self.above[at as usize] as usize] != NONE {
            path.push(at);
            at = self.above[at as usize];
        }
        while let Some(at) = path.pop() {
            let above = self.above[at as usize] as usize;
            if self.semi[self.best[above] as usize] < self.semi[self.best[at as usize] as usize] {
                self.best[at as usize] = self.best[above];
            }
            self.above[at as usize] = self.above[above];
        }
        self.best[node as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dominators_are_what_their_definition_says() {
        let mut state = 7u64;
        let mut roll = |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % u64::from(below)) as u32
        };
        for _ in 0..3_000 {
            let count = 2 + roll(20);
            let edges: Vec<(BlockId, BlockId)> = (0..count * 2)
                .map(|at| {
                    let from = if at < count { at / 2 } else { roll(count) };
                    (BlockId(from), BlockId((at + 1).min(roll(count) + 1) % count))
                })
                .collect();
            let successors = Csr::new(count as usize, &edges);
            let reversed: Vec<(BlockId, BlockId)> = edges.iter().map(|&(from, to)| (to, from)).collect();
            let predecessors = Csr::new(count as usize, &reversed);
            let visit = |node: BlockId, add: &mut dyn FnMut(BlockId)| {
                predecessors.of(node).iter().for_each(|p| add(*p))
            };
            // A preorder suffices: the iterative algorithm only takes longer.
            let order = Walk::new(count as usize, BlockId(0), &successors).nodes;
            let plain = |dropped: BlockId| {
                let mut seen: TiVec<BlockId, bool> = ti_vec![false; count as usize];
                let mut work = if dropped == BlockId(0) { vec![] } else { vec![BlockId(0)] };
                while let Some(node) = work.pop() {
                    if !std::mem::replace(&mut seen[node], true) {
                        work.extend(successors.of(node).iter().filter(|&&s| s != dropped));
                    }
                }
                seen
            };
            let found = solve(count as usize, &order, visit);
            for &node in &order {
                // All dominators of a node are those above it in the tree.
                let mut above = vec![node];
                while found[*above.last().unwrap()] != NO_BLOCK {
                    above.push(found[*above.last().unwrap()]);
                }
                for &other in &order {
                    let dominates = other == node || !plain(other)[node];
                    assert_eq!(dominates, above.contains(&other), "{other} {node} of {edges:?}");
                }
            }
        }
    }
}
