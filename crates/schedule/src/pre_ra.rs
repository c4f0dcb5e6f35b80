//! List scheduling of Ori before allocation (phase 97): within each block instructions are scheduled so that long
//! latencies overlap, in as few registers as make the function about as fast. Nothing moves between blocks.
//!
//! Preserved: reads after writes of each value, the order of conflicting memory accesses, of collective operations,
//! and of everything with side effects.
//!
//! The registers of a function are those of its block with the highest pressure, so they are weighed for the function
//! as a whole: its blocks are scheduled for some budgets, from the least known one upwards, and time is weighed
//! against registers.
//!
//! For each budget a schedule with few registers is followed, and instructions move ahead there as far as the budget
//! allows; a bottom-up schedule is compared with that. A predicate beyond the file counts as a general register, to
//! which it is spilled.
//!
//! Where that needs more registers than there are, time does not matter: every block is scheduled within the
//! available ones (in some kernels parts have their own register counts). In blocks that do not fit even so, value
//! computations may move across block barriers. An address that is computed before a barrier and used after it is
//! then computed where it is used.

use crate::between_products::MatrixBlock;
use crate::bounded::{Followed, Preference};
use crate::budget::Steps;
use crate::dense_ids::DenseIds;
use crate::graph::{Graph, Node, Sides};
use crate::post_ra::arrange;
use crate::region::{Counts, Region};
use crate::{Tables, between_products, bottom_up, occupancy, top_down};
use oriole_chip::{allocated, nameable};
use oriole_latency::{Class, Model, ResultPart, Slot};
use oriole_options::{OrderOptions, ScheduleMode};
use oriole_ori::{
    BlockId, Budget, Cfg, File, FlowGraph, Function, Grants, Instruction, Liveness, Loops, Opcode, Value,
};
use oriole_sass::Op;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Predicates live at once that need no spill.
const PREDICATES: u32 = 6;
/// Uniform registers live at once.
const UNIFORM: u32 = 48;

/// General registers that allocation reserves for the stack pointer and for room to assemble tuples.
pub const RESERVED: u32 = 5;

/// Time does not matter where more than 1/LACKING of the registers is missing.
const LACKING: u32 = 4;
/// With this many registers beyond those of a schedule, the scheduler was never short of registers.
const LOOSE: u32 = 4;
/// Free registers for gathering loads in batches.
const BATCH_BUDGET: u32 = 64;
/// Minimum cost of a predicate beyond the file, in cycles: it is moved to a register and back.
const SPILLED_PREDICATE: u32 = 2;
/// Registers between the first budgets that are tried.
const STEP: u32 = 4;
/// Cost of a register in thousandths of the time. It is tuned so that real kernels need about as many registers as
/// with ptxas.
const PRICE: u64 = 28;
/// Registers that allocation mostly needs besides those of values: the stack pointer, and one for an even count.
const BESIDE: u32 = 2;
/// Loads in flight for which a step of the budget is taken.
const LOADS: u32 = 4;
/// Further steps that are tried for less time.
const TRIED: u32 = 4;
/// The time of a block of threads is shared by all that an SM holds; it is counted in such parts.
const SHARES: u64 = 1 << 16;

/// A block with its known schedules.
struct Candidate {
    block: BlockId,
    /// Estimated executions per run of the function.
    weight: u64,
    /// Data that is independent of the budget.
    prepared: Rc<Prepared>,
    /// A schedule with few registers.
    low: Rc<Low>,
    /// Schedules that were made for some budgets: each may be the fastest within another budget.
    made: Vec<Choice>,
    /// The schedulers that may give another schedule for a larger budget.
    schedulers: SmallVec<[Scheduler; 3]>,
}

/// Data about the instructions of a block and its live-out values, shared by all schedulings of the function.
struct Prepared {
    region: Region,
    /// Lower bound of the cycles of any schedule.
    bound: u32,
    /// The program order.
    source: Choice,
    /// A schedule with few registers.
    low: Rc<Low>,
    /// The one of `low` and another such schedule that needs fewer registers, once computed.
    lower: OnceCell<Rc<Low>>,
    /// The fastest known schedule.
    quick: Choice,
    /// Loads in flight in it, once counted.
    loads: OnceCell<u32>,
}

/// A schedule with few registers, and schedules that follow it.
struct Low {
    choice: Choice,
    /// The schedule, to be followed.
    followed: OnceCell<Followed>,
    /// Results of schedulers for budgets.
    made: RefCell<Vec<Made>>,
}

/// Result of a scheduler for a budget.
struct Made {
    scheduler: Scheduler,
    budget: Counts,
    choice: Choice,
    /// A larger budget could give another schedule.
    limited: bool,
}

impl Low {
    fn new(choice: Choice) -> Rc<Low> {
        Rc::new(Low { choice, followed: OnceCell::new(), made: RefCell::default() })
    }

    /// The schedule for a budget, and whether a larger one could give another schedule.
    fn make(&self, region: &Region, scheduler: Scheduler, budget: Counts) -> (Choice, bool) {
        let is_same = |made: &&Made| made.scheduler == scheduler && made.budget == budget;
        if let Some(made) = self.made.borrow().iter().find(is_same) {
            return (made.choice.clone(), made.limited);
        }
        let follow = |preference| {
            let followed = self.followed.get_or_init(|| Followed::new(region, &self.choice.order));
            followed.schedule(region, budget, preference)
        };
        let (order, limited) = match scheduler {
            Scheduler::Longest => follow(Preference::Longest),
            Scheduler::First => follow(Preference::First),
            Scheduler::BottomUp => (bottom_up::order(region, budget), true),
        };
        let choice = Choice::new(region, order);
        let limited = limited && choice.peak[0] + LOOSE > budget[0];
        self.made.borrow_mut().push(Made { scheduler, budget, choice: choice.clone(), limited });
        (choice, limited)
    }
}

/// Data about the blocks of a function, kept for when the function, or one derived from it, is scheduled for another
/// register count: most blocks are the same then.
#[derive(Default)]
pub struct KnownBlocks {
    of: FxHashMap<BlockId, Vec<KnownBlock>>,
    /// The function that is scheduled next, if the caller shares it.
    next: Option<Rc<Function>>,
    /// Cycles of the last schedule, loops weighted.
    time: Option<u64>,
}

/// A block that was scheduled.
struct KnownBlock {
    sides: Sides,
    content: Content,
    live_out: Vec<Value>,
    prepared: Rc<Prepared>,
}

/// Content of a block before scheduling.
enum Content {
    /// The block of this function. Most functions are scheduled once, and none of their instructions is copied for
    /// it.
    Of(Rc<Function>),
    /// These instructions, and the files of their operands and of the live-out values.
    Own(Vec<Instruction>, Vec<File>),
}

impl Content {
    fn is(&self, function: &Function, block: BlockId, live_out: &[Value]) -> bool {
        let instructions = &function.block(block).instructions;
        let files = |function: &Function| files(function, instructions, live_out);
        match self {
            Content::Of(known) => {
                known.block(block).instructions == *instructions && files(known) == files(function)
            }
            Content::Own(known, known_files) => known == instructions && *known_files == files(function),
        }
    }
}

impl KnownBlocks {
    /// Cycles of the last schedule, loops weighted, if it is that of the list schedulers: blocks that multiply
    /// matrices may have another.
    pub fn time(&self) -> Option<u64> {
        self.time
    }

    /// Sets the function that is scheduled next. It is kept as long as the data about its blocks.
    pub fn start(&mut self, function: Rc<Function>) {
        self.next = Some(function);
    }

    /// The data about a block with these live-out values; computed if unknown.
    fn prepared(
        &mut self,
        function: &Function,
        block: BlockId,
        sides: Sides,
        live_out: &[Value],
        make: impl FnOnce() -> Rc<Prepared>,
    ) -> Rc<Prepared> {
        let is_same = |known: &&KnownBlock| {
            known.sides == sides && known.live_out == live_out && known.content.is(function, block, live_out)
        };
        let known = self.of.entry(block).or_default();
        if let Some(found) = known.iter().find(is_same) {
            return found.prepared.clone();
        }
        let content = match &self.next {
            Some(next) => Content::Of(next.clone()),
            None => {
                let instructions = function.block(block).instructions.clone();
                let files = files(function, &instructions, live_out);
                Content::Own(instructions, files)
            }
        };
        let (live_out, prepared) = (live_out.to_vec(), make());
        known.push(KnownBlock { sides, content, live_out, prepared: prepared.clone() });
        prepared
    }
}

/// The files of the operands and live-out values of a block: derived functions may have values of different files
/// under one id.
fn files(function: &Function, instructions: &[Instruction], live_out: &[Value]) -> Vec<File> {
    let mut files = Vec::new();
    instructions.iter().for_each(|i| i.for_each_use(|v| files.push(function.file(v))));
    files.extend(live_out.iter().map(|&v| function.file(v)));
    files
}

/// Kinds of schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheduler {
    /// The bounded one, which prefers the longest path.
    Longest,
    /// The bounded one, which prefers the followed schedule: where registers are short, instructions moved ahead take
    /// them away from others.
    First,
    BottomUp,
}

/// All of them. If the first one comes near the fastest known schedule, the others are skipped.
const SCHEDULERS: [Scheduler; 3] = [Scheduler::Longest, Scheduler::First, Scheduler::BottomUp];
/// Nearness: within 1/NEAR of the cycles.
const NEAR: u32 = 8;

/// A schedule and its properties.
#[derive(Clone)]
struct Choice {
    order: Rc<[u32]>,
    time: u32,
    peak: Counts,
}

impl Choice {
    fn new(region: &Region, order: Vec<u32>) -> Choice {
        let peak = region.pressure(&order);
        let mut choice = Choice { time: region.time(&order), peak, order: order.into() };
        choice.time += SPILLED_PREDICATE * choice.spilled();
        choice
    }

    /// Cycles without the cost of spilled predicates.
    fn cycles(&self) -> u32 {
        self.time - SPILLED_PREDICATE * self.spilled()
    }

    /// Predicates that take general registers.
    fn spilled(&self) -> u32 {
        self.peak[1].saturating_sub(PREDICATES)
    }

    /// General registers that it needs, those of spilled predicates included.
    fn registers(&self) -> u32 {
        self.peak[0] + self.spilled()
    }

    /// Budgets of schedules with this many general registers; of the other files what this schedule needs at least.
    fn budget(&self, general: u32) -> Counts {
        [general, self.peak[1].max(PREDICATES), self.peak[2].max(UNIFORM)]
    }

    /// True if it fits this many general and uniform registers.
    fn fits(&self, general: u32, uniform: u32) -> bool {
        self.registers() <= general && self.peak[2] <= uniform
    }
}

/// Schedules the instructions of every block. Returns the available registers for values, if the schedules need more.
pub fn order(
    function: &mut Function,
    tables: &Tables,
    options: &OrderOptions,
    known: Option<&mut KnownBlocks>,
) -> Option<Budget> {
    let mut blocks = Blocks::new(function, tables.latency, known);
    let budget = budget(function, blocks.graph.cfg(), tables, options);
    let mut candidates = blocks.candidates();
    lower_highest(&mut candidates, &mut blocks, tables, options);
    // Functions that multiply matrices are scheduled again for occupancy once their registers are known.
    let weighs_blocks = options.occupancy && !occupancy::registers_decide(function);
    let resident = |registers| match occupancy::blocks(function, tables, registers) {
        Some(blocks @ 1..) if weighs_blocks => blocks,
        _ => 1,
    };
    let mut chosen = match Steps::of(function, tables, options) {
        Some(steps) => fill(&mut candidates, &steps, &|candidate| budget.general[candidate.block]),
        None => choose(&mut candidates, options, &resident, &|_| u32::MAX),
    };
    let exceeds = |block: BlockId, choice: &Choice| choice.registers() > budget.general[block];
    let is_short = |candidates: &[Candidate], chosen: &[Choice]| {
        candidates.iter().zip(chosen).any(|(candidate, choice)| exceeds(candidate.block, choice))
    };
    if is_short(&candidates, &chosen) {
        let over = |candidate: &&mut Candidate| exceeds(candidate.block, &candidate.low.choice);
        for candidate in candidates.iter_mut().filter(over).filter(|_| options.across_barriers) {
            let open = blocks.candidate(candidate.block, Sides::Open);
            if open.low.choice.registers() < candidate.low.choice.registers() {
                *candidate = open;
            }
        }
        let limit = |candidate: &Candidate| budget.general[candidate.block];
        chosen = choose(&mut candidates, options, &resident, &limit);
    }
    let short = is_short(&candidates, &chosen);
    let cycles = candidates.iter().zip(&chosen).map(|(it, choice)| it.weight * u64::from(choice.cycles()));
    let mut time = Some(cycles.sum());
    if options.between_products && !short && between_products::has_matrix_blocks(function) {
        time = None;
        let needed = chosen.iter().map(Choice::registers).max().unwrap_or(0);
        let most = between_products::registers(function, tables, needed);
        for (candidate, choice) in candidates.iter().zip(&mut chosen) {
            let most = most.min(budget.general[candidate.block]);
            if let Some(order) = blocks.between_products(candidate, &choice.order, most) {
                choice.order = order.into();
            }
        }
    }
    if let Some(known) = &mut blocks.known {
        known.time = time;
        known.next = None;
    }
    for (candidate, choice) in candidates.iter().zip(chosen) {
        arrange(&mut function.block_mut(candidate.block).instructions, &choice.order);
    }
    short.then_some(budget)
}

/// Searches a schedule with fewer registers for the block with the highest pressure, since it determines the
/// registers of the function. Stops when the pressure allows full occupancy, or does not drop.
fn lower_highest(candidates: &mut [Candidate], blocks: &mut Blocks, tables: &Tables, options: &OrderOptions) {
    let limits = tables.limits;
    let each = limits.registers_per_sm / (limits.warps_per_sm * limits.warp_threads);
    let full = u32::from(nameable(each as u16)).saturating_sub(RESERVED);
    while let Some(highest) = candidates.iter_mut().max_by_key(|candidate| candidate.low.choice.registers()) {
        let known = highest.low.choice.registers();
        if known > full {
            highest.seek_lower();
            if options.across_barriers && blocks.has_barrier(highest.block) {
                let mut open = blocks.candidate(highest.block, Sides::Open);
                open.seek_lower();
                if open.low.choice.registers() < highest.low.choice.registers() {
                    *highest = open;
                }
            }
        }
        if highest.low.choice.registers() == known {
            return;
        }
    }
}

/// The registers that there are for values.
fn budget(function: &Function, cfg: &Cfg, tables: &Tables, options: &OrderOptions) -> Budget {
    let stated = nameable(function.register_limit.unwrap_or(tables.registers));
    let grants = function.register_limit.and_then(|_| Grants::new(function, cfg, stated));
    let most = nameable(tables.registers.min(options.limit.unwrap_or(tables.registers)));
    let granted = |block| grants.as_ref().map_or(stated, |grants| grants.throughout(function, block));
    let general = |block| u32::from(granted(block).min(most)).saturating_sub(RESERVED);
    Budget { general: function.block_ids().map(general).collect(), predicates: PREDICATES }
}

/// Selects a schedule for each block, within its limit of general registers if possible. `resident` gives the thread
/// blocks that an SM holds with a register count.
fn choose(
    candidates: &mut [Candidate],
    options: &OrderOptions,
    resident: &dyn Fn(u16) -> u32,
    limit: &dyn Fn(&Candidate) -> u32,
) -> Vec<Choice> {
    let limits = candidates.iter().map(limit);
    let budget = limits.clone().max().unwrap_or(0);
    // The minimum that all schedules need.
    let low = candidates.iter().map(|candidate| candidate.low.choice.registers());
    let least = low.zip(limits).map(|(low, limit)| low.min(limit)).max().unwrap_or(0);
    let (most, price) = match options.mode {
        ScheduleMode::Pressure => (least, PRICE),
        ScheduleMode::Latency => (budget, PRICE),
        ScheduleMode::Batches => (least.max(BATCH_BUDGET.min(budget)), 0),
    };
    let cost = |time: u64, more: u32| {
        let named = u16::try_from(least + more + BESIDE).unwrap_or(u8::MAX.into());
        let blocks = if price == 0 { 1 } else { resident(allocated(named)) };
        u128::from(time) * u128::from((1000 + price * u64::from(more)) * SHARES) / u128::from(blocks)
    };
    weigh(candidates, limit, [least, most], &cost)
}

/// Selects the fastest schedule of each block within the budget. Where a block needs more, or has too few loads in
/// flight, the budget of all is the next step; and where more registers save more time than the warps that they cost.
fn fill(candidates: &mut [Candidate], steps: &Steps, limit: &dyn Fn(&Candidate) -> u32) -> Vec<Choice> {
    let least = candidates.iter().map(|candidate| candidate.low.choice.registers()).max().unwrap_or(0);
    let needed = u16::try_from(least + BESIDE).map_or(u16::MAX, |named| allocated(named.min(u8::MAX.into())));
    let wanted: Vec<u32> = candidates.iter().map(|candidate| candidate.prepared.loads().min(LOADS)).collect();
    let weights: Vec<u64> = candidates.iter().map(|candidate| candidate.weight).collect();
    let quick: Vec<u32> = candidates.iter().map(|candidate| candidate.prepared.quick.time).collect();
    let mut within = |step: u16| {
        let general = u32::from(nameable(step)).saturating_sub(BESIDE);
        let chosen: Vec<Choice> = candidates
            .iter_mut()
            .map(|candidate| {
                let general = general.min(limit(candidate)).max(least);
                candidate.within(general)
            })
            .collect();
        let missing = candidates.iter().zip(&chosen).zip(&wanted).map(|((candidate, choice), &wanted)| {
            if wanted < 2 {
                0
            } else {
                wanted.saturating_sub(candidate.prepared.region.flight(&choice.order))
            }
        });
        let missing: u32 = missing.sum();
        (chosen, missing)
    };
    let mut step = steps.reached(needed.into());
    let (mut best, mut missing) = within(step);
    while missing > 0
        && let Some(next) = steps.after(step)
    {
        let (chosen, still) = within(next);
        if still >= missing {
            break;
        }
        (best, missing, step) = (chosen, still, next);
    }
    // Fewer warps hide less of the time that each takes: more registers are worth it where they save more of it.
    let cost = |step: u16, times: &mut dyn Iterator<Item = u32>| -> u128 {
        let time: u64 = weights.iter().zip(times).map(|(weight, time)| weight * u64::from(time)).sum();
        u128::from(time) * u128::from(step)
    };
    let mut least = cost(step, &mut best.iter().map(|choice| choice.time));
    for _ in 0..TRIED {
        let Some(next) = steps.after(step) else { break };
        if cost(next, &mut quick.iter().copied()) >= least {
            break;
        }
        let (chosen, _) = within(next);
        let now = cost(next, &mut chosen.iter().map(|choice| choice.time));
        if now < least {
            (best, least) = (chosen, now);
        }
        step = next;
    }
    best
}

/// Tries budgets from the least up to the most registers; returns the schedules of the cheapest one, by their time
/// and the registers beyond the least.
fn weigh(
    candidates: &mut [Candidate],
    limit: &dyn Fn(&Candidate) -> u32,
    [least, most]: [u32; 2],
    cost: &dyn Fn(u64, u32) -> u128,
) -> Vec<Choice> {
    let weights: Vec<u64> = candidates.iter().map(|candidate| candidate.weight).collect();
    let total = |times: &mut dyn Iterator<Item = u32>| -> u64 {
        weights.iter().zip(times).map(|(weight, time)| weight * u64::from(time)).sum()
    };
    let quickest = total(&mut candidates.iter().map(|candidate| candidate.prepared.quick.time));
    let mut best: Option<(u128, Vec<Choice>)> = None;
    let mut more = 0;
    loop {
        let budget = least + more;
        let of = |candidate: &Candidate| budget.min(limit(candidate));
        let chosen: Vec<Choice> =
            candidates.iter_mut().map(|candidate| candidate.within(of(candidate))).collect();
        let now = cost(total(&mut chosen.iter().map(|choice| choice.time)), more);
        if best.as_ref().is_none_or(|(known, _)| now < *known) {
            best = Some((now, chosen));
        }
        let quick = candidates.iter().all(|candidate| candidate.prepared.quick.registers() <= of(candidate));
        // Steps become wider: the ratio matters.
        more = (more + STEP.max((more / 2).next_multiple_of(STEP))).min(most - least);
        let done = quick || budget >= most;
        match best {
            Some((known, orders)) if done || cost(quickest, more) >= known => return orders,
            _ => {}
        }
    }
}

/// Context for creating candidates.
struct Blocks<'a> {
    function: &'a Function,
    known: Option<&'a mut KnownBlocks>,
    model: &'a Model,
    graph: Arc<FlowGraph>,
    liveness: Liveness,
    ids: DenseIds,
}

impl<'a> Blocks<'a> {
    fn new(function: &'a Function, model: &'a Model, known: Option<&'a mut KnownBlocks>) -> Blocks<'a> {
        let graph = function.graph();
        let liveness = Liveness::new(function, graph.cfg());
        Blocks { function, known, model, graph, liveness, ids: DenseIds::new(function.values.len()) }
    }

    fn candidates(&mut self) -> Vec<Candidate> {
        let blocks = self.graph.cfg().order().to_vec();
        blocks.into_iter().map(|block| self.candidate(block, Sides::Kept)).collect()
    }

    fn candidate(&mut self, block: BlockId, sides: Sides) -> Candidate {
        let prepared = self.prepared(block, sides);
        Candidate {
            block,
            weight: self.graph.loops().weight(block),
            low: prepared.low.clone(),
            prepared,
            made: Vec::new(),
            schedulers: SCHEDULERS.into(),
        }
    }

    /// The data about the block, computed if unknown.
    fn prepared(&mut self, block: BlockId, sides: Sides) -> Rc<Prepared> {
        let Blocks { function, known, model, liveness, ids, .. } = self;
        let (instructions, live_out) = (&function.block(block).instructions, liveness.live_out(block));
        let mut make = || {
            let latency = |from: &Instruction, to: &Instruction, node| latency(model, from, to, node);
            let graph = Graph::new(instructions, sides, ids, latency);
            Rc::new(Prepared::new(Region::new(model, function, instructions, live_out, graph, ids)))
        };
        match known {
            Some(known) => known.prepared(function, block, sides, live_out, make),
            None => make(),
        }
    }
}

impl Prepared {
    fn new(region: Region) -> Prepared {
        let source = Choice::new(&region, (0..region.len() as u32).collect());
        let low = Choice::new(&region, bottom_up::order(&region, [0, PREDICATES, UNIFORM]));
        let low = fewer(low, source.clone());
        let bound = region.least_time();
        let mut quick = source.clone();
        if quick.time > bound {
            let order = top_down::order(&region, low.budget(u32::MAX));
            quick = quicker(Choice::new(&region, order), quick);
        }
        Prepared {
            region,
            bound,
            source,
            low: Low::new(low),
            lower: OnceCell::new(),
            quick,
            loads: OnceCell::new(),
        }
    }

    /// Loads from global memory in flight at once where registers do not matter.
    fn loads(&self) -> u32 {
        *self.loads.get_or_init(|| self.region.flight(&self.quick.order))
    }

    /// The one with fewer registers of two schedules.
    fn lower(&self) -> &Rc<Low> {
        self.lower.get_or_init(|| {
            let order = top_down::order(&self.region, [0, PREDICATES, UNIFORM]);
            let other = Choice::new(&self.region, order);
            if other.registers() < self.low.choice.registers() { Low::new(other) } else { self.low.clone() }
        })
    }
}

impl Blocks<'_> {
    /// A schedule of a block that multiplies matrices, with loads and copies interleaved, within `most` general
    /// registers.
    fn between_products(&mut self, candidate: &Candidate, known: &[u32], most: u32) -> Option<Vec<u32>> {
        let Blocks { function, model, liveness, ids, .. } = self;
        let instructions = &function.block(candidate.block).instructions;
        let graph = between_products::graph(model, instructions, ids)?;
        let live_out = liveness.live_out(candidate.block);
        let region = Region::new(model, function, instructions, live_out, graph, ids);
        let registers = |order: &[u32]| Choice::new(&region, order.to_vec()).registers();
        let block = MatrixBlock::new(model, instructions, &region);
        block.order(known, most, |general| candidate.low.choice.budget(general), registers)
    }

    /// True if a block has a synchronization of the thread block between instructions.
    fn has_barrier(&self, block: BlockId) -> bool {
        let is_barrier = |i: &Instruction| i.opcode == Opcode::Sass(Op::BAR);
        self.function.block(block).instructions.iter().any(is_barrier)
    }
}

/// [`Loops::weight`], for callers outside of the stage.
pub fn weight(loops: &Loops, block: BlockId) -> u64 {
    loops.weight(block)
}

/// The one in fewer registers of two; of equals the second.
fn fewer(a: Choice, b: Choice) -> Choice {
    if a.registers() < b.registers() { a } else { b }
}

/// The faster of two; ties go to the second.
fn quicker(a: Choice, b: Choice) -> Choice {
    if a.time < b.time { a } else { b }
}

impl Candidate {
    /// Searches another schedule with few registers.
    fn seek_lower(&mut self) {
        self.low = self.prepared.lower().clone();
    }

    /// The fastest known schedule within this many general registers, those of spilled predicates included, or within
    /// its minimum.
    fn within(&mut self, general: u32) -> Choice {
        let Candidate { prepared, low, .. } = self;
        let (prepared, low) = (prepared.clone(), low.clone());
        let Prepared { region, bound, quick, .. } = &*prepared;
        let needed = low.choice.registers();
        // A block that lacks many registers spills: fewer live values at each point mean fewer spills.
        if needed > general.saturating_add(general / LACKING) {
            return low.choice.clone();
        }
        let general = general.max(needed);
        if quick.fits(general, u32::MAX) {
            return quick.clone();
        }
        let budget = low.choice.budget(general - low.choice.spilled());
        for scheduler in std::mem::take(&mut self.schedulers) {
            let time = self.best_within(general).time;
            let near = quick.time + quick.time / NEAR;
            let mut remains = time == *bound || scheduler != Scheduler::Longest && time <= near;
            if !remains {
                let (choice, limited) = low.make(region, scheduler, budget);
                self.made.push(choice);
                remains = limited;
            }
            if remains {
                self.schedulers.push(scheduler);
            }
        }
        self.best_within(general).clone()
    }

    /// The fastest known schedule within this many general registers.
    fn best_within(&self, general: u32) -> &Choice {
        let low = &self.low.choice;
        let uniform = low.peak[2].max(UNIFORM);
        let known = [low, &self.prepared.source].into_iter().chain(&self.made);
        let fits = known.filter(|choice| choice.fits(general, uniform));
        fits.min_by_key(|choice| choice.time).unwrap_or(low)
    }
}

/// Cycles between two instructions joined by an edge.
pub fn latency(model: &Model, from: &Instruction, to: &Instruction, node: Node) -> u32 {
    let (Opcode::Sass(op), Node::Read) = (from.opcode, node) else { return 1 };
    if model.is_variable(op, &from.mods) {
        return u32::from(model.estimate(op));
    }
    let producer = model.class(op, &from.mods);
    let consumer = match to.opcode {
        Opcode::Sass(op) => model.class(op, &to.mods),
        Opcode::Pseudo(_) => Class::Alu,
    };
    let file = from.destinations.first().map_or(File::R, |d| d.file);
    let (part, slot) = match file {
        File::R => (ResultPart::General, Slot::Operand),
        File::P
            if to.guard.is_some_and(|g| from.destinations.iter().any(|d| d.values.contains(&g.value))) =>
        {
            (ResultPart::Predicate, Slot::Guard)
        }
        File::P => (ResultPart::Predicate, Slot::Predicate),
        File::UR => (ResultPart::Uniform, Slot::Uniform),
        File::UP => (ResultPart::UniformPredicate, Slot::UniformPredicate),
        File::B => return 1,
    };
    model.raw(producer, part, consumer, slot).map_or(1, |d| u32::from(d.cycles))
}
