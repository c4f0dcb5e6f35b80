//! The grid of a launch: blocks one after the other, warps of a block in turn, barriers between them.

use std::collections::BTreeMap;

use crate::barrier::{Barrier, reduction};
use crate::decode::{self, Decoded};
use crate::lane::{Lane, State, members};
use crate::launch::{Fault, FaultKind, Launch, Outcome};
use crate::machine::{BlockState, Machine};
use crate::program::Program;
use crate::step::Action;
use crate::warp::Warp;

/// Steps of a warp before the next warp of the block has its turn.
const WARP_QUANTUM: u64 = 20_000;
/// Steps of a block before another block has its turn: a block may wait for a later one.
const BLOCK_QUANTUM: u64 = 4_000_000;
/// Barriers of a block that programs name, and one for its cluster.
const BARRIERS: usize = 17;
/// Threads of a block at most.
const BLOCK_LIMIT: u64 = 1024;

/// A block that runs.
struct Block {
    state: BlockState,
    warps: Vec<Warp>,
}

impl Block {
    fn new(decoded: &Decoded, shape: [u32; 3], index: [u32; 3]) -> Block {
        let entry = &decoded.code.functions[decoded.entry as usize];
        let threads = shape.iter().product::<u32>();
        let lanes: Vec<Lane> = (0..threads)
            .map(|thread| {
                let place = [thread % shape[0], thread / shape[0] % shape[1], thread / shape[0] / shape[1]];
                Lane::new(entry.start.unwrap_or(0), place, entry.registers, entry.frame_bytes)
            })
            .collect();
        let warps: Vec<Warp> = lanes
            .chunks(32)
            .enumerate()
            .map(|(index, lanes)| Warp::new(index as u32, lanes.to_vec()))
            .collect();
        let barrier = Barrier { arrived: vec![0; warps.len()], ..Barrier::default() };
        let state = BlockState {
            index,
            shared: vec![0; decoded.shared_bytes as usize],
            barriers: vec![barrier; BARRIERS],
        };
        Block { state, warps }
    }

    /// Runs until the block ends (true) or has used up its turn.
    fn run(&mut self, machine: &mut Machine) -> Result<bool, Fault> {
        let end = machine.clock + BLOCK_QUANTUM;
        while machine.clock < end {
            let mut progress = false;
            for warp in &mut self.warps {
                if warp.is_ready() {
                    progress = true;
                    warp.run(machine, &mut self.state, WARP_QUANTUM)?;
                }
            }
            progress |= self.release(machine);
            if self.warps.iter().all(|warp| warp.live() == 0) {
                return Ok(true);
            }
            if !progress {
                return Err(self.deadlock(machine));
            }
        }
        Ok(false)
    }

    /// Lets the lanes go whose barriers are complete; true if there was one.
    fn release(&mut self, machine: &Machine) -> bool {
        let mut any = false;
        for (id, barrier) in self.state.barriers.iter_mut().enumerate() {
            if !barrier.in_use {
                continue;
            }
            let complete = match barrier.expected {
                None => {
                    self.warps.iter().zip(&barrier.arrived).all(|(warp, arrived)| warp.live() & !arrived == 0)
                }
                Some(expected) => {
                    // A warp that is not full, or whose other lanes have ended, counts as a whole one.
                    let arrivals: u32 = self
                        .warps
                        .iter()
                        .zip(&barrier.arrived)
                        .map(|(warp, arrived)| match arrived {
                            0 => 0,
                            arrived if warp.live() & !arrived == 0 => 32,
                            arrived => arrived.count_ones(),
                        })
                        .sum();
                    arrivals + barrier.repeated >= expected
                }
            };
            if !complete {
                continue;
            }
            any = true;
            for warp in &mut self.warps {
                for lane in members(warp.lanes_where(|lane| lane.state == State::Barrier(id as u32))) {
                    let pc = warp.lanes[lane].pc as usize;
                    if let Action::Barrier { operation, destination, .. } = &machine.code.steps[pc].action {
                        let value = reduction(*operation, barrier.ones, barrier.votes);
                        warp.lanes[lane].write(*destination, value);
                    }
                    warp.release(lane);
                }
            }
            *barrier = Barrier { arrived: vec![0; self.warps.len()], ..Barrier::default() };
        }
        any
    }

    fn deadlock(&self, machine: &Machine) -> Fault {
        let waiting = self
            .warps
            .iter()
            .flat_map(|warp| &warp.lanes)
            .find(|lane| !matches!(lane.state, State::Ready | State::Exited));
        let (what, lane) = match waiting {
            Some(lane) => match lane.state {
                State::Barrier(id) => (format!("barrier {id}"), Some(lane)),
                State::Collective(_, mask) => (format!("the lanes of member mask {mask:#x}"), Some(lane)),
                State::Ready | State::Exited => ("nothing".to_string(), None),
            },
            None => ("nothing".to_string(), None),
        };
        let fault = Fault::new(
            FaultKind::Deadlock,
            format!("every thread of the block that has not ended waits; the first one for {what}"),
        );
        match lane {
            Some(lane) => machine.locate(fault, lane.pc, &self.state, lane),
            None => fault,
        }
    }
}

/// Runs a launch.
pub fn run(program: &Program, launch: &Launch) -> Outcome {
    let failed = |error: Fault| Outcome {
        buffers: launch.args.iter().map(|_| None).collect(),
        instructions: 0,
        output: Vec::new(),
        error: Some(error),
    };
    let product = |shape: [u32; 3]| shape.iter().map(|count| u128::from(*count)).product::<u128>();
    let (blocks, threads) = (product(launch.grid), product(launch.block));
    if threads == 0 || threads > u128::from(BLOCK_LIMIT) {
        return failed(Fault::new(FaultKind::BadLaunch, format!("a block cannot have {threads} threads")));
    }
    if blocks == 0 || blocks > u128::from(u32::MAX) {
        return failed(Fault::new(FaultKind::BadLaunch, format!("a grid cannot have {blocks} blocks")));
    }
    let mut decoded = match decode::decode(program, &launch.entry, launch.shared_bytes) {
        Ok(decoded) => decoded,
        Err(fault) => return failed(fault),
    };
    if let Err(fault) = check_shape(program, launch) {
        return failed(fault);
    }
    let mut memory = std::mem::take(&mut decoded.memory);
    let addresses = match program.function(&launch.entry) {
        Some(kernel) => decode::arguments(&kernel.body, launch, &mut memory),
        None => Ok(Vec::new()),
    };
    let addresses = match addresses {
        Ok(addresses) => addresses,
        Err(message) => return failed(Fault::new(FaultKind::BadLaunch, message)),
    };
    let mut machine = Machine {
        code: &decoded.code,
        memory,
        output: Vec::new(),
        instructions: 0,
        clock: 0,
        budget: launch.budget,
        heap: BTreeMap::new(),
        grid: launch.grid,
        block: launch.block,
        dynamic_shared: decoded.dynamic_shared,
        matrix_unit: program.matrix_unit,
    };
    let error = run_blocks(&decoded, launch, blocks as u64, &mut machine).err();
    let buffers = addresses
        .iter()
        .map(|address| address.and_then(|address| machine.memory.take_region(address)))
        .collect();
    Outcome { buffers, instructions: machine.instructions, output: machine.output, error }
}

/// Whether the directives of the kernel allow the shape of the launch.
fn check_shape(program: &Program, launch: &Launch) -> Result<(), Fault> {
    let Some(kernel) = program.function(&launch.entry) else { return Ok(()) };
    let directives = &kernel.body.directives;
    let threads = |shape: [u32; 3]| shape.iter().map(|count| u64::from(*count)).product::<u64>();
    if let Some(required) = directives.reqntid.filter(|required| *required != launch.block) {
        let message = format!("the kernel requires blocks of {required:?} threads, not {:?}", launch.block);
        return Err(Fault::new(FaultKind::BadLaunch, message));
    }
    if let Some(most) = directives.maxntid.map(threads).filter(|most| threads(launch.block) > *most) {
        let message = format!("the kernel allows blocks of {most} threads, not {}", threads(launch.block));
        return Err(Fault::new(FaultKind::BadLaunch, message));
    }
    if directives.reqnctapercluster.is_some_and(|shape| threads(shape) > 1) {
        return Err(Fault::new(FaultKind::NotSupported, "not supported: clusters of more than one block"));
    }
    Ok(())
}

fn run_blocks(decoded: &Decoded, launch: &Launch, blocks: u64, machine: &mut Machine) -> Result<(), Fault> {
    let mut next = 0;
    // Blocks that have used up a turn and go on later.
    let mut resident = std::collections::VecDeque::new();
    loop {
        let mut block = if next < blocks {
            let [x, y, _] = launch.grid.map(u64::from);
            let index = [next % x, next / x % y, next / x / y].map(|part| part as u32);
            next += 1;
            Block::new(decoded, launch.block, index)
        } else {
            match resident.pop_front() {
                Some(block) => block,
                None => return Ok(()),
            }
        };
        if !block.run(machine)? {
            resident.push_back(block);
        }
    }
}
