//! The events that an observer of a run follows, made from the state of the machine.
//!
//! It is here so that the files that execute a step name an event and no more. Nothing may change the state of a run,
//! and nothing is called unless an observer follows.

use crate::barrier::Barrier;
use crate::collective::shuffled_lane;
use crate::context::LaneContext;
use crate::decode::{Decoded, Kept};
use crate::lane::{Lane, State, members};
use crate::launch::{Arg, Launch};
use crate::machine::{BlockState, Machine, block_number};
use crate::matrix::ROW_BYTES;
use crate::memory::{Memory, Place, shared_address};
use crate::observer::{
    Event, MemorySpace, MemoryUse, Region, Setting, StepFacts, ThreadNumber, Use, Waiting, WarpAtBarrier,
};
use crate::step::{Action, CollectiveOperation};
use crate::warp::Warp;

/// Lanes of a warp.
const WARP: u32 = 32;

impl Machine<'_> {
    /// Shows the observer an event.
    #[inline]
    pub fn tell(&mut self, event: &Event) {
        if let Some(observer) = &mut self.observer {
            observer.follow(event);
        }
    }

    /// The number of the first block of a cluster, by one of its blocks.
    pub fn cluster_number(&self, block: &BlockState) -> u32 {
        self.number_of_rank(block, 0)
    }

    /// The number of the block of a rank in the cluster of a block.
    fn number_of_rank(&self, block: &BlockState, rank: u32) -> u32 {
        let shape = self.cluster;
        let inner = [rank % shape[0], rank / shape[0] % shape[1], rank / shape[0] / shape[1]];
        let index = std::array::from_fn(|axis| block.index[axis] / shape[axis] * shape[axis] + inner[axis]);
        block_number(self.grid, index)
    }

    /// Shows the observer an access.
    pub fn show_use(
        &mut self,
        block: &BlockState,
        lane: &Lane,
        (place, address): (Place, u64),
        bytes: usize,
        write: bool,
    ) {
        if bytes == 0 {
            return;
        }
        let thread = ThreadNumber { block: block.number, thread: thread_in_block(self.block, lane.thread) };
        let (space, owner, address) = match place {
            Place::Global => (MemorySpace::Global, block.number, address),
            Place::Local => (MemorySpace::Local, block.number, address),
            Place::Shared => {
                let (rank, offset) = shared_address(address, block.rank);
                if rank as usize >= self.shared.len() {
                    return;
                }
                (MemorySpace::Shared, self.number_of_rank(block, rank), offset)
            }
            Place::Generic | Place::Constant | Place::Parameter => return,
        };
        let semantics = self.code.steps[self.pc as usize].semantics;
        let of_object = self.on_object;
        let kind = match (write, of_object) {
            (_, true) if semantics.makes_object => Use::Write,
            (_, true) => Use::Atomic,
            (true, false) if semantics.atomic => Use::Atomic,
            (true, false) => Use::Write,
            (false, false) => Use::Read,
        };
        // An operation on an mbarrier reads it and then writes it: that is one access.
        if of_object && !write && semantics.makes_object {
            return;
        }
        let used =
            MemoryUse { thread, space, owner, address, bytes: bytes as u32, kind, of_object, pc: self.pc };
        self.tell(&Event::Uses(&used));
    }
}

/// The number of a thread in its block.
fn thread_in_block(shape: [u32; 3], [x, y, z]: [u32; 3]) -> u32 {
    x + shape[0] * (y + shape[1] * z)
}

impl LaneContext<'_, '_> {
    /// The thread by its numbers.
    pub fn thread_number(&self) -> ThreadNumber {
        let thread = thread_in_block(self.machine.block, self.lane.thread);
        ThreadNumber { block: self.block.number, thread }
    }

    /// An mbarrier as events name it.
    pub fn followed_object(&self, address: u64) -> (u32, u64) {
        let (rank, offset) = shared_address(address, self.block.rank);
        (self.machine.number_of_rank(self.block, rank), offset)
    }
}

impl Warp {
    /// A lane by the numbers of its thread.
    pub(crate) fn thread_number(&self, block: &BlockState, lane: usize) -> ThreadNumber {
        ThreadNumber { block: block.number, thread: self.index * WARP + lane as u32 }
    }

    /// Shows a step, and the registers without a value that its lanes use. Returns the lanes in which it only copies
    /// such registers.
    pub(crate) fn show_step(
        &mut self,
        machine: &mut Machine,
        block: &BlockState,
        (group, active): (u32, u32),
        pc: u32,
    ) -> u32 {
        let code = machine.code;
        let step = &code.steps[pc as usize];
        if let Some((slot, _)) = step.guard {
            self.use_register(machine, block, group, (slot, pc));
        }
        if active == 0 {
            return 0;
        }
        machine.tell(&Event::Step { pc, block: block.number, warp: self.index, lanes: active });
        if !step.semantics.copies_registers {
            for slot in &step.reads {
                self.use_register(machine, block, active, (*slot, pc));
            }
            return 0;
        }
        let unwritten = |lane: &usize| {
            !step.reads.is_empty() && step.reads.iter().all(|slot| !self.lanes[*lane].is_written(*slot))
        };
        members(active).filter(unwritten).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Lanes use a register.
    fn use_register(
        &mut self,
        machine: &mut Machine,
        block: &BlockState,
        lanes: u32,
        (slot, pc): (u32, u32),
    ) {
        for lane in members(lanes) {
            if self.lanes[lane].first_use(slot) {
                let thread = self.thread_number(block, lane);
                machine.tell(&Event::Unwritten { thread, pc, slot });
            }
        }
    }

    /// Shows that lanes have met; they are still at the instruction.
    pub(crate) fn show_meeting(&self, machine: &mut Machine, block: &BlockState, lanes: u32) {
        let pc = self.lanes[lanes.trailing_zeros() as usize % self.lanes.len()].pc;
        let whole = matches!(machine.code.steps[pc as usize].action, Action::Matrix(_));
        // Without a mask, lanes that come together do not wait for each other.
        if let Action::Collective { members: None, .. } = &machine.code.steps[pc as usize].action {
            return;
        }
        let missing = self.lanes_where(|lane| lane.state == State::Exited);
        let (block, warp) = (block.number, self.index);
        machine.tell(&Event::LanesMeet { block, warp, lanes, pc, whole, missing });
    }

    /// Shows the shuffles of lanes that read from one that does not take part.
    pub(crate) fn show_absent_lanes(
        &self,
        machine: &mut Machine,
        block: &BlockState,
        mask: u32,
        operands: &[[u64; 3]; 32],
    ) {
        for lane in members(mask) {
            let pc = self.lanes[lane].pc;
            let Action::Collective { operation: CollectiveOperation::Shuffle(shuffle), members, .. } =
                &machine.code.steps[pc as usize].action
            else {
                return;
            };
            let from = shuffled_lane(*shuffle, lane as u32, &operands[lane]);
            if members.is_some() && mask >> from & 1 == 0 {
                let thread = self.thread_number(block, lane);
                machine.tell(&Event::AbsentLane { thread, pc, from });
            }
        }
    }

    /// Shows that a lane has waited for the barrier of its cluster; it is still at the instruction.
    pub(crate) fn show_cluster_wait(&self, machine: &mut Machine, block: &BlockState, lane: usize) {
        if machine.followed {
            let (thread, cluster) = (self.thread_number(block, lane), machine.cluster_number(block));
            let (phase, pc) = (self.lanes[lane].cluster_arrivals, self.lanes[lane].pc);
            machine.tell(&Event::LeavesCluster { thread, cluster, phase, pc });
        }
    }

    /// Shows that an MMA reads pieces of the shared memory of its block.
    pub(crate) fn show_pieces(
        &self,
        machine: &mut Machine,
        block: &BlockState,
        lane: usize,
        pieces: impl Iterator<Item = u32>,
    ) {
        let mut pieces: Vec<u32> = pieces.collect();
        pieces.sort_unstable();
        pieces.dedup();
        for address in pieces {
            let used = MemoryUse {
                thread: self.thread_number(block, lane),
                space: MemorySpace::Shared,
                owner: block.number,
                address: u64::from(address),
                bytes: ROW_BYTES as u32,
                kind: Use::Read,
                of_object: false,
                pc: self.lanes[lane].pc,
            };
            machine.tell(&Event::Uses(&used));
        }
    }
}

/// Shows that a barrier of a block is complete; the lanes still wait.
pub fn block_meets(machine: &mut Machine, block: u32, barrier: &Barrier, warps: &[Warp], id: usize) {
    let found: Vec<WarpAtBarrier> = warps
        .iter()
        .zip(&barrier.arrived)
        .map(|(warp, arrived)| {
            let waiting = members(warp.lanes_where(|lane| lane.state == State::Barrier(id as u32)));
            WarpAtBarrier {
                arrived: *arrived,
                live: warp.live(),
                all: u32::MAX >> (WARP - warp.lanes.len() as u32),
                waiting: waiting.map(|lane| (lane as u32, warp.lanes[lane].pc)).collect(),
            }
        })
        .collect();
    let whole = barrier.expected.is_none();
    machine.tell(&Event::BlockMeets { block, barrier: id as u32, whole, warps: &found });
}

/// Adds the threads of a block that wait.
pub fn add_waiting(block: &BlockState, warps: &[Warp], waiting: &mut Vec<Waiting>) {
    for warp in warps {
        for (number, lane) in warp.lanes.iter().enumerate() {
            let what = match lane.state {
                State::Barrier(id) => format!("barrier {id}"),
                State::Collective(_, mask) => format!("the lanes of member mask {mask:#x}"),
                State::Object => "a phase of an mbarrier".to_owned(),
                State::Cluster => "the barrier of its cluster".to_owned(),
                State::Columns => "columns of tensor memory".to_owned(),
                State::Ready | State::Exited => continue,
            };
            waiting.push(Waiting { thread: warp.thread_number(block, number), pc: lane.pc, what });
        }
    }
}

/// The setting of a run: `addresses` are those of the arguments, `extra` those of other buffers.
pub fn setting(
    decoded: &Decoded,
    launch: &Launch,
    memory: &mut Memory,
    addresses: &[Option<Kept>],
    extra: &[u64],
) -> Setting {
    let steps = decoded.code.steps.iter().map(|step| StepFacts {
        function: step.function,
        ordinal: step.ordinal,
        semantics: step.semantics,
    });
    let mut regions: Vec<Region> = Vec::new();
    let mut add = |name: String, space, start, bytes| regions.push(Region { name, space, start, bytes });
    for (number, (kept, argument)) in addresses.iter().zip(&launch.args).enumerate() {
        if let (Some(Kept::Region(address)), Arg::Buffer(bytes)) = (kept, argument) {
            add(format!("argument {number}"), MemorySpace::Global, *address, bytes.len() as u64);
        }
    }
    for (number, (address, bytes)) in extra.iter().zip(&launch.extra).enumerate() {
        add(format!("extra buffer {number}"), MemorySpace::Global, *address, bytes.len() as u64);
    }
    for (name, address) in &decoded.variables {
        let bytes = memory.segment(Place::Global, *address).map_or(0, |(bytes, _)| bytes.len());
        add(format!("`{name}`"), MemorySpace::Global, *address, bytes as u64);
    }
    for (name, address, bytes) in &decoded.shared {
        add(format!("`{name}`"), MemorySpace::Shared, u64::from(*address), u64::from(*bytes));
    }
    Setting {
        grid: launch.grid,
        block: launch.block,
        steps: steps.collect(),
        functions: decoded.code.functions.iter().map(|function| function.name.clone()).collect(),
        regions,
        shared_bytes: decoded.shared_bytes,
    }
}
