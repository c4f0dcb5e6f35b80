//! The queries of a chip and of a configuration: the tables of the chip, and one projection of the options for each reader.
//!
//! No edit and no knob runs the queries of a chip again, and a knob those of its readers only. Of a function only the name is known here, of a file the answers of its header.

use oriole_chip::Chip;
use oriole_diagnostics::Code;
use oriole_hir::HeaderQuestion;
use oriole_inputs::{ChipKey, Config, Db, FunctionUnit, Place, SourceFile};
use oriole_latency::Model;
use oriole_options::{
    AllocateOptions, Choices, DebugOptions, FinishOptions, LowerOptions, OrderOptions, PassOptions,
    SelectOptions,
};
use oriole_pipeline::target::{SelectionTree, TargetError};
use oriole_pipeline::{Group, Target};
use oriole_query_macro::query;
use oriole_sass::form::Table;

use crate::failure::{Failed, Staged, Static, guarded};
use crate::files;

/// The encoded forms of a chip.
#[query(returns(ref))]
pub fn forms<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Static<Table>> {
    table("forms", || oriole_pipeline::target::forms(chip.chip(db)))
}

/// The latencies of a chip.
#[query(returns(ref))]
pub fn latency_model<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Static<Model>> {
    table("latency_model", || oriole_pipeline::target::latency_model(chip.chip(db)))
}

/// The patterns of a chip's selection as a decision tree.
#[query(returns(ref))]
pub fn selection_tree<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Static<SelectionTree>> {
    table("selection_tree", || oriole_pipeline::target::selection_tree(chip.chip(db)))
}

fn table<T>(name: &'static str, find: impl FnOnce() -> Result<&'static T, TargetError>) -> Staged<Static<T>> {
    guarded(name, || find().map(Static).map_err(unsupported))
}

fn unsupported(error: TargetError) -> Failed {
    Failed::Stage { code: Code::NotSupported, statement: None, message: error.to_string() }
}

/// All that the back end knows of a chip, one value.
#[query(returns(ref))]
pub fn target<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Target> {
    let (forms, latency, selection) = (forms(db, chip), latency_model(db, chip), selection_tree(db, chip));
    let forms = forms.as_ref().map_err(Clone::clone)?.0;
    let latency = latency.as_ref().map_err(Clone::clone)?.0;
    let selection = selection.as_ref().map_err(Clone::clone)?.0;
    guarded("target", || Target::from_tables(chip.chip(db), forms, latency, selection).map_err(unsupported))
}

/// The chip.
#[query(returns(copy))]
pub fn chip_info(db: &dyn Db, config: Config) -> Chip {
    config.chip(db)
}

/// The chip as a key of the facts about it.
#[query(returns(copy))]
pub fn chip_key(db: &dyn Db, config: Config) -> ChipKey<'_> {
    ChipKey::new(db, chip_info(db, config))
}

/// All that is known of a configuration's chip.
pub(crate) fn target_of(db: &dyn Db, config: Config) -> Result<&Target, Failed> {
    let target = target(db, chip_key(db, config)).as_ref().map_err(Clone::clone)?;
    Ok(target)
}

/// Options of lowering.
#[query(returns(copy))]
pub fn lower_options(db: &dyn Db, config: Config) -> LowerOptions {
    config.lower(db)
}

/// The facts about a module that lowering may read: debug builds have their functions in sections of their
/// own at level 0, and the header is read at no other level.
pub(crate) fn lowering(db: &dyn Db, file: SourceFile, config: Config) -> LowerOptions {
    let options = lower_options(db, config);
    let debug = || options.unoptimized && files::header_answer(db, file, HeaderQuestion::Debug);
    LowerOptions { for_debuggers: options.for_debuggers || debug(), ..options }
}

/// Options of the passes of all stages; for what goes through all of them at once.
#[query(returns(copy))]
pub fn pass_options(db: &dyn Db, config: Config) -> PassOptions {
    config.passes(db)
}

/// Options that the passes of one stage may know.
#[query(returns(copy), at = Place::StageConfig(stage.name(), config))]
pub fn stage_options(db: &dyn Db, config: Config, stage: Group) -> PassOptions {
    stage.options(&pass_options(db, config))
}

/// Options of scheduling before allocation.
#[query(returns(copy))]
pub fn order_options(db: &dyn Db, config: Config) -> OrderOptions {
    config.order(db)
}

/// Options of selection.
#[query(returns(copy))]
pub fn select_options(db: &dyn Db, config: Config) -> SelectOptions {
    config.select(db)
}

/// Options of scheduling after allocation, and of control words.
#[query(returns(copy))]
pub fn finish_options(db: &dyn Db, config: Config) -> FinishOptions {
    config.finish(db)
}

/// Options of register allocation.
#[query(returns(copy))]
pub fn allocate_options(db: &dyn Db, config: Config) -> AllocateOptions {
    config.allocate(db)
}

/// The trials of the search of level 4; nothing below that level.
#[query(returns(copy))]
pub fn search_trials(db: &dyn Db, config: Config) -> Option<u32> {
    config.search(db).trials
}

/// The choices that are known for a function, so that nothing is searched; asked at level 4 only.
#[query(returns(copy))]
pub fn known_choices<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Option<Choices> {
    config.search(db).known(unit.name(db))
}

/// Options of debug information.
#[query(returns(copy))]
pub fn debug_options(db: &dyn Db, config: Config) -> DebugOptions {
    config.debug(db)
}

/// Whether the container is to have all that debuggers read. At other levels than 0 there is none but line tables.
pub(crate) fn is_for_debuggers(db: &dyn Db, file: SourceFile, config: Config) -> bool {
    let options = debug_options(db, config);
    let header = || files::header_answer(db, file, HeaderQuestion::Debug);
    !options.suppressed && lower_options(db, config).unoptimized && (options.full || header())
}
