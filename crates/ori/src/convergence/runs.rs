//! Runs of blocks that every thread passes one after the other, in the same loops: each dominates the next, and the next
//! post-dominates it.
//!
//! It is here because the search for a site goes up the dominator tree: a block that all threads pass after the last
//! block of a run they pass after every block of it, so the search may go up a run in one step.

use crate::{BlockId, Dominators, Loops};
use typed_index_collections::{TiVec, ti_vec};

/// The runs of a function. Every block is in one.
pub(super) struct Runs {
    /// The blocks of each run, the highest first.
    blocks: Vec<Vec<BlockId>>,
    /// For each block its run and its place there.
    places: TiVec<BlockId, (u32, u32)>,
}

impl Runs {
    pub(super) fn new(
        dominators: &Dominators,
        post: &Dominators,
        loops: &Loops,
        preorder: &[BlockId],
        count: usize,
    ) -> Runs {
        let mut blocks: Vec<Vec<BlockId>> = Vec::new();
        let mut places: TiVec<BlockId, (u32, u32)> = ti_vec![(u32::MAX, 0); count];
        for &block in preorder {
            let before = dominators.immediate(block).filter(|&above| {
                loops.innermost(above) == loops.innermost(block) && post.dominates(block, above)
            });
            // Of two blocks below one the first continues the run.
            let run = before.map(|above| places[above]).and_then(|(run, place)| {
                let is_last = blocks[run as usize].len() == place as usize + 1;
                is_last.then_some(run as usize)
            });
            let run = run.unwrap_or_else(|| {
                blocks.push(Vec::new());
                blocks.len() - 1
            });
            places[block] = (run as u32, blocks[run].len() as u32);
            blocks[run].push(block);
        }
        Runs { blocks, places }
    }

    /// The run of a block up to it, the highest block first; empty for an unreachable block.
    pub(super) fn up_to(&self, block: BlockId) -> &[BlockId] {
        let (run, place) = self.places[block];
        self.blocks.get(run as usize).map_or(&[], |blocks| &blocks[..=place as usize])
    }
}
