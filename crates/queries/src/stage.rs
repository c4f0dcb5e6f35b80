//! From a query to the stage of a pure crate and back: options gathered, panics caught, cancellation passed down.
//!
//! Each function here reads just the options that its group may know; the others are filled with defaults, which no
//! phase of the group looks at.

use std::sync::LazyLock;

use oriole_chip::Chip;
use oriole_diagnostics::Code;
use oriole_hir::Body;
use oriole_inputs::{Config, Db, FunctionUnit};
use oriole_latency::Model;
use oriole_options::Options;
use oriole_ori::{Assignment, Function, MachineFunction};
use oriole_pipeline::LinkedFunction;
use oriole_pipeline::facts::FunctionFacts;
use oriole_pipeline::target::{self, SelectionTree, TargetError};
use oriole_pipeline::{
    Allocated, Context, Decision, Decisions, Group, LibraryFunction, ORI_GROUPS, Phase, Profile, Routine,
    Settings, Target,
};
use oriole_sass::form::Table;

use oriole_syntax::UnitKind;
use triomphe::Arc;

use crate::failure::{Failed, Staged, Static, guarded};
use crate::graph;
use crate::view::Snapshot;

/// All that is known of a configuration's chip.
pub(crate) fn target_of(db: &dyn Db, config: Config) -> Result<&Target, Failed> {
    let target = graph::target(db, graph::chip_key(db, config)).as_ref().map_err(Clone::clone)?;
    Ok(target)
}

/// The forms of a chip.
pub(crate) fn forms(chip: Chip) -> Staged<Static<Table>> {
    table("forms", || target::forms(chip))
}

/// The latencies of a chip.
pub(crate) fn latency_model(chip: Chip) -> Staged<Static<Model>> {
    table("latency_model", || target::latency_model(chip))
}

/// The patterns of a chip.
pub(crate) fn selection_tree(chip: Chip) -> Staged<Static<SelectionTree>> {
    table("selection_tree", || target::selection_tree(chip))
}

fn table<T>(name: &'static str, find: impl FnOnce() -> Result<&'static T, TargetError>) -> Staged<Static<T>> {
    guarded(name, || find().map(Static).map_err(unsupported))
}

/// A chip with its tables.
pub(crate) fn target(
    chip: Chip,
    forms: &Staged<Static<Table>>,
    latency: &Staged<Static<Model>>,
    selection: &Staged<Static<SelectionTree>>,
) -> Staged<Target> {
    let forms = forms.as_ref().map_err(Clone::clone)?.0;
    let latency = latency.as_ref().map_err(Clone::clone)?.0;
    let selection = selection.as_ref().map_err(Clone::clone)?.0;
    guarded("target", || Target::from_tables(chip, forms, latency, selection).map_err(unsupported))
}

fn unsupported(error: TargetError) -> Failed {
    Failed::Stage { code: Code::NotSupported, statement: None, message: error.to_string() }
}

/// Ori after a phase of a group, from what the group before gave.
pub(crate) fn until<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    phase: &'static Phase,
) -> Staged<Function> {
    let before = match phase.group {
        Group::Early => Some(graph::bridged(db, unit, config)),
        Group::SsaEarly => Some(graph::early(db, unit, config)),
        Group::SsaMid => Some(graph::ssa_early(db, unit, config)),
        Group::SsaLate => Some(graph::ssa_mid(db, unit, config)),
        Group::Legal => Some(graph::ssa_late(db, unit, config)),
        _ => None,
    };
    let before = before.map(copied).transpose()?;
    let body = graph::body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    let settings = Settings {
        lower: graph::lowering(db, unit.file(db), config),
        ..pass_settings(db, config, phase.group)
    };
    run(db, config, phase.group.name(), &settings, |context| {
        let before = before.map_or_else(|| oriole_pipeline::raw(body, context), Ok)?;
        oriole_pipeline::run_part(phase, before, context)
    })
}

/// What the passes decide about a unit, group by group from raw Ori.
pub(crate) fn decisions<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
) -> Staged<Vec<Decision>> {
    let body = graph::body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    let decisions = Decisions::default();
    let mut function: Option<Function> = None;
    for group in ORI_GROUPS {
        let settings = Settings {
            lower: graph::lowering(db, unit.file(db), config),
            ..pass_settings(db, config, group)
        };
        let before = function.take();
        let after = run(db, config, group.name(), &settings, |context| {
            let context = &Context { decisions: Some(&decisions), ..*context };
            let before = before.map_or_else(|| oriole_pipeline::raw(body, context), Ok)?;
            oriole_pipeline::run(group, before, context)
        })?;
        function = Some(Arc::unwrap_or_clone(after));
    }
    Ok(Arc::new(decisions.into_sorted()))
}

/// Raw Ori of a unit, and its Ori after each phase that changed it, as text: the stages run once more.
pub(crate) fn history<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
) -> Staged<Vec<Snapshot>> {
    let body = graph::body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    let lower = graph::lowering(db, unit.file(db), config);
    let raw_settings = Settings { lower, ..settings() };
    let raw = run(db, config, "raw", &raw_settings, |context| oriole_pipeline::raw(body, context))?;
    let mut history = vec![Snapshot { phase: None, text: raw.to_string() }];
    let mut function = handed_on(raw);
    // That nothing is left to do is no change.
    let text_of = |function: &Function| Function { at_fixed_point: false, ..function.clone() }.to_string();
    for group in ORI_GROUPS {
        let settings = Settings { lower, ..pass_settings(db, config, group) };
        // Between groups numbers change, which is no phase's doing.
        let mut before = text_of(&function);
        let after = run(db, config, group.name(), &settings, |context| {
            oriole_pipeline::run_watched(group, function, context, &mut |phase, function| {
                let text = text_of(function);
                if text != before {
                    before.clone_from(&text);
                    history.push(Snapshot { phase: Some(phase), text });
                }
            })
        })?;
        function = handed_on(after);
    }
    Ok(Arc::new(history))
}

/// The profile of a function, with the registers that it was given or none.
pub(crate) fn profile<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    function: &Function,
    assignment: Option<&Assignment>,
) -> Staged<Profile> {
    let body = graph::body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    run(db, config, "profile", &settings(), |context| {
        Ok(oriole_pipeline::profile(body, function, assignment, context))
    })
}

/// Options that the phases of a stage do not read.
fn settings() -> Settings {
    /// They are looked up by name, and asked for by every stage of every function.
    static DEFAULTS: LazyLock<Settings> = LazyLock::new(|| Settings::new(&Options::default()));
    *DEFAULTS
}

/// The settings of a stage of passes.
fn pass_settings(db: &dyn Db, config: Config, stage: Group) -> Settings {
    Settings { passes: graph::stage_options(db, config, stage), ..settings() }
}

/// Runs a stage with a context that cancels it when its answer is no longer wanted.
fn run<T>(
    db: &dyn Db,
    config: Config,
    name: &'static str,
    settings: &Settings,
    stage: impl FnOnce(&Context) -> Result<T, oriole_pipeline::Failure>,
) -> Staged<T> {
    let target = target_of(db, config)?;
    let check = || db.unwind_if_revision_cancelled();
    let context = Context { check: &check, ..Context::new(target, settings) };
    let _span = tracing::debug_span!("stage", name).entered();
    guarded(name, || stage(&context).map_err(Failed::from))
}

pub(crate) fn bridged<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    body: &Body,
) -> Staged<Function> {
    let settings = Settings {
        lower: graph::lowering(db, unit.file(db), config),
        ..pass_settings(db, config, Group::Bridged)
    };
    run(db, config, "bridged", &settings, |context| oriole_pipeline::lower(body, context))
}

pub(crate) fn ori(db: &dyn Db, config: Config, group: Group, before: &Staged<Function>) -> Staged<Function> {
    passed(db, config, group, copied(before)?)
}

fn passed(db: &dyn Db, config: Config, group: Group, function: Function) -> Staged<Function> {
    let settings = pass_settings(db, config, group);
    run(db, config, group.name(), &settings, |context| oriole_pipeline::run(group, function, context))
}

pub(crate) fn allocated<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    before: &Staged<Function>,
) -> Staged<Allocated> {
    placed(db, unit, config, copied(before)?)
}

fn placed<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    function: Function,
) -> Staged<Allocated> {
    let mut order = graph::order_options(db, config);
    let mut allocate = graph::allocate_options(db, config);
    if unit.kind(db) == UnitKind::Function {
        order.limit = allocate.function_limit.or(order.limit);
        // A function runs with the registers of the kernel that calls it.
        let budget = graph::register_budget(db, unit, config);
        allocate.limit = allocate.function_limit.or(allocate.limit).into_iter().chain(budget).min();
    }
    let settings = Settings { order, allocate, ..settings() };
    let cap = || oriole_lower::register_cap(graph::body(db, unit).as_deref()?, graph::chip_info(db, config));
    run(db, config, "allocated", &settings, |context| oriole_pipeline::allocate(function, cap, context))
}

/// Why each instruction that selection gives has its form.
pub(crate) fn explained(
    db: &dyn Db,
    config: Config,
    allocated: &Allocated,
) -> Staged<Vec<Vec<oriole_pipeline::Explained>>> {
    let settings = Settings { select: graph::select_options(db, config), ..settings() };
    run(db, config, "explained", &settings, |context| Ok(oriole_pipeline::explain(allocated, context)))
}

pub(crate) fn selected(db: &dyn Db, config: Config, before: &Staged<Allocated>) -> Staged<MachineFunction> {
    let allocated = before.as_ref().map_err(Clone::clone)?;
    let settings = Settings { select: graph::select_options(db, config), ..settings() };
    run(db, config, "selected", &settings, |context| oriole_pipeline::select(allocated, context))
}

pub(crate) fn finished(
    db: &dyn Db,
    config: Config,
    before: &Staged<MachineFunction>,
) -> Staged<MachineFunction> {
    ended(db, config, copied(before)?)
}

fn ended(db: &dyn Db, config: Config, machine: MachineFunction) -> Staged<MachineFunction> {
    let settings = Settings { finish: graph::finish_options(db, config), ..settings() };
    run(db, config, "finished", &settings, |context| oriole_pipeline::finish(machine, context))
}

pub(crate) fn encoded(
    db: &dyn Db,
    config: Config,
    body: &Body,
    allocated: &Staged<Allocated>,
    finished: &Staged<MachineFunction>,
) -> Staged<LinkedFunction> {
    let allocated = allocated.as_ref().map_err(Clone::clone)?;
    let finished = finished.as_ref().map_err(Clone::clone)?;
    let settings = settings();
    run(db, config, "encoded", &settings, |context| {
        oriole_pipeline::encode(body, allocated, finished, context)
    })
}

/// A routine of the compiler, with no limit of registers: it states what it overwrites.
pub(crate) fn routine(db: &dyn Db, config: Config, routine: Routine) -> Staged<LinkedFunction> {
    run(db, config, "routine", &all_settings(db, config), |context| {
        oriole_pipeline::routine(routine, context)
    })
}

/// A function of the library, with no limit of registers but that of the configuration.
pub(crate) fn library(db: &dyn Db, config: Config, function: LibraryFunction) -> Staged<LinkedFunction> {
    run(db, config, "library", &all_settings(db, config), |context| {
        oriole_pipeline::library(function, context)
    })
}

/// The settings of all stages behind lowering.
fn all_settings(db: &dyn Db, config: Config) -> Settings {
    Settings {
        passes: graph::pass_options(db, config),
        order: graph::order_options(db, config),
        allocate: graph::allocate_options(db, config),
        select: graph::select_options(db, config),
        finish: graph::finish_options(db, config),
        ..settings()
    }
}

/// All stages behind the body at once: the same steps as the queries, each value handed on and none kept.
pub(crate) fn straight<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    body: &Body,
) -> Staged<LinkedFunction> {
    let mut function = handed_on(bridged(db, unit, config, body)?);
    for group in [Group::Early, Group::SsaEarly, Group::SsaMid, Group::SsaLate, Group::Legal] {
        function = handed_on(passed(db, config, group, function)?);
    }
    let mut allocated = placed(db, unit, config, function);
    let machine = handed_on(selected(db, config, &allocated)?);
    // What is left to do asks for names and the frame only, but where debuggers want to know where registers are.
    if let Ok(allocated) = &mut allocated
        && !oriole_pipeline::stages::is_for_debuggers(allocated)
        && let Some(allocated) = Arc::get_mut(allocated)
    {
        allocated.function.blocks = Default::default();
        allocated.function.values = Default::default();
    }
    let finished = ended(db, config, machine);
    encoded(db, config, body, &allocated, &finished)
}

fn copied<T: Clone>(before: &Staged<T>) -> Result<T, Failed> {
    before.as_ref().map(|value| (**value).clone()).map_err(Clone::clone)
}

fn handed_on<T: Clone>(value: Arc<T>) -> T {
    Arc::unwrap_or_clone(value)
}

pub(crate) fn facts(
    db: &dyn Db,
    config: Config,
    allocated: &Staged<Allocated>,
    finished: &Staged<MachineFunction>,
) -> Staged<FunctionFacts> {
    let allocated = allocated.as_ref().map_err(Clone::clone)?;
    let finished = finished.as_ref().map_err(Clone::clone)?;
    let target = target_of(db, config)?;
    guarded("facts", || Ok(oriole_pipeline::facts::facts(target, allocated, finished)))
}
