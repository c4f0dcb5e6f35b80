//! The stages at both ends of the passes: from a resolved body to Ori, and from legal Ori to words.

use crate::phases::{ORI_GROUPS, span};
use crate::run::run;
use crate::{Allocated, Context, Failure, Group, LinkedFunction, Profile};
use oriole_diagnostics::Code;
use oriole_hir::{Body, Statement, VariableKind};
use oriole_legalize::library::LibraryFunction;
use oriole_legalize::routine::Routine;
use oriole_lower::LowerError;
use oriole_optimize::passes::rematerialize;
use oriole_options::{AllocateOptions, Optimization, OrderOptions};
use oriole_ori::{Assignment, BlockId, Function, Instruction, MachineFunction};
use oriole_ptx::Space;
use oriole_regalloc::AllocateError;
use oriole_schedule::{KnownBlocks, Steps, Throughput};
use std::rc::Rc;

/// Tries to schedule a function for a number of registers, each time for fewer, by the number that the
/// allocation lacked.
const TRIES: usize = 3;

/// Tries to let an SM hold more blocks where no matrices are multiplied and warps do not wait for each other: the gain is
/// smaller.
const TRIES_WITHOUT_BARRIERS: usize = 2;

/// The most additional instructions, in permille, that one more block on each SM may cost.
const MOST_GROWTH: usize = 30;

/// The most additional instructions where instructions are issued without a pause, as far as is known.
const MOST_GROWTH_OF_ISSUE: usize = 20;

/// The most registers fewer from one try to the next for a function that needs the frame.
const MOST_FEWER: u32 = 4;
const LEAST_FEWER: u32 = 2;

/// More blocks, in permille, that make up for a permille more instructions: added instructions wait for less,
/// but take issue slots too.
const BLOCKS_BEHIND_GROWTH: u64 = 6;

/// Raw Ori of a body: what lowering gives, before any phase.
///
/// # Errors
/// An instruction that cannot be compiled yet.
pub fn raw(body: &Body, context: &Context) -> Result<Function, Failure> {
    let environment =
        oriole_lower::Environment { chip: context.target.chip, options: context.settings.lower };
    oriole_lower::lower(body, &environment).map_err(Failure::Refused)
}

/// Lowers a body and runs phases 0 to 13.
///
/// # Errors
/// An instruction that cannot be compiled yet, or a broken function.
pub fn lower(body: &Body, context: &Context) -> Result<Function, Failure> {
    run(Group::Bridged, raw(body, context)?, context)
}

/// Schedules and allocates: phases 97 to 105. `cap` is asked for the most registers that the directives of a kernel leave a
/// thread, if the kernel changes their number and cannot keep to it.
///
/// # Errors
/// A function that cannot be allocated within its register budget.
pub fn allocate(
    function: Function,
    cap: impl FnOnce() -> Option<u16>,
    context: &Context,
) -> Result<Allocated, Failure> {
    (context.check)();
    if !oriole_ori::changes_registers(&function) {
        return allocate_kept(function, context).map_err(not_allocated);
    }
    let error = match allocate_kept(function.clone(), context) {
        Err(error @ AllocateError::Exceeded { .. }) => error,
        other => return other.map_err(not_allocated),
    };
    // As in ptxas, a kernel that needs more registers than its own requests leave it keeps those that it starts with.
    let Some((mut function, first)) = oriole_ori::without_grants(&function) else {
        return Err(not_allocated(error));
    };
    function.register_limit = cap();
    let mut allocated = allocate_kept(function, context).map_err(not_allocated)?;
    allocated.assignment.dropped_grants = Some(first);
    Ok(allocated)
}

/// Schedules and allocates a function with the requests for registers that it has.
fn allocate_kept(function: Function, context: &Context) -> Result<Allocated, AllocateError> {
    let mut options = context.settings.order;
    if oriole_ori::changes_registers(&function) {
        // Its own counts are kept, whatever an option says, as the allocator keeps them.
        options.limit = None;
    }
    if options.reorder
        && !options.early
        && let Some(unordered) = allocate_in_turn(&function, context)
    {
        return Ok(unordered);
    }
    let known = &mut KnownBlocks::default();
    if !options.reorder || !options.between_products || !oriole_schedule::has_matrix_blocks(&function) {
        return allocate_as(function, &options, (known, false), context);
    }
    let between = allocate_as(function.clone(), &options, (known, true), context)?;
    if between.assignment.spill_bytes == 0 {
        return Ok(between);
    }
    let options = OrderOptions { between_products: false, ..options };
    let beside = allocate_as(function, &options, (known, true), context)?;
    Ok(if frame_accesses(&between) < frame_accesses(&beside) { between } else { beside })
}

/// Allocates a function as it is, if it does not need the frame so.
fn allocate_in_turn(function: &Function, context: &Context) -> Option<Allocated> {
    let options = AllocateOptions { in_turn: true, ..context.settings.allocate };
    let allocated = allocate_with(function.clone(), None, &options, context).ok()?;
    (allocated.assignment.spill_bytes == 0).then_some(allocated)
}

/// True if a value has four words: allocation may then need more registers than the schedule.
fn has_quads(function: &Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|i| i.destinations.iter().any(|destination| destination.values.len() >= 4))
}

/// Schedules and allocates in one way. Facts about blocks are kept for scheduling `again` in another way.
fn allocate_as(
    mut function: Function,
    options: &OrderOptions,
    (known, again): (&mut KnownBlocks, bool),
    context: &Context,
) -> Result<Allocated, AllocateError> {
    if !options.reorder {
        return allocate_ordered(function, context);
    }
    let weighs = options.occupancy && options.again;
    let asks = options.budgeted && function.states_registers && !oriole_schedule::registers_decide(&function);
    let counts_blocks = weighs && !asks && oriole_schedule::counts_blocks(&function);
    let registers_decide = counts_blocks && oriole_schedule::registers_decide(&function);
    // It may be scheduled for fewer registers then.
    let steps = Steps::of(&function, &context.target.schedule(), options)
        .filter(|_| options.again && has_quads(&function));
    let again = again || counts_blocks || steps.is_some();
    let unordered = again.then(|| Rc::new(function.clone()));
    if let Some(unordered) = &unordered {
        known.start(unordered.clone());
    }
    let fits = order(&mut function, options, again.then_some(&mut *known), context);
    if fits && !counts_blocks {
        let first = allocate_ordered(function, context)?;
        let missed = steps.as_ref().and_then(|steps| steps.missed(first.assignment.general_registers));
        let (Some(step), Some(unordered), 0) = (missed, unordered, first.assignment.spill_bytes) else {
            return Ok(first);
        };
        // Quads left holes in the registers: a step was missed by a few.
        let tables = context.target.schedule();
        let throughput = Throughput::new(&tables, &unordered, step, known.time());
        let fewer = allocate_within(&unordered, (&first, &throughput), step, options, known, context);
        return Ok(fewer.unwrap_or(first));
    }
    let cycles = known.time();
    let ordered = (!fits || registers_decide).then(|| function.clone());
    let first = allocate_ordered(function, context)?;
    if first.assignment.spill_bytes > 0
        && options.rematerialize
        && let Some(ordered) = &ordered
    {
        return with_less_frame(ordered, first, options, known, context);
    }
    let Some(unordered) = unordered.filter(|_| counts_blocks && first.assignment.spill_bytes == 0) else {
        return Ok(first);
    };
    let (mut best, mut throughput) = (None, None);
    let tables = context.target.schedule();
    let registers = |allocated: &Allocated| allocated.assignment.general_registers;
    let below = |best: Option<&Allocated>| {
        let now = registers(best.unwrap_or(&first));
        let missed = || steps.as_ref().filter(|_| best.is_none()).and_then(|steps| steps.missed(now));
        oriole_schedule::step_below(&unordered, &tables, now).or_else(missed)
    };
    while let Some(limit) = below(best.as_ref()) {
        let throughput = throughput.get_or_insert_with(|| {
            let ordered = ordered.as_ref().unwrap_or(&unordered);
            Throughput::new(&tables, ordered, first.assignment.general_registers, cycles)
        });
        let before = (&first, &*throughput);
        let Some(fewer) = allocate_within(&unordered, before, limit, options, known, context) else { break };
        best = Some(fewer);
        if !registers_decide {
            break;
        }
    }
    Ok(best.unwrap_or(first))
}

fn not_allocated(error: AllocateError) -> Failure {
    match error {
        AllocateError::TooFewRegisters { .. } | AllocateError::Pressure { .. } => {
            Failure::Refused(vec![LowerError::new(Code::TooManyRegisters, None, error.to_string())])
        }
        AllocateError::Exceeded { statement, .. } => Failure::Refused(vec![LowerError::new(
            Code::InsufficientRegisters,
            Some(statement),
            error.to_string(),
        )]),
        AllocateError::Raised { statement, .. } => {
            Failure::Refused(vec![LowerError::new(Code::RegistersRaised, Some(statement), error.to_string())])
        }
        _ => Failure::internal("AllocateRegisters", error),
    }
}

/// Allocates a function that is scheduled.
fn allocate_ordered(function: Function, context: &Context) -> Result<Allocated, AllocateError> {
    allocate_ordered_within(function, None, context)
}

/// Allocates a scheduled function within this limit, if there is one, and that of the options.
fn allocate_ordered_within(
    function: Function,
    limit: Option<u16>,
    context: &Context,
) -> Result<Allocated, AllocateError> {
    allocate_with(function, limit, &context.settings.allocate, context)
}

/// Allocates a function with these options, within this limit, if there is one, and theirs.
fn allocate_with(
    function: Function,
    limit: Option<u16>,
    options: &AllocateOptions,
    context: &Context,
) -> Result<Allocated, AllocateError> {
    let _span = span("AdvancedPhaseAllocReg");
    let asked = options.limit;
    // A function that does not fit into fewer registers is tried otherwise.
    let frameless = limit.is_some();
    let limit = limit.map(|limit| asked.map_or(limit, |asked| asked.min(limit))).or(asked);
    let order = OrderOptions { limit, ..context.settings.order };
    let steps = Steps::of(&function, &context.target.schedule(), &order);
    let enough = steps.map(|steps| steps.first());
    let options = AllocateOptions { limit, frameless, enough, ..*options };
    let (function, assignment) = oriole_regalloc::allocate(function, context.target.chip, &options)?;
    Ok(Allocated { function, assignment })
}

/// Schedules instructions. If the values do not fit into registers, those that are cheap are rematerialized
/// after the places of the highest pressure, and the function is scheduled once more; so are comparisons, if there
/// are too few predicates. Returns true if the values fitted in the first schedule.
fn order(
    function: &mut Function,
    options: &OrderOptions,
    mut known: Option<&mut KnownBlocks>,
    context: &Context,
) -> bool {
    let _span = span("AdvancedPhasePreSched");
    let tables = context.target.schedule();
    let Some(budget) = oriole_schedule::before_allocation(function, &tables, options, known.as_deref_mut())
    else {
        // Within a limit, registers that hold predicates are as good, if there are some.
        if options.rematerialize
            && options.limit.is_none()
            && rematerialize::run_for_predicates(function, oriole_schedule::PREDICATES)
        {
            oriole_schedule::before_allocation(function, &tables, options, known);
        }
        return true;
    };
    if options.rematerialize && rematerialize::run(function, &budget) {
        oriole_schedule::before_allocation(function, &tables, options, known);
    }
    false
}

/// Schedules and allocates a function within `limit` registers, if they suffice without the frame and an SM
/// is no slower with them. `first` is the allocation with a schedule for all registers, with its throughput.
fn allocate_within(
    function: &Function,
    (first, throughput): (&Allocated, &Throughput),
    limit: u16,
    options: &OrderOptions,
    known: &mut KnownBlocks,
    context: &Context,
) -> Option<Allocated> {
    let mut budget = limit;
    let many = throughput.multiplies() || throughput.meets();
    let tries = if many { TRIES } else { TRIES_WITHOUT_BARRIERS };
    let mut least = u32::MAX;
    for _ in 0..tries {
        let options = OrderOptions { limit: Some(budget), ..*options };
        let mut tried = function.clone();
        // A function that is short by the count of values may still do: registers are kept back for tuples,
        // which may all have their place.
        order(&mut tried, &options, Some(known), context);
        let cycles = known.time();
        let fewer = Throughput::new(&context.target.schedule(), &tried, limit, cycles);
        if !throughput.is_kept_by(&fewer) {
            return None;
        }
        // The more blocks there are, the more instructions they make up for.
        let most = match throughput.issues_always() {
            true => MOST_GROWTH_OF_ISSUE,
            false => MOST_GROWTH.max((throughput.gain(&fewer) / BLOCKS_BEHIND_GROWTH) as usize),
        };
        // Allocation adds to the first schedule, too.
        if !throughput.multiplies() && throughput.growth(&fewer) > 2 * most as u64 {
            return None;
        }
        let allocated = allocate_ordered_within(tried, Some(limit), context).ok()?;
        let lacking = allocated.assignment.spill_bytes / 4;
        if lacking == 0 {
            let fits = allocated.assignment.general_registers <= limit;
            return (fits && grown(first, &allocated) <= most).then_some(allocated);
        }
        // A schedule for fewer registers that leaves as many in the frame is the best there is.
        if lacking >= least {
            return None;
        }
        least = lacking;
        // The registers that allocation loses to tuples are known only now.
        budget = budget.checked_sub(lacking.clamp(LEAST_FEWER, MOST_FEWER) as u16)?;
    }
    None
}

/// Allocates a function whose `first` allocation needs the frame again, scheduled and rematerialized for as
/// many registers fewer as it lacked: the registers that allocation loses to tuples are known only now.
/// Returns the allocation with the fewest frame accesses.
fn with_less_frame(
    function: &Function,
    first: Allocated,
    options: &OrderOptions,
    known: &mut KnownBlocks,
    context: &Context,
) -> Result<Allocated, AllocateError> {
    let registers = context.target.schedule().registers;
    let stated = function.register_limit.unwrap_or(registers);
    let mut limit = options.limit.unwrap_or(registers).min(stated);
    let mut best: Option<Allocated> = None;
    for _ in 0..TRIES {
        let lacking = best.as_ref().unwrap_or(&first).assignment.spill_bytes / 4;
        // Where more values are in the frame than there are registers, no schedule helps.
        if lacking == 0 || lacking > u32::from(registers) {
            break;
        }
        limit = limit.saturating_sub(lacking.min(MOST_FEWER) as u16);
        let mut tried = function.clone();
        order(&mut tried, &OrderOptions { limit: Some(limit), ..*options }, Some(known), context);
        let tried = allocate_ordered(tried, context)?;
        let least = frame_accesses(best.as_ref().unwrap_or(&first));
        if frame_accesses(&tried) >= least || grown(&first, &tried) > MOST_GROWTH {
            break;
        }
        best = Some(tried);
    }
    Ok(best.unwrap_or(first))
}

/// How often a function stores registers in the frame and loads them from there, loops weighted.
fn frame_accesses(allocated: &Allocated) -> u64 {
    let function = &allocated.function;
    let graph = function.graph();
    let (cfg, loops) = (graph.cfg(), graph.loops());
    let is_spill = |instruction: &&Instruction| {
        instruction.memory.is_some_and(|memory| memory.space == oriole_ori::Space::Spill)
    };
    let of_block = |&block: &BlockId| {
        let count = function.block(block).instructions.iter().filter(is_spill).count() as u64;
        count * oriole_schedule::weight(loops, block)
    };
    cfg.order().iter().map(of_block).sum()
}

/// How many permille more instructions a function has than another.
fn grown(from: &Allocated, to: &Allocated) -> usize {
    let count =
        |of: &Allocated| of.function.blocks.iter().map(|block| block.instructions.len()).sum::<usize>();
    (count(to) * 1000).checked_div(count(from)).unwrap_or(0).saturating_sub(1000)
}

/// The profile of a function: what phases 9 and 96 report, and 102 of one with registers.
pub fn profile(
    body: &Body,
    function: &Function,
    assignment: Option<&Assignment>,
    context: &Context,
) -> Profile {
    let shared = body.variables.values().filter(|variable| variable.space == Space::Shared);
    let bounds = oriole_schedule::LaunchBounds {
        threads: body.directives.block_threads().unwrap_or(ASSUMED_THREADS),
        shared: u32::try_from(shared.map(|variable| variable.size).sum::<u64>()).unwrap_or(u32::MAX),
        allocated: assignment.map(|found| (u32::from(found.general_registers), found.spill_bytes)),
    };
    oriole_schedule::profile(function, &context.target.schedule(), bounds)
}

/// Threads of a block of which nothing is said.
pub const ASSUMED_THREADS: u32 = 256;

/// Chooses forms: phases 117 and 118.
///
/// # Errors
/// An instruction without a form on the chip.
pub fn select(allocated: &Allocated, context: &Context) -> Result<MachineFunction, Failure> {
    (context.check)();
    let settings = context.settings;
    let _span = span("MercEncodeAndDecode");
    oriole_isel::select(&context.target.isel(), &allocated.function, &allocated.assignment, &settings.select)
        .map_err(|error| Failure::internal("MercExpandInstructions", error))
}

/// Why each instruction that [`select`] gives has its form.
pub fn explain(allocated: &Allocated, context: &Context) -> Vec<Vec<oriole_isel::Explained>> {
    let Allocated { function, assignment } = allocated;
    oriole_isel::explain(&context.target.isel(), function, assignment, &context.settings.select)
}

/// Orders the instructions for the last time, lays out blocks and computes control words: phases 106 to 116 and 119 to 121.
///
/// # Errors
/// The chip has no form of `NOP`.
pub fn finish(machine: MachineFunction, context: &Context) -> Result<MachineFunction, Failure> {
    (context.check)();
    let settings = context.settings;
    let ordering = span("AdvancedPhasePostSched");
    let tables = context.target.schedule();
    let mut finishing = oriole_schedule::Finishing::new(machine, &tables);
    oriole_schedule::after_allocation(&mut finishing, &tables, &settings.finish);
    drop(ordering);
    let _span = span("AdvancedScoreboardsAndOpexes");
    oriole_schedule::control_words(finishing, &tables, &settings.finish)
        .map_err(|error| Failure::internal("AdvancedScoreboardsAndOpexes", error))
}

/// Encodes: phase 122. In addition to the words it returns what layout must know of the function.
///
/// # Errors
/// An instruction that has no encoding.
pub fn encode(
    body: &Body,
    allocated: &Allocated,
    finished: &MachineFunction,
    context: &Context,
) -> Result<LinkedFunction, Failure> {
    let shared = body
        .variables
        .values()
        .filter(|variable| variable.space == Space::Shared && variable.kind == VariableKind::Body)
        .map(|variable| (variable.name.clone(), variable.size, u64::from(variable.align)))
        .collect();
    let names_shared = names_shared(body);
    Ok(LinkedFunction { shared, names_shared, ..linked(allocated, finished, context)? })
}

/// Whether an instruction names a shared variable, reached or not.
fn names_shared(body: &Body) -> bool {
    let mut named = false;
    let is_shared = |space| matches!(space, Space::Shared | Space::SharedCluster);
    for statement in &body.statements {
        if let Statement::Instruction(instruction) = statement {
            for operand in &instruction.operands {
                operand.for_each_variable(&mut |variable| named |= is_shared(body.variables[variable].space));
            }
        }
    }
    named
}

fn linked(
    allocated: &Allocated,
    finished: &MachineFunction,
    context: &Context,
) -> Result<LinkedFunction, Failure> {
    (context.check)();
    let target = context.target;
    oriole_emit::emit(target.chip, target.registers, allocated, finished)
        .map_err(|error| Failure::internal("MercGenerateSassUCode", error))
}

/// A routine of the compiler, by the same steps as any function: all phases up to 122.
///
/// # Errors
/// The routine does not keep to its declaration.
pub fn routine(routine: Routine, context: &Context) -> Result<LinkedFunction, Failure> {
    whole(routine.code_for(context.target.chip), &Context { settings: &for_routines(context), ..*context })
}

/// The settings for the text of a routine.
fn for_routines(context: &Context) -> crate::Settings {
    // It keeps uniform registers, and the order of its text is the one that few registers suffice for; what stands before
    // a branch is there to fill the time until the branch, and nothing is to wait for a guard.
    let mut settings = *context.settings;
    let left_out = [Optimization::UniformRegisters, Optimization::Sinking, Optimization::Predication];
    settings.passes = left_out.into_iter().fold(settings.passes, |passes, left| passes.without(left));
    settings.order.reorder = false;
    settings
}

/// A function of the library, by the same steps.
///
/// # Errors
/// A defect of the compiler.
pub fn library(function: LibraryFunction, context: &Context) -> Result<LinkedFunction, Failure> {
    let code = function.code(context.target.chip);
    match function {
        LibraryFunction::Exact(_) => whole(code, context),
        LibraryFunction::Exchange(_) => {
            whole(code, &Context { settings: &for_routines(context), ..*context })
        }
    }
}

/// All phases from raw Ori to words.
fn whole(mut function: Function, context: &Context) -> Result<LinkedFunction, Failure> {
    for group in ORI_GROUPS {
        function = run(group, function, context)?;
    }
    let allocated = allocate(function, || None, context)?;
    let finished = finish(select(&allocated, context)?, context)?;
    linked(&allocated, &finished, context)
}
