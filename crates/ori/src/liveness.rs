//! Liveness: values that are live at block boundaries.
//!
//! It is here because allocation, scheduling, spilling, the profile and dead-code removal need it. Sets are sorted
//! lists, found value by value with a backward walk from each use, so time and space are proportional to the result.
//! Most values are read only in the block that defines them: they cost one look each.
//!
//! A phi reads its sources at the end of the predecessors and writes at the top of its block: phi results are not
//! live-in. A guarded definition outside SSA keeps the old value, so it ends no live range.

use crate::csr::{Csr, Rows};
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

    /// Calls `begins` for each selected value and each block with the value live at its top, and `ends` for those with
    /// it live at their end. Takes no memory for sets.
    pub fn for_each(
        function: &Function,
        cfg: &Cfg,
        wanted: impl Fn(Value) -> bool,
        begins: impl FnMut(BlockId, Value),
        ends: impl FnMut(BlockId, Value),
    ) {
        let local = Local::of(function, cfg, wanted, true);
        local.visit(cfg, &mut Walk::new(local.blocks), begins, ends);
    }

    /// Visits the values from `first` on that are live at the boundary of a block, in order, with a function that is
    /// true for the blocks at whose top the value is live. Takes no memory for sets.
    pub fn visit(
        function: &Function,
        cfg: &Cfg,
        first: Value,
        mut visit: impl FnMut(Value, &dyn Fn(BlockId) -> bool),
    ) {
        let local = Local::of(function, cfg, |value| value >= first, true);
        let mut walk = Walk::new(local.blocks);
        for (index, &value) in (0..).zip(&local.crossing) {
            walk.value(&local, cfg, Crossing(index), |_| {}, |_| {});
            visit(value, &|block| walk.last_in[block] == index);
        }
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

    /// Visits each live value at the boundaries of blocks, value by value in order.
    fn visit(
        &self,
        cfg: &Cfg,
        walk: &mut Walk,
        mut begins: impl FnMut(BlockId, Value),
        mut ends: impl FnMut(BlockId, Value),
    ) {
        for (index, &value) in (0..).zip(&self.crossing) {
            walk.value(self, cfg, Crossing(index), |block| begins(block, value), |block| ends(block, value));
        }
    }

    /// The sets of all blocks. Walks twice, to count and to fill: in deep nests the sets are large, and lists of blocks
    /// with values would be several times as large.
    fn propagate(&self, cfg: &Cfg) -> Liveness {
        let (mut live_in, mut live_out) = (Rows::new(self.blocks), Rows::new(self.blocks));
        let mut walk = Walk::new(self.blocks);
        self.visit(cfg, &mut walk, |block, _| live_in.count(block), |block, _| live_out.count(block));
        let (mut live_in, mut live_out) = (live_in.filler(Value(0)), live_out.filler(Value(0)));
        walk.restart();
        self.visit(cfg, &mut walk, |block, v| live_in.put(block, v), |block, v| live_out.put(block, v));
        Liveness { live_in: live_in.finish(), live_out: live_out.finish() }
    }
}

/// Walks backwards from the uses of one value after the other to the blocks that define it.
struct Walk {
    /// The last value that each block kills, and that was found in its sets.
    killed_by: TiVec<BlockId, u32>,
    last_in: TiVec<BlockId, u32>,
    last_out: TiVec<BlockId, u32>,
    work: Vec<BlockId>,
}

impl Walk {
    fn new(blocks: usize) -> Walk {
        let none = || ti_vec![u32::MAX; blocks];
        Walk { killed_by: none(), last_in: none(), last_out: none(), work: Vec::new() }
    }

    /// Forgets all values.
    fn restart(&mut self) {
        for last in [&mut self.killed_by, &mut self.last_in, &mut self.last_out] {
            last.fill(u32::MAX);
        }
    }

    /// Calls `begins` for each block with the value live at its top, and `ends` for each with it live at its end.
    #[inline]
    fn value(
        &mut self,
        local: &Local,
        cfg: &Cfg,
        row: Crossing,
        mut begins: impl FnMut(BlockId),
        mut ends: impl FnMut(BlockId),
    ) {
        let Walk { killed_by, last_in, last_out, work } = self;
        let index = row.0;
        for &block in local.kills.of(row) {
            killed_by[block] = index;
        }
        for &block in local.exposed.of(row) {
            last_in[block] = index;
            begins(block);
            work.push(block);
        }
        let mut at_end = |block: BlockId, work: &mut Vec<BlockId>| {
            if std::mem::replace(&mut last_out[block], index) == index {
                return;
            }
            ends(block);
            if killed_by[block] != index && std::mem::replace(&mut last_in[block], index) != index {
                begins(block);
                work.push(block);
            }
        };
        for &block in local.edge_uses.of(row).iter().filter(|block| cfg.is_reachable(**block)) {
            at_end(block, work);
        }
        while let Some(block) = work.pop() {
            cfg.predecessors(block).iter().for_each(|&predecessor| at_end(predecessor, work));
        }
    }
}
