//! The stages at both ends of the passes: from a resolved body to Ori, and from legal Ori to words.

use crate::image::LinkedFunction;
use crate::phases::span;
use crate::run::{Allocated, ORI_GROUPS, run};
use crate::{Context, Failure, Group, Profile};
use oriole_hir::{Body, VariableKind};
use oriole_legalize::routine::Routine;
use oriole_optimize::rematerialize;
use oriole_options::{Optimization, OrderOptions};
use oriole_ori::{Assignment, Function, MachineFunction};
use oriole_ptx::Space;
use oriole_regalloc::AllocateError;

/// How often a function is ordered for a number of registers, each time for as many fewer as the allocation took too many.
const TRIES: usize = 3;

/// So many permille more instructions one block more on each SM may cost.
const MOST_GROWTH: usize = 30;

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

/// Schedules and allocates: phases 97 to 105.
///
/// # Errors
/// A function that cannot be allocated within its register budget.
pub fn allocate(function: Function, context: &Context) -> Result<Allocated, Failure> {
    (context.check)();
    let mut function = function;
    let options = &context.settings.order;
    if !options.reorder {
        return allocate_ordered(function, context).map_err(not_allocated);
    }
    order(&mut function, options, context);
    if !options.occupancy || !oriole_schedule::registers_decide(&function) {
        return allocate_ordered(function, context).map_err(not_allocated);
    }
    let first = allocate_ordered(function.clone(), context).map_err(not_allocated)?;
    let mut best = None;
    let tables = context.target.schedule();
    let registers = |allocated: &Allocated| allocated.assignment.general_registers;
    while let Some(limit) =
        oriole_schedule::step_below(&function, &tables, registers(best.as_ref().unwrap_or(&first)))
    {
        let Some(fewer) = allocate_within(&function, &first, limit, context) else { break };
        best = Some(fewer);
    }
    Ok(best.unwrap_or(first))
}

fn not_allocated(error: AllocateError) -> Failure {
    Failure::internal("AllocateRegisters", error)
}

/// Allocates a function whose instructions are in order.
fn allocate_ordered(function: Function, context: &Context) -> Result<Allocated, AllocateError> {
    let _span = span("AdvancedPhaseAllocReg");
    let (function, assignment) =
        oriole_regalloc::allocate(function, context.target.chip, &context.settings.allocate)?;
    Ok(Allocated { function, assignment })
}

/// Orders instructions; what does not fit into registers even so is made again behind the places of the highest pressure where
/// that is cheap, and ordered once more. True if it fits.
fn order(function: &mut Function, options: &OrderOptions, context: &Context) -> bool {
    let _span = span("AdvancedPhasePreSched");
    let tables = context.target.schedule();
    let Some(budget) = oriole_schedule::before_allocation(function, &tables, options) else { return true };
    options.rematerialize
        && rematerialize::run(function, &budget)
        && oriole_schedule::before_allocation(function, &tables, options).is_none()
}

/// Orders and allocates a function within so many registers, if they suffice without the frame and an SM is no slower with them.
/// `first` is the allocation of the function as it is.
fn allocate_within(
    function: &Function,
    first: &Allocated,
    limit: u16,
    context: &Context,
) -> Option<Allocated> {
    let mut budget = limit;
    for _ in 0..TRIES {
        let options = OrderOptions { limit: Some(budget), ..context.settings.order };
        let mut tried = function.clone();
        let before = (function, first.assignment.general_registers);
        if !order(&mut tried, &options, context)
            || !oriole_schedule::pays(&context.target.schedule(), before, (&tried, limit))
        {
            return None;
        }
        let allocated = allocate_ordered(tried, context).ok()?;
        let over = allocated.assignment.general_registers.saturating_sub(limit);
        if over == 0 {
            let cheap = allocated.assignment.spill_bytes == 0 && grown(first, &allocated) <= MOST_GROWTH;
            return cheap.then_some(allocated);
        }
        // What allocation loses to tuples is known only now.
        budget = budget.checked_sub(over)?;
    }
    None
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
    let shared = body.variables.iter().filter(|variable| variable.space == Space::Shared);
    let bounds = oriole_schedule::LaunchBounds {
        threads: block_threads(body).unwrap_or(ASSUMED_THREADS),
        shared: u32::try_from(shared.map(|variable| variable.size).sum::<u64>()).unwrap_or(u32::MAX),
        allocated: assignment.map(|found| (u32::from(found.general_registers), found.spill_bytes)),
    };
    oriole_schedule::profile(function, &context.target.schedule(), bounds)
}

/// Threads of a block of which nothing is said.
pub const ASSUMED_THREADS: u32 = 256;

/// The most threads that the source grants a block: its `.reqntid` or `.maxntid`.
pub fn block_threads(body: &Body) -> Option<u32> {
    let bound = body.directives.reqntid.or(body.directives.maxntid)?;
    Some(bound.into_iter().fold(1, u32::saturating_mul))
}

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

/// Encodes: phase 122. Beside the words it gives what layout must know of the function.
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
        .iter()
        .filter(|variable| variable.space == Space::Shared && variable.kind == VariableKind::Body)
        .map(|variable| (variable.name.clone(), variable.size, u64::from(variable.align)))
        .collect();
    Ok(LinkedFunction { shared, ..linked(allocated, finished, context)? })
}

fn linked(
    allocated: &Allocated,
    finished: &MachineFunction,
    context: &Context,
) -> Result<LinkedFunction, Failure> {
    (context.check)();
    let all = u16::from(context.target.registers.general.count);
    let encoded = oriole_encode::encode_function(context.target.chip, finished)
        .map_err(|error| Failure::internal("MercGenerateSassUCode", error))?;
    Ok(LinkedFunction {
        encoded,
        symbols: allocated.function.symbols.clone(),
        tables: allocated.function.tables.clone(),
        shared: Vec::new(),
        barriers: allocated.function.barriers,
        frame_bytes: allocated.assignment.frame_bytes,
        parameter_bytes: allocated.function.parameter_bytes,
        register_limit: allocated.function.register_limit.filter(|&limit| limit < all),
    })
}

/// A routine of the compiler, by the same steps as any function: all phases up to 122.
///
/// # Errors
/// The routine does not keep what it states.
pub fn routine(routine: Routine, context: &Context) -> Result<LinkedFunction, Failure> {
    // It keeps uniform registers, and the order of its text is the one that few registers suffice for.
    let mut settings = *context.settings;
    settings.passes = settings.passes.without(Optimization::UniformRegisters);
    settings.order.reorder = false;
    let context = &Context { settings: &settings, ..*context };
    let mut function = routine.code_for(context.target.chip);
    for group in ORI_GROUPS {
        function = run(group, function, context)?;
    }
    let allocated = allocate(function, context)?;
    let finished = finish(select(&allocated, context)?, context)?;
    linked(&allocated, &finished, context)
}
