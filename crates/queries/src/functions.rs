//! The queries of a function for a configuration: one for each group of phases, from its meaning to words.
//!
//! Each query is next to the code that it runs; the stages themselves are in the pure crates. `compiled` runs the same steps at once, for a database
//! that keeps no stages. Of the rest of the module a function knows only how many registers the kernels that reach it leave.

use oriole_inputs::{Config, Db, FunctionUnit, Place};
use oriole_ori::{Function, MachineFunction};
use oriole_pipeline::facts::FunctionFacts;
use oriole_pipeline::{Allocated, Group, LibraryFunction, LinkedFunction, Routine};
use oriole_query_macro::query;
use triomphe::Arc;

use crate::failure::{Failed, Staged, guarded};
use crate::searched::choices;
use crate::stage::{Stage, always};
use crate::steps::{
    control_settings, form_settings, lowered, lowering_settings, passed, register_settings, with_control,
    with_forms, with_registers, words,
};
use crate::{configuration, inlined, searched, stage, stored, weight};

/// The names of the queries of stages, in order; `compiled` stands for all but the last where none is kept.
pub const STAGES: [&str; 10] = [
    "bridged",
    "early",
    "ssa_early",
    "ssa_mid",
    "ssa_late",
    "legal",
    "allocated",
    "selected",
    "finished",
    "encoded",
];

/// Phases 0 to 13: lowered, in opcodes of the machine.
#[query(returns(ref), heap_size = weight::function)]
pub fn bridged<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    let body = inlined::code(db, unit, config).ok_or(Failed::Diagnosed)?;
    let settings = lowering_settings(db, unit, config, choices(db, unit, config));
    let stage = Stage::new(unit, config, Group::Bridged, settings);
    stage.of(db, body, always, |settings| lowered(db, config, settings, body))
}

/// Phases 14 to 22.
#[query(returns(ref), lru = 512, heap_size = weight::function)]
pub fn early<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    grouped(db, unit, config, Group::Early, bridged(db, unit, config))
}

/// Phases 23 to 32: into SSA.
#[query(returns(ref), lru = 512, heap_size = weight::function)]
pub fn ssa_early<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    grouped(db, unit, config, Group::SsaEarly, early(db, unit, config))
}

/// Phases 33 to 52.
#[query(returns(ref), lru = 512, heap_size = weight::function)]
pub fn ssa_mid<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    grouped(db, unit, config, Group::SsaMid, ssa_early(db, unit, config))
}

/// Phases 53 to 73: out of SSA.
#[query(returns(ref), lru = 512, heap_size = weight::function)]
pub fn ssa_late<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    grouped(db, unit, config, Group::SsaLate, ssa_mid(db, unit, config))
}

/// Phases 74 to 96: every instruction has a form on the chip.
#[query(returns(ref), lru = 512, heap_size = weight::function)]
pub fn legal<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    grouped(db, unit, config, Group::Legal, ssa_late(db, unit, config))
}

/// A group of passes over what the stage before gave.
fn grouped<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    group: Group,
    before: &Staged<Function>,
) -> Staged<Function> {
    let before = before.as_ref().map_err(Clone::clone)?;
    let settings = stage::pass_settings(db, config, choices(db, unit, config), group);
    let stage = Stage::new(unit, config, group, settings);
    stage.of(db, before, always, |settings| passed(db, config, settings, group, (**before).clone()))
}

/// Phases 97 to 105: ordered, with registers.
#[query(returns(ref), lru = 512, heap_size = weight::allocated)]
pub fn allocated<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Allocated> {
    let before = legal(db, unit, config).as_ref().map_err(Clone::clone)?;
    let settings = register_settings(db, unit, config, choices(db, unit, config));
    let stage = Stage::new(unit, config, Group::Allocated, settings);
    // Where requests for registers were dropped, the bounds of the body count as well.
    let lasts = |allocated: &Allocated| allocated.assignment.dropped_grants.is_none();
    stage.of(db, before, lasts, |settings| with_registers(db, unit, config, settings, (**before).clone()))
}

/// Forms chosen; after this nothing adds or removes an instruction.
#[query(returns(ref), lru = 512, heap_size = weight::machine)]
pub fn selected<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<MachineFunction> {
    let before = allocated(db, unit, config).as_ref().map_err(Clone::clone)?;
    let settings = form_settings(db, config, choices(db, unit, config));
    let stage = Stage::new(unit, config, Group::Selected, settings);
    stage.of(db, before, always, |settings| with_forms(db, config, settings, before))
}

/// Phases 106 to 116 and 119 to 121: laid out, with control words.
#[query(returns(ref), lru = 512, heap_size = weight::machine)]
pub fn finished<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<MachineFunction> {
    let before = selected(db, unit, config).as_ref().map_err(Clone::clone)?;
    let settings = control_settings(db, config, choices(db, unit, config));
    let stage = Stage::new(unit, config, Group::Finished, settings);
    stage.of(db, before, always, |settings| with_control(db, config, settings, (**before).clone()))
}

/// All phases at once, for a database that keeps no stages.
#[query(returns(ref), heap_size = weight::linked)]
pub fn compiled<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<LinkedFunction> {
    let body = inlined::code(db, unit, config).ok_or(Failed::Diagnosed)?;
    Ok(searched::compiled(db, unit, config, body)?.1)
}

/// Phase 122: words, what is symbolic in them, and what layout must know of the function.
#[query(returns(ref), heap_size = weight::linked)]
pub fn encoded<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<LinkedFunction> {
    let body = inlined::code(db, unit, config).ok_or(Failed::Diagnosed)?;
    stored::encoded(db, unit, config, body, || {
        if !db.keeps_stages() {
            return compiled(db, unit, config).clone();
        }
        let allocated = allocated(db, unit, config).as_ref().map_err(Clone::clone)?;
        let finished = finished(db, unit, config).as_ref().map_err(Clone::clone)?;
        let stage = Stage::new(unit, config, Group::Encoded, (body.clone(), allocated.clone()));
        stage.of(db, finished, always, |_| words(db, config, body, allocated, finished))
    })
}

/// A routine of the compiler, finished. No file, unit or text is read: no edit of a program compiles it again.
#[query(returns(ref), heap_size = weight::linked, at = Place::Routine(which.name(), config))]
pub fn routine(db: &dyn Db, which: Routine, config: Config) -> Staged<LinkedFunction> {
    stored::routine(db, which.name(), config, || {
        let stage = Stage::of_routine("routine", which.name(), config, stage::all_settings(db, config));
        stage.of(db, &Arc::new(()), always, |settings| {
            stage::run(db, config, "routine", settings, |context| oriole_pipeline::routine(which, context))
        })
    })
}

/// A function of the library, finished. It depends on no program either.
#[query(returns(ref), heap_size = weight::linked, at = Place::Routine(which.name(), config))]
pub fn library(db: &dyn Db, which: LibraryFunction, config: Config) -> Staged<LinkedFunction> {
    stored::routine(db, which.name(), config, || {
        let stage = Stage::of_routine("library", which.name(), config, stage::all_settings(db, config));
        stage.of(db, &Arc::new(()), always, |settings| {
            stage::run(db, config, "library", settings, |context| oriole_pipeline::library(which, context))
        })
    })
}

/// Facts about a compiled function; for editors and reports, no stage reads it.
#[query(returns(ref), heap_size = weight::facts)]
pub fn facts<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<FunctionFacts> {
    let (allocated, finished) = (allocated(db, unit, config), finished(db, unit, config));
    let allocated = allocated.as_ref().map_err(Clone::clone)?;
    let finished = finished.as_ref().map_err(Clone::clone)?;
    let target = configuration::target_of(db, config)?;
    guarded("facts", || Ok(oriole_pipeline::facts::facts(target.latency, target.forms, allocated, finished)))
}
