//! The steps of a function from its meaning to words, as plain functions, and the register budget that one of them reads.
//!
//! They are here, above their callers, because two kinds of queries take the same steps: each stage by itself keeps its result, and the
//! search of level 4 takes all of them again for each choice. Which options a step may read is said here; what is kept, and
//! when a step is taken, is for the callers.

use oriole_hir::Body;
use oriole_inputs::{Config, Db, FunctionUnit};
use oriole_options::Choices;
use oriole_ori::{Function, MachineFunction};
use oriole_pipeline::{Allocated, Group, LinkedFunction, Settings};
use oriole_query_macro::query;
use oriole_syntax::UnitKind;

use crate::failure::Staged;
use crate::{configuration, files, inlined, stage};

/// The most registers that the source grants a kernel or function by itself.
#[query(returns(copy))]
pub fn register_limit<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Option<u16> {
    unit.file(db).volatile(db);
    oriole_lower::register_limit(files::body(db, unit).as_deref()?, configuration::chip_info(db, config))
}

/// The most registers that all kernels which reach a function leave it. Asked for functions only.
#[query(returns(copy))]
pub fn register_budget<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Option<u16> {
    let kernels = inlined::reaching_kernels(db, unit, config);
    kernels.iter().filter_map(|&kernel| register_limit(db, kernel, config)).min()
}

/// All that the steps of a function read in addition to its body and its chip, without the choices of a search: what a
/// stored function is found by. It is made of the inputs of the steps, so that no step can read more.
pub(crate) fn all_settings<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Settings {
    let none = Choices::NONE;
    let registers = register_settings(db, unit, config, none);
    Settings {
        lower: lowering_settings(db, unit, config, none).lower,
        passes: configuration::pass_options(db, config),
        order: registers.order,
        allocate: registers.allocate,
        select: form_settings(db, config, none).select,
        finish: control_settings(db, config, none).finish,
    }
}

/// The options that lowering and the first phases read.
pub(crate) fn lowering_settings<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    choices: Choices,
) -> Settings {
    let mut lower = configuration::lowering(db, unit.file(db), config);
    if let Some(body) = inlined::code(db, unit, config) {
        lower = oriole_pipeline::options_for(body, lower);
    }
    // The body has what is inlined.
    lower.inlines = false;
    Settings { lower, ..stage::pass_settings(db, config, choices, Group::Bridged) }
}

/// Lowers a body and runs the first phases.
pub(crate) fn lowered(db: &dyn Db, config: Config, settings: &Settings, body: &Body) -> Staged<Function> {
    stage::run(db, config, "bridged", settings, |context| oriole_pipeline::lower(body, context))
}

/// Runs a group of passes.
pub(crate) fn passed(
    db: &dyn Db,
    config: Config,
    settings: &Settings,
    group: Group,
    function: Function,
) -> Staged<Function> {
    stage::run(db, config, group.name(), settings, |context| oriole_pipeline::run(group, function, context))
}

/// The options that scheduling and allocation read.
pub(crate) fn register_settings<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    choices: Choices,
) -> Settings {
    let mut order = configuration::order_options(db, config);
    let mut allocate = configuration::allocate_options(db, config);
    if unit.kind(db) == UnitKind::Function {
        order.limit = allocate.function_limit.or(order.limit);
        // A function runs with the registers of the kernel that calls it.
        let budget = register_budget(db, unit, config);
        allocate.limit = allocate.function_limit.or(allocate.limit).into_iter().chain(budget).min();
    }
    // It is in the limits by now, and a kernel has none.
    allocate.function_limit = None;
    Settings { order: choices.order(order), allocate: choices.allocate(allocate), ..stage::settings() }
}

/// Schedules a function and gives it registers.
pub(crate) fn with_registers<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    settings: &Settings,
    function: Function,
) -> Staged<Allocated> {
    let body = || files::body(db, unit).as_deref();
    let cap = || oriole_hir::register_cap(&body()?.directives, configuration::chip_info(db, config));
    stage::run(db, config, "allocated", settings, |context| oriole_pipeline::allocate(function, cap, context))
}

/// The options that the choice of forms reads.
pub(crate) fn form_settings(db: &dyn Db, config: Config, choices: Choices) -> Settings {
    Settings { select: choices.select(configuration::select_options(db, config)), ..stage::settings() }
}

/// Chooses the forms of instructions.
pub(crate) fn with_forms(
    db: &dyn Db,
    config: Config,
    settings: &Settings,
    allocated: &Allocated,
) -> Staged<MachineFunction> {
    stage::run(db, config, "selected", settings, |context| oriole_pipeline::select(allocated, context))
}

/// The options that the last scheduling and control words read.
pub(crate) fn control_settings(db: &dyn Db, config: Config, choices: Choices) -> Settings {
    Settings { finish: choices.finish(configuration::finish_options(db, config)), ..stage::settings() }
}

/// Schedules a function once more and fills in control words.
pub(crate) fn with_control(
    db: &dyn Db,
    config: Config,
    settings: &Settings,
    machine: MachineFunction,
) -> Staged<MachineFunction> {
    stage::run(db, config, "finished", settings, |context| oriole_pipeline::finish(machine, context))
}

/// Encodes a function.
pub(crate) fn words(
    db: &dyn Db,
    config: Config,
    body: &Body,
    allocated: &Allocated,
    finished: &MachineFunction,
) -> Staged<LinkedFunction> {
    let settings = stage::settings();
    stage::run(db, config, "encoded", &settings, |context| {
        oriole_pipeline::encode(body, allocated, finished, context)
    })
}
