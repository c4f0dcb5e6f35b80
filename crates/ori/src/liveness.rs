//! Liveness: which values are needed at the borders of blocks.
//!
//! It is here because allocation, scheduling, spilling, the profile and dead-code removal ask. Sets are sorted lists,
//! found value by value with a backward walk from each use, so that time and space are those of the answer.
//!
//! A phi reads its sources at the end of the predecessors and writes at the top of its block: phi results are not
//! live-in. A guarded definition outside SSA keeps the old value, so it ends no live range.

use crate::{BlockId, Cfg, Function, Value};

/// Values live at block borders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    live_in: Vec<Vec<Value>>,
    live_out: Vec<Vec<Value>>,
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
        // Blocks that define the value for good, and blocks that read it before that; by value, as flat lists.
        let mut kills: Vec<(Value, BlockId)> = Vec::new();
        let mut exposed: Vec<(Value, BlockId)> = Vec::new();
        let mut edge_uses: Vec<(Value, BlockId)> = Vec::new();
        let mut defined_in = vec![u32::MAX; values];
        let mut used_in = vec![u32::MAX; values];
        for &id in cfg.order() {
            let block = function.block(id);
            for phi in &block.phis {
                if wanted(phi.destination) {
                    defined_in[phi.destination.0 as usize] = id.0;
                    kills.push((phi.destination, id));
                }
                for (predecessor, source) in &phi.sources {
                    source.for_each_value(|v| {
                        if wanted(v) {
                            edge_uses.push((v, *predecessor));
                        }
                    });
                }
            }
            for instruction in &block.instructions {
                let mut read = |v: Value| {
                    let at = v.0 as usize;
                    if defined_in[at] != id.0 && used_in[at] != id.0 && wanted(v) {
                        used_in[at] = id.0;
                        exposed.push((v, id));
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
                            kills.push((v, id));
                        }
                    });
                }
            }
        }
        kills.sort_unstable();
        exposed.sort_unstable();
        edge_uses.sort_unstable();
        edge_uses.dedup();

        let mut live_in: Vec<Vec<Value>> = vec![Vec::new(); count];
        let mut live_out: Vec<Vec<Value>> = vec![Vec::new(); count];
        let mut killed_by = vec![u32::MAX; count];
        let (mut kill, mut use_at, mut edge_at) = (0, 0, 0);
        let mut work: Vec<BlockId> = Vec::new();
        for index in 0..values as u32 {
            let value = Value(index);
            while kill < kills.len() && kills[kill].0 == value {
                killed_by[kills[kill].1.0 as usize] = index;
                kill += 1;
            }
            while use_at < exposed.len() && exposed[use_at].0 == value {
                let block = exposed[use_at].1;
                live_in[block.0 as usize].push(value);
                work.push(block);
                use_at += 1;
            }
            while edge_at < edge_uses.len() && edge_uses[edge_at].0 == value {
                let block = edge_uses[edge_at].1;
                edge_at += 1;
                if !cfg.is_reachable(block) {
                    continue;
                }
                live_out[block.0 as usize].push(value);
                if killed_by[block.0 as usize] != index && live_in[block.0 as usize].last() != Some(&value) {
                    live_in[block.0 as usize].push(value);
                    work.push(block);
                }
            }
            while let Some(block) = work.pop() {
                for &predecessor in cfg.predecessors(block) {
                    let at = predecessor.0 as usize;
                    if live_out[at].last() != Some(&value) {
                        live_out[at].push(value);
                        if killed_by[at] != index && live_in[at].last() != Some(&value) {
                            live_in[at].push(value);
                            work.push(predecessor);
                        }
                    }
                }
            }
        }
        Liveness { live_in, live_out }
    }

    /// Values needed at the top of the block, sorted; its phi results are not among them.
    pub fn live_in(&self, block: BlockId) -> &[Value] {
        &self.live_in[block.0 as usize]
    }

    /// Values needed at the end of the block, sorted; the phi sources that its successors read on the edge are among
    /// them.
    pub fn live_out(&self, block: BlockId) -> &[Value] {
        &self.live_out[block.0 as usize]
    }

    /// True if the value is needed at the end of the block.
    pub fn is_live_out(&self, block: BlockId, value: Value) -> bool {
        self.live_out[block.0 as usize].binary_search(&value).is_ok()
    }

    /// True if the value is needed at the top of the block.
    pub fn is_live_in(&self, block: BlockId, value: Value) -> bool {
        self.live_in[block.0 as usize].binary_search(&value).is_ok()
    }
}
