//! A quarter of an SM that runs warps along one way: the warp that can issue first does. It has one issue a cycle, units, and its share
//! of the paths to memory.
//!
//! All in whole cycles: sums are the same on every machine.

use oriole_latency::{CACHE_SLOTS, CachedRead, OperandCache, SCOREBOARDS, UNITS};

/// Warps of a quarter that are looked at; more hide nothing more.
const MOST_WARPS: u32 = 16;
/// Quarters of an SM.
const QUARTERS: u32 = 4;
/// Instructions of a line of code.
const INSTRUCTIONS_OF_LINE: usize = 8;
/// Cycles until the sources of an instruction are read.
const READ: u64 = 4;
/// Cycles of work that may wait on the way to memory.
const DEPTH: u64 = 400;

/// The effect of an instruction on time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    /// Cycles until the next one of the warp, at least.
    pub stall: u32,
    /// Cycles for which each unit of the quarter is busy.
    pub units: [u8; UNITS],
    /// Cycles until its results, and until its sources are read.
    pub latency: u32,
    /// Cycles for which the path to L2, and that to shared memory and L1, are busy, as this quarter sees them.
    pub bandwidth: u32,
    pub passes: u32,
    pub write_barrier: Option<u8>,
    pub read_barrier: Option<u8>,
    pub waits: u8,
    /// Warps of the block meet here.
    pub meets: bool,
    /// The next one waits for the results.
    pub completes: bool,
    pub yields: bool,
    /// The registers that it reads through the operand cache, by slot.
    pub sources: [Option<CachedRead>; CACHE_SLOTS],
}

/// How much there is to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    /// Blocks that follow each other in each place.
    pub waves: u32,
    /// One in this many of the warps that an SM could hold is there.
    pub share: u32,
}

/// Cycles beyond those of instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// From the last arrival at a barrier to the next instruction.
    pub barrier: u32,
    /// Of a taken branch, beyond its stall.
    pub branch: u32,
    /// Of the first use of a line of code.
    pub fetch: u32,
    /// From the end of a block to the start of the next one in its place.
    pub launch: u32,
}

/// The warps of a quarter, by block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Blocks, and warps of each that are in this quarter.
    groups: u32,
    warps: u32,
    /// Warps of a whole block.
    of_block: u32,
    /// Blocks that follow each other in each place.
    waves: u32,
}

impl Held {
    /// The warps of a quarter of an SM with these counts of blocks, and of warps of each; `None` without any.
    pub(super) fn new(blocks: u32, warps: u32, scenario: Scenario) -> Option<Held> {
        if blocks == 0 || warps == 0 {
            return None;
        }
        // A block of fewer warps than there are quarters is not in each of them.
        let each = warps.div_ceil(QUARTERS);
        let all = (blocks * warps).div_ceil(QUARTERS * scenario.share).clamp(1, MOST_WARPS);
        Some(Held { groups: (all / each).max(1), warps: each, of_block: warps, waves: scenario.waves })
    }

    /// Blocks of an SM that end in the time of a replay.
    pub(super) fn blocks(self) -> f64 {
        f64::from(self.groups * self.warps * QUARTERS * self.waves) / f64::from(self.of_block)
    }
}

/// A warp.
#[derive(Clone, Copy)]
struct Warp {
    at: usize,
    wave: u32,
    ready: u64,
    /// When it began to wait.
    since: u64,
    /// When each scoreboard is clear.
    clear: [u64; SCOREBOARDS as usize],
    /// It waits for the other warps of its group.
    meets: bool,
}

/// The state of the units of the quarter.
#[derive(Default)]
struct Quarter {
    free: u64,
    /// When each bank of registers has read what it was asked for.
    banks: [u64; 2],
    kept: OperandCache,
    /// The warp that issued last, whose operands are kept.
    last: Option<usize>,
    units: [u64; UNITS],
    /// When the paths to L2, and to shared memory and L1, are free.
    far: u64,
    near: u64,
}

/// Cycles until all warps have gone the way as often as there are waves.
pub(super) fn replay(steps: &[Step], path: &[u32], held: Held, costs: Costs) -> u64 {
    let start = Warp { at: 0, wave: 0, ready: 0, since: 0, clear: [0; SCOREBOARDS as usize], meets: false };
    let mut warps = vec![start; (held.groups * held.warps) as usize];
    let mut quarter = Quarter::default();
    let mut last = None;
    let mut end = 0;
    let mut fetched = vec![false; steps.len() / INSTRUCTIONS_OF_LINE + 1];
    if path.is_empty() {
        return 1;
    }
    while let Some(chosen) = choose(&warps, last, &quarter, held.waves) {
        let warp = &mut warps[chosen];
        let step = &steps[path[warp.at] as usize];
        let now = quarter.issue(step, chosen, warp.ready);
        last = (!step.yields).then_some(chosen);
        let done = quarter.complete(step, now);
        for (number, until) in [(step.write_barrier, done), (step.read_barrier, done.min(now + READ + DEPTH))]
        {
            if let Some(clear) = number.and_then(|number| warp.clear.get_mut(usize::from(number))) {
                *clear = (*clear).max(until);
            }
        }
        let next = if step.completes { done.max(now + 1) } else { now + u64::from(step.stall) };
        warp.meets = step.meets;
        warp.at += 1;
        end = end.max(next);
        (warp.ready, warp.since) = (next, now + 1);
        if warp.at == path.len() {
            (warp.at, warp.wave, warp.meets) = (0, warp.wave + 1, false);
            warp.clear = start.clear;
            warp.ready += u64::from(costs.launch);
        } else if path[warp.at] != path[warp.at - 1] + 1 {
            warp.ready += u64::from(costs.branch);
        }
        if warp.wave < held.waves {
            if !std::mem::replace(&mut fetched[path[warp.at] as usize / INSTRUCTIONS_OF_LINE], true) {
                warp.ready += u64::from(costs.fetch);
            }
            let waits = steps[path[warp.at] as usize].waits;
            let boards = warp.clear.iter().enumerate().filter(|(number, _)| waits >> number & 1 == 1);
            warp.ready = boards.fold(warp.ready, |ready, (_, &clear)| ready.max(clear));
        }
        let group = chosen / held.warps as usize * held.warps as usize;
        meet(&mut warps[group..group + held.warps as usize], u64::from(costs.barrier), held.waves);
    }
    end.max(quarter.far).max(quarter.near)
}

/// The warp that can issue first; of several the one that issued last, else the first.
fn choose(warps: &[Warp], last: Option<usize>, quarter: &Quarter, waves: u32) -> Option<usize> {
    let mut best: Option<(u64, bool, usize)> = None;
    for (index, warp) in warps.iter().enumerate() {
        if warp.meets || warp.wave >= waves {
            continue;
        }
        let key = (warp.ready.max(quarter.free), last != Some(index), index);
        // Of several that can, the one that has waited longest.
        let rank = |key: (u64, bool, usize)| (key.0, key.1, warps[key.2].since, key.2);
        if best.is_none_or(|best| rank(key) < rank(best)) {
            best = Some(key);
        }
    }
    best.map(|best| best.2)
}

/// Warps of a block go on once all that are left have arrived.
fn meet(group: &mut [Warp], barrier: u64, waves: u32) {
    if !group.iter().any(|warp| warp.meets) {
        return;
    }
    let running = |warp: &Warp| warp.wave < waves && !warp.meets;
    // A warp that has ended its block is not waited for by those of an earlier block.
    let wave = group.iter().filter(|warp| warp.meets).map(|warp| warp.wave).min().unwrap_or(0);
    if group.iter().any(|warp| running(warp) && warp.wave <= wave) {
        return;
    }
    let latest = group.iter().filter(|warp| warp.meets).map(|warp| warp.ready).max().unwrap_or(0);
    for warp in group.iter_mut().filter(|warp| warp.meets) {
        (warp.meets, warp.ready) = (false, latest + barrier);
    }
}

impl Quarter {
    /// Issues an instruction of a warp that is ready at a time; when it does.
    fn issue(&mut self, step: &Step, warp: usize, ready: u64) -> u64 {
        let reads = self.reads(step, warp);
        let units = self.units.iter().zip(step.units).filter(|(_, busy)| *busy > 0).map(|(free, _)| *free);
        let mut now = units.fold(ready.max(self.free), u64::max);
        for (free, _) in self.banks.iter().zip(reads).filter(|(_, reads)| *reads > 0) {
            now = now.max(*free);
        }
        if step.passes > 0 {
            now = now.max(self.near.saturating_sub(DEPTH / 4)).max(self.far.saturating_sub(DEPTH));
        }
        for (free, busy) in self.units.iter_mut().zip(step.units).filter(|(_, busy)| *busy > 0) {
            *free = now + u64::from(busy);
        }
        self.free = now + 1;
        self.read(step, warp, now, reads);
        now
    }

    /// Registers that an instruction reads from each bank: those that are not kept.
    fn reads(&self, step: &Step, warp: usize) -> [u64; 2] {
        // A warp that did not issue last finds nothing.
        let nothing = OperandCache::default();
        let sources = step.sources.iter().flatten().copied();
        if self.last == Some(warp) { self.kept.reads(sources) } else { nothing.reads(sources) }
    }

    /// The banks and the operand cache after an instruction.
    fn read(&mut self, step: &Step, warp: usize, now: u64, reads: [u64; 2]) {
        if self.last != Some(warp) {
            self.kept = OperandCache::default();
        }
        self.kept.keep(step.sources.iter().flatten().copied());
        for (free, reads) in self.banks.iter_mut().zip(reads) {
            *free = (*free).max(now) + reads;
        }
        self.last = (!step.yields).then_some(warp);
    }

    /// When the results of an instruction are there.
    fn complete(&mut self, step: &Step, now: u64) -> u64 {
        let mut from = now;
        if step.passes > 0 {
            from = from.max(self.near);
            self.near = from + u64::from(step.passes);
        }
        if step.bandwidth > 0 {
            from = from.max(self.far);
            self.far = from + u64::from(step.bandwidth);
        }
        from + u64::from(step.latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_latency::Unit;

    const ONE: Scenario = Scenario { waves: 1, share: 1 };
    const NOTHING: Costs = Costs { barrier: 10, branch: 0, fetch: 0, launch: 0 };

    /// Cycles of one wave of warps in a quarter.
    fn cycles(steps: &[Step], warps: u32) -> u64 {
        let held = Held::new(1, QUARTERS * warps, ONE).expect("a block");
        let path: Vec<u32> = (0..steps.len() as u32).collect();
        replay(steps, &path, held, NOTHING)
    }

    fn step(stall: u32) -> Step {
        Step { stall, ..Step::default() }
    }

    #[test]
    fn warps_hide_stalls() {
        let steps = [step(4), step(4), step(4)];
        assert_eq!(cycles(&steps, 1), 12);
        assert_eq!(cycles(&steps, 4), 15, "three more cycles for the last to begin");
        assert_eq!(cycles(&steps, 8), 23 + 4, "an issue a cycle, and the stall of the last");
    }

    #[test]
    fn loads_side_by_side_take_the_time_of_one() {
        let load = |board| Step { latency: 100, write_barrier: Some(board), ..step(1) };
        let wait = |waits| Step { waits, ..step(1) };
        let apart = cycles(&[load(0), wait(1), load(1), wait(2)], 1);
        let together = cycles(&[load(0), load(1), wait(1), wait(2)], 1);
        assert!(apart > 200 && together < 110, "{apart} {together}");
    }

    #[test]
    fn units_and_paths_bound() {
        let mut units = [0; UNITS];
        units[Unit::Special as usize] = 8;
        assert!(cycles(&[Step { units, ..step(1) }; 10], 4) >= 8 * 39);
        let access = Step { passes: 4, bandwidth: 12, latency: 200, ..step(1) };
        assert!(cycles(&[access; 50], 4) >= 12 * 199);
    }

    #[test]
    fn warps_of_a_block_meet() {
        let slow = Step { latency: 50, write_barrier: Some(0), ..step(1) };
        let meeting = Step { meets: true, waits: 1, ..step(1) };
        let steps = [slow, meeting, step(1)];
        let together = cycles(&steps, 3);
        assert!((60..80).contains(&together), "{together}");
        assert!(cycles(&steps, 16) >= together);
    }

    #[test]
    fn no_block_has_no_time() {
        assert!(Held::new(0, 4, ONE).is_none() && Held::new(4, 0, ONE).is_none());
        assert_eq!(replay(&[], &[], Held::new(1, 1, ONE).expect("a warp"), NOTHING), 1);
        // A block of one warp is in one of four quarters.
        assert!((Held::new(32, 1, ONE).expect("warps").blocks() - 32.0).abs() < 1e-9);
    }
}
