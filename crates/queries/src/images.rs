//! The layout of a module's variables, and images: a kernel with all that it reaches, or a section for each kernel and function.
//!
//! Each question is cut so that an edit of one unit changes as few answers as possible: layout knows no initial value, a kernel knows only
//! what it reaches, a section knows its own function, its routines and what aliases mean. How images are made is in `oriole-link`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_cubin::{Binding, CodeKind, KernelImage};
use oriole_hir::{Body, GlobalInfo, Linkage};
use oriole_inputs::{Config, Db, FunctionUnit, Place, SourceFile};
use oriole_link::{Layout, ModuleSymbols, ModuleVariable, image, source};
use oriole_options::Linking;
use oriole_ori::SymbolKind;
use oriole_pipeline::{LibraryFunction, LinkedFunction, Routine};
use oriole_query_macro::query;
use oriole_syntax::UnitKind;

use crate::failure::{Failed, Staged, guarded};
use crate::{calls, configuration, files, functions, weight};

/// Where the variables of the module are, without their values.
#[query(returns(ref))]
pub fn module_layout(db: &dyn Db, file: SourceFile) -> Layout {
    let index = files::index(db, file);
    let mut variables: Vec<(&str, &GlobalInfo)> = Vec::new();
    for &unit in &index.variables {
        let globals = files::globals(db, unit).iter();
        let own = globals.filter(|(name, _)| index.definition(name) == Some(unit));
        variables.extend(own.map(|(name, info)| (&**name, info)));
    }
    for &unit in index.functions.iter().filter(|unit| unit.has_code(db)) {
        let statics = files::statics(db, unit).iter();
        variables.extend(statics.map(|variable| (variable.name.as_str(), &variable.info)));
    }
    let called = &calls::call_graph(db, file).callees;
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

/// The bytes of the module's constants, read by kernels that test whether a generic address is one of them.
#[query]
pub fn constant_bytes(db: &dyn Db, file: SourceFile) -> u64 {
    module_layout(db, file).symbols.constant_bytes
}

/// Where one variable is; one entry of [`module_layout`].
#[query(returns(ref), at = Place::Name(file, &name))]
pub fn placed(db: &dyn Db, file: SourceFile, name: Arc<str>) -> Option<ModuleVariable> {
    module_layout(db, file).placed(&name).cloned()
}

/// The variables of the module with their values, in file order.
#[query(returns(ref))]
pub fn module_data(db: &dyn Db, file: SourceFile) -> Vec<oriole_hir::ModuleVariable> {
    let index = files::index(db, file);
    let functions = index.functions.iter().filter(|unit| unit.has_code(db));
    let statics = functions.flat_map(|&unit| files::statics(db, unit).iter().cloned());
    let units = index.variables.iter();
    let variables =
        units.flat_map(|&unit| files::variables(db, unit).variables.iter().map(move |it| (unit, it)));
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

/// The code that a kernel reaches, and the places of the names in it. Only the entries of these names are
/// read, so that a new variable lays out no kernel again; which functions have an address is read only where
/// one is taken or followed.
struct Reach<'db> {
    db: &'db dyn Db,
    file: SourceFile,
    config: Config,
    linking: Linking,
    /// The functions and routines, by name.
    functions: BTreeMap<String, &'db LinkedFunction>,
    /// The symbols that they name.
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
        let linking = configuration::lower_options(db, config).linking;
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
            let linked = match functions::encoded(db, unit, config) {
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
        files::function_unit(self.db, self.file, name)
    }

    /// Reads which functions a pointer may name, if code follows one or takes the address of a function.
    fn add_pointed(&mut self, linked: &LinkedFunction) {
        let is_kernel =
            |name: &str| self.unit(name).is_some_and(|unit| unit.kind(self.db) == UnitKind::Entry);
        if self.symbols.functions.is_empty()
            && (linked.calls_through_pointers() || linked.addressed().any(|name| !is_kernel(name)))
        {
            let addressed = calls::addressed_functions(self.db, self.file);
            self.symbols.functions = addressed.iter().map(|name| name.to_string()).collect();
        }
    }

    fn add_routines(&mut self, linked: &LinkedFunction) -> Result<(), Failed> {
        for name in linked.called_routines() {
            let Some(routine) = Routine::named(name).filter(|_| self.known.insert(name.to_owned())) else {
                continue;
            };
            let linked = functions::routine(self.db, routine, self.config).as_ref().map_err(Clone::clone)?;
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
            let launched = calls::launched_kernels(self.db, self.file).iter();
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
                    let placed = placed(db, file, Arc::from(symbol.name.as_str()));
                    self.symbols.variables.extend(placed.clone());
                }
                SymbolKind::Extern if self.symbols.externs.is_empty() => self.add_slots(),
                SymbolKind::Opaque if self.symbols.opaque.is_empty() => {
                    self.symbols.opaque.clone_from(&module_layout(db, file).symbols.opaque);
                }
                SymbolKind::ConstantSize => self.symbols.constant_bytes = *constant_bytes(db, file),
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
        let layout = &module_layout(self.db, self.file).symbols;
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

/// A kernel with all that it reaches, laid out; where functions have sections of their own, a kernel or function with its
/// routines alone.
#[query(returns(ref), heap_size = weight::image)]
pub fn kernel_image<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<KernelImage> {
    let body = files::body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    if configuration::lowering(db, unit.file(db), config).separate() {
        return section_image(db, unit, config, body);
    }
    let target = configuration::target_of(db, config)?;
    let name: &str = unit.name(db);
    let weak = files::linkage(db, unit) == Some(Linkage::Weak);
    let reached = Reach::new(db, unit, config)?;
    guarded("kernel_image", || {
        let find = |name: &str| reached.functions.get(name).copied();
        let mut image =
            image::kernel_image(target, name, &reached.symbols, &find).map_err(|error| error.of(name))?;
        image.binding = if weak { Binding::Weak } else { Binding::Global };
        source::describe(body, target.chip, &mut image);
        Ok(image)
    })
}

/// The section of a kernel or function.
fn section_image<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    body: &Body,
) -> Staged<KernelImage> {
    let target = configuration::target_of(db, config)?;
    let name: &str = unit.name(db);
    let linked = &**functions::encoded(db, unit, config).as_ref().map_err(Clone::clone)?;
    let functions = with_routines(db, name, linked, config)?;
    let mut symbols = ModuleSymbols::default();
    for named in linked.called().chain(linked.addressed()) {
        let Some(meant) = files::function_unit(db, unit.file(db), named) else { continue };
        if &**meant.name(db) != named {
            symbols.aliases.insert(named.to_owned(), meant.name(db).to_string());
        }
        if meant.kind(db) == UnitKind::Entry {
            symbols.kernels.insert(named.to_owned());
        }
    }
    let linkage = files::linkage(db, unit);
    guarded("kernel_image", || {
        let kind = if body.is_entry { CodeKind::Kernel } else { CodeKind::Function };
        let find = |name: &str| functions.get(name).copied();
        let mut image =
            image::section_image(target, (name, kind), &symbols, &find).map_err(|error| error.of(name))?;
        image.binding = match (linkage, kind) {
            (Some(Linkage::Weak), _) => Binding::Weak,
            (None, CodeKind::Function) => Binding::Local,
            _ => Binding::Global,
        };
        if kind == CodeKind::Kernel {
            source::describe(body, target.chip, &mut image);
        } else {
            image.prototype = source::prototype(&body.results, &body.parameters);
        }
        image.pointed_prototypes = source::pointed_prototypes(body);
        Ok(image)
    })
}

/// A function and the routines that it calls, by name.
fn with_routines<'db>(
    db: &'db dyn Db,
    name: &str,
    linked: &'db LinkedFunction,
    config: Config,
) -> Result<BTreeMap<String, &'db LinkedFunction>, Failed> {
    let mut functions = BTreeMap::from([(name.to_owned(), linked)]);
    for routine in linked.called_routines().filter_map(Routine::named) {
        let linked = functions::routine(db, routine, config).as_ref().map_err(Clone::clone)?;
        functions.insert(routine.name().to_owned(), linked);
    }
    Ok(functions)
}

/// The section of a function of the library.
#[query(returns(ref), heap_size = weight::image, at = Place::Routine(which.name(), config))]
pub fn library_image(db: &dyn Db, which: LibraryFunction, config: Config) -> Staged<KernelImage> {
    let target = configuration::target_of(db, config)?;
    let linked = &**functions::library(db, which, config).as_ref().map_err(Clone::clone)?;
    let functions = with_routines(db, which.name(), linked, config)?;
    guarded("library_image", || {
        let find = |name: &str| functions.get(name).copied();
        let named = (which.name(), CodeKind::Function);
        let image = image::section_image(target, named, &ModuleSymbols::default(), &find)
            .map_err(|error| error.of(which.name()))?;
        let image = match which {
            LibraryFunction::Exact(_) => image,
            LibraryFunction::Exchange(_) => image::of_routine(image),
        };
        Ok(KernelImage { binding: Binding::Weak, ..image })
    })
}
