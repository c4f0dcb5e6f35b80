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
use oriole_link::debug_info::{CodePlaces, DebugParts, KernelLines};
use oriole_link::{CallGraph, Layout, ModuleVariable};
use oriole_options::{
    AllocateOptions, DebugOptions, FinishOptions, LowerOptions, OrderOptions, PassOptions, SelectOptions,
};
use oriole_ori::{Function, MachineFunction};
use oriole_pipeline::facts::FunctionFacts;
use oriole_pipeline::target::SelectionTree;
use oriole_pipeline::{Allocated, Group, LibraryFunction, LinkedFunction, Routine, Target};
use oriole_query_macro::query;
use oriole_sass::form::Table;
use oriole_syntax::{Parse, UnitKind};

use crate::debug;
use crate::driver::{self, Output};
use crate::failure::{Failed, Staged, Static};
use crate::link;
use crate::module::{self, Index, ModuleDiagnostics, Resolution, VariableUnit};
use crate::relocatable;
use crate::stage;
use crate::stored;
use crate::weight;

// ---- a file and its units

/// The units of a file, in file order. It reads no text: the writer cuts a text where it changes, and writes the units that
/// changed.
#[query(returns(ref), heap_size = weight::units)]
pub fn split_file(db: &dyn Db, file: SourceFile) -> Vec<FunctionUnit<'_>> {
    FunctionUnit::of(db, file)
}

/// The tree of a unit. The only query that reads a unit's text, of which the tree is a part that is made at first need.
#[query(returns(ref), heap_size = weight::tree)]
pub fn function_tree<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Parse {
    unit.text(db).0.parse().clone()
}

/// Which unit declares which name. Equal unless a unit comes, goes or changes its name.
#[query(returns(ref))]
pub fn index(db: &dyn Db, file: SourceFile) -> Index<'_> {
    module::index(db, file)
}

/// The unit that defines a name, or else the first that declares it; one entry of [`index`].
#[query(returns(copy), at = Place::Name(file, &name))]
pub fn definition(db: &dyn Db, file: SourceFile, name: Arc<str>) -> Option<FunctionUnit<'_>> {
    index(db, file).definition(&name)
}

// ---- what the rest of a module may know of a unit

/// What the unit declares, with places. Only projections read it.
#[query(returns(ref), heap_size = weight::declared)]
pub fn declared<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Declared]> {
    module::declared(db, unit)
}

/// The same for the module's checks. Volatile: no unit that is edited for the first time makes them run again.
#[query(returns(ref))]
pub fn announced<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Declared]> {
    unit.file(db).volatile(db);
    declared(db, unit).clone()
}

/// The header: version, targets, address size.
#[query(returns(ref))]
pub fn module_header(db: &dyn Db, file: SourceFile) -> Header {
    module::header(db, file)
}

/// The answer to one question about the header. It shields what is resolved: another version or target runs nothing again
/// whose questions have the answers that they had.
#[query(returns(copy), at = Place::Name(file, &question.to_string()))]
pub fn header_answer(db: &dyn Db, file: SourceFile, question: HeaderQuestion) -> bool {
    question.answer(module_header(db, file))
}

/// Bits of an address in the module.
#[query(returns(copy))]
pub fn address_bits(db: &dyn Db, file: SourceFile) -> u8 {
    module_header(db, file).address_bits()
}

/// The variables that a unit declares, as their users see them.
#[query(returns(ref))]
pub fn globals<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<(Arc<str>, GlobalInfo)> {
    module::globals(declared(db, unit))
}

/// What users see of one module-level variable.
#[query(returns(ref), at = Place::Name(file, &name))]
pub fn global(db: &dyn Db, file: SourceFile, name: Arc<str>) -> Option<GlobalInfo> {
    module::global(db, file, &name)
}

/// The variables of a unit with their initial values, and the diagnostics about them.
#[query(returns(ref))]
pub fn variables<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> VariableUnit {
    module::variables(db, unit)
}

/// What callers see of a function. Read from its tree and not from its resolved body, so that two functions may call
/// each other.
#[query(returns(ref))]
pub fn signature<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<SignatureInfo> {
    if unit.kind(db) == UnitKind::Entry {
        // Who takes the address of a kernel is not compiled again when the kernel is edited for the first time.
        unit.file(db).volatile(db);
    }
    module::signature(declared(db, unit))
}

/// The linkage word of a function.
#[query(returns(copy))]
pub fn linkage<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<Linkage> {
    module::linkage(declared(db, unit))
}

/// The function that an `.alias` stands for; `None` for other units.
#[query(returns(ref))]
pub fn alias_target<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<Arc<str>> {
    module::alias_target(declared(db, unit))
}

/// The functions that the initial values of a unit's variables name, sorted.
#[query(returns(ref))]
pub fn initial_functions<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<Arc<str>> {
    module::initial_functions(variables(db, unit))
}

// ---- a unit, resolved

/// Everything that resolving gives at once. Only the projections below read it.
#[query(returns(ref), heap_size = weight::resolution)]
pub fn resolved<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Resolution {
    module::resolve(db, unit)
}

/// What the function means; `None` if it has errors. Comments, positions and the names of registers stop here.
#[query(returns(ref))]
pub fn body<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<Arc<Body>> {
    resolved(db, unit).body.clone()
}

/// From ordinals back to places. Rendering and line tables read it; no stage does.
#[query(returns(ref))]
pub fn source_map<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<SourceMap> {
    resolved(db, unit).source_map.clone()
}

/// Diagnostics of parser and resolver, with spans relative to the unit.
#[query(returns(ref))]
pub fn diagnostics<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Diagnostic]> {
    unit.file(db).volatile(db);
    resolved(db, unit).diagnostics.clone()
}

/// Names of the module that the function uses.
#[query(returns(ref))]
pub fn uses<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<Uses> {
    unit.file(db).volatile(db);
    resolved(db, unit).uses.clone()
}

/// Shared variables that the function declares or uses; diagnostics only, no stage reads it.
#[query(returns(ref))]
pub fn shared_variables<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Variable]> {
    unit.file(db).volatile(db);
    resolved(db, unit).shared.clone()
}

/// The static variables that the function declares. No place enters.
#[query(returns(ref))]
pub fn statics<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[oriole_hir::ModuleVariable]> {
    unit.file(db).volatile(db);
    resolved(db, unit).statics.clone()
}

/// The names and labels of the debug sections of a unit.
#[query(returns(ref))]
pub fn section_labels<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<(String, Span)> {
    oriole_hir::section_labels(&function_tree(db, unit).unit())
}

/// Whether the function has places in the source (`.loc`).
#[query(returns(copy))]
pub fn has_lines<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> bool {
    unit.file(db).volatile(db);
    !resolved(db, unit).source_map.lines.is_empty()
}

/// Files of the source and debug sections that a unit names. No stage reads it.
#[query(returns(ref))]
pub fn debug_data<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<DebugData> {
    Arc::new(oriole_hir::debug_data(&function_tree(db, unit).unit()))
}

/// What the control flow of a function says against it: registers that nothing writes before they are read, instructions
/// that control never reaches. Diagnostics only, no stage reads it. No place enters.
#[query(returns(ref))]
pub fn flow_report<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> FlowReport {
    unit.file(db).volatile(db);
    body(db, unit).as_deref().map(oriole_hir::check_flow).unwrap_or_default()
}

/// Uses that are above the declaration; diagnostics only, no stage reads it. No place in a unit enters.
#[query(returns(ref))]
pub fn order_check(db: &dyn Db, file: SourceFile) -> Vec<EarlyUse> {
    module::order_check(db, file)
}

/// Diagnostics that need the whole module; no stage reads it.
#[query(returns(ref))]
pub fn module_diagnostics(db: &dyn Db, file: SourceFile) -> ModuleDiagnostics {
    module::module_diagnostics(db, file)
}

/// Whether any diagnostic about the file is an error for an output: then nothing is written.
#[query(returns(copy), at = Place::File(file))]
pub fn has_errors(db: &dyn Db, file: SourceFile, output: Output) -> bool {
    let found = driver::diagnostics_by_unit(db, file, output.shared_limit());
    found.iter().any(|(_, diagnostic)| output.is_stopped_by(diagnostic))
}

// ---- a chip; no edit and no knob runs these again

/// The encoded forms of a chip.
#[query(returns(ref))]
pub fn forms<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Static<Table>> {
    stage::forms(chip.chip(db))
}

/// The latencies of a chip.
#[query(returns(ref))]
pub fn latency_model<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Static<Model>> {
    stage::latency_model(chip.chip(db))
}

/// The patterns of a chip's selection as a decision tree.
#[query(returns(ref))]
pub fn selection_tree<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Static<SelectionTree>> {
    stage::selection_tree(chip.chip(db))
}

/// All that the back end knows of a chip, one value.
#[query(returns(ref))]
pub fn target<'db>(db: &'db dyn Db, chip: ChipKey<'db>) -> Staged<Target> {
    stage::target(chip.chip(db), forms(db, chip), latency_model(db, chip), selection_tree(db, chip))
}

// ---- a configuration, one projection for each reader

/// The chip.
#[query(returns(copy))]
pub fn chip_info(db: &dyn Db, config: Config) -> Chip {
    config.chip(db)
}

/// The chip as a key of what is known of it.
#[query(returns(copy))]
pub fn chip_key(db: &dyn Db, config: Config) -> ChipKey<'_> {
    ChipKey::new(db, chip_info(db, config))
}

/// Options of lowering.
#[query(returns(copy))]
pub fn lower_options(db: &dyn Db, config: Config) -> LowerOptions {
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

/// Options of debug information.
#[query(returns(copy))]
pub fn debug_options(db: &dyn Db, config: Config) -> DebugOptions {
    config.debug(db)
}

// ---- a function for a configuration: the groups of phases

/// Phases 0 to 13: lowered, in opcodes of the machine.
#[query(returns(ref), heap_size = weight::function)]
pub fn bridged<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    stage::bridged(db, unit, config, body(db, unit).as_deref().ok_or(Failed::Diagnosed)?)
}

/// Phases 14 to 22.
#[query(returns(ref), lru = 512, heap_size = weight::function)]
pub fn early<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    stage::ori(db, config, Group::Early, bridged(db, unit, config))
}

/// Phases 23 to 32: into SSA.
#[query(returns(ref), lru = 512, heap_size = weight::function)]
pub fn ssa_early<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    stage::ori(db, config, Group::SsaEarly, early(db, unit, config))
}

/// Phases 33 to 52.
#[query(returns(ref), lru = 512, heap_size = weight::function)]
pub fn ssa_mid<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    stage::ori(db, config, Group::SsaMid, ssa_early(db, unit, config))
}

/// Phases 53 to 73: out of SSA.
#[query(returns(ref), lru = 512, heap_size = weight::function)]
pub fn ssa_late<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    stage::ori(db, config, Group::SsaLate, ssa_mid(db, unit, config))
}

/// Phases 74 to 96: every instruction has a form on the chip.
#[query(returns(ref), lru = 512, heap_size = weight::function)]
pub fn legal<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Function> {
    stage::ori(db, config, Group::Legal, ssa_late(db, unit, config))
}

/// The most registers that the source grants a kernel or function by itself.
#[query(returns(copy))]
pub fn register_limit<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Option<u16> {
    unit.file(db).volatile(db);
    oriole_lower::register_limit(body(db, unit).as_deref()?, chip_info(db, config))
}

/// The most registers that all kernels which reach a function leave it. Asked for functions only.
#[query(returns(copy))]
pub fn register_budget<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Option<u16> {
    let kernels = reaching_kernels(db, unit).iter();
    kernels.filter_map(|&kernel| register_limit(db, kernel, config)).min()
}

/// Phases 97 to 105: ordered, with registers.
#[query(returns(ref), lru = 512, heap_size = weight::allocated)]
pub fn allocated<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Allocated> {
    stage::allocated(db, unit, config, legal(db, unit, config))
}

/// Forms chosen; after this nothing adds or removes an instruction.
#[query(returns(ref), lru = 512, heap_size = weight::machine)]
pub fn selected<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<MachineFunction> {
    stage::selected(db, config, allocated(db, unit, config))
}

/// Phases 106 to 116 and 119 to 121: laid out, with control words.
#[query(returns(ref), lru = 512, heap_size = weight::machine)]
pub fn finished<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<MachineFunction> {
    stage::finished(db, config, selected(db, unit, config))
}

/// All phases at once, for a database that keeps no stages.
#[query(returns(ref), heap_size = weight::linked)]
pub fn compiled<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<LinkedFunction> {
    stage::straight(db, unit, config, body(db, unit).as_deref().ok_or(Failed::Diagnosed)?)
}

/// Phase 122: words, what is symbolic in them, and what layout must know of the function.
#[query(returns(ref), heap_size = weight::linked)]
pub fn encoded<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<LinkedFunction> {
    let body = body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    stored::encoded(db, unit, config, body, || {
        if !db.keeps_stages() {
            return compiled(db, unit, config).clone();
        }
        stage::encoded(db, config, body, allocated(db, unit, config), finished(db, unit, config))
    })
}

/// A routine of the compiler, finished. No file, unit or text is read: no edit of a program compiles it again.
#[query(returns(ref), heap_size = weight::linked, at = Place::Routine(which.name(), config))]
pub fn routine(db: &dyn Db, which: Routine, config: Config) -> Staged<LinkedFunction> {
    stored::routine(db, which.name(), config, || stage::routine(db, config, which))
}

/// A function of the library, finished. It depends on no program either.
#[query(returns(ref), heap_size = weight::linked, at = Place::Routine(which.name(), config))]
pub fn library(db: &dyn Db, which: LibraryFunction, config: Config) -> Staged<LinkedFunction> {
    stored::routine(db, which.name(), config, || stage::library(db, config, which))
}

/// The section of a function of the library.
#[query(returns(ref), heap_size = weight::image, at = Place::Routine(which.name(), config))]
pub fn library_image(db: &dyn Db, which: LibraryFunction, config: Config) -> Staged<KernelImage> {
    relocatable::library_image(db, which, config)
}

/// What is worth telling of a compiled function; for editors and reports, no stage reads it.
#[query(returns(ref), heap_size = weight::facts)]
pub fn facts<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<FunctionFacts> {
    stage::facts(db, config, allocated(db, unit, config), finished(db, unit, config))
}

// ---- a module for a configuration

/// Who calls whom, and which functions are recursive.
#[query(returns(ref))]
pub fn call_graph(db: &dyn Db, file: SourceFile) -> CallGraph {
    link::call_graph(db, file)
}

/// The functions with code whose address the module takes, by code or by an initial value, in file order. The place in
/// the list makes the function's address as a value.
#[query(returns(ref))]
pub fn addressed_functions(db: &dyn Db, file: SourceFile) -> Vec<Arc<str>> {
    link::addressed_functions(db, file)
}

/// The kernels whose addresses code of the module takes, in file order. The place in the list makes the place of the kernel's
/// descriptor.
#[query(returns(ref))]
pub fn launched_kernels(db: &dyn Db, file: SourceFile) -> Vec<Arc<str>> {
    link::launched_kernels(db, file)
}

/// The kernels that reach a function, in the order of their names.
#[query(returns(ref))]
pub fn reaching_kernels<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<FunctionUnit<'db>> {
    link::reaching_kernels(db, unit)
}

/// The bytes of the module's constants, which a kernel asks for that tells their generic addresses from others.
#[query]
pub fn constant_bytes(db: &dyn Db, file: SourceFile) -> u64 {
    module_layout(db, file).symbols.constant_bytes
}

/// Where the variables of the module lie, without their values.
#[query(returns(ref))]
pub fn module_layout(db: &dyn Db, file: SourceFile) -> Layout {
    link::module_layout(db, file)
}

/// Where one variable lies; one entry of [`module_layout`].
#[query(returns(ref), at = Place::Name(file, &name))]
pub fn placed(db: &dyn Db, file: SourceFile, name: Arc<str>) -> Option<ModuleVariable> {
    module_layout(db, file).placed(&name).cloned()
}

/// The variables of the module with their values, in file order.
#[query(returns(ref))]
pub fn module_data(db: &dyn Db, file: SourceFile) -> Vec<oriole_hir::ModuleVariable> {
    link::module_data(db, file)
}

/// A kernel with all that it reaches, laid out; where functions have sections of their own, a kernel or function with its
/// routines alone.
#[query(returns(ref), heap_size = weight::image)]
pub fn kernel_image<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<KernelImage> {
    link::kernel_image(db, unit, config)
}

/// Where the code of a kernel stems from, in places of its units. Asked for only where the container has line tables.
#[query(returns(ref), heap_size = weight::lines)]
pub fn kernel_lines<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<KernelLines> {
    debug::kernel_lines(db, unit, config)
}

/// Where a kernel or function has what debug sections name: labels, local variables, parameters. Asked for only of modules for
/// debuggers.
#[query(returns(ref), heap_size = weight::places)]
pub fn code_places<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<CodePlaces> {
    debug::code_places(db, unit, config)
}

/// The sections for debuggers. This query alone reads the text of the file and where its units begin, and only where the
/// container has line tables: they number the lines of the text.
#[query(returns(ref), heap_size = weight::sections)]
pub fn debug_sections(db: &dyn Db, file: SourceFile, config: Config) -> Staged<DebugParts> {
    debug::sections(db, file, config)
}

/// The file's container for a chip.
#[query(returns(ref), heap_size = weight::bytes)]
pub fn cubin(db: &dyn Db, file: SourceFile, config: Config) -> Staged<Vec<u8>> {
    link::cubin(db, file, config)
}
