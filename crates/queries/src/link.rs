//! From functions to a module: who calls whom, where variables are, kernels laid out, the container.
//!
//! It is here because these questions read several units; each is cut so that an edit of one unit changes as few answers as possible:
//! layout knows no initial value, a kernel knows only what it reaches. What is made of what is read is in `oriole-link`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_cubin::{Binding, KernelImage};
use oriole_diagnostics::Code;
use oriole_hir::{GlobalInfo, Linkage};
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_link::image::kernel_image as image_of;
use oriole_link::{CallGraph, Layout, ModuleSymbols, container, function_value, source};
use oriole_options::Linking;
use oriole_ori::SymbolKind;
use oriole_pipeline::{LinkedFunction, Routine};
use oriole_syntax::UnitKind;

use crate::driver::Output;
use crate::failure::{Failed, Staged, guarded};
use crate::graph;
use crate::module::function_unit;
use crate::{relocatable, stage};

pub(crate) fn call_graph(db: &dyn Db, file: SourceFile) -> CallGraph {
    let mut callees = BTreeMap::new();
    let mut entries = BTreeSet::new();
    for &unit in graph::index(db, file).functions.iter().filter(|unit| unit.has_code(db)) {
        if unit.kind(db) == UnitKind::Entry {
            entries.insert(unit.name(db).clone());
        }
        let uses = graph::uses(db, unit);
        let called = uses.called.iter().filter_map(|name| function_unit(db, file, name));
        let mut names: Vec<Arc<str>> = called.map(|unit| unit.name(db).clone()).collect();
        if uses.calls_through_pointers {
            names.extend_from_slice(graph::addressed_functions(db, file));
        }
        callees.insert(unit.name(db).clone(), names);
    }
    CallGraph::new(callees, &entries)
}

pub(crate) fn addressed_functions(db: &dyn Db, file: SourceFile) -> Vec<Arc<str>> {
    let index = graph::index(db, file);
    let mut named = BTreeSet::new();
    let mut add = |name: &str| {
        // An alias is another name of the same address.
        named.extend(function_unit(db, file, name).map(|unit| unit.name(db).clone()));
    };
    for &unit in index.functions.iter().filter(|unit| unit.has_code(db)) {
        graph::uses(db, unit).addressed.iter().for_each(|name| add(name));
    }
    for &unit in &index.variables {
        graph::initial_functions(db, unit).iter().for_each(|name| add(name));
    }
    let functions = index.functions.iter().filter(|unit| unit.kind(db) == UnitKind::Function);
    functions.map(|unit| unit.name(db)).filter(|name| named.contains(*name)).cloned().collect()
}

pub(crate) fn launched_kernels(db: &dyn Db, file: SourceFile) -> Vec<Arc<str>> {
    let functions = &graph::index(db, file).functions;
    let mut named = BTreeSet::new();
    for &unit in functions.iter().filter(|unit| unit.has_code(db)) {
        let addressed = graph::uses(db, unit).addressed.iter();
        named.extend(addressed.filter_map(|name| Some(function_unit(db, file, name)?.name(db).clone())));
    }
    let kernels = functions.iter().filter(|unit| unit.kind(db) == UnitKind::Entry);
    kernels.map(|unit| unit.name(db)).filter(|name| named.contains(*name)).cloned().collect()
}

pub(crate) fn reaching_kernels<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<FunctionUnit<'db>> {
    let file = unit.file(db);
    let index = graph::index(db, file);
    let kernels = graph::call_graph(db, file).kernels.get(&**unit.name(db));
    let units = kernels.into_iter().flat_map(|names| names.iter()).filter_map(|name| index.definition(name));
    units.filter(|unit| unit.kind(db) == UnitKind::Entry).collect()
}

pub(crate) fn module_layout(db: &dyn Db, file: SourceFile) -> Layout {
    let index = graph::index(db, file);
    let mut variables: Vec<(&str, &GlobalInfo)> = Vec::new();
    for &unit in &index.variables {
        let globals = graph::globals(db, unit).iter();
        let own = globals.filter(|(name, _)| index.definition(name) == Some(unit));
        variables.extend(own.map(|(name, info)| (&**name, info)));
    }
    for &unit in index.functions.iter().filter(|unit| unit.has_code(db)) {
        let statics = graph::statics(db, unit).iter();
        variables.extend(statics.map(|variable| (variable.name.as_str(), &variable.info)));
    }
    let called = &graph::call_graph(db, file).callees;
    let external = |unit: &&FunctionUnit<'_>| {
        let name: &str = unit.name(db);
        oriole_hir::DRIVER_FUNCTIONS.contains(&name)
            && index.definition(name) == Some(**unit)
            && called.values().flatten().any(|callee| **callee == *name)
    };
    let declared = index.functions.iter().filter(|unit| unit.kind(db) == UnitKind::Declaration);
    let externs = declared.filter(external).map(|unit| unit.name(db).to_string()).collect();
    Layout::new(variables, externs)
}

pub(crate) fn module_data(db: &dyn Db, file: SourceFile) -> Vec<oriole_hir::ModuleVariable> {
    let index = graph::index(db, file);
    let functions = index.functions.iter().filter(|unit| unit.has_code(db));
    let statics = functions.flat_map(|&unit| graph::statics(db, unit).iter().cloned());
    let units = index.variables.iter();
    let variables =
        units.flat_map(|&unit| graph::variables(db, unit).variables.iter().map(move |it| (unit, it)));
    variables
        .filter(|(unit, variable)| index.definition(&variable.name) == Some(*unit))
        .map(|(_, variable)| oriole_hir::ModuleVariable {
            // Places stop here: a comment above a variable changes no container.
            name_span: oriole_diagnostics::Span::default(),
            ..variable.clone()
        })
        .chain(statics)
        .collect()
}

/// What a kernel reaches, and where what they name is. Only the entries of these names are read, so that a new variable lays out no
/// kernel again; which functions have an address is read only where one is taken or followed.
struct Reach<'db> {
    db: &'db dyn Db,
    file: SourceFile,
    config: Config,
    linking: Linking,
    /// The functions and routines, by name.
    functions: BTreeMap<String, &'db LinkedFunction>,
    /// What they name.
    symbols: ModuleSymbols,
    /// The functions whose code is not looked at yet.
    open: Vec<FunctionUnit<'db>>,
    /// The names of functions and routines that are known to be reached.
    known: BTreeSet<String>,
    /// The names of symbols that have been looked up.
    seen: BTreeSet<String>,
}

impl<'db> Reach<'db> {
    fn new(db: &'db dyn Db, entry: FunctionUnit<'db>, config: Config) -> Result<Reach<'db>, Failed> {
        let linking = graph::lower_options(db, config).linking;
        let extensible = linking == Linking::Extensible;
        let mut reach = Reach {
            db,
            file: entry.file(db),
            config,
            linking,
            functions: BTreeMap::new(),
            symbols: ModuleSymbols { extensible, ..ModuleSymbols::default() },
            open: vec![entry],
            known: BTreeSet::from([entry.name(db).to_string()]),
            seen: BTreeSet::new(),
        };
        while let Some(unit) = reach.open.pop() {
            let linked = match graph::encoded(db, unit, config) {
                Ok(linked) => &**linked,
                Err(failed) if unit == entry => return Err(failed.clone()),
                // A callee's failure is reported where the callee is.
                Err(_) => return Err(Failed::Diagnosed),
            };
            reach.functions.insert(unit.name(db).to_string(), linked);
            reach.add_pointed(linked);
            reach.add_routines(linked)?;
            reach.add_called(linked);
            reach.add_addressed(linked);
            reach.add_symbols(linked);
        }
        // In the order of names: no order of visits may show in a layout.
        reach.symbols.variables.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(reach)
    }

    fn unit(&self, name: &str) -> Option<FunctionUnit<'db>> {
        function_unit(self.db, self.file, name)
    }

    /// Reads which functions a pointer may name, if code follows one or takes the address of a function.
    fn add_pointed(&mut self, linked: &LinkedFunction) {
        let is_kernel =
            |name: &str| self.unit(name).is_some_and(|unit| unit.kind(self.db) == UnitKind::Entry);
        if self.symbols.functions.is_empty()
            && (linked.calls_through_pointers() || linked.addressed().any(|name| !is_kernel(name)))
        {
            let addressed = graph::addressed_functions(self.db, self.file);
            self.symbols.functions = addressed.iter().map(|name| name.to_string()).collect();
        }
    }

    fn add_routines(&mut self, linked: &LinkedFunction) -> Result<(), Failed> {
        for name in linked.called_routines() {
            let Some(routine) = Routine::named(name).filter(|_| self.known.insert(name.to_owned())) else {
                continue;
            };
            let linked = graph::routine(self.db, routine, self.config).as_ref().map_err(Clone::clone)?;
            self.functions.insert(name.to_owned(), linked);
        }
        Ok(())
    }

    /// Adds the functions that code calls, or may call through a pointer, to those that are still to be looked at.
    fn add_called(&mut self, linked: &LinkedFunction) {
        let pointed =
            if linked.calls_through_pointers() { self.symbols.functions.clone() } else { Vec::new() };
        for name in linked.called().map(str::to_owned).chain(pointed) {
            if !self.known.insert(name.clone()) {
                continue;
            }
            let Some(unit) = self.unit(&name).filter(|unit| unit.has_code(self.db)) else { continue };
            let meant = unit.name(self.db);
            if self.alias(name, meant) && !self.known.insert(meant.to_string()) {
                continue;
            }
            self.open.push(unit);
        }
    }

    /// Notes the functions and kernels whose addresses code takes. Kernels have slots, which only a whole program numbers.
    fn add_addressed(&mut self, linked: &LinkedFunction) {
        for name in linked.addressed() {
            if let Some(unit) = self.unit(name) {
                self.alias(name.to_owned(), unit.name(self.db));
                if unit.kind(self.db) == UnitKind::Entry {
                    self.symbols.kernels.insert(name.to_owned());
                }
            }
        }
        if self.linking == Linking::Whole
            && !self.symbols.kernels.is_empty()
            && self.symbols.launched.is_empty()
        {
            let launched = graph::launched_kernels(self.db, self.file).iter();
            self.symbols.launched = launched.map(|name| name.to_string()).collect();
            self.add_slots();
        }
    }

    /// Reads what the layout of the module says of the symbols that code names.
    fn add_symbols(&mut self, linked: &LinkedFunction) {
        let (db, file) = (self.db, self.file);
        for symbol in &linked.symbols {
            if !self.seen.insert(symbol.name.clone()) {
                continue;
            }
            match symbol.kind {
                SymbolKind::Shared | SymbolKind::Global | SymbolKind::Constant => {
                    let placed = graph::placed(db, file, Arc::from(symbol.name.as_str()));
                    self.symbols.variables.extend(placed.clone());
                }
                SymbolKind::Extern if self.symbols.externs.is_empty() => self.add_slots(),
                SymbolKind::Opaque if self.symbols.opaque.is_empty() => {
                    self.symbols.opaque.clone_from(&graph::module_layout(db, file).symbols.opaque);
                }
                SymbolKind::ConstantSize => self.symbols.constant_bytes = *graph::constant_bytes(db, file),
                SymbolKind::Opaque
                | SymbolKind::OpaqueParameter(_)
                | SymbolKind::DescriptorSize
                | SymbolKind::Extern
                | SymbolKind::Outside
                | SymbolKind::Function
                | SymbolKind::Helper
                | SymbolKind::Arguments
                | SymbolKind::Local(_) => {}
            }
        }
    }

    /// Reads which slots of constant bank 4 are there for global variables and functions of the driver.
    fn add_slots(&mut self) {
        let layout = &graph::module_layout(self.db, self.file).symbols;
        self.symbols.externs.clone_from(&layout.externs);
        self.symbols.globals = layout.globals;
    }

    /// Notes what the name stands for; whether it is an alias.
    fn alias(&mut self, name: String, meant: &str) -> bool {
        let is_alias = name != meant;
        if is_alias {
            self.symbols.aliases.insert(name, meant.to_owned());
        }
        is_alias
    }
}

pub(crate) fn kernel_image<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
) -> Staged<KernelImage> {
    let body = graph::body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    if graph::lowering(db, unit.file(db), config).separate() {
        return relocatable::section_image(db, unit, config, body);
    }
    let target = stage::target_of(db, config)?;
    let name: &str = unit.name(db);
    let weak = graph::linkage(db, unit) == Some(Linkage::Weak);
    let reached = Reach::new(db, unit, config)?;
    guarded("kernel_image", || {
        let find = |name: &str| reached.functions.get(name).copied();
        let mut image = image_of(target, name, &reached.symbols, &find).map_err(|error| error.of(name))?;
        image.binding = if weak { Binding::Weak } else { Binding::Global };
        source::describe(body, target.chip, &mut image);
        Ok(image)
    })
}

pub(crate) fn cubin(db: &dyn Db, file: SourceFile, config: Config) -> Staged<Vec<u8>> {
    let linking = graph::lower_options(db, config).linking;
    if graph::has_errors(db, file, Output::of(db, file, config)) {
        return Err(Failed::Diagnosed);
    }
    let chip = graph::chip_info(db, config);
    let mut module = container::with_header(chip, graph::module_header(db, file), linking);
    match linking {
        Linking::Relocatable => return relocatable::cubin(db, file, config, module),
        Linking::Extensible => has_known_pointers(db, file)?,
        Linking::Whole => {}
    }
    if graph::lowering(db, file, config).separate() {
        return relocatable::debug_program(db, file, config, module);
    }
    if linking == Linking::Whole {
        module.externs.clone_from(&graph::module_layout(db, file).symbols.externs);
    }
    for &unit in graph::index(db, file).functions.iter().filter(|unit| unit.kind(db) == UnitKind::Entry) {
        module.kernels.push(graph::kernel_image(db, unit, config).clone()?);
    }
    module.debug = graph::debug_sections(db, file, config).as_ref().map_err(Clone::clone)?.sections.clone();
    let layout = &graph::module_layout(db, file).symbols;
    let data = graph::module_data(db, file);
    let functions = function_values(db, file, data);
    if linking == Linking::Extensible {
        module.undefined = relocatable::undefined_in_program(db, file, &module, data);
    }
    let launches = module.kernels.iter().any(|kernel| !kernel.launched.is_empty());
    let launched = if launches { &graph::launched_kernels(db, file)[..] } else { &[] };
    guarded("cubin", || {
        container::Program { layout, data, functions: &functions, launched }.complete(&mut module)?;
        Ok(container::write(&module)?)
    })
}

/// Refuses initial values that are addresses of functions which other files define: pointers are numbers of the module in
/// extensible programs, and those functions have none.
fn has_known_pointers(db: &dyn Db, file: SourceFile) -> Result<(), Failed> {
    let initial = graph::module_data(db, file).iter().filter_map(|variable| variable.initial.as_ref());
    for relocation in initial.flat_map(|initial| &initial.relocations).filter(|it| it.function) {
        let name = &relocation.symbol;
        if function_unit(db, file, name).is_some_and(|unit| !unit.has_code(db)) {
            return Err(Failed::Stage {
                code: Code::OpenAddress,
                statement: None,
                message: format!("the address of `{name}`, which another file defines, is not known"),
            });
        }
    }
    Ok(())
}

/// The addresses of the functions that initial values name. Kernels and what has no code are not among them.
fn function_values(
    db: &dyn Db,
    file: SourceFile,
    data: &[oriole_hir::ModuleVariable],
) -> BTreeMap<String, u64> {
    let initial = data.iter().filter_map(|variable| variable.initial.as_ref());
    let named = initial.flat_map(|initial| initial.relocations.iter().filter(|it| it.function));
    let names: BTreeSet<&str> = named.map(|relocation| relocation.symbol.as_str()).collect();
    if names.is_empty() {
        return BTreeMap::new();
    }
    let addressed = graph::addressed_functions(db, file).iter().enumerate();
    let values: BTreeMap<&str, u64> = addressed.map(|(at, name)| (&**name, function_value(at))).collect();
    let value = |name: &str| values.get(&**function_unit(db, file, name)?.name(db)).copied();
    names.into_iter().filter_map(|name| Some((name.to_owned(), value(name)?))).collect()
}
