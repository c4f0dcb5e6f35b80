//! Natural loops, their nesting, and whether the graph is reducible.
//!
//! It is here because spill costs, code motion, unrolling and divergence need the loop depth of blocks.

use crate::{BlockId, Cfg, Dominators};
use typed_index_collections::{TiVec, ti_vec};

/// Deeper loops count as loops of this depth, so that sums of weights stay small.
const DEEPEST: u32 = 6;

/// A natural loop: the header dominates every block of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// The block that every path into the loop goes through.
    pub header: BlockId,
    /// The loop around it: an index into [`Loops::loops`].
    pub parent: Option<usize>,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// Sources of the back edges, in RPO.
    pub latches: Vec<BlockId>,
}

/// The loops of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loops {
    /// Loops; an outer one precedes the loops in it.
    pub loops: Vec<Loop>,
    innermost: TiVec<BlockId, Option<u32>>,
    /// Place of each loop in a walk of the nesting, and one past that of the last loop in it.
    intervals: Vec<(u32, u32)>,
    /// The blocks of cycles with more than one entry, which are not in `loops`, and of the loops that such a cycle
    /// passes the header of; in RPO.
    pub irreducible: Vec<BlockId>,
}

impl Loops {
    /// Finds the loops.
    pub fn new(cfg: &Cfg, dominators: &Dominators) -> Loops {
        let mut latches: TiVec<BlockId, Vec<BlockId>> = ti_vec![Vec::new(); cfg.count()];
        let mut irreducible = false;
        for (from, to) in cfg.back_edges() {
            if dominators.dominates(to, from) {
                if latches[to].last() != Some(&from) {
                    latches[to].push(from);
                }
            } else {
                irreducible = true;
            }
        }
        let headers: Vec<BlockId> = cfg.order().iter().copied().filter(|&b| !latches[b].is_empty()).collect();
        let mut loops: Vec<Loop> = headers
            .iter()
            .map(|&header| Loop {
                header,
                parent: None,
                depth: 0,
                latches: std::mem::take(&mut latches[header]),
            })
            .collect();
        let mut innermost: TiVec<BlockId, Option<u32>> = ti_vec![None; cfg.count()];
        // Inner headers come later in RPO: in reverse order, a block that is already claimed belongs to an inner
        // loop, and the walk continues from that loop's outermost known ancestor.
        for index in (0..loops.len()).rev() {
            let header = loops[index].header;
            let mut work: Vec<BlockId> = loops[index].latches.clone();
            while let Some(block) = work.pop() {
                match innermost[block] {
                    None => {
                        innermost[block] = Some(index as u32);
                        if block != header {
                            work.extend(cfg.predecessors(block));
                        }
                    }
                    Some(inner) => {
                        let mut outer = inner as usize;
                        while let Some(parent) = loops[outer].parent {
                            outer = parent;
                        }
                        if outer != index {
                            loops[outer].parent = Some(index);
                            work.extend(cfg.predecessors(loops[outer].header));
                        }
                    }
                }
            }
            if innermost[header].is_none() {
                innermost[header] = Some(index as u32);
            }
        }
        for index in 0..loops.len() {
            loops[index].depth = loops[index].parent.map_or(1, |parent| loops[parent].depth + 1);
        }
        let intervals = intervals(&loops);
        let mut found = Loops { loops, innermost, intervals, irreducible: Vec::new() };
        if irreducible {
            found.irreducible = found.irreducible_blocks(cfg, dominators);
        }
        found
    }

    /// Estimated runs of an instruction at a loop depth, for each run of the function.
    pub const fn weight_at(depth: u32) -> u64 {
        8u64.pow(if depth < DEEPEST { depth } else { DEEPEST })
    }

    /// Estimated runs of a block, for each run of the function.
    pub fn weight(&self, block: BlockId) -> u64 {
        Loops::weight_at(self.depth(block))
    }

    /// True if some cycle has more than one entry.
    pub fn is_irreducible(&self) -> bool {
        !self.irreducible.is_empty()
    }

    /// Blocks that are still in cycles without the back edges of the loops: those cycles have several entries.
    fn irreducible_blocks(&self, cfg: &Cfg, dominators: &Dominators) -> Vec<BlockId> {
        let is_left = |from: BlockId, to: BlockId| !dominators.dominates(to, from);
        // Kosaraju's algorithm: a postorder, then components against the edges, the last first. RPO is such a postorder
        // backwards, with or without edges that go back.
        let mut cyclic: TiVec<BlockId, bool> = ti_vec![false; cfg.count()];
        let mut seen = cyclic.clone();
        for &start in cfg.order() {
            let mut component = Vec::new();
            let mut work = vec![start];
            while let Some(block) = work.pop() {
                if std::mem::replace(&mut seen[block], true) {
                    continue;
                }
                component.push(block);
                work.extend(cfg.predecessors(block).iter().copied().filter(|&from| is_left(from, block)));
            }
            if component.len() > 1 {
                component.into_iter().for_each(|block| cyclic[block] = true);
            }
        }
        let is_round = |block: BlockId| {
            let mut around = self.innermost(block);
            while let Some(index) = around.filter(|&index| !cyclic[self.loops[index].header]) {
                around = self.loops[index].parent;
            }
            around.is_some()
        };
        cfg.order().iter().copied().filter(|&block| cyclic[block] || is_round(block)).collect()
    }

    /// The innermost loop around a block: an index into `loops`.
    #[inline]
    pub fn innermost(&self, block: BlockId) -> Option<usize> {
        self.innermost[block].map(|index| index as usize)
    }

    /// Number of loops that contain the block.
    #[inline]
    pub fn depth(&self, block: BlockId) -> u32 {
        self.innermost(block).map_or(0, |index| self.loops[index].depth)
    }

    /// True if the loop contains the block.
    #[inline]
    pub fn contains(&self, index: usize, block: BlockId) -> bool {
        let (from, to) = self.intervals[index];
        self.innermost(block).is_some_and(|inner| (from..to).contains(&self.intervals[inner].0))
    }

    /// The blocks of a loop, nested ones included, in RPO.
    pub fn blocks(&self, cfg: &Cfg, index: usize) -> Vec<BlockId> {
        cfg.order().iter().copied().filter(|&block| self.contains(index, block)).collect()
    }
}

/// Numbers the nesting so that the loops inside a loop are a range. Outer loops precede inner ones.
fn intervals(loops: &[Loop]) -> Vec<(u32, u32)> {
    let mut sizes = vec![1u32; loops.len()];
    for (index, lap) in loops.iter().enumerate().rev() {
        if let Some(parent) = lap.parent {
            sizes[parent] += sizes[index];
        }
    }
    // Start of the next loop inside each loop.
    let mut next = vec![0u32; loops.len()];
    let mut outermost = 0;
    let mut intervals = Vec::with_capacity(loops.len());
    for (index, lap) in loops.iter().enumerate() {
        let place = match lap.parent {
            Some(parent) => &mut next[parent],
            None => &mut outermost,
        };
        let from = *place;
        *place += sizes[index];
        next[index] = from + 1;
        intervals.push((from, from + sizes[index]));
    }
    intervals
}
