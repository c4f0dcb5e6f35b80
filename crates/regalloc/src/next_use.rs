//! Next-use distances of values, across blocks: the eviction criterion. A loop exit edge counts as very long, so that
//! a value that is only live through a loop is evicted before one that the loop uses.

use crate::operands::is_partial;
use std::collections::BinaryHeap;

use oriole_ori::{BlockId, Cfg, File, Function, Liveness, Loops, Value};
use typed_index_collections::{TiVec, ti_vec};

/// No use at all.
pub const NEVER: u32 = u32::MAX;
/// Length of an edge that leaves a loop, in instructions.
pub const LOOP_EXIT: u32 = 1 << 20;
/// Distances saturate here, below [`NEVER`].
const FAR: u32 = 1 << 30;

/// Distances at the states of blocks, in instructions.
pub struct NextUse {
    /// For each block its live-in values of the file, sorted, with the distance from its top.
    entry: TiVec<BlockId, Vec<(Value, u32)>>,
    /// Distances at its end, the length of the edge included.
    exit: TiVec<BlockId, Vec<(Value, u32)>>,
}

/// Reads and writes of the values of one file by each instruction, found once for all walks over the blocks.
#[derive(Default)]
pub struct Touches {
    /// For each block its first instruction in `places`.
    blocks: Vec<u32>,
    places: Vec<Place>,
    /// The values of each instruction: those read, then those written.
    values: Vec<Value>,
}

/// The values of one instruction.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    split: u32,
    partial: bool,
}

/// Reads and writes of the values of one file by an instruction.
#[derive(Clone, Copy)]
pub struct Touch<'a> {
    /// Distinct values read, sorted.
    pub uses: &'a [Value],
    /// Values written.
    pub definitions: &'a [Value],
    /// The old value of a definition stays live.
    pub partial: bool,
}

impl Touch<'_> {
    /// Values whose old content may still be needed: those read, and those written partially.
    pub fn kept(&self) -> impl Iterator<Item = Value> {
        self.uses.iter().chain(self.definitions.iter().filter(|_| self.partial)).copied()
    }
}

impl Touches {
    /// Looks at every instruction; the stack pointer counts as no value.
    pub fn new(function: &Function, file: File, stack_pointer: Value) -> Touches {
        let mut all = Touches::default();
        for block in &function.blocks {
            all.blocks.push(all.places.len() as u32);
            for instruction in &block.instructions {
                let start = all.values.len();
                instruction.for_each_use(|value| {
                    if function.file(value) == file && value != stack_pointer {
                        all.values.push(value);
                    }
                });
                all.sort_and_dedup(start);
                let split = all.values.len() as u32;
                for destination in &instruction.destinations {
                    if destination.file == file {
                        all.values.extend_from_slice(&destination.values);
                    }
                }
                all.places.push(Place { start: start as u32, split, partial: is_partial(instruction) });
            }
        }
        // One more, for the end of the last.
        all.blocks.push(all.places.len() as u32);
        let end = all.values.len() as u32;
        all.places.push(Place { start: end, split: end, partial: false });
        all
    }

    /// Sorts the values from here on and drops duplicates.
    fn sort_and_dedup(&mut self, start: usize) {
        let tail = &mut self.values[start..];
        if tail.len() < 2 {
            return;
        }
        tail.sort_unstable();
        let mut kept = 1;
        for at in 1..tail.len() {
            if tail[at] != tail[kept - 1] {
                tail[kept] = tail[at];
                kept += 1;
            }
        }
        self.values.truncate(start + kept);
    }

    /// The touches of the instructions of a block, in order.
    pub fn of(&self, block: BlockId) -> impl DoubleEndedIterator<Item = Touch<'_>> + ExactSizeIterator {
        let at = usize::from(block);
        let places = &self.places[self.blocks[at] as usize..=self.blocks[at + 1] as usize];
        places.windows(2).map(|pair| {
            let [here, next] = [pair[0], pair[1]];
            Touch {
                uses: &self.values[here.start as usize..here.split as usize],
                definitions: &self.values[here.split as usize..next.start as usize],
                partial: here.partial,
            }
        })
    }
}

impl NextUse {
    /// Computes the distances for one file; the live sets and touches hold the values of that file except the stack
    /// pointer.
    pub fn new(
        function: &Function,
        cfg: &Cfg,
        liveness: &Liveness,
        loops: &Loops,
        touches: &Touches,
    ) -> NextUse {
        let count = function.blocks.len();
        let of_file =
            |values: &[Value]| -> Vec<(Value, u32)> { values.iter().map(|&v| (v, NEVER)).collect() };
        let mut next = NextUse {
            entry: function.block_ids().map(|b| of_file(liveness.live_in(b))).collect(),
            exit: function.block_ids().map(|b| of_file(liveness.live_out(b))).collect(),
        };
        // Effect of a block on each live-in value: distance of its first use, or that it only passes through.
        let mut first: TiVec<BlockId, Vec<u32>> = ti_vec![Vec::new(); count];
        let mut seen: TiVec<Value, u32> = ti_vec![NEVER; function.values.len()];
        let mut touched: Vec<Value> = Vec::new();
        for &block in cfg.order() {
            for (index, touch) in touches.of(block).enumerate().rev() {
                for &v in touch.definitions {
                    seen[v] = if touch.partial { index as u32 } else { NEVER };
                }
                touch.uses.iter().for_each(|&v| seen[v] = index as u32);
                touched.extend(touch.uses.iter().chain(touch.definitions));
            }
            first[block] = next.entry[block].iter().map(|&(v, _)| seen[v]).collect();
            touched.drain(..).for_each(|v| seen[v] = NEVER);
        }
        // Blocks whose successors have shorter distances now, the last in RPO first.
        let mut work: BinaryHeap<u32> = (0..cfg.order().len() as u32).collect();
        let mut waits = vec![true; cfg.order().len()];
        while let Some(position) = work.pop() {
            waits[position as usize] = false;
            let block = cfg.order()[position as usize];
            if next.update(function, loops, block, &first[block]) {
                for &predecessor in cfg.predecessors(block) {
                    let Some(before) = cfg.position(predecessor) else { continue };
                    if !std::mem::replace(&mut waits[before as usize], true) {
                        work.push(before);
                    }
                }
            }
        }
        next
    }

    /// Updates a block from its successors; true if a distance at its top became shorter.
    fn update(&mut self, function: &Function, loops: &Loops, block: BlockId, first: &[u32]) -> bool {
        let mut exit = std::mem::take(&mut self.exit[block]);
        for &successor in &function.block(block).successors {
            let leaves = loops.depth(successor) < loops.depth(block)
                || loops.innermost(block).is_some_and(|l| !loops.contains(l, successor));
            let length = if leaves { LOOP_EXIT } else { 0 };
            merge(&mut exit, &self.entry[successor], length);
        }
        let length = function.block(block).instructions.len() as u32;
        let mut from = 0;
        let mut changed = false;
        for (index, (value, distance)) in self.entry[block].iter_mut().enumerate() {
            let mut new = first[index];
            if new == NEVER {
                while from < exit.len() && exit[from].0 < *value {
                    from += 1;
                }
                if from < exit.len() && exit[from].0 == *value && exit[from].1 != NEVER {
                    new = (exit[from].1 + length).min(FAR);
                }
            }
            if new < *distance {
                *distance = new;
                changed = true;
            }
        }
        self.exit[block] = exit;
        changed
    }

    /// Live-in values of the file with their distances from the top of the block.
    pub fn at_entry(&self, block: BlockId) -> &[(Value, u32)] {
        &self.entry[block]
    }

    /// Live-out values of the file with their distances from the end of the block.
    pub fn at_exit(&self, block: BlockId) -> &[(Value, u32)] {
        &self.exit[block]
    }
}

/// Lowers the distances in `into` to those of a successor.
fn merge(into: &mut [(Value, u32)], from: &[(Value, u32)], edge: u32) {
    let mut at = 0;
    for (value, distance) in into {
        while at < from.len() && from[at].0 < *value {
            at += 1;
        }
        if at < from.len() && from[at].0 == *value && from[at].1 != NEVER {
            *distance = (*distance).min((from[at].1 + edge).min(FAR));
        }
    }
}
