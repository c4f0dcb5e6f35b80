//! Liveness: values that are live at block boundaries.
//!
//! It is here because allocation, scheduling, spilling, the profile and dead-code removal need it. Sets are sorted
//! lists, found value by value with a backward walk from each use, so time and space are proportional to the result.
//! Most values are read only in the block that defines them: they cost one look each.
//!
//! A phi reads its sources at the end of the predecessors and writes at the top of its block: phi results are not
//! live-in. A guarded definition outside SSA keeps the old value, so it ends no live range.

use crate::csr::Csr;
use crate::{BlockId, Cfg, Function, Opcode, Pseudo, Value};
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// Values live at block boundaries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    live_in: Csr<BlockId, Value>,
    live_out: Csr<BlockId, Value>,
}

impl Liveness {
    /// Computes live-in and live-out sets of the reachable blocks.
    pub fn new(function: &Function, cfg: &Cfg) -> Liveness {
        Liveness::of(function, cfg, |_| true)
    }

    /// Liveness of the values that the filter selects; the others are in no set.
    pub fn of(function: &Function, cfg: &Cfg, wanted: impl Fn(Value) -> bool) -> Liveness {
        Local::of(function, cfg, wanted, true).propagate(cfg)
    }

    /// Liveness by real reads. The old value that a guarded definition keeps counts only if it is read later. A
    /// [`Pseudo::Keep`] needs a register, but not its value.
    pub fn of_readers(function: &Function, cfg: &Cfg) -> Liveness {
        Local::of(function, cfg, |_| true, false).propagate(cfg)
    }

    /// Values needed at the top of the block, sorted; its phi results are not among them.
    pub fn live_in(&self, block: BlockId) -> &[Value] {
        self.live_in.of(block)
    }

    /// Values needed at the end of the block, sorted; the phi sources that its successors read on the edge are among
    /// them.
    pub fn live_out(&self, block: BlockId) -> &[Value] {
        self.live_out.of(block)
    }

    /// True if the value is needed at the end of the block.
    pub fn is_live_out(&self, block: BlockId, value: Value) -> bool {
        self.live_out(block).binary_search(&value).is_ok()
    }

    /// True if the value is needed at the top of the block.
    pub fn is_live_in(&self, block: BlockId, value: Value) -> bool {
        self.live_in(block).binary_search(&value).is_ok()
    }
}

/// Uses and definitions of a value in each block, by value.
struct Local {
    /// Values that a block reads before it defines them, or that a phi reads, in order. No other value is live at the
    /// boundary of a block; the rows are by the index here.
    crossing: Vec<Value>,
    /// Blocks that define the value whatever the guard.
    kills: Csr<Crossing, BlockId>,
    /// Blocks that read it before that.
    exposed: Csr<Crossing, BlockId>,
    /// Blocks at whose end a phi reads the value.
    edge_uses: Csr<Crossing, BlockId>,
    blocks: usize,
}

/// Index of a value among those that are live at the boundary of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Crossing(u32);

impl From<Crossing> for usize {
    fn from(Crossing(index): Crossing) -> usize {
        index as usize
    }
}

impl Crossing {
    /// No such value.
    const NONE: Crossing = Crossing(u32::MAX);
}

/// The rows of the values that have an index.
fn rows(
    count: usize,
    index: &TiSlice<Value, Crossing>,
    pairs: Vec<(Value, BlockId)>,
) -> Csr<Crossing, BlockId> {
    let indexed = pairs.into_iter().map(|(value, block)| (index[value], block));
    let indexed: Vec<(Crossing, BlockId)> = indexed.filter(|&(index, _)| index != Crossing::NONE).collect();
    Csr::new(count, &indexed)
}

impl Local {
    /// `keeping`: true if an old value that is kept counts as read.
    fn of(function: &Function, cfg: &Cfg, wanted: impl Fn(Value) -> bool, keeping: bool) -> Local {
        let (values, blocks) = (function.values.len(), function.blocks.len());
        let mut kills: Vec<(Value, BlockId)> = Vec::new();
        let mut exposed: Vec<(Value, BlockId)> = Vec::new();
        let mut edge_uses: Vec<(Value, BlockId)> = Vec::new();
        let mut defined_in: TiVec<Value, u32> = ti_vec![u32::MAX; values];
        let mut used_in: TiVec<Value, u32> = ti_vec![u32::MAX; values];
        for &id in cfg.order() {
            let block = function.block(id);
            for phi in &block.phis {
                if wanted(phi.destination) {
                    defined_in[phi.destination] = id.0;
                    kills.push((phi.destination, id));
                }
                for (predecessor, source) in &phi.sources {
                    if let Some(v) = source.value().filter(|&v| wanted(v)) {
                        edge_uses.push((v, *predecessor));
                    }
                }
            }
            for instruction in &block.instructions {
                let mut read = |v: Value| {
                    if defined_in[v] != id.0 && used_in[v] != id.0 && wanted(v) {
                        used_in[v] = id.0;
                        exposed.push((v, id));
                    }
                };
                if keeping || instruction.opcode != Opcode::Pseudo(Pseudo::Keep) {
                    instruction.for_each_use(&mut read);
                }
                let partial = instruction.keeps_its_results();
                if partial {
                    if keeping {
                        instruction.for_each_definition(&mut read);
                    }
                } else {
                    instruction.for_each_definition(|v| {
                        if defined_in[v] != id.0 && wanted(v) {
                            defined_in[v] = id.0;
                            kills.push((v, id));
                        }
                    });
                }
            }
        }
        let mut index: TiVec<Value, Crossing> = ti_vec![Crossing::NONE; values];
        exposed.iter().chain(&edge_uses).for_each(|&(value, _)| index[value] = Crossing(0));
        let mut crossing: Vec<Value> = Vec::with_capacity(exposed.len() + edge_uses.len());
        for (value, index) in index.iter_mut_enumerated().filter(|(_, index)| **index != Crossing::NONE) {
            *index = Crossing(crossing.len() as u32);
            crossing.push(value);
        }
        let count = crossing.len();
        Local {
            kills: rows(count, &index, kills),
            exposed: rows(count, &index, exposed),
            edge_uses: rows(count, &index, edge_uses),
            crossing,
            blocks,
        }
    }

    /// Walks backwards from the uses of each value to the blocks that define it.
    fn propagate(&self, cfg: &Cfg) -> Liveness {
        let mut live_in: Vec<(BlockId, Value)> = Vec::with_capacity(4 * self.crossing.len());
        let mut live_out: Vec<(BlockId, Value)> = Vec::with_capacity(4 * self.crossing.len());
        // The last value that each block kills, and that was found in its sets.
        let mut killed_by: TiVec<BlockId, u32> = ti_vec![u32::MAX; self.blocks];
        let mut last_in: TiVec<BlockId, u32> = ti_vec![u32::MAX; self.blocks];
        let mut last_out: TiVec<BlockId, u32> = ti_vec![u32::MAX; self.blocks];
        let mut work: Vec<BlockId> = Vec::new();
        for (index, &value) in (0..).zip(&self.crossing) {
            let row = Crossing(index);
            for &block in self.kills.of(row) {
                killed_by[block] = index;
            }
            for &block in self.exposed.of(row) {
                last_in[block] = index;
                live_in.push((block, value));
                work.push(block);
            }
            let mut at_end = |block: BlockId, work: &mut Vec<BlockId>| {
                if std::mem::replace(&mut last_out[block], index) == index {
                    return;
                }
                live_out.push((block, value));
                if killed_by[block] != index && std::mem::replace(&mut last_in[block], index) != index {
                    live_in.push((block, value));
                    work.push(block);
                }
            };
            for &block in self.edge_uses.of(row).iter().filter(|block| cfg.is_reachable(**block)) {
                at_end(block, &mut work);
            }
            while let Some(block) = work.pop() {
                cfg.predecessors(block).iter().for_each(|&predecessor| at_end(predecessor, &mut work));
            }
        }
        Liveness { live_in: Csr::new(self.blocks, &live_in), live_out: Csr::new(self.blocks, &live_out) }
    }
}
