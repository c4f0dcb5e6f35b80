//! A launch that has run once, and is replayed as often as there are questions: as it was, or with changes. Facts of the
//! run for findings are read here too; no finding may enter.

use crate::estimate::{BOUND, Bound, Error, Estimate, extrapolated, footprint, shared_weight, shares, usage};
use crate::grid::{Grid, clusters, starts};
use crate::memory::Chip;
use crate::options::Options;
use crate::parameters::Parameters;
use crate::program::Step;
use crate::recorder::{Recorder, Totals, Trace};
use crate::remedy::Remedy;
use crate::replay::Replay;
use crate::shape::{Neighbours, Shape};
use oriole_chip::{Limits, Occupancy, Usage};
use oriole_cubin::Cubin;
use oriole_latency::{Model, Unit};
use oriole_simulate::{Fault, Launch, Meeting, run_observed};
use std::collections::BTreeMap;

/// A launch that has run, to be replayed as it was or with changes.
pub struct Recording {
    parameters: &'static Parameters,
    grid: Grid,
    chosen: Vec<Vec<(usize, u64)>>,
    steps: Vec<Option<Step>>,
    trace: Trace,
    shapes: Vec<Shape>,
    neighbours: BTreeMap<Neighbours, u64>,
    totals: Totals,
    warm: bool,
    /// The resources of the kernel.
    pub usage: Usage,
    /// Limits and registers of an SM.
    pub limits: Limits,
    /// The chip of the code.
    pub chip: oriole_chip::Chip,
    /// The occupancy.
    pub occupancy: Occupancy,
}

impl Recording {
    /// Runs a launch and records it.
    ///
    /// # Errors
    /// The chip is not known, or the launch fails.
    pub fn new(cubin: &Cubin, launch: &Launch, options: &Options) -> Result<Recording, Error> {
        Recording::until(cubin, launch, options, &|| false)
    }

    /// The same, unless `stop` becomes true during the run: then it fails with [`Fault::Stopped`].
    ///
    /// # Errors
    /// As [`Recording::new`], and the run was given up.
    pub fn until(
        cubin: &Cubin,
        launch: &Launch,
        options: &Options,
        stop: &dyn Fn() -> bool,
    ) -> Result<Recording, Error> {
        let chip = u8::try_from(cubin.sm).ok().and_then(oriole_chip::Chip::of_number);
        let chip = chip.ok_or(Error::Chip(cubin.sm))?;
        let facts = || Some((Parameters::of(chip)?, Model::of(chip)?, chip.limits()?));
        let (parameters, model, limits) = facts().ok_or(Error::Chip(cubin.sm))?;
        let fault =
            |fault| Error::Run(oriole_simulate::Error { fault, pc: None, block: [0; 3], thread: None });
        let kernel =
            cubin.kernel(&launch.kernel).ok_or_else(|| fault(Fault::NoKernel(launch.kernel.clone())))?;
        let usage = usage(kernel, &limits, launch);
        let occupancy = limits.occupancy(chip.register_files(), usage);
        let shape = kernel.cluster_size.or(launch.cluster).unwrap_or([1; 3]);
        let mut grid = Grid::new(launch, shape, options, parameters.sms.cycles(), occupancy.blocks);
        let chosen = grid.chosen(launch, shape);
        let mut wanted: Vec<u64> = chosen.iter().flatten().map(|&(_, block)| block).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let run = options.sample.then(|| clusters(&chosen, launch, shape));
        let mut recorder = Recorder::new(wanted, run, options.room, stop);
        let outcome = run_observed(cubin, launch, &mut recorder);
        if let Some(error) = outcome.error {
            return Err(Error::Run(error));
        }
        let Recorder { steps, trace, mut shapes, near, .. } = recorder;
        let steps: Vec<Option<Step>> =
            steps.iter().map(|step| Some(Step::new(step.as_ref()?, model, parameters))).collect();
        shapes.resize_with(steps.len(), Shape::default);
        if options.sample {
            grid.run = (trace.blocks.len() as u64).max(1);
        }
        let totals = trace.totals();
        let warm = !options.cold && footprint(&totals, &grid) <= parameters.l2.value * 1024.0 * 1024.0;
        let neighbours = near.found;
        Ok(Recording {
            parameters,
            grid,
            chosen,
            steps,
            trace,
            shapes,
            neighbours,
            totals,
            warm,
            usage,
            limits,
            chip,
            occupancy,
        })
    }

    /// The time as it was.
    pub fn estimate(&self) -> Estimate {
        self.with(&Remedy::default())
    }

    /// The time with changes.
    pub fn with(&self, remedy: &Remedy) -> Estimate {
        self.with_until(remedy, &|| false)
    }

    /// The same. When `stop` becomes true, and it must stay so, the replay ends, and the estimate is that of a part.
    pub fn with_until(&self, remedy: &Remedy, stop: &dyn Fn() -> bool) -> Estimate {
        let (parameters, grid, totals) = (self.parameters, &self.grid, &self.totals);
        let changed = |(index, step): (usize, &Option<Step>)| {
            Some(step.as_ref()?.changed(remedy.changes(index as u32), remedy.no_stalls))
        };
        let steps: Vec<Option<Step>> = self.steps.iter().enumerate().map(changed).collect();
        let starts = starts(&self.chosen, self.trace.blocks.iter().map(|block| block.block));
        let started: u64 = starts.iter().map(|start| start.blocks.len() as u64).sum();
        let mut whole = Chip::new(parameters, &self.trace);
        whole.active = grid.active as f64;
        whole.simulated = grid.simulated as f64;
        whole.warm = self.warm;
        whole.shared_weight = shared_weight(totals, grid);
        let held = remedy.resident.unwrap_or(self.occupancy.blocks).max(1);
        let block_shared = u64::from(self.usage.shared + self.limits.shared_reserved_per_block);
        let shared = u64::from(self.occupancy.blocks.max(1)) * block_shared;
        let l1_bytes = (parameters.l1.cycles() * 1024).saturating_sub(shared).max(8 * 1024);
        let mut replay = Replay::new(whole, &steps, grid.simulated as usize, held, l1_bytes, starts);
        replay.no_barriers = remedy.no_barriers;
        replay.run(stop);
        let per_sm = started as f64 / grid.simulated as f64;
        let replayed = extrapolated(&replay, grid, per_sm, held);
        // The operations at one address, of all blocks, are one after the other.
        let times = if totals.crowd_of_many { grid.blocks as f64 / grid.run as f64 } else { 1.0 };
        let crowd = if remedy.parts() { 0.0 } else { totals.crowd as f64 };
        let cycles = replayed.max(crowd * times * parameters.global_atomic.value);
        let busy = shares(&replay.busy(), replay.end);
        let bound = busy.first().filter(|part| part.1 >= BOUND).map_or(Bound::Latency, |part| part.0);
        let waited = std::array::from_fn(|at| replay.lines.iter().map(|line| line.waited[at]).sum());
        Estimate {
            cycles,
            microseconds: cycles / parameters.clock.value,
            product: parameters.product,
            bound,
            busy,
            blocks: grid.blocks,
            replayed: started,
            resident: held.min(self.occupancy.blocks.max(remedy.resident.unwrap_or(0))),
            limiter: self.occupancy.limiter,
            sms: grid.active,
            warm: self.warm,
            instructions: totals.instructions,
            traffic: replay.chip.traffic,
            lines: std::mem::take(&mut replay.lines),
            waited,
            forced: replay.forced,
        }
    }

    /// How each instruction accessed memory, by its index.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// Instructions that access neighbouring addresses, with how often they did.
    pub fn neighbours(&self) -> &BTreeMap<Neighbours, u64> {
        &self.neighbours
    }

    /// SMs of the chip.
    pub fn chip_sms(&self) -> u64 {
        self.parameters.sms.cycles()
    }

    /// Blocks that an SM runs in all, and warp instructions that were recorded.
    pub fn size(&self) -> (u64, usize) {
        let items = self.trace.blocks.iter().flat_map(|block| &block.warps).map(Vec::len).sum();
        (self.grid.per_sm, items)
    }

    /// Lanes of atomic operations at the busiest address of global memory, of the whole grid.
    pub fn crowd(&self) -> u64 {
        let times = if self.totals.crowd_of_many { self.grid.blocks / self.grid.run.max(1) } else { 1 };
        self.totals.crowd * times.max(1)
    }

    /// True if a unit for 64-bit floating-point numbers serves a whole SM.
    pub fn shares_double_unit(&self) -> bool {
        self.parameters.double.value > 0.0
    }

    /// True if the instruction is for that unit, or for the one of special functions.
    pub fn is_slow(&self, index: u32) -> (bool, bool) {
        let step = self.steps.get(index as usize).and_then(Option::as_ref);
        step.map_or((false, false), |step| (step.double > 0, step.units[Unit::Special as usize] > 2))
    }

    /// For each barrier instruction how unequal the warps of a block came to it: instructions of the warp with most of them
    /// since the barrier before, and of the average warp, added up.
    pub fn imbalance(&self) -> BTreeMap<u32, Imbalance> {
        let mut found: BTreeMap<u32, Imbalance> = BTreeMap::new();
        for block in &self.trace.blocks {
            let mut meetings: BTreeMap<Meeting, (u32, u64, u64, u64)> = BTreeMap::new();
            for items in &block.warps {
                let mut since = 0;
                for item in items {
                    since += 1;
                    let extra = self.trace.extras.get(item.extra as usize);
                    if let Some(meeting @ Meeting::Block { .. }) = extra.and_then(|extra| extra.arrives) {
                        let met = meetings.entry(meeting).or_insert((item.index, 0, 0, 0));
                        (met.1, met.2, met.3) = (met.1.max(since), met.2 + since, met.3 + 1);
                        since = 0;
                    }
                }
            }
            for (index, most, sum, warps) in meetings.into_values() {
                let of = found.entry(index).or_default();
                of.most += most as f64;
                of.average += sum as f64 / warps.max(1) as f64;
            }
        }
        found
    }
}

/// Instructions of warps before a barrier.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Imbalance {
    /// Those of the warp with most of them.
    pub most: f64,
    /// Those of the average warp.
    pub average: f64,
}

/// The time of a launch.
///
/// # Errors
/// The chip is not known, or the launch fails.
pub fn estimate(cubin: &Cubin, launch: &Launch, options: &Options) -> Result<Estimate, Error> {
    Ok(Recording::new(cubin, launch, options)?.estimate())
}
