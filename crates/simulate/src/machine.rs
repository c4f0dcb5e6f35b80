//! Running a launch: clusters one after the other, the warps of a cluster interleaved in a fixed order.

use crate::arguments::{Arguments, Kept, place_arguments};
use crate::block::Block;
use crate::cluster::{Cluster, meet};
use crate::condition::Conditions;
use crate::conflict::Conflict;
use crate::constants::{CODE_BASE, Setup, fill, named, place_variables, relocated_code};
use crate::execute::bulk::first_block;
use crate::execute::control::outside;
use crate::execute::driver::{self, FREE_UNIFORM, RETURN_ADDRESS};
use crate::execute::observe::Watched;
use crate::execute::tensor_memory::prepare_for_pairs;
use crate::execute::{Context, LaunchContext, Next, execute, guarded};
use crate::launch::{Error, Fault, Hazard, HazardKind, Launch, Outcome};
use crate::launch_limits::{cluster_shape, fits, local_bytes};
use crate::lint::chip_of;
use crate::memory::Global;
use crate::observer::{Log, Observer, described};
use crate::partings::{acts_together, asks_who_is_there};
use crate::program::Program;
use crate::timing::{Timing, advance};
use crate::transfers::{Transfers, follow, is_asynchronous};
use crate::warp::{Wait, Warp};
use oriole_chip::nameable;
use oriole_cubin::Cubin;
use oriole_cubin::read::Kernel;
use oriole_latency::Model;
use oriole_machine_model::tensor_memory::TensorMemory;
use oriole_machine_model::texture::Opaque;
use oriole_sass::{Mod, Op, RegisterFile};
use std::cell::Cell;
use std::collections::BTreeSet;

/// Estimated cycles of a driver function.
const DRIVER_CYCLES: u64 = 500;

/// Warp instructions between two questions whether an observed run goes on.
const BETWEEN_QUESTIONS: u64 = 1024;

/// Runs a kernel of a cubin. Faults are in the outcome, with all buffers at that moment.
pub fn run(cubin: &Cubin, launch: &Launch) -> Outcome {
    run_with(cubin, launch, None)
}

/// Runs a kernel of a cubin as [`run`] does, and shows an observer each instruction.
pub fn run_observed(cubin: &Cubin, launch: &Launch, observer: &mut dyn Observer) -> Outcome {
    run_with(cubin, launch, Some(observer))
}

fn run_with<'a>(cubin: &'a Cubin, launch: &'a Launch, observer: Option<&'a mut dyn Observer>) -> Outcome {
    match Machine::new(cubin, launch) {
        Ok(mut machine) => {
            if let Some(observer) = observer {
                observer.code(described(&machine.program));
                machine.observer = Some(observer);
            }
            let error = machine.run_grid().err();
            machine.finish(error)
        }
        Err(fault) => {
            let error = Error { fault, pc: None, block: [0; 3], thread: None };
            Outcome { error: Some(error), ..Outcome::default() }
        }
    }
}

/// Hazards that have been recorded: both places, the kind, the register.
type Seen = BTreeSet<(u32, u32, HazardKind, u8)>;

struct Machine<'a> {
    cubin: &'a Cubin,
    launch: &'a Launch,
    kernel: &'a Kernel,
    program: Program,
    model: &'static Model,
    launch_context: LaunchContext,
    global: Global,
    /// Data to return to the launch, in order.
    kept: Vec<Kept>,
    /// Names of the module's variables in global memory, with address and size.
    variables: Vec<(String, u64, u32)>,
    shared_size: u32,
    local_size: u32,
    instructions: u64,
    cycles: u64,
    hazards: Vec<Hazard>,
    seen: Seen,
    observer: Option<&'a mut dyn Observer>,
}

impl<'a> Machine<'a> {
    fn new(cubin: &'a Cubin, launch: &'a Launch) -> Result<Machine<'a>, Fault> {
        let chip = chip_of(cubin.sm, cubin.accelerated).ok_or(Fault::Chip(cubin.sm))?;
        let layout = chip.constant_bank().ok_or(Fault::Chip(cubin.sm))?;
        let limits = chip.limits().ok_or(Fault::Chip(cubin.sm))?;
        let kernel = cubin.kernel(&launch.kernel).ok_or_else(|| Fault::NoKernel(launch.kernel.clone()))?;
        let shared_size = fits(chip, limits, launch, kernel)?;
        if launch.arguments.len() != kernel.parameters.len() {
            let (given, wanted) = (launch.arguments.len(), kernel.parameters.len());
            return Err(Fault::Launch(format!("{given} arguments for {wanted} parameters")));
        }
        let mut global = Global::default();
        let variables = place_variables(chip.words(), cubin, kernel, &mut global)?;
        let bank_end = kernel.parameter_base.max(layout.parameters).checked_add(kernel.parameter_size);
        if bank_end.is_none_or(|end| end > crate::constants::BANK_BYTES) {
            return Err(Fault::Launch(format!(
                "{} bytes of parameters at {:#x} do not fit into a constant bank",
                kernel.parameter_size, kernel.parameter_base
            )));
        }
        let Arguments { parameters, kept, handles } = place_arguments(launch, kernel, &mut global)?;
        let model =
            Model::of(chip).ok_or_else(|| Fault::Launch(format!("no latencies are known for {chip}")))?;
        let program = Program::decode(chip, model, &relocated_code(chip.words(), cubin, kernel, &variables));
        let local_size = local_bytes(kernel, &program)?;
        let cluster = cluster_shape(launch, kernel)?;
        let setup = Setup { launch, cluster, parameters: &parameters, stack_pointer: local_size };
        let mut banks = fill(cubin, kernel, layout, &setup, &variables);
        banks.bind(cubin, kernel, &launch.bindings, &handles, &mut global);
        banks.describe(cubin, layout, &mut global);
        Ok(Machine {
            cubin,
            launch,
            kernel,
            program,
            model,
            launch_context: LaunchContext {
                shape: chip.words(),
                banks,
                block: launch.block,
                cluster,
                clusters: std::array::from_fn(|axis| launch.grid[axis] / cluster[axis]),
                perturb: launch.options.perturb,
                matrix_unit: chip.matrix_unit(),
                driver_keeps_from_32: chip.driver_keeps_from_32(),
            },
            variables: named(cubin, &variables),
            global,
            kept,
            shared_size,
            local_size,
            instructions: 0,
            cycles: 0,
            hazards: Vec::new(),
            seen: BTreeSet::new(),
            observer: None,
        })
    }

    fn finish(mut self, error: Option<Error>) -> Outcome {
        let variables = self.variables.iter().filter_map(|(name, address, size)| {
            Some((name.clone(), self.global.slice(*address, *size).ok()?.to_vec()))
        });
        let variables = variables.collect();
        let take = |&kept: &Kept| match kept {
            Kept::Range(at) => std::mem::take(&mut self.global.ranges[at].bytes),
            Kept::Object(at) => match &mut self.global.objects[at] {
                Opaque::Texture(texture) | Opaque::Surface(texture) => std::mem::take(&mut texture.bytes),
                Opaque::Sampler(_) => Vec::new(),
            },
        };
        let mut buffers: Vec<Vec<u8>> = self.kept.iter().map(take).collect();
        let extra = buffers.split_off(buffers.len().saturating_sub(self.launch.options.extra.len()));
        Outcome {
            buffers,
            extra,
            variables,
            instructions: self.instructions,
            cycles: self.cycles,
            hazards: self.hazards,
            error,
        }
    }

    fn run_grid(&mut self) -> Result<(), Error> {
        let mut waiting = 0..self.launch_context.clusters.iter().map(|&count| u64::from(count)).product();
        while let Some(number) = waiting.next() {
            if self.observer.as_ref().is_some_and(|observer| !observer.runs(number)) {
                continue;
            }
            self.run_cluster(number, &mut waiting)?;
        }
        Ok(())
    }

    fn block(&self, index: [u32; 3], rank: u32) -> Running {
        let threads: u32 = self.launch.block.iter().product();
        let warps = (0..threads.div_ceil(32))
            .map(|number| {
                let lanes = (threads - number * 32).min(32);
                Warp::new(
                    number,
                    if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 },
                    self.kernel.registers,
                )
            })
            .collect::<Vec<_>>();
        let timing = warps.iter().map(|_| Timing::new(self.launch.options.late_results)).collect();
        let block = Block {
            index,
            rank,
            local: vec![Vec::new(); warps.len() * 32],
            local_size: self.local_size,
            barriers: Default::default(),
            arrival: None,
            warps,
        };
        Running { timing, block, schedulers: [0; 4] }
    }

    /// Runs the blocks of a cluster interleaved.
    fn run_cluster(&mut self, number: u64, waiting: &mut std::ops::Range<u64>) -> Result<(), Error> {
        let shape = self.launch_context.cluster;
        let first = first_block(&self.launch_context, number);
        let mut running: Vec<Running> = (0..shape.iter().product())
            .map(|rank| {
                let inner = [rank % shape[0], rank / shape[0] % shape[1], rank / shape[0] / shape[1]];
                self.block(std::array::from_fn(|axis| first[axis] + inner[axis]), rank)
            })
            .collect();
        let mut cluster = Cluster {
            shared: vec![vec![0; self.shared_size as usize]; running.len()],
            tensor: vec![TensorMemory::default(); running.len()],
            meetings: 0,
            events: 0,
            transfers: Transfers::new(self.has_copies(), running.len(), running[0].block.warps.len()),
            waiting: waiting.clone(),
            log: self.observer.is_some().then(Log::default),
        };
        if self.takes_columns_of_pairs() {
            let blocks = cluster.shared.iter_mut().enumerate();
            blocks.for_each(|(rank, shared)| prepare_for_pairs(rank, shared));
        }
        loop {
            // The warp with the earliest time goes first; of equals the lowest index.
            let next = running.iter().enumerate().filter_map(|(at, one)| {
                let (cycle, warp) = one.next()?;
                Some((cycle, at, warp))
            });
            let Some((_, at, warp)) = next.min() else {
                if meet(&mut cluster, &mut running) {
                    continue;
                }
                let stuck = running.iter().find(|one| one.block.warps.iter().any(|warp| warp.live != 0));
                let Some(stuck) = stuck else { break };
                return Err(self.deadlock(&stuck.block));
            };
            let one = &mut running[at];
            let slot = &mut one.schedulers[warp % 4];
            let issue = one.block.warps[warp].cycle.max(*slot);
            one.block.warps[warp].cycle = issue;
            *slot = issue + 1;
            self.step(one, &mut cluster, warp)?;
            if one.block.warps[warp].polls.is_long()
                && running.iter().all(|one| one.block.only_waits(&cluster))
                && !meet(&mut cluster, &mut running)
            {
                return Err(self.deadlock(&running[at].block));
            }
        }
        let kept = cluster.tensor.iter().enumerate().find_map(|(rank, memory)| Some((rank, memory.kept()?)));
        if let Some((rank, (first, columns))) = kept {
            return Err(self.columns_kept(&running[rank].block, first, columns));
        }
        *waiting = cluster.waiting;
        let warps = running.iter().flat_map(|one| &one.block.warps);
        self.cycles += warps.map(|warp| warp.cycle).max().unwrap_or(0);
        Ok(())
    }

    /// True if blocks take columns of tensor memory in pairs.
    fn takes_columns_of_pairs(&self) -> bool {
        let mut steps = self.program.steps.iter().flatten();
        steps.any(|step| step.instruction.op == Op::UTCATOMSWS && step.instruction.mods.has(Mod::_2CTA))
    }

    /// True if rules of copies and of asynchronous MMAs on shared memory are to be checked.
    fn has_copies(&self) -> bool {
        let mut steps = self.program.steps.iter().flatten();
        self.launch.options.check_hazards && steps.any(|step| is_asynchronous(step.instruction.op))
    }

    /// Takes over the hazards of copies.
    fn note_transfers(&mut self, cluster: &mut Cluster, pc: u32) {
        for (race, other) in cluster.transfers.found.drain(..) {
            let kind = HazardKind::from(race);
            let other = self.program.shape.address(other);
            if self.seen.insert((pc, other, kind, 0)) {
                self.hazards.push(Hazard {
                    kernel: self.kernel.name.clone(),
                    pc,
                    other,
                    kind,
                    file: RegisterFile::General,
                    register: 0,
                    distance: 0,
                    needed: 0,
                });
            }
        }
    }

    /// No thread can continue: reports the place of the first one of a block.
    fn deadlock(&self, block: &Block) -> Error {
        let stuck = block.warps.iter().find(|warp| warp.live != 0);
        let shape = self.program.shape;
        let pc =
            stuck.and_then(|warp| warp.groups.first()).map(|group| shape.address(group.pc.saturating_sub(1)));
        let thread = stuck.map(|warp| warp.number * 32 + warp.live.trailing_zeros());
        Error { fault: Fault::Deadlock, pc, block: block.index, thread }
    }

    /// A block has exited with allocated columns of tensor memory: the first one, and their number.
    fn columns_kept(&self, block: &Block, first: u32, columns: u32) -> Error {
        let text = format!(
            "{columns} columns of tensor memory from column {first} on are not given back at the end"
        );
        Error { fault: Fault::TensorMemory(text), pc: None, block: block.index, thread: None }
    }

    /// Issues one instruction of a warp.
    fn step(&mut self, running: &mut Running, cluster: &mut Cluster, at: usize) -> Result<(), Error> {
        let Running { block, timing, .. } = running;
        let timing = &mut timing[at];
        let warp = &mut block.warps[at];
        let Some(current) = warp.choose() else { return Ok(()) };
        let group = warp.groups[current];
        if let Some(number) = outside(group.pc) {
            return self.step_outside(running, cluster, at, group.lanes, number as usize);
        }
        let address = self.program.shape.address(group.pc);
        let place = |fault: Fault, lane: Option<u32>, index: [u32; 3]| Error {
            fault,
            pc: Some(address),
            block: index,
            thread: Some(at as u32 * 32 + lane.unwrap_or(group.lanes.trailing_zeros())),
        };
        if self.instructions >= self.launch.options.step_limit {
            return Err(place(Fault::StepLimit, None, block.index));
        }
        if self.instructions.is_multiple_of(BETWEEN_QUESTIONS)
            && self.observer.as_ref().is_some_and(|observer| !observer.goes_on())
        {
            return Err(place(Fault::Stopped, None, block.index));
        }
        let step = match self.program.steps.get(group.pc as usize) {
            None => return Err(place(Fault::RunAway, None, block.index)),
            Some(Err(error)) => return Err(place(Fault::Decode(*error), None, block.index)),
            Some(Ok(step)) => step,
        };
        let count = u32::from(nameable(warp.registers.min(u32::from(u8::MAX)) as u16));
        if let Some(register) = step.beyond(count) {
            return Err(place(Fault::NoRegister { register, count }, None, block.index));
        }
        self.instructions += 1;
        if let Some(late) = &mut timing.late {
            late.arrive(warp, self.model, step);
        }
        let active = guarded(warp, step.instruction.guard, group.lanes);
        if self.launch.options.check_hazards {
            let model = self.model;
            let mut add = reporter(&mut self.hazards, &mut self.seen, &self.kernel.name, address);
            let conditions = Conditions { reached: group.lanes, acts: active };
            timing.tracker.issue(model, step, address, conditions, &mut add);
            timing.follow_uniform(step, group.lanes, |register| {
                let kind = HazardKind::UniformDivergent;
                add(Conflict { other: address, kind, register, distance: 0, needed: 0 });
            });
            if active != 0 && asks_who_is_there(&step.instruction) {
                warp.partings.settle(group.lanes);
            }
            let together = active != 0 && acts_together(step.instruction.op);
            if let Some(parted) = warp.partings.missing(group.lanes, warp.live).filter(|_| together) {
                let (kind, register) = (HazardKind::LanesApart, (RegisterFile::Barrier, 0));
                let other = self.program.shape.address(parted);
                add(Conflict { other, kind, register, distance: 0, needed: 0 });
            }
        }
        advance(warp, timing, step);
        let before = timing.late.as_ref().map(|late| late.before(warp, step));
        cluster.note(block, at, &step.instruction, active);
        if active != 0 {
            follow(&mut cluster.transfers, &step.instruction, (block.rank, at));
        }
        let mut context = Context {
            instruction: &step.instruction,
            pc: group.pc,
            active,
            group: group.lanes,
            warp_index: at,
            block,
            cluster,
            global: &mut self.global,
            launch_context: &self.launch_context,
            fault_lane: None,
            asked: Cell::default(),
        };
        let observer = self.observer.as_deref_mut();
        let watched = observer.and_then(|observer| Watched::begin(observer, &context));
        let next = execute(&mut context);
        if let Some(watched) = watched {
            watched.end(&mut context);
        }
        if step.instruction.op == Op::BRA && active != 0 {
            timing.tracker.jump(self.model, step.instruction.control.stall);
        }
        if let (Some(late), Some(before)) = (&mut timing.late, before) {
            late.hold_back(&mut context.block.warps[at], step, active, before);
        }
        match next {
            Ok(Next::Done) => {}
            Ok(Next::Fall) => {
                let warp = &mut block.warps[at];
                warp.groups[current].pc += 1;
            }
            Err(fault) => {
                let lane = context.fault_lane;
                let index = context.block.index;
                return Err(place(fault, lane, index));
            }
        }
        self.note_transfers(cluster, address);
        Ok(())
    }

    /// Executes a function that the file does not define, by the index of its symbol, in a group of a warp.
    fn step_outside(
        &mut self,
        running: &mut Running,
        cluster: &mut Cluster,
        at: usize,
        lanes: u32,
        number: usize,
    ) -> Result<(), Error> {
        let Running { block, timing, .. } = running;
        let timing = &mut timing[at];
        let (warp, index) = (&mut block.warps[at], block.index);
        if let Some(late) = &mut timing.late {
            late.settle(warp);
        }
        let caller = self.caller(warp, lanes.trailing_zeros() as usize);
        if self.launch.options.check_hazards {
            let (name, pc) = (&self.kernel.name, caller.unwrap_or(0));
            timing.tracker.leave(lanes, reporter(&mut self.hazards, &mut self.seen, name, pc));
        }
        timing.writers[usize::from(FREE_UNIFORM.start)..usize::from(FREE_UNIFORM.end)].fill(lanes);
        timing.predicate_writers.fill(lanes);
        warp.cycle += DRIVER_CYCLES;
        let instruction = driver::reading();
        let mut context = Context {
            instruction: &instruction,
            pc: warp.groups[warp.current].pc,
            active: lanes,
            group: lanes,
            warp_index: at,
            block,
            cluster,
            global: &mut self.global,
            launch_context: &self.launch_context,
            fault_lane: None,
            asked: Cell::default(),
        };
        let symbol = self.cubin.symbols.get(number).filter(|symbol| symbol.section == 0);
        let done = match symbol {
            Some(symbol) => driver::execute(&mut context, &symbol.name),
            None => Err(Fault::RunAway),
        };
        done.map_err(|fault| {
            let lane = context.fault_lane.unwrap_or(lanes.trailing_zeros());
            Error { fault, pc: caller, block: index, thread: Some(at as u32 * 32 + lane) }
        })
    }

    /// The offset of the call that a lane returns from, if there is such a place.
    fn caller(&self, warp: &Warp, lane: usize) -> Option<u32> {
        let [low, high] =
            [RETURN_ADDRESS, RETURN_ADDRESS + 1].map(|register| u64::from(warp.read(register)[lane]));
        let offset = (low | high << 32).checked_sub(CODE_BASE)?;
        let next = self.program.shape.beginning_at(i64::try_from(offset).ok()?)?;
        let index = next.checked_sub(1).filter(|&index| self.program.get(index as usize).is_some())?;
        Some(self.program.shape.address(index))
    }
}

/// Records conflicts at an offset as hazards, each once.
fn reporter<'a>(
    hazards: &'a mut Vec<Hazard>,
    seen: &'a mut Seen,
    kernel: &'a str,
    pc: u32,
) -> impl FnMut(Conflict) + 'a {
    move |Conflict { other, kind, register: (file, register), distance, needed }| {
        if seen.insert((pc, other, kind, register)) {
            let kernel = kernel.to_owned();
            hazards.push(Hazard { kernel, pc, other, kind, file, register, distance, needed });
        }
    }
}

/// A running block, with the time of its warps. They share four schedulers; each issues one instruction a cycle.
struct Running {
    block: Block,
    timing: Vec<Timing>,
    schedulers: [u64; 4],
}

impl Running {
    /// The ready warp with the earliest time, and that time.
    fn next(&self) -> Option<(u64, usize)> {
        let ready = |warp: &Warp| warp.groups.iter().any(|group| group.wait == Wait::Ready);
        let warps = self.block.warps.iter().enumerate().filter(|(_, warp)| ready(warp));
        warps.map(|(at, warp)| (warp.cycle, at)).min()
    }
}

impl AsRef<Block> for Running {
    fn as_ref(&self) -> &Block {
        &self.block
    }
}

impl AsMut<Block> for Running {
    fn as_mut(&mut self) -> &mut Block {
        &mut self.block
    }
}
