//! Blocks between a branch and its join, and the meeting points of paths from the branch.

use super::{Anchor, Reconvergence, below};
use crate::BlockId;
use crate::exits::is_bare_exit;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use typed_index_collections::TiVec;

/// The blocks between a branch and its join, as a part of the dominator tree: those at these positions except bare
/// exits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cover {
    /// The block that dominates all others.
    pub top: BlockId,
    /// Their places in a walk of the dominator tree.
    pub places: [std::ops::Range<u32>; 2],
}

impl Cover {
    fn contains(&self, place: u32) -> bool {
        self.places.iter().any(|range| range.contains(&place))
    }
}

impl Reconvergence<'_> {
    /// The block at a place in a walk of the dominator tree.
    pub fn at(&self, place: u32) -> BlockId {
        self.preorder[place as usize]
    }

    /// The blocks between a branch and `join` (or the end), if they are a part of the dominator tree: those below the
    /// branch, or below the header of a loop that the threads leave one by one.
    pub fn cover(&mut self, branch: BlockId, join: Option<BlockId>) -> Option<Cover> {
        if !self.leaves(Anchor::End(branch), join) {
            return self.part(Anchor::End(branch), join);
        }
        let mut left = None;
        let mut at = self.loops.innermost(branch);
        while let Some(index) = at.filter(|&index| join.is_none_or(|join| !self.loops.contains(index, join)))
        {
            left = Some(Anchor::Entry(self.loops.loops[index].header));
            at = self.loops.loops[index].parent;
        }
        let anchor = left?;
        if self.leaves(anchor, join) { None } else { self.part(anchor, join) }
    }

    /// The blocks below an anchor that are not below the join.
    pub fn part(&self, anchor: Anchor, join: Option<BlockId>) -> Option<Cover> {
        let top = anchor.block();
        let (from, to) = self.dominators.interval(top)?;
        let (skip_from, skip_to) = below(self.dominators, join, from, to);
        let first = if anchor == Anchor::End(top) { from + 1 } else { from };
        Some(Cover { top, places: [first..skip_from.max(first), skip_to..to] })
    }

    /// Walks the blocks between a branch and `join`. It stops after blocks for which `known` says that nothing new
    /// follows.
    pub fn walk(
        &mut self,
        branch: BlockId,
        join: Option<BlockId>,
        known: impl Fn(BlockId) -> bool,
    ) -> Vec<BlockId> {
        self.stamp += 1;
        let mut region = Vec::new();
        let mut work: Vec<BlockId> = self.function.block(branch).successors.to_vec();
        while let Some(block) = work.pop() {
            if Some(block) == join
                || is_bare_exit(self.function, block)
                || std::mem::replace(&mut self.seen[block], self.stamp) == self.stamp
                || known(block)
            {
                continue;
            }
            region.push(block);
            work.extend(&self.function.block(block).successors);
        }
        region
    }

    /// Blocks where two paths from the branch meet within one iteration of every loop, `join` included. Each
    /// successor propagates a label; a block where two labels meet propagates its own. A label is valid in all blocks
    /// that its block dominates, so it is propagated only along dominance frontiers.
    pub fn meetings_ahead(&mut self, branch: BlockId, join: Option<BlockId>) -> Vec<BlockId> {
        let (function, cfg) = (self.function, self.cfg);
        let place = |block: BlockId| cfg.position(block).unwrap_or(u32::MAX);
        let mut live = function.block(branch).successors.clone();
        live.retain(|s| Some(*s) != join && !is_bare_exit(function, *s));
        live.sort_unstable();
        live.dedup();
        let mut joins: Vec<BlockId> = join.into_iter().collect();
        if live.len() < 2 {
            return joins;
        }
        if live.iter().any(|&successor| place(successor) <= place(branch)) {
            return self.walked_ahead(branch, join);
        }
        let frontiers = self.frontiers.take().unwrap_or_else(|| self.dominators.frontiers_ahead(cfg));
        self.stamp += 1;
        let stamp = self.stamp;
        let mut pending = BinaryHeap::new();
        for &successor in &live {
            self.labels[successor] = (stamp, successor);
            pending.push(Reverse((place(successor), successor)));
        }
        while let Some(Reverse((_, block))) = pending.pop() {
            // A single path meets no other one.
            if pending.is_empty() {
                break;
            }
            let own = self.labels[block].1;
            for &end in &frontiers[block] {
                if Some(end) == join || is_bare_exit(function, end) || !self.comes_before(block, end, join) {
                    continue;
                }
                let (known, old) = self.labels[end];
                if known != stamp {
                    self.labels[end] = (stamp, own);
                    pending.push(Reverse((place(end), end)));
                } else if old != own {
                    joins.push(end);
                    self.labels[end] = (stamp, end);
                }
            }
        }
        self.frontiers = Some(frontiers);
        joins.sort_unstable();
        joins.dedup();
        joins
    }

    /// True if the dominance of `block` ends at `end` by a path that avoids the join.
    fn comes_before(&self, block: BlockId, end: BlockId, join: Option<BlockId>) -> bool {
        let Some(join) = join.filter(|&join| self.dominators.dominates(block, join)) else { return true };
        let ahead = self.cfg.position(end);
        self.cfg.position(join) > ahead
            || self.cfg.predecessors(end).iter().any(|&p| {
                self.cfg.position(p) < ahead
                    && self.dominators.dominates(block, p)
                    && !self.dominators.dominates(join, p)
            })
    }

    /// [`Reconvergence::meetings_ahead`] by a walk over all blocks between.
    pub(super) fn walked_ahead(&mut self, branch: BlockId, join: Option<BlockId>) -> Vec<BlockId> {
        let mut region = self.walk(branch, join, |_| false);
        let place = |block: &BlockId| self.cfg.position(*block).unwrap_or(u32::MAX);
        region.sort_unstable_by_key(place);
        self.stamp += 1;
        let stamp = self.stamp;
        let mut joins: Vec<BlockId> = join.into_iter().collect();
        let mut hand_on = |labels: &mut TiVec<BlockId, (u32, BlockId)>, to: BlockId, own: BlockId| {
            let (known, old) = labels[to];
            if known != stamp {
                labels[to] = (stamp, own);
            } else if old != own {
                joins.push(to);
                labels[to] = (stamp, to);
            }
        };
        for &successor in &self.function.block(branch).successors {
            if !is_bare_exit(self.function, successor) {
                hand_on(&mut self.labels, successor, successor);
            }
        }
        for &block in &region {
            let (known, own) = self.labels[block];
            for &successor in &self.function.block(block).successors {
                if known == stamp
                    && !is_bare_exit(self.function, successor)
                    && place(&successor) > place(&block)
                {
                    hand_on(&mut self.labels, successor, own);
                }
            }
        }
        joins.sort_unstable();
        joins.dedup();
        joins
    }

    /// Headers of loops between a branch and `join`, except those that dominate the branch.
    pub fn headers_between(&mut self, branch: BlockId, join: Option<BlockId>) -> Vec<BlockId> {
        let Some(cover) = self.cover(branch, join) else {
            let cfg = self.cfg;
            let region = self.walk(branch, join, |_| false);
            let mut headers: Vec<BlockId> = Vec::new();
            for block in region {
                let successors = self.function.block(block).successors.iter();
                headers.extend(successors.filter(|&&s| cfg.position(s) <= cfg.position(block)));
            }
            headers.sort_unstable();
            headers.dedup();
            headers.retain(|&header| {
                !is_bare_exit(self.function, header) && !self.dominators.dominates(header, branch)
            });
            return headers;
        };
        let Some((own, _)) = self.dominators.interval(branch) else { return Vec::new() };
        let Some((top, _)) = self.dominators.interval(cover.top) else { return Vec::new() };
        let mut found = Vec::new();
        let mut take = |place: u32, index: usize| {
            let lap = &self.loops.loops[index];
            // A loop around the join iterates only if it goes back before the join.
            let goes_round = join.is_none_or(|join| {
                !self.dominators.dominates(lap.header, join)
                    || lap.latches.iter().any(|&latch| !self.dominators.dominates(join, latch))
            });
            if cover.contains(place) && goes_round {
                found.push(lap.header);
            }
        };
        let first = self.headers.partition_point(|&(place, _)| place < top);
        let middle = self.headers.partition_point(|&(place, _)| place < own);
        // To the left of the branch, headers that dominate it are passed over in one step.
        let mut at = middle;
        while at > first {
            let (place, index) = self.headers[at - 1];
            if self.dominators.dominates(self.loops.loops[index].header, branch) {
                at = self.apart[at - 1];
            } else {
                take(place, index);
                at -= 1;
            }
        }
        for range in &cover.places {
            let from = range.start.max(own + 1);
            let at = self.headers.partition_point(|&(place, _)| place < from);
            let rest = self.headers[at..].iter().take_while(|(place, _)| *place < range.end);
            rest.for_each(|&(place, index)| take(place, index));
        }
        found
    }
}
