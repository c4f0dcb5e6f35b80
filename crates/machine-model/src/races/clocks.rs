//! Happens-before between the warps of a cluster: vector clocks. Each warp counts its releases; a warp that acquires,
//! at a barrier or an mbarrier, knows how far the other had come.
//!
//! Where the pairing of release and acquire is not certain, as with atomic operations and flags in memory, all pairs
//! are assumed.

use std::collections::{BTreeMap, BTreeSet};

/// A warp: the rank of its block, and its index there.
pub type Who = (u32, usize);

/// Known progress of each warp. Missing warps at the end are at zero.
#[derive(Clone, Default)]
struct Clock(Vec<u32>);

impl Clock {
    fn at(&self, warp: usize) -> u32 {
        self.0.get(warp).copied().unwrap_or(0)
    }

    fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    fn advance(&mut self, warp: usize) {
        if self.0.len() <= warp {
            self.0.resize(warp + 1, 0);
        }
        self.0[warp] += 1;
    }
}

/// A barrier of a block: the joined clock of the arrived warps, and the waiting warps.
#[derive(Default)]
struct Meeting {
    clock: Clock,
    waiting: BTreeSet<usize>,
}

/// An mbarrier: the joined clocks of the arrivals in the current phase, and in the phases before it.
#[derive(Default)]
struct Object {
    arriving: Clock,
    over: Clock,
}

/// The clocks of a cluster.
#[derive(Default)]
pub struct Clocks {
    warps_of_block: usize,
    clocks: Vec<Clock>,
    meetings: BTreeMap<(u32, usize), Meeting>,
    objects: BTreeMap<u64, Object>,
    cluster: Clock,
    /// Warps that wait for the cluster.
    at_cluster: BTreeSet<usize>,
    /// Everything that may have been learned through memory.
    memory: Clock,
}

impl Clocks {
    /// At the start nothing was released, and each warp is one ahead of its clock in the others.
    pub fn new(blocks: usize, warps_of_block: usize) -> Clocks {
        let mut clocks = vec![Clock::default(); blocks * warps_of_block];
        clocks.iter_mut().enumerate().for_each(|(warp, clock)| clock.advance(warp));
        Clocks { warps_of_block, clocks, ..Clocks::default() }
    }

    /// The index of a warp in the cluster.
    pub fn number(&self, (rank, warp): Who) -> usize {
        rank as usize * self.warps_of_block + warp
    }

    /// The progress of a warp.
    pub fn now(&self, warp: usize) -> u32 {
        self.clocks[warp].at(warp)
    }

    /// True if a warp knows of an event of another one at that time.
    pub fn knows(&self, warp: usize, other: usize, then: u32) -> bool {
        self.clocks[warp].at(other) >= then
    }

    /// A warp arrives at a barrier of its block.
    pub fn arrive(&mut self, who: Who, barrier: usize, waits: bool) {
        let warp = self.number(who);
        let meeting = self.meetings.entry((who.0, barrier)).or_default();
        meeting.clock.join(&self.clocks[warp]);
        if waits {
            meeting.waiting.insert(warp);
        }
        self.clocks[warp].advance(warp);
    }

    /// All have arrived at the barrier.
    pub fn met(&mut self, rank: u32, barrier: usize) {
        let Some(meeting) = self.meetings.remove(&(rank, barrier)) else { return };
        for warp in meeting.waiting {
            self.clocks[warp].join(&meeting.clock);
        }
    }

    /// A warp arrives at the barrier of the cluster.
    pub fn arrive_at_cluster(&mut self, who: Who) {
        let warp = self.number(who);
        self.cluster.join(&self.clocks[warp]);
        self.clocks[warp].advance(warp);
    }

    /// A warp waits for the cluster: after its next instruction it has synchronized with the others.
    pub fn wait_for_cluster(&mut self, who: Who) {
        self.at_cluster.insert(self.number(who));
    }

    /// A warp executes an instruction.
    pub fn go_on(&mut self, who: Who) {
        let warp = self.number(who);
        if self.at_cluster.remove(&warp) {
            self.clocks[warp].join(&self.cluster);
        }
    }

    /// An mbarrier changes: by the arrival of `who`, if it was one, and `over` if that completes the phase.
    pub fn change_object(&mut self, object: u64, who: Option<Who>, over: bool) {
        let warp = who.map(|who| self.number(who));
        let entry = self.objects.entry(object).or_default();
        if let Some(warp) = warp {
            entry.arriving.join(&self.clocks[warp]);
            self.clocks[warp].advance(warp);
        }
        if over {
            entry.over.join(&entry.arriving);
        }
    }

    /// A warp has found a phase of an mbarrier complete.
    pub fn found_over(&mut self, object: u64, who: Who) {
        let warp = self.number(who);
        if let Some(object) = self.objects.get(&object) {
            self.clocks[warp].join(&object.over);
        }
    }

    /// A warp releases or acquires through memory.
    pub fn through_memory(&mut self, who: Who) {
        let warp = self.number(who);
        self.memory.join(&self.clocks[warp]);
        self.clocks[warp].join(&self.memory);
        self.clocks[warp].advance(warp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARPS: [Who; 3] = [(0, 0), (0, 1), (0, 2)];

    #[test]
    fn who_waits_learns_and_who_arrives_tells() {
        let mut clocks = Clocks::new(1, WARPS.len());
        let then = [0, 1, 2].map(|warp| clocks.now(warp));
        clocks.arrive(WARPS[0], 1, false);
        clocks.arrive(WARPS[1], 1, true);
        assert!(!clocks.knows(1, 0, then[0]));
        clocks.met(0, 1);
        assert!(clocks.knows(1, 0, then[0]) && !clocks.knows(0, 1, then[1]));
        // Its later events are not known.
        assert!(!clocks.knows(1, 0, clocks.now(0)));
        assert!(!clocks.knows(2, 0, then[0]));
    }

    #[test]
    fn an_object_tells_of_the_phases_that_are_over() {
        let mut clocks = Clocks::new(1, WARPS.len());
        let then = clocks.now(0);
        clocks.change_object(0, Some(WARPS[0]), false);
        clocks.found_over(0, WARPS[1]);
        assert!(!clocks.knows(1, 0, then));
        clocks.change_object(0, None, true);
        clocks.found_over(0, WARPS[1]);
        assert!(clocks.knows(1, 0, then));
        // And warps that it releases to, through the cluster barrier too.
        clocks.arrive_at_cluster(WARPS[1]);
        clocks.wait_for_cluster(WARPS[2]);
        clocks.go_on(WARPS[2]);
        assert!(clocks.knows(2, 0, then));
    }
}
