//! The state of a warp: its lanes, and the MMAs of its warp group in flight.
//!
//! The files that let it run take this state: `schedule` chooses lanes and executes their steps, `warp_matrix` and
//! `tensor_memory` execute what a whole warp does. None of them may be named here.

use crate::fault::Fault;
use crate::lane::{Lane, State};
use crate::machine::{BlockState, Machine};
use crate::warp_group::Products;

/// A warp.
pub struct Warp {
    /// The lanes; fewer than 32 in the last warp of some blocks.
    pub lanes: Vec<Lane>,
    /// Index in the block.
    pub index: u32,
    /// MMAs of the warp group in flight.
    pub products: Products,
    /// Steps executed so far.
    pub steps: u64,
    /// A starved lane that runs alone, and until which step.
    pub favoured: Option<(usize, u64)>,
    /// Diverged lanes do not wait for each other where their paths meet.
    pub apart: bool,
}

impl Warp {
    /// A warp of these lanes.
    pub fn new(index: u32, lanes: Vec<Lane>) -> Warp {
        Warp { lanes, index, products: Products::default(), steps: 0, favoured: None, apart: false }
    }

    /// Lanes in a state that satisfies the predicate.
    pub fn lanes_where(&self, predicate: impl Fn(&Lane) -> bool) -> u32 {
        self.lanes
            .iter()
            .enumerate()
            .fold(0, |mask, (index, lane)| mask | u32::from(predicate(lane)) << index)
    }

    /// True if some lane can execute a step.
    pub fn is_ready(&self) -> bool {
        self.lanes.iter().any(|lane| lane.state == State::Ready)
    }

    /// Lanes that have not exited.
    pub fn live(&self) -> u32 {
        self.lanes_where(|lane| lane.state != State::Exited)
    }

    /// Makes a lane ready to execute the step after its present one.
    pub fn release(&mut self, lane: usize) {
        let steps = self.steps;
        let lane = &mut self.lanes[lane];
        lane.state = State::Ready;
        lane.last = steps;
        lane.pc += 1;
    }

    /// The fault of an instruction that the whole warp executes.
    pub(crate) fn locate(&self, machine: &Machine, fault: Fault, block: &BlockState) -> Fault {
        let waiting = self.lanes.iter().find(|lane| matches!(lane.state, State::Collective(..)));
        match waiting.or(self.lanes.first()) {
            Some(lane) => machine.locate(fault, lane.pc, block, lane),
            None => fault,
        }
    }
}
