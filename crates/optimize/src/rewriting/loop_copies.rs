//! Copies of the body of a loop, outside SSA: each value keeps its name, because a copy of an iteration does what the
//! iteration does.
//!
//! It is here because unrolling puts copies in front of a loop, in its place, and after it. Which loops are copied,
//! and how often, is decided elsewhere.

use oriole_ori::{Block, BlockId, Function, SourceKind, effects};
use rustc_hash::FxHashMap;

/// A loop to be copied. The branches at the end of its latch are left out of the copies.
pub(crate) struct Body<'a> {
    /// Its blocks, the header among them.
    pub blocks: &'a [BlockId],
    /// Where an iteration begins.
    pub header: BlockId,
    /// Where it ends.
    pub latch: BlockId,
    /// Index of the first branch of the latch.
    pub branch: usize,
}

/// The first and the last block of copies.
#[derive(Clone, Copy)]
pub(crate) struct Copies {
    pub first: BlockId,
    /// It has no successor yet.
    pub last: BlockId,
}

impl Body<'_> {
    /// One copy. Its branches out of the loop lead where those of the loop do.
    fn copy(&self, function: &mut Function) -> Copies {
        let next = function.blocks.next_key().0;
        let ids = (next..).map(BlockId);
        let new: FxHashMap<BlockId, BlockId> = self.blocks.iter().copied().zip(ids).collect();
        for &id in self.blocks {
            let old = function.block(id);
            let end = if id == self.latch { self.branch } else { old.instructions.len() };
            let mut block = Block {
                instructions: old.instructions[..end].to_vec(),
                successors: if id == self.latch { Default::default() } else { old.successors.clone() },
                ..Block::default()
            };
            let renamed = |target: &mut BlockId| {
                if let Some(&copy) = new.get(target) {
                    *target = copy;
                }
            };
            block.successors.iter_mut().for_each(renamed);
            for instruction in block.instructions.iter_mut().filter(|it| effects::is_transfer(it)) {
                for source in &mut instruction.sources {
                    if let SourceKind::Block(target) = &mut source.kind {
                        renamed(target);
                    }
                }
            }
            function.blocks.push(block);
        }
        Copies { first: new[&self.header], last: new[&self.latch] }
    }

    /// That many copies, one at least, each of which runs into the next.
    pub fn copies(&self, function: &mut Function, count: u64) -> Copies {
        let mut all = self.copy(function);
        for _ in 1..count {
            let next = self.copy(function);
            function.block_mut(all.last).successors.push(next.first);
            all.last = next.last;
        }
        all
    }
}
