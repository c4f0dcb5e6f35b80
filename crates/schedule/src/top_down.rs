//! The top-down list scheduler: of the ready instructions the one that waits least, and of those the one on the
//! longest path to the end; where registers run short, the one that frees most.

use crate::region::{Counts, FILES, Known, Region};

/// Most ready instructions that are compared; more would cost time without much gain.
const WINDOW: usize = 48;

/// Registers kept free for results that arrive several at once.
const SLACK: Counts = [4, 1, 2];

/// Cost of a value where registers of its file are short: a predicate is moved to a register and back.
const WEIGHTS: [i32; 3] = [1, 4, 1];

pub struct State<'a> {
    region: &'a Region,
    /// Remaining readers of each value.
    readers: Vec<u32>,
    live: Vec<bool>,
    /// Counts of live values.
    pub count: Counts,
    /// Change of live values of each file by an instruction.
    changes: Known<'a, [i32; 3]>,
}

impl State<'_> {
    pub fn new(region: &Region) -> State<'_> {
        // The live-in set.
        let (mut count, mut live) = region.end();
        let mut readers = vec![0; region.file.len()];
        for node in (0..region.len() as u32).rev() {
            region.step_backwards(node, &mut count, &mut live, |_| {});
            region.operands[node as usize].uses.iter().for_each(|&v| readers[v as usize] += 1);
        }
        State { region, readers, live, count, changes: Known::nothing(region) }
    }

    fn is_last(&self, v: u32) -> bool {
        self.readers[v as usize] == 1 && !self.region.live_out[v as usize] && self.live[v as usize]
    }

    /// Change of live values of each file by the instruction. It depends on the state of its values only.
    pub fn change(&mut self, node: u32) -> [i32; 3] {
        if let Some(known) = self.changes.get(node) {
            debug_assert_eq!(known, self.change_anew(node));
            return known;
        }
        let change = self.change_anew(node);
        self.changes.set(node, change);
        change
    }

    fn change_anew(&self, node: u32) -> [i32; 3] {
        let own = &self.region.operands[node as usize];
        let file = |v: u32| usize::from(self.region.file[v as usize]);
        let mut change = [0; 3];
        own.definitions.iter().filter(|&&v| !self.live[v as usize]).for_each(|&v| change[file(v)] += 1);
        own.uses.iter().filter(|&&v| self.is_last(v)).for_each(|&v| change[file(v)] -= 1);
        change
    }

    pub fn issue(&mut self, node: u32) {
        let region = self.region;
        let own = &region.operands[node as usize];
        for &v in &own.uses {
            if self.is_last(v) {
                self.live[v as usize] = false;
                self.count[usize::from(region.file[v as usize])] -= 1;
            }
            self.readers[v as usize] -= 1;
            if self.readers[v as usize] <= 1 {
                self.changes.forget(v);
            }
        }
        for &v in &own.definitions {
            let wanted = self.readers[v as usize] > 0 || region.live_out[v as usize];
            if wanted && !std::mem::replace(&mut self.live[v as usize], true) {
                self.count[usize::from(region.file[v as usize])] += 1;
                self.changes.forget(v);
            }
        }
    }
}

/// Cycles from each instruction to the end of the longest path that starts there.
pub fn heights(region: &Region) -> Vec<u32> {
    let mut height = vec![0u32; region.len()];
    for node in (0..region.len()).rev() {
        let below =
            region.graph.after(node as u32).iter().map(|&(to, cycles)| height[to as usize] + cycles).max();
        height[node] = below.unwrap_or(1).max(region.live_out_latency[node]);
    }
    height
}

/// A schedule that hides latencies as long as no more values are live than `budget`.
pub fn order(region: &Region, budget: Counts) -> Vec<u32> {
    let height = heights(region);
    let mut state = State::new(region);
    let mut waiting = region.graph.before_counts();
    let mut ready_at = vec![0u32; region.len()];
    // The earliest in program order come first, so that the window follows the program.
    let mut ready: Vec<u32> = (0..region.len() as u32).filter(|&n| waiting[n as usize] == 0).collect();
    let mut places = Vec::with_capacity(region.len());
    let mut cycle = 0u32;
    while !ready.is_empty() {
        let tight: [bool; 3] = std::array::from_fn(|k| state.count[k].saturating_add(SLACK[k]) > budget[k]);
        let is_tight = tight.contains(&true);
        let weights: [i32; 3] = std::array::from_fn(|k| if tight[k] { WEIGHTS[k] } else { 0 });
        // Ties go to the first.
        let mut best = (0, i64::MIN);
        for (slot, &node) in ready.iter().take(WINDOW).enumerate() {
            let wait = ready_at[node as usize].saturating_sub(cycle) as i32;
            let height = height[node as usize] as i32;
            let (first, second) = if is_tight {
                let change = state.change(node);
                let more = (0..FILES.len()).fold(0, |more, k| more + weights[k] * change[k]);
                (-more, height - wait)
            } else {
                (-wait, height)
            };
            // One integer packs both, for one comparison.
            let key = (i64::from(first) << 32) + i64::from(second);
            if key > best.1 {
                best = (slot, key);
            }
        }
        let (slot, _) = best;
        let node = ready.remove(slot);
        let issue = cycle.max(ready_at[node as usize]);
        cycle = issue + 1;
        state.issue(node);
        places.push(node);
        for &(to, cycles) in region.graph.after(node) {
            let at = to as usize;
            ready_at[at] = ready_at[at].max(issue + cycles);
            waiting[at] -= 1;
            if waiting[at] == 0 {
                ready.insert(ready.partition_point(|&n| n < to), to);
            }
        }
    }
    places
}
