//! The way of an access: the unit of loads and stores of an SM, its L1, and the SM's share of L2 and of device memory. Each
//! is a server that takes one request after the other; how long a request keeps it busy is its bandwidth.
//!
//! Shared by all simulated SMs: addresses of atomic operations in L2. No instruction may be known here.

use crate::cache::Cache;
use crate::coalesce::{LINE, SECTOR};
use crate::parameters::Parameters;
use crate::recorder::{Request, Trace};
use crate::remedy::{Change, Changes};
use oriole_simulate::{AccessKind, Memory};
use std::collections::{HashMap, HashSet};

/// Cycles of work that may wait before the unit of loads and stores. Guessed: a few instructions of each quarter.
const LSU_DEPTH: f64 = 32.0;
/// Cycles of work that may wait before L2, before device memory and at an address of atomic operations, until the unit
/// of loads and stores takes nothing more. Guessed.
const L2_DEPTH: f64 = 400.0;
const DRAM_DEPTH: f64 = 1200.0;
const ADDRESS_DEPTH: f64 = 2000.0;

/// Sectors of a line.
const SECTORS_OF_LINE: u32 = (LINE / SECTOR) as u32;
/// Words of four bytes in a sector.
const WORDS: u32 = (SECTOR / 4) as u32;

/// Something that serves one request after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    /// When it has done all that it was given.
    pub free: f64,
    /// Cycles for which it was busy.
    pub busy: f64,
}

impl Server {
    /// Serves a request that comes at a time and takes so long; returns when it begins.
    pub(crate) fn serve(&mut self, at: f64, cost: f64) -> f64 {
        let start = self.free.max(at);
        self.free = start + cost;
        self.busy += cost;
        start
    }
}

/// Where the data of an access came from, the slowest of its parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    Shared,
    L1,
    L2,
    Dram,
    Atomic,
}

/// When an access is through.
pub(crate) struct Through {
    /// Its operands have been read.
    pub read: u64,
    /// Its result is there.
    pub done: u64,
    pub level: Level,
}

/// Counts of accesses.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Traffic {
    /// Passes through the units of loads and stores.
    pub wavefronts: u64,
    /// Sectors that L1 had, and those that it had not.
    pub l1_hits: u64,
    /// Sectors that came from L2 or went to it.
    pub l2_sectors: u64,
    /// Sectors that came from device memory or went to it.
    pub dram_sectors: u64,
    /// Lanes of atomic operations on global memory.
    pub atomics: u64,
}

/// The state that all SMs share.
pub(crate) struct Chip<'a> {
    pub parameters: &'a Parameters,
    pub trace: &'a Trace,
    /// SMs that are busy at a time, in the whole grid.
    pub active: f64,
    /// SMs that are simulated.
    pub simulated: f64,
    /// Data is in L2 when the kernel begins.
    pub warm: bool,
    /// The part of an SM in bringing a sector that several blocks touch.
    pub shared_weight: f64,
    /// Sectors that were touched, and those that were written.
    seen: HashSet<u64>,
    written: HashSet<u64>,
    /// Sectors of atomic operations.
    addresses: HashMap<u64, Server>,
    pub traffic: Traffic,
    /// Cycles of the sector that was busy with atomic operations for the longest time.
    pub busiest_address: f64,
    /// When the last access is through.
    pub end: f64,
}

impl<'a> Chip<'a> {
    pub(crate) fn new(parameters: &'a Parameters, trace: &'a Trace) -> Chip<'a> {
        Chip {
            parameters,
            trace,
            active: 1.0,
            simulated: 1.0,
            warm: true,
            shared_weight: 1.0,
            seen: HashSet::new(),
            written: HashSet::new(),
            addresses: HashMap::new(),
            traffic: Traffic::default(),
            busiest_address: 0.0,
            end: 0.0,
        }
    }

    /// Bytes of L2 that an SM gets in a cycle.
    fn l2_share(&self) -> f64 {
        (self.parameters.l2_rate.value / self.active).min(self.parameters.port.value)
    }

    /// Bytes of device memory that an SM gets in a cycle.
    fn dram_share(&self) -> f64 {
        (self.parameters.dram_rate() / self.active).min(self.parameters.port.value)
    }
}

/// The memory path of an SM.
pub(crate) struct Path {
    pub lsu: Server,
    pub l2: Server,
    pub dram: Server,
    /// The SM's share of the slices of L2 that do atomic operations.
    pub slices: Server,
    cache: Cache,
}

impl Path {
    /// A path with the size of its L1 in bytes.
    pub(crate) fn new(l1_bytes: u64) -> Path {
        let server = Server::default();
        Path { lsu: server, l2: server, dram: server, slices: server, cache: Cache::new(l1_bytes) }
    }

    /// When the unit of loads and stores takes the next instruction.
    pub(crate) fn accepts(&self) -> u64 {
        (self.lsu.free - LSU_DEPTH).max(0.0) as u64
    }

    /// Passes through the unit of loads and stores that are no accesses.
    pub(crate) fn pass(&mut self, chip: &mut Chip, at: u64, wavefronts: u32) -> f64 {
        chip.traffic.wavefronts += u64::from(wavefronts);
        self.lsu.serve(at as f64, f64::from(wavefronts) * chip.parameters.wavefront.value)
    }

    /// An access. `copy` numbers repetitions of a recorded block, whose own data is elsewhere each time.
    pub(crate) fn access(
        &mut self,
        chip: &mut Chip,
        at: u64,
        request: &Request,
        copy: u64,
        (bypasses, changes): (bool, Changes),
    ) -> Through {
        let parameters = chip.parameters;
        if request.memory == Memory::Shared {
            let atomic = request.kind == AccessKind::Atomic;
            let cost = match (atomic, request.swaps) {
                (true, true) => parameters.shared_swap.value,
                (true, false) => parameters.shared_atomic.value,
                (false, _) => parameters.wavefront.value,
            };
            let apart = atomic && changes.has(Change::Apart);
            let wavefronts = if apart || changes.has(Change::ConflictFree) {
                request.least_wavefronts
            } else {
                request.wavefronts
            };
            chip.traffic.wavefronts += u64::from(wavefronts);
            let passes = f64::from(wavefronts) * cost.max(parameters.wavefront.value);
            let start = self.lsu.serve(at as f64, passes);
            let extra = if atomic { 2.0 * parameters.shared_latency.value } else { 0.0 };
            let done = start + passes + parameters.shared_latency.value + extra;
            chip.end = chip.end.max(start + passes);
            return Through { read: start as u64, done: done as u64, level: Level::Shared };
        }
        let (sectors, wavefronts) = taken(chip.trace, request, changes);
        let start = self.pass(chip, at, wavefronts);
        let passed = start + f64::from(wavefronts) * parameters.wavefront.value;
        let (mut done, mut level) = (passed + parameters.l1_latency.value, Level::L1);
        let caches = request.kind == AccessKind::Load && !bypasses;
        for &sector in sectors {
            let sector = if chip.trace.is_shared(sector) { sector } else { sector ^ copy << 40 };
            // Local memory is written back only when its line goes.
            let local = request.memory == Memory::Local && request.kind == AccessKind::Store;
            if self.cache.access(sector, caches || local) && caches || local {
                chip.traffic.l1_hits += 1;
                continue;
            }
            let (from, of) = self.fetch(chip, passed, sector, request.kind);
            done = done.max(from);
            level = level.max(of);
        }
        if request.kind == AccessKind::Atomic {
            done = self.operate(chip, passed, request, copy, changes.has(Change::Apart));
            level = Level::Atomic;
        }
        self.hold_back();
        chip.end = chip.end.max(self.l2.free).max(self.dram.free);
        Through { read: start as u64, done: done as u64, level }
    }

    /// A sector beyond L1: when it is there, and from where.
    fn fetch(&mut self, chip: &mut Chip, at: f64, sector: u64, kind: AccessKind) -> (f64, Level) {
        let parameters = chip.parameters;
        let bytes = SECTOR as f64;
        chip.traffic.l2_sectors += 1;
        let start = self.l2.serve(at, bytes / chip.l2_share());
        // A written sector is written back some time, whether it was read before or not; a whole one is not read first.
        let first = match kind {
            AccessKind::Load => chip.seen.insert(sector),
            AccessKind::Store | AccessKind::Atomic => {
                chip.seen.insert(sector);
                chip.written.insert(sector)
            }
        };
        if chip.warm || !first {
            return (start + parameters.l2_latency.value, Level::L2);
        }
        chip.traffic.dram_sectors += 1;
        let weight = if chip.trace.is_shared(sector) { chip.shared_weight } else { 1.0 };
        let start = self.dram.serve(start, bytes * weight / chip.dram_share());
        (start + parameters.dram_latency.value, Level::Dram)
    }

    /// An atomic operation in L2. A sector takes one lane of each of its addresses at a time, among those of all SMs, and
    /// a slice of L2 takes one sector at a time.
    fn operate(&mut self, chip: &mut Chip, at: f64, request: &Request, copy: u64, apart: bool) -> f64 {
        let parameters = chip.parameters;
        let (mut latest, mut total) = (at, 0.0);
        let crowds = &chip.trace.crowds[request.crowds.clone()];
        for of_sector in crowds.chunk_by(|a, b| a.0 / SECTOR == b.0 / SECTOR) {
            let lanes = of_sector.iter().map(|crowd| crowd.1).max().unwrap_or(0);
            if apart {
                // As many sectors as hold a word of each lane, one lane at an address.
                total += f64::from(lanes.div_ceil(WORDS)) * parameters.global_atomic.value;
                continue;
            }
            let contended = of_sector.iter().any(|crowd| chip.trace.is_contended(crowd.0));
            // The SMs that are not simulated do the same in the same time.
            let others = if contended { chip.active / chip.simulated } else { 1.0 };
            let sector = of_sector[0].0 / SECTOR;
            let sector = if contended { sector } else { sector ^ copy << 40 };
            let cost = f64::from(lanes) * parameters.global_atomic.value;
            let server = chip.addresses.entry(sector).or_default();
            latest = latest.max(server.serve(at, cost * others) + cost * others);
            let busy = server.busy;
            chip.busiest_address = chip.busiest_address.max(busy);
            total += cost;
        }
        chip.traffic.atomics += crowds.iter().map(|crowd| u64::from(crowd.1)).sum::<u64>();
        let cost = total * chip.active / parameters.slices.value;
        latest = latest.max(self.slices.serve(at, cost) + cost);
        chip.end = chip.end.max(latest);
        self.lsu.free = self.lsu.free.max(latest - ADDRESS_DEPTH);
        latest + parameters.atomic_latency.value
    }

    /// Bytes that an asynchronous engine moves: when they are there.
    pub(crate) fn move_bytes(&mut self, chip: &mut Chip, at: u64, bytes: u64) -> u64 {
        let parameters = chip.parameters;
        chip.traffic.l2_sectors += bytes / SECTOR;
        let start = self.l2.serve(at as f64, bytes as f64 / chip.l2_share());
        let mut done = self.l2.free + parameters.l2_latency.value;
        if !chip.warm {
            chip.traffic.dram_sectors += bytes / SECTOR;
            self.dram.serve(start, bytes as f64 / chip.dram_share());
            done = self.dram.free + parameters.dram_latency.value;
        }
        chip.end = chip.end.max(done);
        done as u64
    }

    /// Nothing more is taken while too much waits further on.
    fn hold_back(&mut self) {
        self.lsu.free = self.lsu.free.max(self.l2.free - L2_DEPTH).max(self.dram.free - DRAM_DEPTH);
    }
}

/// The sectors that an access takes, and its passes through the unit of loads and stores. If it is to take the fewest, they
/// are others for each place in a sector, as loops that go through whole sectors come to all of them.
fn taken<'a>(trace: &'a Trace, request: &Request, changes: Changes) -> (&'a [u64], u32) {
    let all = &trace.sectors[request.sectors.clone()];
    let least = request.least_sectors as usize;
    if !changes.has(Change::Coalesced) || least == 0 || least >= all.len() {
        return (all, request.wavefronts);
    }
    let chunk = request.phase as usize % (all.len() / least);
    let some = &all[chunk * least..(chunk + 1) * least];
    (some, (least as u32).div_ceil(SECTORS_OF_LINE))
}
