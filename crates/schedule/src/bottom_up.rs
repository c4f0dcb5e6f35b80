//! The bottom-up list scheduler: from the last instruction to the first. In this direction a read begins a live range
//! and a write ends it, so the effect of each choice on the registers is exact. A chain of computations is finished
//! before the next one begins.

use crate::region::{Counts, FILES, Known, Region};

/// Most ready instructions that are compared.
const WINDOW: usize = 48;

/// Registers kept free for results that arrive several at once. That is for predicates, too: a chain that begins
/// where one is left has none for its next comparison.
const SLACK: Counts = [2, 2, 2];

/// The rank of an instruction that begins more live ranges than it ends.
const MORE: i32 = -1;

/// Cycles from the start to each instruction on the longest path.
fn depths(region: &Region) -> Vec<u32> {
    let mut depth = vec![0u32; region.len()];
    for node in 0..region.len() {
        for &(to, cycles) in region.graph.after(node as u32) {
            depth[to as usize] = depth[to as usize].max(depth[node] + cycles);
        }
    }
    depth
}

/// Effect on register pressure of placing an instruction above all placed ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Effect {
    /// Change of live values of each file, above it compared with below it.
    change: [i32; 3],
    /// Time at which the last of the values that end here became live.
    born: u32,
}

/// Liveness above the instructions that are placed.
struct State<'a> {
    region: &'a Region,
    count: Counts,
    live: Vec<bool>,
    /// Time at which each value became live, in positions from the end.
    birth: Vec<u32>,
    /// Effects of instructions.
    effects: Known<'a, Effect>,
}

impl State<'_> {
    fn new(region: &Region) -> State<'_> {
        let (count, live) = region.end();
        State { region, count, live, birth: vec![0; region.file.len()], effects: Known::nothing(region) }
    }

    /// Effect of an instruction. It depends on the liveness of its values only.
    fn effect(&mut self, node: u32) -> Effect {
        if let Some(known) = self.effects.get(node) {
            debug_assert_eq!(known, self.effect_anew(node));
            return known;
        }
        let effect = self.effect_anew(node);
        self.effects.set(node, effect);
        effect
    }

    /// The ready instruction to place first where registers of some files are short.
    ///
    /// A computation begun last is continued first, however many values that makes live: a half-done computation
    /// keeps them all. Instructions that end no live range, such as stores, wait. Ties go to the last one of the
    /// program.
    fn best(&mut self, window: &[u32], short: [bool; FILES.len()]) -> usize {
        let counted = short.map(|short| -i32::from(short));
        let mut best = (0, (i32::MIN, 0, 0));
        for (slot, &node) in window.iter().enumerate() {
            let Effect { change, born } = self.effect(node);
            let more = (0..FILES.len()).fold(0, |more, k| more + (change[k] & counted[k]));
            let key = ((-more).max(MORE), born, node);
            if key > best.1 {
                best = (slot, key);
            }
        }
        best.0
    }

    fn effect_anew(&self, node: u32) -> Effect {
        let State { region, live, birth, .. } = self;
        let own = &region.operands[node as usize];
        let mut effect = Effect { change: [0; 3], born: 0 };
        for &v in &own.definitions {
            if live[v as usize] {
                effect.change[usize::from(region.file[v as usize])] -= i32::from(!own.partial);
                effect.born = effect.born.max(birth[v as usize]);
            }
        }
        for &v in &own.uses {
            let written = !own.partial && own.definitions.contains(&v);
            let begins = !live[v as usize] || written;
            effect.change[usize::from(region.file[v as usize])] += i32::from(begins);
        }
        effect
    }

    /// Places an instruction; `number` is its position from the end.
    fn place(&mut self, node: u32, number: u32) {
        let State { region, count, live, birth, effects } = self;
        let mut changed = |v: u32| effects.forget(v);
        region.step_backwards(node, count, live, &mut changed);
        for &v in &region.operands[node as usize].uses {
            let born = &mut birth[v as usize];
            if *born == 0 {
                *born = number;
                changed(v);
            }
        }
    }
}

/// The ready instruction that waits least, then that on the longest path; ties go to the last. `time` gives the wait
/// and the path length.
fn quickest(window: &[u32], time: impl Fn(u32) -> (u32, u32)) -> usize {
    let mut best = (0, 0);
    for (slot, &node) in window.iter().enumerate() {
        let (wait, path) = time(node);
        // One integer packs both, for one comparison.
        let key = u64::from(u32::MAX - wait) << 32 | u64::from(path);
        if key >= best.1 {
            best = (slot, key);
        }
    }
    best.0
}

/// A schedule with few live values. As long as fewer than `budget` are live, it hides latencies.
pub fn order(region: &Region, budget: Counts) -> Vec<u32> {
    let depth = depths(region);
    let mut state = State::new(region);
    let mut waiting = region.graph.after_counts();
    let mut ready_at: Vec<u32> = region.live_out_latency.iter().map(|&cycles| cycles - 1).collect();
    // The last to become ready are at the end.
    let mut ready: Vec<u32> = (0..region.len() as u32).filter(|&n| waiting[n as usize] == 0).collect();
    let mut places = Vec::with_capacity(region.len());
    let mut cycle = 0u32;
    while !ready.is_empty() {
        let short: [bool; 3] = std::array::from_fn(|k| state.count[k].saturating_add(SLACK[k]) > budget[k]);
        let first = ready.len().saturating_sub(WINDOW);
        let window = &ready[first..];
        let slot = if short.contains(&true) {
            state.best(window, short)
        } else {
            quickest(window, |node| (ready_at[node as usize].saturating_sub(cycle), depth[node as usize]))
        };
        let slot = first + slot;
        let node = ready.remove(slot);
        let issue = cycle.max(ready_at[node as usize]);
        cycle = issue + 1;
        places.push(node);
        state.place(node, places.len() as u32);
        for &(from, cycles) in region.graph.before(node) {
            let at = from as usize;
            ready_at[at] = ready_at[at].max(issue + cycles);
            waiting[at] -= 1;
            if waiting[at] == 0 {
                ready.push(from);
            }
        }
    }
    places.reverse();
    places
}
