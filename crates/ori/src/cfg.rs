//! Edges and reverse postorder (RPO) of a function's control-flow graph.
//!
//! It is here because nearly every pass needs them. It is a snapshot, which [`crate::FlowGraph`] keeps with the function
//! until an edge changes. Unreachable blocks are not in the RPO and are no predecessors.

use crate::BlockId;
use crate::csr::Csr;
use typed_index_collections::{TiVec, ti_vec};

/// Edges and RPO of the reachable blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cfg {
    /// Successors of each block in their order, of unreachable ones too.
    successors: Csr<BlockId, BlockId>,
    /// Distinct reachable predecessors of each block, in RPO of the predecessors.
    predecessors: Csr<BlockId, BlockId>,
    /// Reachable blocks in reverse postorder; the entry is first.
    order: Vec<BlockId>,
    /// RPO number of each block, `u32::MAX` if unreachable.
    position: TiVec<BlockId, u32>,
}

impl Cfg {
    /// Computes the RPO and the predecessors. `edges` are the successors of each block in their order.
    pub fn new<'a>(edges: impl ExactSizeIterator<Item = &'a [BlockId]>) -> Cfg {
        let count = edges.len();
        let successors: Csr<BlockId, BlockId> = Csr::of_rows(edges);
        let mut order = Vec::with_capacity(count);
        let mut seen: TiVec<BlockId, bool> = ti_vec![false; count];
        // Explicit stack of (block, next successor to visit): functions may be deeper than the call stack.
        let mut stack: Vec<(BlockId, usize)> = Vec::new();
        if let Some(entry) = (count > 0).then_some(BlockId(0)) {
            seen[entry] = true;
            stack.push((entry, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            if let Some(&successor) = successors.of(*block).get(*next) {
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
        let mut edges = Vec::with_capacity(2 * order.len());
        let mut last: TiVec<BlockId, u32> = ti_vec![u32::MAX; count];
        for &block in &order {
            for &successor in successors.of(block) {
                if std::mem::replace(&mut last[successor], block.0) != block.0 {
                    edges.push((successor, block));
                }
            }
        }
        let predecessors = Csr::new(count, &edges);
        Cfg { successors, predecessors, order, position }
    }

    /// True if these are the successors of each block in their order.
    pub fn has_edges<'a>(&self, edges: impl ExactSizeIterator<Item = &'a [BlockId]>) -> bool {
        self.count() == edges.len()
            && self.position.keys().zip(edges).all(|(id, edges)| edges == self.successors(id))
    }

    /// Count of blocks, unreachable ones included.
    #[inline]
    pub fn count(&self) -> usize {
        self.position.len()
    }

    /// Successors in their order: taken targets, then the fall-through.
    #[inline]
    pub fn successors(&self, block: BlockId) -> &[BlockId] {
        self.successors.of(block)
    }

    /// Distinct reachable predecessors.
    #[inline]
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        self.predecessors.of(block)
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
    pub fn has_cycles(&self) -> bool {
        self.order.iter().any(|&block| self.successors(block).iter().any(|&to| self.goes_back(block, to)))
    }

    /// Retreating edges `(from, to)` of the RPO, self-loops included, in RPO of `from`.
    pub fn back_edges(&self) -> Vec<(BlockId, BlockId)> {
        let edges = |&block: &BlockId| self.successors(block).iter().map(move |&to| (block, to));
        self.order.iter().flat_map(edges).filter(|&(from, to)| self.goes_back(from, to)).collect()
    }

    /// True if an edge of the RPO retreats.
    fn goes_back(&self, from: BlockId, to: BlockId) -> bool {
        self.position[to] <= self.position[from]
    }

    /// The state as text: RPO numbers, traversal order, back edges.
    pub fn describe(&self) -> String {
        use std::fmt::Write;
        let mut text = String::from("Showing RPO state for each basic block:\n");
        for block in self.position.keys() {
            match self.position(block) {
                Some(place) => writeln!(text, "bix{} -> RPONum: {place}", block.0),
                None => writeln!(text, "bix{} -> unreachable", block.0),
            }
            .expect("writing to a string");
        }
        let names: Vec<String> = self.order.iter().map(|block| format!("bix{}", block.0)).collect();
        writeln!(text, "RPO traversal order: {}", names.join(", ")).expect("writing to a string");
        text.push_str("Showing backedge info:\n");
        for (from, to) in self.back_edges() {
            writeln!(text, "bix{} -> backedge's successor BB: {}", from.0, to.0)
                .expect("writing to a string");
        }
        text
    }
}
