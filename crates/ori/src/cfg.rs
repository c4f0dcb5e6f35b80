//! Predecessors and reverse postorder (RPO) of a function's control-flow graph.
//!
//! It is here because nearly every pass needs them. It is a snapshot: a pass that changes an edge builds a new one.
//! Unreachable blocks are not in the RPO and are no predecessors.

use crate::{BlockId, Function};
use smallvec::SmallVec;
use typed_index_collections::{TiVec, ti_vec};

/// Predecessors and RPO of the reachable blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cfg {
    /// Distinct reachable predecessors of each block, in RPO of the predecessors.
    predecessors: TiVec<BlockId, SmallVec<[BlockId; 2]>>,
    /// Reachable blocks in reverse postorder; the entry is first.
    order: Vec<BlockId>,
    /// RPO number of each block, `u32::MAX` if unreachable.
    position: TiVec<BlockId, u32>,
}

impl Cfg {
    /// Computes the RPO and the predecessors.
    pub fn new(function: &Function) -> Cfg {
        let count = function.blocks.len();
        let mut order = Vec::with_capacity(count);
        let mut seen: TiVec<BlockId, bool> = ti_vec![false; count];
        // Explicit stack of (block, next successor to visit): functions may be deeper than the call stack.
        let mut stack: Vec<(BlockId, usize)> = Vec::new();
        if let Some(entry) = function.blocks.first_key() {
            seen[entry] = true;
            stack.push((entry, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            let successors = &function.block(*block).successors;
            if let Some(&successor) = successors.get(*next) {
                *next += 1;
                if !std::mem::replace(&mut seen[successor], true) {
                    stack.push((successor, 0));
                }
            } else {
                order.push(*block);
                stack.pop();
            }
        }
        order.reverse();
        let mut position: TiVec<BlockId, u32> = ti_vec![u32::MAX; count];
        for (place, &block) in order.iter().enumerate() {
            position[block] = place as u32;
        }
        let mut predecessors: TiVec<BlockId, SmallVec<[BlockId; 2]>> = ti_vec![SmallVec::new(); count];
        for &block in &order {
            for &successor in &function.block(block).successors {
                let list = &mut predecessors[successor];
                // All edges of one block are visited together, so a duplicate edge is the last entry of the list.
                if list.last() != Some(&block) {
                    list.push(block);
                }
            }
        }
        Cfg { predecessors, order, position }
    }

    /// Distinct reachable predecessors.
    #[inline]
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        &self.predecessors[block]
    }

    /// Reachable blocks in reverse postorder.
    #[inline]
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// RPO number of a block; `None` if unreachable.
    #[inline]
    pub fn position(&self, block: BlockId) -> Option<u32> {
        Some(self.position[block]).filter(|&place| place != u32::MAX)
    }

    /// True if control can reach the block.
    #[inline]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.position[block] != u32::MAX
    }

    /// True if the graph has a cycle.
    pub fn has_cycles(&self, function: &Function) -> bool {
        self.order.iter().any(|&block| {
            let successors = &function.block(block).successors;
            successors.iter().any(|&successor| self.position[successor] <= self.position[block])
        })
    }

    /// Retreating edges `(from, to)` of the RPO, self-loops included, in RPO of `from`.
    pub fn back_edges(&self, function: &Function) -> Vec<(BlockId, BlockId)> {
        let mut edges = Vec::new();
        for &block in &self.order {
            for &successor in &function.block(block).successors {
                if self.position[successor] <= self.position[block] {
                    edges.push((block, successor));
                }
            }
        }
        edges
    }

    /// The state as text: RPO numbers, traversal order, back edges.
    pub fn describe(&self, function: &Function) -> String {
        use std::fmt::Write;
        let mut text = String::from("Showing RPO state for each basic block:\n");
        for block in function.block_ids() {
            match self.position(block) {
                Some(place) => writeln!(text, "bix{} -> RPONum: {place}", block.0),
                None => writeln!(text, "bix{} -> unreachable", block.0),
            }
            .expect("writing to a string");
        }
        let names: Vec<String> = self.order.iter().map(|block| format!("bix{}", block.0)).collect();
        writeln!(text, "RPO traversal order: {}", names.join(", ")).expect("writing to a string");
        text.push_str("Showing backedge info:\n");
        for (from, to) in self.back_edges(function) {
            writeln!(text, "bix{} -> backedge's successor BB: {}", from.0, to.0)
                .expect("writing to a string");
        }
        text
    }
}
