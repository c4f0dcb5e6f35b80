//! A block of threads: its warps, local memory, and the sixteen barriers.

use crate::warp::{Wait, Warp};

/// A barrier of the block.
#[derive(Clone, Default)]
pub(crate) struct Barrier {
    /// Lanes of each warp that arrived.
    pub arrived: Vec<u32>,
    /// Threads that must arrive; 0 for all of the block.
    pub expected: u32,
    /// Lanes whose predicate of a reduction was true, by warp.
    pub voted: Vec<u32>,
    /// The operation of the predicate result.
    pub reduction: Reduction,
    /// How often it was completed.
    pub generation: u32,
}

/// The reduction of the predicates of a barrier's threads.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// It counts them; the predicate result is that there is one.
    #[default]
    Count,
    /// All are true.
    And,
    /// One is true.
    Or,
}

/// An arrival at a barrier.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub barrier: usize,
    pub warp: usize,
    pub lanes: u32,
    pub expected: u32,
    pub vote: u32,
    pub reduction: Reduction,
}

/// A running block.
pub(crate) struct Block {
    /// Index of the block in the grid.
    pub index: [u32; 3],
    /// Rank of the block in its cluster.
    pub rank: u32,
    /// Its warps.
    pub warps: Vec<Warp>,
    /// Local memory of each thread, grown on demand.
    pub local: Vec<Vec<u8>>,
    /// Bytes of local memory a thread may touch.
    pub local_size: u32,
    /// Barriers.
    pub barriers: [Barrier; 16],
    /// The last arrival: the barrier, and how often it had been completed.
    pub arrival: Option<(u8, u32)>,
}

impl Block {
    /// Threads counted as arrived: a warp whose live lanes have all arrived counts as a whole.
    fn count(&self, barrier: usize) -> u32 {
        let state = &self.barriers[barrier];
        self.warps
            .iter()
            .zip(&state.arrived)
            .map(|(warp, &arrived)| {
                if arrived == 0 {
                    0
                } else if warp.live & !arrived == 0 {
                    32
                } else {
                    arrived.count_ones()
                }
            })
            .sum()
    }

    /// Records that lanes of a warp arrived at a barrier.
    pub(crate) fn arrive(&mut self, arrival: Arrival) {
        let warps = self.warps.len();
        let state = &mut self.barriers[arrival.barrier];
        self.arrival = Some((arrival.barrier as u8, state.generation));
        state.arrived.resize(warps, 0);
        state.voted.resize(warps, 0);
        state.arrived[arrival.warp] |= arrival.lanes;
        state.voted[arrival.warp] |= arrival.vote & arrival.lanes;
        state.expected = arrival.expected;
        state.reduction = arrival.reduction;
    }

    /// Completes a barrier if all threads have arrived: waiting groups continue. True if it did.
    pub(crate) fn complete(&mut self, barrier: usize) -> bool {
        let state = &self.barriers[barrier];
        if state.arrived.iter().all(|&lanes| lanes == 0) {
            return false;
        }
        let needed = if state.expected == 0 {
            self.warps.iter().filter(|warp| warp.live != 0).count() as u32 * 32
        } else {
            state.expected.next_multiple_of(32)
        };
        if self.count(barrier) < needed {
            return false;
        }
        let arrived: u32 = self.barriers[barrier].arrived.iter().map(|lanes| lanes.count_ones()).sum();
        let voted: u32 = self.barriers[barrier].voted.iter().map(|lanes| lanes.count_ones()).sum();
        let holds = match self.barriers[barrier].reduction {
            Reduction::And => voted == arrived,
            Reduction::Count | Reduction::Or => voted != 0,
        };
        // The warps continue together: none has left before the last one came.
        let latest = self
            .warps
            .iter()
            .zip(&self.barriers[barrier].arrived)
            .filter(|(_, lanes)| **lanes != 0)
            .map(|(warp, _)| warp.cycle)
            .max()
            .unwrap_or(0);
        for (warp, &lanes) in self.warps.iter_mut().zip(&self.barriers[barrier].arrived) {
            if lanes != 0 {
                warp.reduction = (voted, holds);
                for group in &mut warp.groups {
                    if group.wait == (Wait::Block { barrier: barrier as u8 }) {
                        group.wait = Wait::Ready;
                        warp.cycle = warp.cycle.max(latest);
                    }
                }
                warp.merge();
            }
        }
        let generation = self.barriers[barrier].generation.wrapping_add(1);
        self.barriers[barrier] = Barrier { generation, ..Barrier::default() };
        true
    }
}
