//! From a launch to the time of its grid: the functional run of all blocks, the choice of blocks that are replayed, the
//! effects of the other SMs on those that are replayed, and the time of the whole grid.

use crate::grid::Grid;
use crate::memory::Traffic;
use crate::reason::{Line, REASONS};
use crate::recorder::Totals;
use crate::replay::{Busy, Replay};
use oriole_chip::{Limiter, Limits, Usage};
use oriole_cubin::read::Kernel;
use oriole_latency::Unit;
use oriole_simulate::Launch;

/// Share of the time for which a part must be busy to be called the bound.
pub(crate) const BOUND: f64 = 0.6;

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

/// The occupancy of a kernel.
pub(crate) fn usage(kernel: &Kernel, limits: &Limits, launch: &Launch) -> Usage {
    let fixed = kernel.shared_size.saturating_sub(u64::from(limits.static_shared_start));
    let shared = fixed.saturating_add(u64::from(launch.dynamic_shared));
    let shared = u32::try_from(shared).unwrap_or(u32::MAX);
    Usage { registers: kernel.registers, shared, threads: launch.block.iter().product() }
}

/// The time of all blocks of an SM, from that of the replayed ones. Those that follow take as long as the replayed ones
/// after the first that ran side by side; where there are no such, the time is in proportion.
pub(crate) fn extrapolated(replay: &Replay, grid: &Grid, per_sm: f64, held: u32) -> f64 {
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

/// Bytes that the grid touches.
pub(crate) fn footprint(totals: &Totals, grid: &Grid) -> f64 {
    let own = totals.sectors - totals.shared_sectors;
    let times = (grid.blocks as f64 / grid.run as f64).max(1.0);
    (own as f64 * times + totals.shared_sectors as f64) * crate::coalesce::SECTOR as f64
}

/// The part of an SM in bringing a sector that several blocks touch.
pub(crate) fn shared_weight(totals: &Totals, grid: &Grid) -> f64 {
    let own = totals.sectors - totals.shared_sectors;
    let touches = totals.sectors_of_blocks.saturating_sub(own) as f64;
    let each = touches / totals.shared_sectors.max(1) as f64;
    1.0 / each.clamp(1.0, grid.active as f64)
}

/// The share of the time for which each part was busy, the busiest first.
pub(crate) fn shares(busy: &Busy, cycles: u64) -> Vec<(Bound, f64)> {
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
