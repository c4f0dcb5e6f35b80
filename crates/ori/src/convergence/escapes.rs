//! Finds edges that leave a part of the dominator tree, in logarithmic time.
//!
//! It is here because a region of the graph is a part of the dominator tree exactly if no edge leaves that part. A
//! walk over the region of each branch would be quadratic in the blocks.

use crate::exits::is_bare_exit;
use crate::{BlockId, Cfg, Dominators, Function};

/// Targets that each node of the tree keeps: one more than a query may exclude.
const KEPT: usize = 3;

/// Distinct edge targets whose immediate dominators are nearest to the entry: position in the tree and target, lowest
/// position first.
type Lowest = [(u32, u32); KEPT];

const NONE: (u32, u32) = (u32::MAX, u32::MAX);

/// Edges by the place of their source in a walk of the dominator tree. Edges to bare exits are left out.
pub(super) struct Escapes {
    /// Places of the sources, ascending.
    sources: Vec<u32>,
    /// A segment tree over the edges; the leaves are the second half.
    nodes: Vec<Lowest>,
}

fn add(lowest: &mut Lowest, mut item: (u32, u32)) {
    for kept in lowest {
        if *kept == NONE || kept.1 == item.1 {
            *kept = (*kept).min(item);
            return;
        }
        if item < *kept {
            std::mem::swap(kept, &mut item);
        }
    }
}

impl Escapes {
    /// Collects the edges that may leave a part of the tree.
    pub(super) fn new(function: &Function, cfg: &Cfg, dominators: &Dominators) -> Escapes {
        let place = |block: BlockId| dominators.interval(block).map(|(from, _)| from);
        let mut edges: Vec<(u32, (u32, u32))> = Vec::new();
        for &block in cfg.order() {
            for &target in &function.block(block).successors {
                // If the source is the immediate dominator, the edge stays in every part that contains the source.
                if dominators.immediate(target) == Some(block) || is_bare_exit(function, target) {
                    continue;
                }
                // The entry has no dominator: an edge to it leaves every part but the whole.
                let above = dominators.immediate(target).and_then(place).map_or(0, |place| place + 1);
                edges.extend(place(block).map(|source| (source, (above, target.0))));
            }
        }
        edges.sort_unstable();
        let half = edges.len().next_power_of_two();
        let mut nodes = vec![[NONE; KEPT]; 2 * half];
        for (at, (_, edge)) in edges.iter().enumerate() {
            nodes[half + at][0] = *edge;
        }
        for at in (1..half).rev() {
            let mut both = nodes[2 * at];
            nodes[2 * at + 1].iter().filter(|item| **item != NONE).for_each(|item| add(&mut both, *item));
            nodes[at] = both;
        }
        Escapes { sources: edges.into_iter().map(|(source, _)| source).collect(), nodes }
    }

    /// True if an edge from a block with a place in the range leads to a block that the one at `top` does not dominate
    /// strictly, where `top` dominates the whole range; edges to the targets in `but` do not count.
    pub(super) fn leave(&self, range: std::ops::Range<u32>, top: u32, but: [Option<BlockId>; 2]) -> bool {
        let half = self.nodes.len() / 2;
        let mut from = self.sources.partition_point(|&source| source < range.start) + half;
        let mut to = self.sources.partition_point(|&source| source < range.end) + half;
        let leaves = |node: &Lowest| {
            node.iter().any(|&(above, target)| above <= top && !but.contains(&Some(BlockId(target))))
        };
        while from < to {
            if from % 2 == 1 {
                if leaves(&self.nodes[from]) {
                    return true;
                }
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                if leaves(&self.nodes[to]) {
                    return true;
                }
            }
            from /= 2;
            to /= 2;
        }
        false
    }
}
