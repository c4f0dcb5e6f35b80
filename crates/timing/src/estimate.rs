//! From a launch to the time of its grid: the functional run of all blocks, the choice of blocks that are replayed, what
//! the SMs that are not replayed do to those that are, and what the whole took.

use crate::memory::{Chip, Traffic};
use crate::parameters::Parameters;
use crate::program::Step;
use crate::reason::{Line, REASONS};
use crate::recorder::{Recorder, Totals};
use crate::replay::{Busy, Replay, Start};
use oriole_chip::{Limiter, Limits, Usage};
use oriole_cubin::Cubin;
use oriole_cubin::read::Kernel;
use oriole_latency::{Model, Unit};
use oriole_simulate::{Fault, Launch, run_observed};
use std::collections::{HashMap, VecDeque};

/// SMs that are replayed side by side, where the grid has as many blocks.
const SIMULATED: u64 = 4;
/// Share of the time for which a part must be busy to be called the bound.
const BOUND: f64 = 0.6;

/// The question.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Blocks of the grid whose time is wanted, if not those of the launch: blocks like those follow each other.
    pub blocks: Option<u64>,
    /// No data is in L2 when the kernel begins. Otherwise all of it is, if it fits.
    pub cold: bool,
    /// Run only the blocks that are replayed. What blocks do to each other is lost.
    pub sample: bool,
    /// Warp instructions of blocks that are replayed; no further block is taken when they are used up.
    pub room: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { blocks: None, cold: false, sample: false, room: 1_000_000 }
    }
}

/// The limit of the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// Issue slots of the schedulers.
    Issue,
    /// A unit of a quarter.
    Unit(Unit),
    /// The unit of loads and stores: shared memory, L1.
    LoadStore,
    /// Bandwidth of L2.
    L2,
    /// Bandwidth of the device memory.
    Memory,
    /// Atomic operations at one address.
    Atomics,
    /// Nothing is busy for long: warps wait for results.
    Latency,
}

impl Bound {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Issue => "issue",
            Bound::Unit(unit) => unit.name(),
            Bound::LoadStore => "loads and stores",
            Bound::L2 => "L2",
            Bound::Memory => "device memory",
            Bound::Atomics => "atomics",
            Bound::Latency => "latency",
        }
    }
}

/// The time of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// Cycles of the whole grid.
    pub cycles: f64,
    /// The same time, at the clock of the product.
    pub microseconds: f64,
    /// The product whose parameters were used.
    pub product: &'static str,
    /// Its limit.
    pub bound: Bound,
    /// The share of the time for which each part was busy, the busiest first.
    pub busy: Vec<(Bound, f64)>,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Blocks that were replayed.
    pub replayed: u64,
    /// Blocks that an SM holds at a time, and what limits them.
    pub resident: u32,
    /// Their limit.
    pub limiter: Limiter,
    /// SMs that have work.
    pub sms: u64,
    /// Data was in L2 when the kernel began.
    pub warm: bool,
    /// Warp instructions of the launch.
    pub instructions: u64,
    /// Accesses of the replayed blocks.
    pub traffic: Traffic,
    /// The code with the time of each instruction, of the replayed blocks.
    pub lines: Vec<Line>,
    /// Cycles that the replayed warps waited, by reason.
    pub waited: [u64; REASONS],
    /// Waits of a cut-off trace that were ended by force.
    pub forced: u64,
}

/// Why there is no estimate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// No parameters of the chip are known.
    Chip(u16),
    /// The launch fails.
    Run(oriole_simulate::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Chip(number) => write!(f, "no times are known of sm_{number}"),
            Error::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// The shape of a grid.
struct Grid {
    /// Blocks of the launch, those of them that run, and blocks of the grid that is asked for.
    launched: u64,
    run: u64,
    blocks: u64,
    /// Blocks of a cluster.
    cluster: u64,
    /// SMs that have work.
    active: u64,
    /// SMs that are replayed.
    simulated: u64,
    /// Blocks that each SM runs one after the other.
    per_sm: u64,
    /// Of these, blocks that are replayed.
    replayed: u64,
}

impl Grid {
    fn new(launch: &Launch, cluster: [u32; 3], options: &Options, sms: u64, resident: u32) -> Grid {
        let volume = |sizes: [u32; 3]| sizes.iter().map(|&size| u64::from(size)).product::<u64>().max(1);
        let (launched, cluster) = (volume(launch.grid), volume(cluster));
        let blocks = options.blocks.unwrap_or(launched).max(1);
        let active = sms.min(blocks);
        let simulated = if cluster > 1 { cluster } else { SIMULATED.min(active) };
        let per_sm = blocks.div_ceil(active);
        let replayed = per_sm.min(2 * u64::from(resident.max(2)));
        Grid { launched, run: launched, blocks, cluster, active, simulated, per_sm, replayed }
    }

    /// The numbers of the replayed blocks, those that start together in one list, each with its SM. A cluster has one
    /// block on each of them.
    fn chosen(&self, launch: &Launch, shape: [u32; 3]) -> Vec<Vec<(usize, u64)>> {
        if self.cluster == 1 {
            let count = self.replayed * self.simulated;
            let apart = (self.active / self.simulated).max(1);
            let block =
                |at: u64| (at / self.simulated * self.active + at % self.simulated * apart) % self.launched;
            return (0..count).map(|at| vec![((at % self.simulated) as usize, block(at))]).collect();
        }
        let clusters: [u64; 3] =
            std::array::from_fn(|axis| u64::from(launch.grid[axis] / shape[axis].max(1)).max(1));
        let apart = (self.active / self.cluster).max(1);
        let total: u64 = clusters.iter().product();
        let member = |number: u64, rank: u64| {
            let first = [
                number % clusters[0],
                number / clusters[0] % clusters[1],
                number / clusters[0] / clusters[1],
            ];
            let shape = shape.map(u64::from);
            let inner = [rank % shape[0], rank / shape[0] % shape[1], rank / shape[0] / shape[1]];
            let place: [u64; 3] = std::array::from_fn(|axis| first[axis] * shape[axis] + inner[axis]);
            place[0] + u64::from(launch.grid[0]) * (place[1] + u64::from(launch.grid[1]) * place[2])
        };
        let one =
            |at: u64| (0..self.cluster).map(move |rank| (rank as usize, member(at * apart % total, rank)));
        (0..self.replayed).map(|at| one(at).collect()).collect()
    }
}

/// The occupancy of a kernel.
fn usage(kernel: &Kernel, limits: &Limits, launch: &Launch) -> Usage {
    let fixed = kernel.shared_size.saturating_sub(u64::from(limits.static_shared_start));
    let shared = fixed.saturating_add(u64::from(launch.dynamic_shared));
    let shared = u32::try_from(shared).unwrap_or(u32::MAX);
    Usage { registers: kernel.registers, shared, threads: launch.block.iter().product() }
}

/// The time of a launch.
///
/// # Errors
/// The chip is not known, or the launch fails.
pub fn estimate(cubin: &Cubin, launch: &Launch, options: &Options) -> Result<Estimate, Error> {
    let chip = u8::try_from(cubin.sm).ok().and_then(oriole_chip::Chip::of_number);
    let chip = chip.ok_or(Error::Chip(cubin.sm))?;
    let facts = || Some((Parameters::of(chip)?, Model::of(chip)?, chip.limits()?));
    let (parameters, model, limits) = facts().ok_or(Error::Chip(cubin.sm))?;
    let fault = |fault| Error::Run(oriole_simulate::Error { fault, pc: None, block: [0; 3], thread: None });
    let kernel = cubin.kernel(&launch.kernel).ok_or_else(|| fault(Fault::NoKernel(launch.kernel.clone())))?;
    let usage = usage(kernel, &limits, launch);
    let occupancy = limits.occupancy(chip.register_files(), usage);
    let shape = kernel.cluster_size.or(launch.cluster).unwrap_or([1; 3]);
    let mut grid = Grid::new(launch, shape, options, parameters.sms.cycles(), occupancy.blocks);
    let chosen = grid.chosen(launch, shape);
    let mut wanted: Vec<u64> = chosen.iter().flatten().map(|&(_, block)| block).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let run = options.sample.then(|| clusters(&chosen, launch, shape));
    let mut recorder = Recorder::new(wanted, run, options.room);
    let outcome = run_observed(cubin, launch, &mut recorder);
    if let Some(error) = outcome.error {
        return Err(Error::Run(error));
    }
    let Recorder { steps, trace, .. } = recorder;
    let steps: Vec<Option<Step>> =
        steps.iter().map(|step| Some(Step::new(step.as_ref()?, model, parameters))).collect();
    if options.sample {
        grid.run = (trace.blocks.len() as u64).max(1);
    }
    let totals = trace.totals();
    let starts = starts(&chosen, trace.blocks.iter().map(|block| block.block));
    let started: u64 = starts.iter().map(|start| start.blocks.len() as u64).sum();
    let warm = !options.cold && footprint(&totals, &grid) <= parameters.l2.value * 1024.0 * 1024.0;
    let mut whole = Chip::new(parameters, &trace);
    whole.active = grid.active as f64;
    whole.simulated = grid.simulated as f64;
    whole.warm = warm;
    whole.shared_weight = shared_weight(&totals, &grid);
    let held = occupancy.blocks.max(1);
    let shared = u64::from(held) * u64::from(usage.shared + limits.shared_reserved_per_block);
    let l1_bytes = (parameters.l1.cycles() * 1024).saturating_sub(shared).max(8 * 1024);
    let mut replay = Replay::new(whole, &steps, grid.simulated as usize, held, l1_bytes, starts);
    replay.run();
    let per_sm = started as f64 / grid.simulated as f64;
    let replayed = extrapolated(&replay, &grid, per_sm, held);
    // The operations at one address, of all blocks, are one after the other.
    let times = if totals.crowd_of_many { grid.blocks as f64 / grid.run as f64 } else { 1.0 };
    let cycles = replayed.max(totals.crowd as f64 * times * parameters.global_atomic.value);
    let busy = shares(&replay.busy(), replay.end);
    let bound = busy.first().filter(|part| part.1 >= BOUND).map_or(Bound::Latency, |part| part.0);
    let waited = std::array::from_fn(|at| replay.lines.iter().map(|line| line.waited[at]).sum());
    Ok(Estimate {
        cycles,
        microseconds: cycles / parameters.clock.value,
        product: parameters.product,
        bound,
        busy,
        blocks: grid.blocks,
        replayed: started,
        resident: occupancy.blocks,
        limiter: occupancy.limiter,
        sms: grid.active,
        warm,
        instructions: totals.instructions,
        traffic: replay.chip.traffic,
        lines: std::mem::take(&mut replay.lines),
        waited,
        forced: replay.forced,
    })
}

/// The time of all blocks of an SM, from that of the replayed ones. Those that follow take as long as the replayed ones
/// after the first that ran side by side; where there are no such, the time is in proportion.
fn extrapolated(replay: &Replay, grid: &Grid, per_sm: f64, held: u32) -> f64 {
    let (end, further) = (replay.end as f64, grid.per_sm as f64 - per_sm);
    if further <= 0.0 || per_sm < 1.0 {
        return end;
    }
    let first = u64::from(held) * grid.simulated;
    let last_of_first = replay.ends.get(first.saturating_sub(1) as usize);
    // No part does more in a cycle than it did.
    let busy = replay.busy();
    let busiest = [busy.issue, busy.double, busy.lsu, busy.l2, busy.dram].into_iter().max().unwrap_or(0);
    let least = busiest as f64 * grid.per_sm as f64 / per_sm;
    let time = match last_of_first {
        Some(&start) if per_sm >= 1.5 * f64::from(held) => {
            end + further * (end - start as f64) / (per_sm - f64::from(held))
        }
        _ => end * grid.per_sm as f64 / per_sm,
    };
    time.max(least)
}

/// The numbers of the clusters of blocks, ascending.
fn clusters(chosen: &[Vec<(usize, u64)>], launch: &Launch, shape: [u32; 3]) -> Vec<u64> {
    let [width, height, _] = launch.grid.map(u64::from);
    let sizes: [u64; 3] = std::array::from_fn(|axis| u64::from(shape[axis]).max(1));
    let number = |block: u64| {
        let place = [block % width, block / width % height, block / width / height];
        let [x, y, z]: [u64; 3] = std::array::from_fn(|axis| place[axis] / sizes[axis]);
        x + width / sizes[0] * (y + height / sizes[1] * z)
    };
    let mut found: Vec<u64> = chosen.iter().flatten().map(|&(_, block)| number(block)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The replayed blocks by their positions in the trace. A block that comes again is a repetition.
fn starts(chosen: &[Vec<(usize, u64)>], recorded: impl Iterator<Item = u64>) -> VecDeque<Start> {
    let positions: HashMap<u64, usize> = recorded.enumerate().map(|(at, block)| (block, at)).collect();
    let mut used: HashMap<u64, u64> = HashMap::new();
    let mut list = VecDeque::new();
    for together in chosen {
        let blocks: Option<Vec<(usize, usize)>> =
            together.iter().map(|&(sm, block)| Some((sm, *positions.get(&block)?))).collect();
        let (Some(blocks), Some(&(_, first))) = (blocks, together.first()) else { continue };
        let copy = used.entry(first).or_default();
        list.push_back(Start { blocks, copy: *copy });
        *copy += 1;
    }
    list
}

/// Bytes that the grid touches.
fn footprint(totals: &Totals, grid: &Grid) -> f64 {
    let own = totals.sectors - totals.shared_sectors;
    let times = (grid.blocks as f64 / grid.run as f64).max(1.0);
    (own as f64 * times + totals.shared_sectors as f64) * crate::coalesce::SECTOR as f64
}

/// The part of an SM in bringing a sector that several blocks touch.
fn shared_weight(totals: &Totals, grid: &Grid) -> f64 {
    let own = totals.sectors - totals.shared_sectors;
    let touches = totals.sectors_of_blocks.saturating_sub(own) as f64;
    let each = touches / totals.shared_sectors.max(1) as f64;
    1.0 / each.clamp(1.0, grid.active as f64)
}

/// The share of the time for which each part was busy, the busiest first.
fn shares(busy: &Busy, cycles: u64) -> Vec<(Bound, f64)> {
    let units = Unit::ALL.into_iter().map(|unit| (Bound::Unit(unit), busy.units[unit as usize]));
    let units = units.filter(|(bound, _)| !matches!(bound, Bound::Unit(Unit::LoadStore | Unit::Shared)));
    let parts = [
        (Bound::Issue, busy.issue),
        (Bound::Unit(Unit::Double), busy.double),
        (Bound::LoadStore, busy.lsu),
        (Bound::L2, busy.l2),
        (Bound::Memory, busy.dram),
        (Bound::Atomics, busy.address),
    ];
    let share = |(bound, cycles_of): (Bound, u64)| (bound, cycles_of as f64 / cycles.max(1) as f64);
    let mut shares: Vec<(Bound, f64)> = units.chain(parts).map(share).filter(|part| part.1 > 0.0).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}
