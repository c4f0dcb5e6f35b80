//! The query graph.
//!
//! One tracked function for each stage, in the order from text to words; what each may read is what it
//! calls. Everything is keyed by a unit, or by a unit and a configuration, and no value holds a file position, so an
//! edit reaches what it means to and nothing else; `docs/edits.md` has the table of edits and the queries that
//! they run, and the tests read it from there.
//!
//! A query that is volatile (`SourceFile::volatile`) is verified after each edit, as what it reads may have become less
//! durable: that shields what asks several units. What a kernel's stages read from the module is not, or else nothing of a
//! kernel would be known to be as it was without a look at all of it.
//!
//! Rules for a new read: say which edit will now run the query again, and take the narrowest query that serves.

use std::sync::Arc;

use oriole_chip::Chip;
use oriole_cubin::KernelImage;
use oriole_debug_info::DebugData;
use oriole_diagnostics::{Diagnostic, Span};
use oriole_hir::{
    Body, Declared, EarlyUse, FlowReport, GlobalInfo, Header, HeaderQuestion, Linkage, SignatureInfo,
    SourceMap, Uses, Variable,
};
use oriole_inputs::{ChipKey, Config, Db, FunctionUnit, Place, SourceFile};
use oriole_latency::Model;
use oriole_options::{
    AllocateOptions, DebugOptions, FinishOptions, LowerOptions, OrderOptions, PassOptions, SelectOptions,
};
use oriole_ori::{Function, MachineFunction};
use oriole_pipeline::facts::FunctionFacts;
use oriole_pipeline::image::{LinkedFunction, ModuleVariable};
use oriole_pipeline::target::SelectionTree;
use oriole_pipeline::{Allocated, Group, LibraryFunction, Routine, Target};
use oriole_sass::form::Table;
use oriole_syntax::{Parse, UnitKind};

use crate::debug::{self, KernelLines};
use crate::debugger::{self, CodePlaces, DebugParts};
use crate::driver::{self, Output};
use crate::failure::{Failed, Staged, Static};
use crate::link::{self, CallGraph, Layout};
use crate::module::{self, Index, ModuleDiagnostics, Resolution, VariableUnit};
use crate::relocatable;
use crate::stage;
use crate::stored;
use crate::weight;

// ---- a file and its units

/// The units of a file, in file order. It reads no text: the writer cuts a text where it changes, and writes the units that
/// changed.
#[salsa::tracked(returns(ref), heap_size = weight::units)]
pub fn split_file(db: &dyn Db, file: SourceFile) -> Vec<FunctionUnit<'_>> {
    let _running = db.executes("split_file", Place::File(file));
    FunctionUnit::of(db, file)
}

/// The tree of a unit. The only query that reads a unit's text, of which the tree is a part that is made at first need.
#[salsa::tracked(returns(ref), heap_size = weight::tree)]
pub fn function_tree<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Parse {
    let _running = db.executes("function_tree", Place::Unit(unit));
    unit.text(db).0.parse().clone()
}

/// Which unit declares which name. Equal unless a unit comes, goes or changes its name.
#[salsa::tracked(returns(ref))]
pub fn index(db: &dyn Db, file: SourceFile) -> Index<'_> {
    let _running = db.executes("index", Place::File(file));
    module::index(db, file)
}

/// The unit that defines a name, or else the first that declares it; one entry of [`index`].
#[salsa::tracked(returns(copy))]
pub fn definition(db: &dyn Db, file: SourceFile, name: Arc<str>) -> Option<FunctionUnit<'_>> {
    let _running = db.executes("definition", Place::Name(file, &name));
    index(db, file).definition(&name)
}

// ---- what the rest of a module may know of a unit

/// What the unit declares, with places. Only projections read it.
#[salsa::tracked(returns(ref), heap_size = weight::declared)]
pub fn declared<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Declared]> {
    let _running = db.executes("declared", Place::Unit(unit));
    module::declared(db, unit)
}

/// The same for the module's checks. Volatile: no unit that is edited for the first time makes them run again.
#[salsa::tracked(returns(ref))]
pub fn announced<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Declared]> {
    let _running = db.executes("announced", Place::Unit(unit));
    unit.file(db).volatile(db);
    declared(db, unit).clone()
}

/// The header: version, targets, address size.
#[salsa::tracked(returns(ref))]
pub fn module_header(db: &dyn Db, file: SourceFile) -> Header {
    let _running = db.executes("module_header", Place::File(file));
    module::header(db, file)
}

/// The answer to one question about the header. It shields what is resolved: another version or target runs nothing again
/// whose questions have the answers that they had.
#[salsa::tracked(returns(copy))]
pub fn header_answer(db: &dyn Db, file: SourceFile, question: HeaderQuestion) -> bool {
    let _running = db.executes("header_answer", Place::Name(file, &question.to_string()));
    question.answer(module_header(db, file))
}

/// Bits of an address in the module.
#[salsa::tracked(returns(copy))]
pub fn address_bits(db: &dyn Db, file: SourceFile) -> u8 {
    let _running = db.executes("address_bits", Place::File(file));
    module_header(db, file).address_bits()
}

/// The variables that a unit declares, as their users see them.
#[salsa::tracked(returns(ref))]
pub fn globals<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<(Arc<str>, GlobalInfo)> {
    let _running = db.executes("globals", Place::Unit(unit));
    module::globals(declared(db, unit))
}

/// What users see of one module-level variable.
#[salsa::tracked(returns(ref))]
pub fn global(db: &dyn Db, file: SourceFile, name: Arc<str>) -> Option<GlobalInfo> {
    let _running = db.executes("global", Place::Name(file, &name));
    module::global(db, file, &name)
}

/// The variables of a unit with their initial values, and the diagnostics about them.
#[salsa::tracked(returns(ref))]
pub fn variables<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> VariableUnit {
    let _running = db.executes("variables", Place::Unit(unit));
    module::variables(db, unit)
}

/// What callers see of a function. Read from its tree and not from its resolved body, so that two functions may call
/// each other.
#[salsa::tracked(returns(ref))]
pub fn signature<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<SignatureInfo> {
    let _running = db.executes("signature", Place::Unit(unit));
    if unit.kind(db) == UnitKind::Entry {
        // Who takes the address of a kernel is not compiled again when the kernel is edited for the first time.
        unit.file(db).volatile(db);
    }
    module::signature(declared(db, unit))
}

/// The linkage word of a function.
#[salsa::tracked(returns(copy))]
pub fn linkage<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<Linkage> {
    let _running = db.executes("linkage", Place::Unit(unit));
    module::linkage(declared(db, unit))
}

/// The function that an `.alias` stands for; `None` for other units.
#[salsa::tracked(returns(ref))]
pub fn alias_target<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<Arc<str>> {
    let _running = db.executes("alias_target", Place::Unit(unit));
    module::alias_target(declared(db, unit))
}

/// The functions that the initial values of a unit's variables name, sorted.
#[salsa::tracked(returns(ref))]
pub fn initial_functions<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<Arc<str>> {
    let _running = db.executes("initial_functions", Place::Unit(unit));
    module::initial_functions(variables(db, unit))
}

// ---- a unit, resolved

/// Everything that resolving gives at once. Only the projections below read it.
#[salsa::tracked(returns(ref), heap_size = weight::resolution)]
pub fn resolved<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Resolution {
    let _running = db.executes("resolved", Place::Unit(unit));
    module::resolve(db, unit)
}

/// What the function means; `None` if it has errors. Comments, positions and the names of registers stop here.
#[salsa::tracked(returns(ref))]
pub fn body<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<Arc<Body>> {
    let _running = db.executes("body", Place::Unit(unit));
    resolved(db, unit).body.clone()
}

/// From ordinals back to places. Rendering and line tables read it; no stage does.
#[salsa::tracked(returns(ref))]
pub fn source_map<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<SourceMap> {
    let _running = db.executes("source_map", Place::Unit(unit));
    resolved(db, unit).source_map.clone()
}

/// Diagnostics of parser and resolver, with spans relative to the unit.
#[salsa::tracked(returns(ref))]
pub fn diagnostics<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Diagnostic]> {
    let _running = db.executes("diagnostics", Place::Unit(unit));
    unit.file(db).volatile(db);
    resolved(db, unit).diagnostics.clone()
}

/// Names of the module that the function uses.
#[salsa::tracked(returns(ref))]
pub fn uses<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<Uses> {
    let _running = db.executes("uses", Place::Unit(unit));
    unit.file(db).volatile(db);
    resolved(db, unit).uses.clone()
}

/// Shared variables that the function declares or uses; diagnostics only, no stage reads it.
#[salsa::tracked(returns(ref))]
pub fn shared_variables<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Variable]> {
    let _running = db.executes("shared_variables", Place::Unit(unit));
    unit.file(db).volatile(db);
    resolved(db, unit).shared.clone()
}

/// The static variables that the function declares. No place enters.
#[salsa::tracked(returns(ref))]
pub fn statics<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[oriole_hir::ModuleVariable]> {
    let _running = db.executes("statics", Place::Unit(unit));
    unit.file(db).volatile(db);
    resolved(db, unit).statics.clone()
}

/// The names and labels of the debug sections of a unit.
#[salsa::tracked(returns(ref))]
pub fn section_labels<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<(String, Span)> {
    let _running = db.executes("section_labels", Place::Unit(unit));
    oriole_hir::section_labels(&function_tree(db, unit).unit())
}

/// Whether the function has places in the source (`.loc`).
#[salsa::tracked(returns(copy))]
pub fn has_lines<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> bool {
    let _running = db.executes("has_lines", Place::Unit(unit));
    unit.file(db).volatile(db);
    !resolved(db, unit).source_map.lines.is_empty()
}

/// Files of the source and debug sections that a unit names. No stage reads it.
#[salsa::tracked(returns(ref))]
pub fn debug_data<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<DebugData> {
    let _running = db.executes("debug_data", Place::Unit(unit));
    Arc::new(oriole_hir::debug_data(&function_tree(db, unit).unit()))
}

/// What the control flow of a function says against it: registers that nothing writes before they are read, instructions
/// that control never reaches. Diagnostics only, no stage reads it. No place enters.
#[salsa::tracked(returns(ref))]
pub fn flow_report<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> FlowReport {
    let _running = db.executes("flow_report", Place::Unit(unit));
    unit.file(db).volatile(db);
    body(db, unit).as_deref().map(oriole_hir::check_flow).unwrap_or_default()
}

/// Uses that are above the declaration; diagnostics only, no stage reads it. No place in a unit enters.
#[salsa::tracked(returns(ref))]
pub fn order_check(db: &dyn Db, file: SourceFile) -> Vec<EarlyUse> {
    let _running = db.executes("order_check", Place::File(file));
    module::order_check(db, file)
}

/// Diagnostics that need the whole module; no stage reads it.
#[salsa::tracked(returns(ref))]
pub fn module_diagnostics(db: &dyn Db, file: SourceFile) -> ModuleDiagnostics {
    let _running = db.executes("module_diagnostics", Place::File(file));
    module::module_diagnostics(db, file)
}

/// Whether any diagnostic about the file is an error for an output: then nothing is written.
#[salsa::tracked(returns(copy))]
pub fn has_errors(db: &dyn Db, file: SourceFile, output: Output) -> bool {
    let _running = db.executes("has_errors", Place::File(file));
    let found = driver::diagnostics_by_unit(db, file, output.shared_limit());
    found.iter().any(|(_, diagnostic)| output.is_stopped_by(diagnostic))
}

// ---- a chip; no edit and no knob runs these again

/// The encoded forms of a chip.
#[salsa::tracked(returns(ref))]
pub fn forms<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Static<Table>> {
    let _running = db.executes("forms", Place::Chip(chip));
    stage::forms(chip.chip(db))
}

/// The latencies of a chip.
#[salsa::tracked(returns(ref))]
pub fn latency_model<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Static<Model>> {
    let _running = db.executes("latency_model", Place::Chip(chip));
    stage::latency_model(chip.chip(db))
}

/// The patterns of a chip's selection as a decision tree.
#[salsa::tracked(returns(ref))]
pub fn selection_tree<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Static<SelectionTree>> {
    let _running = db.executes("selection_tree", Place::Chip(chip));
    stage::selection_tree(chip.chip(db))
}

/// All that the back end knows of a chip, one value.
#[salsa::tracked(returns(ref))]
pub fn target<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Target> {
    let _running = db.executes("target", Place::Chip(chip));
    stage::target(chip.chip(db), forms(db, chip), latency_model(db, chip), selection_tree(db, chip))
}

// ---- a configuration, one projection for each reader

/// The chip.
#[salsa::tracked(returns(copy))]
pub fn chip_info(db: &dyn Db, config: Config) -> Chip {
    let _running = db.executes("chip_info", Place::Config(config));
    config.chip(db)
}

/// The chip as a key of what is known of it.
#[salsa::tracked(returns(copy))]
pub fn chip_key(db: &dyn Db, config: Config) -> ChipKey<'_> {
    let _running = db.executes("chip_key", Place::Config(config));
    ChipKey::new(db, chip_info(db, config))
}

/// Options of lowering.
#[salsa::tracked(returns(copy))]
pub fn lower_options(db: &dyn Db, config: Config) -> LowerOptions {
    let _running = db.executes("lower_options", Place::Config(config));
    config.lower(db)
}

/// What lowering may know of a module: modules for debuggers have their functions in sections of their own at level 0, and
/// nobody asks the header at another.
pub(crate) fn lowering(db: &dyn Db, file: SourceFile, config: Config) -> LowerOptions {
    let options = lower_options(db, config);
    let debug = || options.unoptimized && header_answer(db, file, HeaderQuestion::Debug);
    LowerOptions { for_debuggers: options.for_debuggers || debug(), ..options }
}

/// Options of the passes of all stages; for what goes through all of them at once.
#[salsa::tracked(returns(copy))]
pub fn pass_options(db: &dyn Db, config: Config) -> PassOptions {
    let _running = db.executes("pass_options", Place::Config(config));
    config.passes(db)
}

/// Options that the passes of one stage may know.
#[salsa::tracked(returns(copy))]
pub fn stage_options(db: &dyn Db, config: Config, stage: Group) -> PassOptions {
    let _running = db.executes("stage_options", Place::StageConfig(stage.name(), config));
    stage.options(&pass_options(db, config))
}

/// Options of scheduling before allocation.
#[salsa::tracked(returns(copy))]
pub fn order_options(db: &dyn Db, config: Config) -> OrderOptions {
    let _running = db.executes("order_options", Place::Config(config));
    config.order(db)
}

/// Options of selection.
#[salsa::tracked(returns(copy))]
pub fn select_options(db: &dyn Db, config: Config) -> SelectOptions {
    let _running = db.executes("select_options", Place::Config(config));
    config.select(db)
}

/// Options of scheduling after allocation, and of control words.
#[salsa::tracked(returns(copy))]
pub fn finish_options(db: &dyn Db, config: Config) -> FinishOptions {
    let _running = db.executes("finish_options", Place::Config(config));
    config.finish(db)
}

/// Options of register allocation.
#[salsa::tracked(returns(copy))]
pub fn allocate_options(db: &dyn Db, config: Config) -> AllocateOptions {
    let _running = db.executes("allocate_options", Place::Config(config));
    config.allocate(db)
}

/// Options of debug information.
#[salsa::tracked(returns(copy))]
pub fn debug_options(db: &dyn Db, config: Config) -> DebugOptions {
    let _running = db.executes("debug_options", Place::Config(config));
    config.debug(db)
}

// ---- a function for a configuration: the groups of phases

/// Phases 0 to 13: lowered, in opcodes of the machine.
#[salsa::tracked(returns(ref), heap_size = weight::function)]
pub fn bridged<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    let _running = db.executes("bridged", Place::UnitConfig(unit, config));
    stage::bridged(db, unit, config, body(db, unit).as_deref().ok_or(Failed::Diagnosed)?)
}

/// Phases 14 to 22.
#[salsa::tracked(returns(ref), lru = 512, heap_size = weight::function)]
pub fn early<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    let _running = db.executes("early", Place::UnitConfig(unit, config));
    stage::ori(db, config, Group::Early, bridged(db, unit, config))
}

/// Phases 23 to 32: into SSA.
#[salsa::tracked(returns(ref), lru = 512, heap_size = weight::function)]
pub fn ssa_early<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    let _running = db.executes("ssa_early", Place::UnitConfig(unit, config));
    stage::ori(db, config, Group::SsaEarly, early(db, unit, config))
}

/// Phases 33 to 52.
#[salsa::tracked(returns(ref), lru = 512, heap_size = weight::function)]
pub fn ssa_mid<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    let _running = db.executes("ssa_mid", Place::UnitConfig(unit, config));
    stage::ori(db, config, Group::SsaMid, ssa_early(db, unit, config))
}

/// Phases 53 to 73: out of SSA.
#[salsa::tracked(returns(ref), lru = 512, heap_size = weight::function)]
pub fn ssa_late<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    let _running = db.executes("ssa_late", Place::UnitConfig(unit, config));
    stage::ori(db, config, Group::SsaLate, ssa_mid(db, unit, config))
}

/// Phases 74 to 96: every instruction has a form on the chip.
#[salsa::tracked(returns(ref), lru = 512, heap_size = weight::function)]
pub fn legal<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    let _running = db.executes("legal", Place::UnitConfig(unit, config));
    stage::ori(db, config, Group::Legal, ssa_late(db, unit, config))
}

/// The most registers that the source grants a kernel or function by itself.
#[salsa::tracked(returns(copy))]
pub fn register_limit<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Option<u16> {
    let _running = db.executes("register_limit", Place::UnitConfig(unit, config));
    unit.file(db).volatile(db);
    oriole_lower::register_limit(body(db, unit).as_deref()?, chip_info(db, config))
}

/// The most registers that all kernels which reach a function leave it. Asked for functions only.
#[salsa::tracked(returns(copy))]
pub fn register_budget<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Option<u16> {
    let _running = db.executes("register_budget", Place::UnitConfig(unit, config));
    let kernels = reaching_kernels(db, unit).iter();
    kernels.filter_map(|&kernel| register_limit(db, kernel, config)).min()
}

/// Phases 97 to 105: ordered, with registers.
#[salsa::tracked(returns(ref), lru = 512, heap_size = weight::allocated)]
pub fn allocated<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Allocated> {
    let _running = db.executes("allocated", Place::UnitConfig(unit, config));
    stage::allocated(db, unit, config, legal(db, unit, config))
}

/// Forms chosen; after this nothing adds or removes an instruction.
#[salsa::tracked(returns(ref), lru = 512, heap_size = weight::machine)]
pub fn selected<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<MachineFunction> {
    let _running = db.executes("selected", Place::UnitConfig(unit, config));
    stage::selected(db, config, allocated(db, unit, config))
}

/// Phases 106 to 116 and 119 to 121: laid out, with control words.
#[salsa::tracked(returns(ref), lru = 512, heap_size = weight::machine)]
pub fn finished<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<MachineFunction> {
    let _running = db.executes("finished", Place::UnitConfig(unit, config));
    stage::finished(db, config, selected(db, unit, config))
}

/// All phases at once, for a database that keeps no stages.
#[salsa::tracked(returns(ref), heap_size = weight::linked)]
pub fn compiled<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<LinkedFunction> {
    let _running = db.executes("compiled", Place::UnitConfig(unit, config));
    stage::straight(db, unit, config, body(db, unit).as_deref().ok_or(Failed::Diagnosed)?)
}

/// Phase 122: words, what is symbolic in them, and what layout must know of the function.
#[salsa::tracked(returns(ref), heap_size = weight::linked)]
pub fn encoded<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<LinkedFunction> {
    let _running = db.executes("encoded", Place::UnitConfig(unit, config));
    let body = body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    stored::encoded(db, unit, config, body, || {
        if !db.keeps_stages() {
            return compiled(db, unit, config).clone();
        }
        stage::encoded(db, config, body, allocated(db, unit, config), finished(db, unit, config))
    })
}

/// A routine of the compiler, finished. No file, unit or text is read: no edit of a program compiles it again.
#[salsa::tracked(returns(ref), heap_size = weight::linked)]
pub fn routine(db: &dyn Db, which: Routine, config: Config) -> Staged<LinkedFunction> {
    let _running = db.executes("routine", Place::Routine(which.name(), config));
    stored::routine(db, which.name(), config, || stage::routine(db, config, which))
}

/// A function of the library, finished. It depends on no program either.
#[salsa::tracked(returns(ref), heap_size = weight::linked)]
pub fn library(db: &dyn Db, which: LibraryFunction, config: Config) -> Staged<LinkedFunction> {
    let _running = db.executes("library", Place::Routine(which.name(), config));
    stored::routine(db, which.name(), config, || stage::library(db, config, which))
}

/// The section of a function of the library.
#[salsa::tracked(returns(ref), heap_size = weight::image)]
pub fn library_image(db: &dyn Db, which: LibraryFunction, config: Config) -> Staged<KernelImage> {
    let _running = db.executes("library_image", Place::Routine(which.name(), config));
    relocatable::library_image(db, which, config)
}

/// What is worth telling of a compiled function; for editors and reports, no stage reads it.
#[salsa::tracked(returns(ref), heap_size = weight::facts)]
pub fn facts<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<FunctionFacts> {
    let _running = db.executes("facts", Place::UnitConfig(unit, config));
    stage::facts(db, config, allocated(db, unit, config), finished(db, unit, config))
}

// ---- a module for a configuration

/// Who calls whom, and which functions are recursive.
#[salsa::tracked(returns(ref))]
pub fn call_graph(db: &dyn Db, file: SourceFile) -> CallGraph {
    let _running = db.executes("call_graph", Place::File(file));
    link::call_graph(db, file)
}

/// The functions with code whose address the module takes, by code or by an initial value, in file order. The place in
/// the list makes the function's address as a value.
#[salsa::tracked(returns(ref))]
pub fn addressed_functions(db: &dyn Db, file: SourceFile) -> Vec<Arc<str>> {
    let _running = db.executes("addressed_functions", Place::File(file));
    link::addressed_functions(db, file)
}

/// The kernels whose addresses code of the module takes, in file order. The place in the list makes the place of the kernel's
/// descriptor.
#[salsa::tracked(returns(ref))]
pub fn launched_kernels(db: &dyn Db, file: SourceFile) -> Vec<Arc<str>> {
    let _running = db.executes("launched_kernels", Place::File(file));
    link::launched_kernels(db, file)
}

/// The kernels that reach a function, in the order of their names.
#[salsa::tracked(returns(ref))]
pub fn reaching_kernels<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<FunctionUnit<'db>> {
    let _running = db.executes("reaching_kernels", Place::Unit(unit));
    link::reaching_kernels(db, unit)
}

/// The bytes of the module's constants, which a kernel asks for that tells their generic addresses from others.
#[salsa::tracked]
pub fn constant_bytes(db: &dyn Db, file: SourceFile) -> u64 {
    let _running = db.executes("constant_bytes", Place::File(file));
    module_layout(db, file).symbols.constant_bytes
}

/// Where the variables of the module lie, without their values.
#[salsa::tracked(returns(ref))]
pub fn module_layout(db: &dyn Db, file: SourceFile) -> Layout {
    let _running = db.executes("module_layout", Place::File(file));
    link::module_layout(db, file)
}

/// Where one variable lies; one entry of [`module_layout`].
#[salsa::tracked(returns(ref))]
pub fn placed(db: &dyn Db, file: SourceFile, name: Arc<str>) -> Option<ModuleVariable> {
    let _running = db.executes("placed", Place::Name(file, &name));
    link::placed(db, file, &name)
}

/// The variables of the module with their values, in file order.
#[salsa::tracked(returns(ref))]
pub fn module_data(db: &dyn Db, file: SourceFile) -> Vec<oriole_hir::ModuleVariable> {
    let _running = db.executes("module_data", Place::File(file));
    link::module_data(db, file)
}

/// A kernel with all that it reaches, laid out; where functions have sections of their own, a kernel or function with its
/// routines alone.
#[salsa::tracked(returns(ref), heap_size = weight::image)]
pub fn kernel_image<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<KernelImage> {
    let _running = db.executes("kernel_image", Place::UnitConfig(unit, config));
    link::kernel_image(db, unit, config)
}

/// Where the code of a kernel stems from, in places of its units. Asked for only where the container has line tables.
#[salsa::tracked(returns(ref), heap_size = weight::lines)]
pub fn kernel_lines<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<KernelLines> {
    let _running = db.executes("kernel_lines", Place::UnitConfig(unit, config));
    debug::kernel_lines(db, unit, config)
}

/// Where a kernel or function has what debug sections name: labels, local variables, parameters. Asked for only of modules for
/// debuggers.
#[salsa::tracked(returns(ref), heap_size = weight::places)]
pub fn code_places<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<CodePlaces> {
    let _running = db.executes("code_places", Place::UnitConfig(unit, config));
    debugger::code_places(db, unit, config)
}

/// The sections for debuggers. This query alone reads the text of the file and where its units begin, and only where the
/// container has line tables: they number the lines of the text.
#[salsa::tracked(returns(ref), heap_size = weight::sections)]
pub fn debug_sections(db: &dyn Db, file: SourceFile, config: Config) -> Staged<DebugParts> {
    let _running = db.executes("debug_sections", Place::FileConfig(file, config));
    debug::sections(db, file, config)
}

/// The file's container for a chip.
#[salsa::tracked(returns(ref), heap_size = weight::bytes)]
pub fn cubin(db: &dyn Db, file: SourceFile, config: Config) -> Staged<Vec<u8>> {
    let _running = db.executes("cubin", Place::FileConfig(file, config));
    link::cubin(db, file, config)
}
