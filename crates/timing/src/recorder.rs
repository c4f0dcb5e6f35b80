//! The observer of a run: for some blocks all that the model replays, for all blocks what bounds the whole grid (bytes
//! touched, operations at one address). It keeps shapes of accesses, not addresses of lanes. No time may enter.

use crate::coalesce::{SECTOR, crowds, lines, passes, sectors, wavefronts};
use crate::shape::{Cost, Near, Shape, least_sectors, least_wavefronts};
use oriole_sass::{Mod, Op};
use oriole_simulate::{Access, AccessKind, Described, Event, Meeting, Memory, Observer};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// No entry of a side table.
pub(crate) const NONE: u32 = u32::MAX;
/// Warps of a block at most, for the numbers of warps in the grid.
const WARPS: u64 = 32;

/// An instruction that a warp issued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Index of the instruction.
    pub index: u32,
    /// Lanes at this place.
    pub lanes: u32,
    /// Lanes in which it acted.
    pub active: u32,
    /// First request, and how many follow each other.
    pub request: u32,
    pub requests: u8,
    /// Index of its meetings and signals.
    pub extra: u32,
}

/// An access of a warp to one memory.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub memory: Memory,
    pub kind: AccessKind,
    /// Passes through the unit of loads and stores, and the least.
    pub wavefronts: u32,
    pub least_wavefronts: u32,
    /// An atomic operation that is a swap with the old value as its result.
    pub swaps: bool,
    /// Sectors of global and local memory, in `Trace::sectors`.
    pub sectors: Range<usize>,
    /// Sectors that would hold the bytes.
    pub least_sectors: u32,
    /// Place of the first lane in its sector, in accesses of a lane.
    pub phase: u32,
    /// Addresses of an atomic operation on global memory, in `Trace::crowds`.
    pub crowds: Range<usize>,
}

/// Meetings and signals of an instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    pub arrives: Option<Meeting>,
    pub awaits: Option<Meeting>,
    /// Bytes that an asynchronous engine moves.
    pub moved: u64,
    /// Mbarriers that are signalled.
    pub signals: Vec<u64>,
    /// Mbarriers that were found complete, and how often they had been signalled by then.
    pub passed: Vec<(u64, u32)>,
}

/// The trace of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockTrace {
    pub block: u64,
    pub cluster: u64,
    pub warps: Vec<Vec<Item>>,
}

/// The blocks that touched a sector.
#[derive(Clone, Copy, Debug)]
struct Touch {
    last: u64,
    many: bool,
}

/// Figures of the whole grid.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Warp instructions.
    pub instructions: u64,
    /// Different sectors.
    pub sectors: u64,
    /// Of these, sectors that several blocks touched.
    pub shared_sectors: u64,
    /// Different sectors of each block, added up.
    pub sectors_of_blocks: u64,
    /// Lanes of atomic operations at the address with most of them.
    pub crowd: u64,
    /// Several blocks came to that address.
    pub crowd_of_many: bool,
}

/// All that was recorded.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub blocks: Vec<BlockTrace>,
    pub requests: Vec<Request>,
    pub extras: Vec<Extra>,
    pub sectors: Vec<u64>,
    /// Addresses of atomic operations with the number of lanes at each.
    pub crowds: Vec<(u64, u32)>,
    /// Arrivals at each meeting, by block or cluster.
    pub arrivals: HashMap<(u64, Meeting), u32>,
    touched: HashMap<u64, Touch>,
    /// Lanes at each address of atomic operations of the whole grid.
    operations: BTreeMap<u64, (u64, Touch)>,
    /// Signals of each mbarrier so far, by cluster and address.
    signals: HashMap<(u64, u64), u32>,
    blocks_of_sectors: u64,
    instructions: u64,
}

impl Trace {
    /// True if several blocks touched the sector.
    pub(crate) fn is_shared(&self, sector: u64) -> bool {
        self.touched.get(&sector).is_some_and(|touch| touch.many)
    }

    /// True if atomic operations of several blocks came to the address.
    pub(crate) fn is_contended(&self, address: u64) -> bool {
        self.operations.get(&address).is_some_and(|operations| operations.1.many)
    }

    /// Figures of the whole grid.
    pub(crate) fn totals(&self) -> Totals {
        let busiest = self.operations.values().max_by_key(|operations| operations.0);
        Totals {
            instructions: self.instructions,
            sectors: self.touched.len() as u64,
            shared_sectors: self.touched.values().filter(|touch| touch.many).count() as u64,
            sectors_of_blocks: self.blocks_of_sectors,
            crowd: busiest.map_or(0, |operations| operations.0),
            crowd_of_many: busiest.is_some_and(|operations| operations.1.many),
        }
    }
}

/// The observer.
pub(crate) struct Recorder<'a> {
    pub steps: Vec<Option<Described>>,
    pub trace: Trace,
    /// Blocks to record, ascending.
    wanted: Vec<u64>,
    /// Clusters to run, ascending; all of them if not given.
    run: Option<Vec<u64>>,
    /// Positions of recorded blocks.
    places: HashMap<u64, usize>,
    /// How each instruction accessed memory.
    pub shapes: Vec<Shape>,
    pub near: Near,
    /// Instructions of recorded blocks that may still be recorded; no further block begins when it is used up.
    room: u64,
    /// True when the run is to end early.
    stop: &'a dyn Fn() -> bool,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(
        wanted: Vec<u64>,
        run: Option<Vec<u64>>,
        room: u64,
        stop: &'a dyn Fn() -> bool,
    ) -> Recorder<'a> {
        Recorder {
            steps: Vec::new(),
            trace: Trace::default(),
            wanted,
            run,
            places: HashMap::new(),
            shapes: Vec::new(),
            near: Near::default(),
            room,
            stop,
        }
    }

    /// The position of a block that is recorded.
    fn place(&mut self, event: &Event) -> Option<usize> {
        if let Some(&place) = self.places.get(&event.block) {
            return Some(place);
        }
        // Blocks of a cluster that has begun belong to it.
        let begun = self.trace.blocks.last().is_some_and(|block| block.cluster == event.cluster);
        if self.wanted.binary_search(&event.block).is_err() || (self.room == 0 && !begun) {
            return None;
        }
        let place = self.trace.blocks.len();
        self.places.insert(event.block, place);
        let (block, cluster) = (event.block, event.cluster);
        self.trace.blocks.push(BlockTrace { block, cluster, warps: Vec::new() });
        Some(place)
    }

    fn touch(&mut self, block: u64, found: &[u64]) {
        for &sector in found {
            let touch = self.trace.touched.entry(sector).or_insert_with(|| {
                self.trace.blocks_of_sectors += 1;
                Touch { last: block, many: false }
            });
            if touch.last != block {
                self.trace.blocks_of_sectors += 1;
                *touch = Touch { last: block, many: true };
            }
        }
    }

    fn operate(&mut self, block: u64, found: &[(u64, u32)]) {
        for &(address, lanes) in found {
            let start = (0, Touch { last: block, many: false });
            let (count, touch) = self.trace.operations.entry(address).or_insert(start);
            *count += u64::from(lanes);
            touch.many |= touch.last != block;
            touch.last = block;
        }
    }

    fn request(&mut self, event: &Event, access: &Access, recorded: bool) -> Option<Request> {
        let (memory, kind) = (access.memory, access.kind);
        if memory == Memory::Shared {
            let wavefronts = match kind {
                AccessKind::Atomic => self.shared_passes(event.index, access),
                _ => wavefronts(access),
            };
            let swaps = self.has(event.index, Mod::CAS);
            if !recorded {
                return None;
            }
            let least = least_wavefronts(access);
            let cost = Cost { wavefronts, least_wavefronts: least, ..Cost::default() };
            self.shape(event.index, access, &cost);
            return Some(Request {
                memory,
                kind,
                wavefronts,
                least_wavefronts: least,
                swaps,
                sectors: 0..0,
                least_sectors: 0,
                phase: 0,
                crowds: 0..0,
            });
        }
        let found = sectors(access, event.block * WARPS + u64::from(event.warp));
        self.touch(event.block, &found);
        let crowds = if kind == AccessKind::Atomic { crowds(access) } else { Vec::new() };
        self.operate(event.block, &crowds);
        if !recorded {
            return None;
        }
        let wavefronts = lines(&found).max(1);
        let least = least_sectors(access).min(found.len().max(1) as u32);
        let cost = Cost { sectors: found.len() as u32, least_sectors: least, ..Cost::default() };
        self.shape(event.index, access, &cost);
        self.near.add(event.block, event.warp, event.index, access);
        let phase = Recorder::phase(access);
        let (first, first_crowd) = (self.trace.sectors.len(), self.trace.crowds.len());
        self.trace.sectors.extend(found);
        self.trace.crowds.extend(crowds);
        let (sectors, crowds) = (first..self.trace.sectors.len(), first_crowd..self.trace.crowds.len());
        Some(Request {
            memory,
            kind,
            wavefronts,
            least_wavefronts: wavefronts,
            swaps: false,
            sectors,
            least_sectors: least,
            phase,
            crowds,
        })
    }

    /// The place of the first lane in its sector, in accesses of a lane.
    fn phase(access: &Access) -> u32 {
        let first = access.addresses.get(access.lanes.trailing_zeros() as usize).copied().unwrap_or(0);
        (first % SECTOR) as u32 / access.bytes.max(1)
    }

    fn shape(&mut self, index: u32, access: &Access, cost: &Cost) {
        let index = index as usize;
        if self.shapes.len() <= index {
            self.shapes.resize_with(index + 1, Shape::default);
        }
        self.shapes[index].add(access, cost);
    }

    /// Passes of an atomic operation on shared memory. Lanes at one address go one after the other, but where a swap only
    /// tests: there those that come second have lost. Lanes that are only counted go together, and so do those at an mbarrier.
    fn shared_passes(&self, index: u32, access: &Access) -> u32 {
        let step = self.steps.get(index as usize).and_then(Option::as_ref);
        let mbarrier = step.is_some_and(|step| matches!(step.instruction.op, Op::SYNCS | Op::ARRIVES));
        let together = mbarrier || self.has(index, Mod::CAST) || self.has(index, Mod::POPC);
        if together { wavefronts(access) } else { passes(access) }
    }

    /// True if an instruction has a modifier.
    fn has(&self, index: u32, modifier: Mod) -> bool {
        let step = self.steps.get(index as usize).and_then(Option::as_ref);
        step.is_some_and(|step| step.instruction.mods.has(modifier))
    }

    fn extra(&mut self, event: &Event, recorded: bool) -> u32 {
        for &address in event.signals {
            *self.trace.signals.entry((event.cluster, address)).or_default() += 1;
        }
        let meets = event.arrives.is_some() || event.awaits.is_some();
        let nothing = !meets && event.moved == 0 && event.signals.is_empty() && event.passed.is_empty();
        if nothing || !recorded {
            return NONE;
        }
        if let Some(meeting) = event.arrives {
            let place = if matches!(meeting, Meeting::Block { .. }) { event.block } else { event.cluster };
            *self.trace.arrivals.entry((place, meeting)).or_default() += 1;
        }
        let count = |address: &u64| self.trace.signals.get(&(event.cluster, *address)).copied().unwrap_or(0);
        let mut passed: Vec<(u64, u32)> = event.passed.iter().map(|at| (*at, count(at))).collect();
        passed.dedup();
        self.trace.extras.push(Extra {
            arrives: event.arrives,
            awaits: event.awaits,
            moved: event.moved,
            signals: event.signals.to_vec(),
            passed,
        });
        self.trace.extras.len() as u32 - 1
    }
}

impl Observer for Recorder<'_> {
    fn goes_on(&self) -> bool {
        !(self.stop)()
    }

    fn code(&mut self, steps: Vec<Option<Described>>) {
        self.steps = steps;
    }

    fn runs(&self, cluster: u64) -> bool {
        self.run.as_ref().is_none_or(|run| self.room > 0 && run.binary_search(&cluster).is_ok())
    }

    fn wants(&self, _block: u64) -> bool {
        true
    }

    fn issued(&mut self, event: &Event) {
        self.trace.instructions += 1;
        let place = self.place(event);
        let request = self.trace.requests.len() as u32;
        // The copy of a thread from global to shared memory is one request: the global one.
        let copies = self.steps.get(event.index as usize).and_then(Option::as_ref);
        let copies = copies.is_some_and(|step| step.instruction.op == Op::LDGSTS);
        for access in event.accesses.iter().take(if copies { 1 } else { usize::MAX }) {
            if let Some(request) = self.request(event, access, place.is_some()) {
                self.trace.requests.push(request);
            }
        }
        let extra = self.extra(event, place.is_some());
        let Some(place) = place else { return };
        self.room = self.room.saturating_sub(1);
        let requests = (self.trace.requests.len() as u32 - request) as u8;
        let warps = &mut self.trace.blocks[place].warps;
        let warp = event.warp as usize;
        if warps.len() <= warp {
            warps.resize_with(warp + 1, Vec::new);
        }
        let (index, lanes, active) = (event.index, event.lanes, event.active);
        warps[warp].push(Item { index, lanes, active, request, requests, extra });
    }
}
