//! The grid of a launch: clusters of blocks one after the other, the warps of a cluster in turn, barriers between them.

use std::collections::BTreeMap;

use crate::barrier::{Barrier, reduction};
use crate::decode::{self, Decoded, Kept};
use crate::events;
use crate::fault::{Fault, FaultKind};
use crate::lane::{Lane, State, members};
use crate::launch::{Launch, Outcome};
use crate::machine::{BlockState, Machine, block_number, first_block};
use crate::memory::Memory;
use crate::observer::{Event, Observer};
use crate::program::Program;
use crate::step::Action;
use crate::texture::objects::Objects;
use crate::warp::Warp;
use crate::watch::Watch;
use oriole_machine_model::tensor_memory::TensorMemory;

/// Steps of a warp before the next warp of the block has its turn.
const WARP_QUANTUM: u64 = 20_000;
/// Steps of a block before another block has its turn: a block may wait for a later one.
const BLOCK_QUANTUM: u64 = 4_000_000;
/// The same where turns are to be short.
const SHORT_WARP_QUANTUM: u64 = 1;
const SHORT_BLOCK_QUANTUM: u64 = 31;
/// Barriers of a block.
const BARRIERS: usize = 16;
/// Blocks of a cluster at most, unless the kernel states more.
const CLUSTER_LIMIT: u32 = 16;
/// Threads of a block at most.
const BLOCK_LIMIT: u64 = 1024;

/// Turns of a cluster without visible progress, after which its threads count as deadlocked.
const IDLE_TURNS: u32 = 1_000;

/// A running block.
struct Block {
    state: BlockState,
    warps: Vec<Warp>,
}

impl Block {
    fn new(decoded: &Decoded, launch: &Launch, index: [u32; 3], rank: u32, followed: bool) -> Block {
        let (shape, fill) = (launch.block, launch.choices.fill);
        let entry = &decoded.code.functions[decoded.entry as usize];
        let threads = shape.iter().product::<u32>();
        let lanes: Vec<Lane> = (0..threads)
            .map(|thread| {
                let place = [thread % shape[0], thread / shape[0] % shape[1], thread / shape[0] / shape[1]];
                let size = (entry.registers, entry.frame_bytes);
                let mut lane = Lane::new(entry.start.unwrap_or(0), place, size, fill);
                if followed {
                    lane.follow_registers();
                }
                lane
            })
            .collect();
        let warps: Vec<Warp> = lanes
            .chunks(32)
            .enumerate()
            .map(|(index, lanes)| Warp::new(index as u32, lanes.to_vec()))
            .collect();
        let barrier = Barrier { arrived: vec![0; warps.len()], ..Barrier::default() };
        let number = block_number(launch.grid, index);
        let state = BlockState { index, number, rank, barriers: vec![barrier; BARRIERS] };
        Block { state, warps }
    }

    fn has_ended(&self) -> bool {
        self.warps.iter().all(|warp| warp.live() == 0)
    }

    /// Lets every warp run until it waits or has used up its turn; true if one could.
    fn run(&mut self, machine: &mut Machine) -> Result<bool, Fault> {
        let mut progress = false;
        let quantum = if machine.choices.short_turns() { SHORT_WARP_QUANTUM } else { WARP_QUANTUM };
        let count = self.warps.len();
        for turn in 0..count {
            let warp = &mut self.warps[if machine.choices.backwards() { count - 1 - turn } else { turn }];
            warp.answer_tests(machine, &mut self.state)?;
            warp.ask_for_columns(machine, &mut self.state)?;
            if warp.is_ready() {
                progress = true;
                warp.run(machine, &mut self.state, quantum)?;
            }
        }
        Ok(progress)
    }

    /// Releases the lanes of complete barriers; true if there was one.
    fn release(&mut self, machine: &mut Machine) -> bool {
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
                    // A partial warp, or one with exited lanes, counts as a whole one.
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
            machine.watch.met(self.state.rank, id);
            if machine.followed {
                events::block_meets(machine, self.state.number, barrier, &self.warps, id);
            }
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

    /// The fault for a deadlock: the wait of the first thread that has not exited.
    fn deadlock(&self, machine: &Machine) -> Fault {
        let waiting = self
            .warps
            .iter()
            .flat_map(|warp| &warp.lanes)
            .find(|lane| !matches!(lane.state, State::Ready | State::Exited));
        let what = match waiting.map(|lane| lane.state) {
            Some(State::Barrier(id)) => format!("barrier {id}"),
            Some(State::Collective(_, mask)) => format!("the lanes of member mask {mask:#x}"),
            Some(State::Object) => "a phase of an mbarrier".to_string(),
            Some(State::Cluster) => "the barrier of its cluster".to_string(),
            Some(State::Columns) => "columns of tensor memory".to_string(),
            Some(State::Ready | State::Exited) | None => "nothing".to_string(),
        };
        let fault = Fault::new(
            FaultKind::Deadlock,
            format!("every thread of the block that has not ended waits; the first one for {what}"),
        );
        match waiting {
            Some(lane) => machine.locate(fault, lane.pc, &self.state, lane),
            None => fault,
        }
    }
}

/// The end of a turn of a cluster.
enum Turn {
    /// All its threads have exited.
    Ended,
    /// It continues later.
    UsedUp,
    /// All its threads wait, and nothing in the cluster can end that.
    Stuck,
}

/// The blocks that run together.
struct Cluster {
    blocks: Vec<Block>,
    /// Their shared memory, while another cluster runs.
    shared: Vec<Vec<u8>>,
    tensor: Vec<TensorMemory>,
    watch: Watch,
    meetings: u64,
}

impl Cluster {
    /// The cluster with this index in the grid.
    fn new(decoded: &Decoded, launch: &Launch, shape: [u32; 3], number: u64, followed: bool) -> Cluster {
        let first = first_block(launch.grid, shape, number);
        let blocks: Vec<Block> = (0..shape.iter().product::<u32>())
            .map(|rank| {
                let inner = [rank % shape[0], rank / shape[0] % shape[1], rank / shape[0] / shape[1]];
                let index = std::array::from_fn(|axis| first[axis] + inner[axis]);
                Block::new(decoded, launch, index, rank, followed)
            })
            .collect();
        let shared = vec![vec![launch.choices.fill; decoded.shared_bytes as usize]; blocks.len()];
        let watch = Watch::new(decoded.has_copies, blocks.len(), blocks[0].warps.len());
        let tensor = vec![TensorMemory::default(); blocks.len()];
        Cluster { blocks, shared, tensor, watch, meetings: 0 }
    }

    /// Runs a turn, with the memory of the cluster swapped in.
    fn run(&mut self, machine: &mut Machine) -> Result<Turn, Fault> {
        machine.shared = std::mem::take(&mut self.shared);
        machine.tensor = std::mem::take(&mut self.tensor);
        machine.watch = std::mem::take(&mut self.watch);
        machine.cluster_meetings = self.meetings;
        let turn = self.turn(machine);
        self.shared = std::mem::take(&mut machine.shared);
        self.tensor = std::mem::take(&mut machine.tensor);
        self.watch = std::mem::take(&mut machine.watch);
        self.meetings = machine.cluster_meetings;
        turn
    }

    fn turn(&mut self, machine: &mut Machine) -> Result<Turn, Fault> {
        let short = machine.choices.short_turns();
        let end = machine.clock + if short { SHORT_BLOCK_QUANTUM } else { BLOCK_QUANTUM };
        let mut idle = 0;
        while machine.clock < end {
            let before = machine.events;
            let mut progress = false;
            for block in &mut self.blocks {
                progress |= block.run(machine)?;
                progress |= block.release(machine);
            }
            progress |= self.meet(machine);
            if self.blocks.iter().all(Block::has_ended) {
                for block in &self.blocks {
                    machine.tell(&Event::Ends(block.state.number));
                }
                return self.check_columns(machine).map(|()| Turn::Ended);
            }
            // Threads that only poll mbarriers make no visible progress.
            let waits = self.blocks.iter().flat_map(|block| &block.warps).all(|warp| !warp.is_ready());
            idle = if waits && machine.events == before { idle + 1 } else { 0 };
            if !progress || idle > IDLE_TURNS {
                return Ok(Turn::Stuck);
            }
        }
        Ok(Turn::UsedUp)
    }

    /// Columns of tensor memory must have been freed when a block exits.
    fn check_columns(&self, machine: &Machine) -> Result<(), Fault> {
        let kept =
            self.blocks.iter().zip(&machine.tensor).find_map(|(block, tensor)| Some((block, tensor.kept()?)));
        let Some((block, (first, columns))) = kept else { return Ok(()) };
        let text = format!(
            "{columns} columns of tensor memory from column {first} on are not given back at the end"
        );
        let mut fault = Fault::new(FaultKind::Illegal, text);
        fault.thread = Some((block.state.index, [0; 3]));
        Err(fault)
    }

    /// Releases the cluster barrier if all threads that have not exited have arrived.
    fn meet(&mut self, machine: &mut Machine) -> bool {
        let warps = || self.blocks.iter().flat_map(|block| &block.warps);
        let mut living = warps().flat_map(|warp| &warp.lanes).filter(|lane| lane.state != State::Exited);
        let next = machine.cluster_meetings + 1;
        let complete = living.clone().next().is_some() && living.all(|lane| lane.cluster_arrivals >= next);
        if !complete {
            return false;
        }
        machine.cluster_meetings = next;
        for block in &mut self.blocks {
            for warp in &mut block.warps {
                for lane in members(warp.lanes_where(|lane| lane.state == State::Cluster)) {
                    warp.show_cluster_wait(machine, &block.state, lane);
                    warp.release(lane);
                }
            }
        }
        true
    }

    fn deadlock(&self, machine: &mut Machine) -> Fault {
        if machine.followed {
            let mut waiting = Vec::new();
            for block in &self.blocks {
                events::add_waiting(&block.state, &block.warps, &mut waiting);
            }
            machine.tell(&Event::Stuck(&waiting));
        }
        let stuck = self.blocks.iter().find(|block| !block.has_ended()).unwrap_or(&self.blocks[0]);
        stuck.deadlock(machine)
    }
}

/// Runs a launch.
pub fn run(program: &Program, launch: &Launch) -> Outcome {
    run_with(program, launch, None)
}

/// Runs a launch as [`run`] does, and shows an observer each store.
pub fn run_observed<'a>(
    program: &'a Program,
    launch: &'a Launch,
    observer: &'a mut (dyn Observer + 'a),
) -> Outcome {
    run_with(program, launch, Some(observer))
}

fn run_with(program: &Program, launch: &Launch, observer: Option<&mut dyn Observer>) -> Outcome {
    let failed = |error: Fault| Outcome {
        buffers: launch.args.iter().map(|_| None).collect(),
        extra: Vec::new(),
        variables: Vec::new(),
        touched: Vec::new(),
        shared_touched: 0,
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
    let followed = observer.as_ref().is_some_and(|observer| observer.follows());
    let mut decoded = match decode::decode_for(program, &launch.entry, launch.shared_bytes, followed) {
        Ok(decoded) => decoded,
        Err(fault) => return failed(fault),
    };
    if let Err(fault) = check_shape(program, launch) {
        return failed(fault);
    }
    let cluster = match cluster_shape(program, launch) {
        Ok(cluster) => cluster,
        Err(fault) => return failed(fault),
    };
    let mut memory = std::mem::take(&mut decoded.memory);
    let mut objects = Objects::new(&launch.bindings);
    let addresses = match program.function(&launch.entry) {
        Some(kernel) => decode::arguments(&kernel.body, launch, &mut memory, &mut objects),
        None => Ok(Vec::new()),
    };
    let addresses = match addresses {
        Ok(addresses) => addresses,
        Err(error) => return failed(Fault::new(FaultKind::BadLaunch, error.to_string())),
    };
    let mut machine = Machine {
        code: &decoded.code,
        memory,
        objects,
        output: Vec::new(),
        instructions: 0,
        clock: 0,
        budget: launch.budget,
        heap: BTreeMap::new(),
        events: 0,
        shared: Vec::new(),
        tensor: Vec::new(),
        watch: Watch::default(),
        cluster_meetings: 0,
        cluster,
        waiting: 0..0,
        explicit_cluster: is_explicit(program, launch),
        grid: launch.grid,
        block: launch.block,
        dynamic_shared: decoded.dynamic_shared,
        matrix_unit: program.matrix_unit,
        choices: launch.choices,
        // The object's lifetime is shortened, which only a plain reference allows.
        observer: match observer {
            Some(observer) => Some(observer),
            None => None,
        },
        followed,
        on_object: false,
        pc: 0,
        shared_touched: 0,
    };
    let extra: Vec<u64> = launch.extra.iter().map(|bytes| machine.memory.add_region(bytes.clone())).collect();
    if followed {
        let setting = events::setting(&decoded, launch, &mut machine.memory, &addresses, &extra);
        machine.tell(&Event::Begins(&setting));
    }
    let error = run_clusters(&decoded, launch, blocks as u64, &mut machine).err();
    if let Some(fault) = error.as_ref().filter(|_| followed) {
        machine.tell(&Event::Fails(fault));
    }
    let regions = addresses.iter().filter_map(|kept| match kept {
        Some(Kept::Region(address)) => Some(*address),
        _ => None,
    });
    let touched =
        regions.chain(extra.iter().copied()).map(|address| machine.memory.touched(address)).collect();
    let shared_start = decoded.shared_bytes - decoded.dynamic_shared;
    let shared_touched = machine.shared_touched.saturating_sub(shared_start);
    let take = |memory: &mut Memory, address: u64| memory.take_region(address).unwrap_or_default();
    let extra = extra.iter().map(|&address| take(&mut machine.memory, address)).collect();
    let variables = decoded.variables.iter();
    let variables =
        variables.map(|(name, address)| (name.clone(), take(&mut machine.memory, *address))).collect();
    let buffers = addresses
        .iter()
        .map(|kept| match *kept {
            Some(Kept::Region(address)) => machine.memory.take_region(address),
            Some(Kept::Object(number)) => machine.objects.take(number),
            None => None,
        })
        .collect();
    Outcome {
        buffers,
        extra,
        variables,
        touched,
        shared_touched,
        instructions: machine.instructions,
        output: machine.output,
        error,
    }
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
    Ok(())
}

/// Whether the launch is one of clusters, if only of one block each.
fn is_explicit(program: &Program, launch: &Launch) -> bool {
    let required =
        program.function(&launch.entry).and_then(|kernel| kernel.body.directives.reqnctapercluster);
    required.or(launch.cluster).is_some()
}

/// The blocks of a cluster: from the kernel, or else from the launch; one block if neither states it.
fn cluster_shape(program: &Program, launch: &Launch) -> Result<[u32; 3], Fault> {
    let bad = |message: String| Fault::new(FaultKind::BadLaunch, message);
    let directives = program.function(&launch.entry).map(|kernel| &kernel.body.directives);
    let required = directives.and_then(|directives| directives.reqnctapercluster);
    if let (Some(required), Some(given)) = (required, launch.cluster)
        && required != given
    {
        return Err(bad(format!("the kernel requires clusters of {required:?} blocks, not {given:?}")));
    }
    let shape = required.or(launch.cluster).unwrap_or([1; 3]);
    let blocks = shape.iter().map(|count| u64::from(*count)).product::<u64>();
    let most = directives.and_then(|directives| directives.maxclusterrank).unwrap_or(CLUSTER_LIMIT);
    if blocks == 0 || blocks > u64::from(most) {
        return Err(bad(format!("a cluster cannot have {blocks} blocks, {most} at most")));
    }
    if launch.grid.iter().zip(shape).any(|(blocks, cluster)| blocks % cluster != 0) {
        return Err(bad(format!("a grid of {:?} blocks has no clusters of {shape:?}", launch.grid)));
    }
    Ok(shape)
}

fn run_clusters(decoded: &Decoded, launch: &Launch, blocks: u64, machine: &mut Machine) -> Result<(), Fault> {
    let shape = machine.cluster;
    let count = blocks / shape.iter().map(|count| u64::from(*count)).product::<u64>();
    machine.waiting = 0..count;
    // Where a cluster takes over another one, they go by their numbers.
    let mut steps = machine.code.steps.iter();
    let backwards =
        launch.choices.backwards() && !steps.any(|step| matches!(step.action, Action::TakeCluster { .. }));
    // Clusters that have used up a turn and continue later.
    let mut resident = std::collections::VecDeque::new();
    // Number of consecutive stuck ones.
    let mut stuck = 0;
    loop {
        let mut cluster = match machine.waiting.next() {
            Some(number) if backwards => {
                Cluster::new(decoded, launch, shape, count - 1 - number, machine.followed)
            }
            Some(number) => Cluster::new(decoded, launch, shape, number, machine.followed),
            None => match resident.pop_front() {
                Some(cluster) => cluster,
                None => return Ok(()),
            },
        };
        match cluster.run(machine)? {
            Turn::Ended => stuck = 0,
            Turn::UsedUp => {
                stuck = 0;
                resident.push_back(cluster);
            }
            Turn::Stuck => {
                stuck += 1;
                if machine.waiting.is_empty() && stuck > resident.len() {
                    return Err(cluster.deadlock(machine));
                }
                resident.push_back(cluster);
            }
        }
    }
}
