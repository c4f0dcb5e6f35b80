//! Liveness: which values are needed at the borders of blocks.
//!
//! It is here because allocation, scheduling, spilling, the profile and dead-code removal ask. Sets are sorted lists,
//! found value by value with a backward walk from each use, so that time and space are those of the answer.
//!
//! A phi reads its sources at the end of the predecessors and writes at the top of its block: phi results are not
//! live-in. A guarded definition outside SSA keeps the old value, so it ends no live range.

use crate::lists::Lists;
use crate::{BlockId, Cfg, Function, Value};

/// Values live at block borders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    live_in: Lists<Value>,
    live_out: Lists<Value>,
}

impl Liveness {
    /// Computes live-in and live-out sets of the reachable blocks.
    pub fn new(function: &Function, cfg: &Cfg) -> Liveness {
        Liveness::of(function, cfg, |_| true)
    }

    /// The same for the values that the filter chooses; the others are nowhere in the sets.
    pub fn of(function: &Function, cfg: &Cfg, wanted: impl Fn(Value) -> bool) -> Liveness {
        let count = function.blocks.len();
        let values = function.values.len();
        // Blocks that define the value for good, and blocks that read it before that, on their way into lists by value.
        let mut kills: Vec<(u32, BlockId)> = Vec::new();
        let mut exposed: Vec<(u32, BlockId)> = Vec::new();
        let mut edge_uses: Vec<(u32, BlockId)> = Vec::new();
        let mut defined_in = vec![u32::MAX; values];
        let mut used_in = vec![u32::MAX; values];
        for &id in cfg.order() {
            let block = function.block(id);
            for phi in &block.phis {
                if wanted(phi.destination) {
                    defined_in[phi.destination.0 as usize] = id.0;
                    kills.push((phi.destination.0, id));
                }
                for (predecessor, source) in &phi.sources {
                    if let Some(v) = source.value().filter(|&v| wanted(v)) {
                        edge_uses.push((v.0, *predecessor));
                    }
                }
            }
            for instruction in &block.instructions {
                let mut read = |v: Value| {
                    let at = v.0 as usize;
                    if defined_in[at] != id.0 && used_in[at] != id.0 && wanted(v) {
                        used_in[at] = id.0;
                        exposed.push((v.0, id));
                    }
                };
                instruction.for_each_use(&mut read);
                let partial = instruction.guard.is_some() && instruction.tied.is_empty();
                if partial {
                    instruction.for_each_definition(&mut read);
                } else {
                    instruction.for_each_definition(|v| {
                        if defined_in[v.0 as usize] != id.0 && wanted(v) {
                            defined_in[v.0 as usize] = id.0;
                            kills.push((v.0, id));
                        }
                    });
                }
            }
        }
        let kills = Lists::new(values, &kills);
        let exposed = Lists::new(values, &exposed);
        let edge_uses = Lists::new(values, &edge_uses);

        let mut live_in: Vec<(u32, Value)> = Vec::new();
        let mut live_out: Vec<(u32, Value)> = Vec::new();
        // The last value that each block defines for good, and that was found in its sets.
        let mut killed_by = vec![u32::MAX; count];
        let mut last_in = vec![u32::MAX; count];
        let mut last_out = vec![u32::MAX; count];
        let mut work: Vec<BlockId> = Vec::new();
        for index in 0..values as u32 {
            let value = Value(index);
            for block in kills.of(index) {
                killed_by[block.0 as usize] = index;
            }
            for &block in exposed.of(index) {
                last_in[block.0 as usize] = index;
                live_in.push((block.0, value));
                work.push(block);
            }
            for &block in edge_uses.of(index) {
                let at = block.0 as usize;
                if !cfg.is_reachable(block) || std::mem::replace(&mut last_out[at], index) == index {
                    continue;
                }
                live_out.push((block.0, value));
                if killed_by[at] != index && std::mem::replace(&mut last_in[at], index) != index {
                    live_in.push((block.0, value));
                    work.push(block);
                }
            }
            while let Some(block) = work.pop() {
                for &predecessor in cfg.predecessors(block) {
                    let at = predecessor.0 as usize;
                    if std::mem::replace(&mut last_out[at], index) == index {
                        continue;
                    }
                    live_out.push((predecessor.0, value));
                    if killed_by[at] != index && std::mem::replace(&mut last_in[at], index) != index {
                        live_in.push((predecessor.0, value));
                        work.push(predecessor);
                    }
                }
            }
        }
        Liveness { live_in: Lists::new(count, &live_in), live_out: Lists::new(count, &live_out) }
    }

    /// Values needed at the top of the block, sorted; its phi results are not among them.
    pub fn live_in(&self, block: BlockId) -> &[Value] {
        self.live_in.of(block.0)
    }

    /// Values needed at the end of the block, sorted; the phi sources that its successors read on the edge are among
    /// them.
    pub fn live_out(&self, block: BlockId) -> &[Value] {
        self.live_out.of(block.0)
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
