//! The blocks between the anchor and the join of a site.

use oriole_ori::convergence::{Cover, Reconvergence, Site};
use oriole_ori::exits::is_bare_exit;
use oriole_ori::{BlockId, Function};
use std::collections::BTreeSet;

/// The blocks between the anchor and the join of a site.
pub(super) struct Inside {
    /// All threads of the branch meet at the join.
    pub(super) whole: bool,
    pub(super) count: u32,
    /// As a part of the dominator tree, or else as a sorted list.
    pub(super) blocks: Result<Cover, Vec<BlockId>>,
}

impl Inside {
    pub(super) fn new(reconvergence: &mut Reconvergence<'_>, site: Site, whole: bool) -> Inside {
        match reconvergence.inside_whole(site).filter(|_| whole) {
            Some(cover) => {
                let places = cover.places.iter().map(|range| range.end.saturating_sub(range.start));
                let ends = reconvergence.bare_exits();
                let skipped = cover.places.iter().map(|range| {
                    ends.partition_point(|place| *place < range.end.max(range.start))
                        - ends.partition_point(|place| *place < range.start)
                });
                let count = places.sum::<u32>() - skipped.sum::<usize>() as u32;
                Inside { whole, count, blocks: Ok(cover) }
            }
            None => {
                let blocks = reconvergence.inside(site);
                Inside { whole, count: blocks.len() as u32, blocks: Err(blocks) }
            }
        }
    }

    /// True if one of the blocks is full.
    pub(super) fn meets(&self, full: &BTreeSet<u32>, is_full: impl Fn(BlockId) -> bool) -> bool {
        match &self.blocks {
            Ok(cover) => cover
                .places
                .iter()
                .any(|range| range.start < range.end && full.range(range.clone()).next().is_some()),
            Err(blocks) => blocks.iter().any(|&block| is_full(block)),
        }
    }

    pub(super) fn blocks(self, function: &Function, reconvergence: &Reconvergence<'_>) -> Vec<BlockId> {
        match self.blocks {
            Ok(cover) => {
                let places = cover.places.into_iter().flatten();
                let blocks = places.map(|place| reconvergence.at(place));
                let mut blocks: Vec<BlockId> = blocks.filter(|&b| !is_bare_exit(function, b)).collect();
                blocks.sort_unstable();
                blocks
            }
            Err(blocks) => blocks,
        }
    }
}
