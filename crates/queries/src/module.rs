//! What the queries of a module ask and answer: units and names, the header, variables, functions, order.
//!
//! The types are plain data; those that name units hold salsa's handles and stay in this crate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_diagnostics::{Diagnostic, Span};
use oriole_hir::{
    Body, Declared, EarlyUse, GlobalInfo, Header, HeaderQuestion, Linkage, ModuleContext, ModuleVariable,
    Outline, SharedNeed, SignatureInfo, SourceMap, Symbols, Uses, Variable,
};
use oriole_inputs::{Db, FunctionUnit, SourceFile};
use oriole_syntax::UnitKind;

use crate::graph;

/// The units of a file by name and by kind.
#[derive(Clone, PartialEq, Eq, Debug, Default, salsa::SalsaValue)]
pub struct Index<'db> {
    /// Variable units in order.
    pub variables: Vec<FunctionUnit<'db>>,
    /// Kernels and functions, declarations and aliases too, in order.
    pub functions: Vec<FunctionUnit<'db>>,
    definitions: BTreeMap<Arc<str>, FunctionUnit<'db>>,
}

impl<'db> Index<'db> {
    /// The unit that defines the name, or else the first that declares it.
    pub fn definition(&self, name: &str) -> Option<FunctionUnit<'db>> {
        self.definitions.get(name).copied()
    }
}

/// How much a unit says of a name: what says more stands for it, and among equals the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// A function without a body, an external variable.
    Declares,
    /// An alias, which needs a declaration before it.
    Stands,
    /// A body, a variable.
    Defines,
}

pub(crate) fn index(db: &dyn Db, file: SourceFile) -> Index<'_> {
    let mut index = Index::default();
    // For each name whether it is a function, and how much is said of it.
    let mut strengths: BTreeMap<Arc<str>, (bool, Strength)> = BTreeMap::new();
    for &unit in graph::split_file(db, file) {
        let own = unit.name(db).clone();
        let names: Vec<(Arc<str>, Strength)> = match unit.kind(db) {
            // What is written where a header, a section or nothing is expected may declare variables all the same.
            UnitKind::Variable
            | UnitKind::Header
            | UnitKind::DebugSection
            | UnitKind::Trailer
            | UnitKind::Broken => {
                if unit.kind(db) != UnitKind::Variable && graph::globals(db, unit).is_empty() {
                    continue;
                }
                index.variables.push(unit);
                let strength = |info: &GlobalInfo| match info.linkage {
                    Some(Linkage::Extern) => Strength::Declares,
                    _ => Strength::Defines,
                };
                graph::globals(db, unit).iter().map(|(name, info)| (name.clone(), strength(info))).collect()
            }
            // The splitter found no name where the parser, which reads on, may have found one.
            UnitKind::Function | UnitKind::Entry if own.is_empty() => {
                let declared = graph::declared(db, unit).iter();
                declared.map(|declared| (Arc::from(declared.name()), Strength::Defines)).collect()
            }
            UnitKind::Function | UnitKind::Entry => vec![(own, Strength::Defines)],
            UnitKind::Declaration if graph::alias_target(db, unit).is_some() => vec![(own, Strength::Stands)],
            UnitKind::Declaration if own.is_empty() => {
                let declared = graph::declared(db, unit).iter();
                declared.map(|declared| (Arc::from(declared.name()), Strength::Declares)).collect()
            }
            UnitKind::Declaration => vec![(own, Strength::Declares)],
        };
        let function = matches!(unit.kind(db), UnitKind::Function | UnitKind::Entry | UnitKind::Declaration);
        if function {
            index.functions.push(unit);
        }
        for (name, strength) in names.into_iter().filter(|(name, _)| !name.is_empty()) {
            let known = match strengths.get(&name) {
                // A name that is both is an error; what it was first is what its users see.
                Some(&(kind, _)) if kind != function => continue,
                known => known.map(|known| known.1),
            };
            let least = if strength == Strength::Stands { Some(Strength::Declares) } else { None };
            if known < Some(strength) && known >= least {
                strengths.insert(name.clone(), (function, strength));
                index.definitions.insert(name, unit);
            }
        }
    }
    index
}

pub(crate) fn header(db: &dyn Db, file: SourceFile) -> Header {
    let mut header = Header::default();
    for &unit in graph::split_file(db, file).iter().filter(|unit| unit.kind(db) == UnitKind::Header) {
        // Diagnostics are those of the module's checks, which read the same.
        oriole_hir::read_header(&graph::function_tree(db, unit).unit(), &mut header, &mut Vec::new());
    }
    header
}

/// The variables of one unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VariableUnit {
    /// With initial values.
    pub variables: Vec<ModuleVariable>,
    /// Diagnostics of parser and reader.
    pub diagnostics: Vec<Diagnostic>,
}

pub(crate) fn declared<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Declared]> {
    let view = ModuleView { db, file: unit.file(db) };
    oriole_hir::declarations(&graph::function_tree(db, unit).unit(), &view).into()
}

pub(crate) fn globals(declared: &[Declared]) -> Vec<(Arc<str>, GlobalInfo)> {
    let variable = |declared: &Declared| match declared {
        Declared::Variable { name, info, .. } => Some((Arc::from(name.as_str()), info.clone())),
        _ => None,
    };
    declared.iter().filter_map(variable).collect()
}

pub(crate) fn global(db: &dyn Db, file: SourceFile, name: &Arc<str>) -> Option<GlobalInfo> {
    let unit = graph::definition(db, file, name.clone())?;
    if matches!(unit.kind(db), UnitKind::Function | UnitKind::Entry | UnitKind::Declaration) {
        return None;
    }
    graph::globals(db, unit).iter().find(|(declared, _)| declared == name).map(|(_, info)| info.clone())
}

pub(crate) fn variables<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> VariableUnit {
    let parse = graph::function_tree(db, unit);
    let view = ModuleView { db, file: unit.file(db) };
    let (variables, found) = oriole_hir::module::unit_variables(&parse.unit(), &view);
    VariableUnit { variables, diagnostics: parse.errors.iter().cloned().chain(found).collect() }
}

pub(crate) fn initial_functions(unit: &VariableUnit) -> Vec<Arc<str>> {
    let initial = unit.variables.iter().filter_map(|variable| variable.initial.as_ref());
    let named = initial.flat_map(|initial| initial.relocations.iter().filter(|it| it.function));
    let names: BTreeSet<Arc<str>> = named.map(|relocation| Arc::from(relocation.symbol.as_str())).collect();
    names.into_iter().collect()
}

pub(crate) fn signature(declared: &[Declared]) -> Option<SignatureInfo> {
    declared.iter().find_map(|declared| match declared {
        Declared::Function { info, .. } => Some(info.clone()),
        _ => None,
    })
}

pub(crate) fn linkage(declared: &[Declared]) -> Option<Linkage> {
    declared.iter().find_map(|declared| match declared {
        Declared::Function { linkage, .. } => *linkage,
        _ => None,
    })
}

/// The rest of the module as one function may see it: each question is a query of its own.
pub(crate) struct ModuleView<'db> {
    pub db: &'db dyn Db,
    pub file: SourceFile,
}

impl ModuleContext for ModuleView<'_> {
    fn header(&self) -> Header {
        graph::module_header(self.db, self.file).clone()
    }

    fn answer(&self, question: HeaderQuestion) -> bool {
        graph::header_answer(self.db, self.file, question)
    }

    fn address_bits(&self) -> u8 {
        graph::address_bits(self.db, self.file)
    }

    fn global(&self, name: &str) -> Option<GlobalInfo> {
        graph::global(self.db, self.file, Arc::from(name)).clone()
    }

    fn signature(&self, name: &str) -> Option<SignatureInfo> {
        let unit = function_unit(self.db, self.file, name)?;
        graph::signature(self.db, unit).clone()
    }
}

/// The function, kernel or declaration that a name stands for, aliases followed.
pub(crate) fn function_unit<'db>(db: &'db dyn Db, file: SourceFile, name: &str) -> Option<FunctionUnit<'db>> {
    let mut name: Arc<str> = Arc::from(name);
    // An alias of an alias is not legal; the bound ends a ring of them.
    for _ in 0..8 {
        let unit = graph::definition(db, file, name)?;
        match unit.kind(db) {
            UnitKind::Variable
            | UnitKind::Header
            | UnitKind::DebugSection
            | UnitKind::Trailer
            | UnitKind::Broken => return None,
            UnitKind::Declaration => match graph::alias_target(db, unit) {
                Some(target) => name = target.clone(),
                None => return Some(unit),
            },
            _ => return Some(unit),
        }
    }
    None
}

pub(crate) fn alias_target(declared: &[Declared]) -> Option<Arc<str>> {
    declared.iter().find_map(|declared| match declared {
        Declared::Alias { function, .. } => Some(Arc::from(function.as_str())),
        _ => None,
    })
}

/// The declarations of all units, in file order.
fn all_declared(db: &dyn Db, file: SourceFile) -> Vec<&[Declared]> {
    graph::split_file(db, file).iter().map(|&unit| &**graph::announced(db, unit)).collect()
}

/// Of each function with code what the module's checks look at.
fn outlines(db: &dyn Db, file: SourceFile) -> Vec<Outline<'_>> {
    let units = graph::split_file(db, file).iter().enumerate();
    units
        .filter(|(_, unit)| unit.has_code(db))
        .map(|(at, &unit)| Outline {
            unit: at,
            name: unit.name(db),
            name_span: graph::announced(db, unit).first().map_or(Span::point(0), Declared::span),
            is_entry: unit.kind(db) == UnitKind::Entry,
            uses: graph::uses(db, unit),
            variables: graph::shared_variables(db, unit),
        })
        .collect()
}

/// The diagnostics that need the whole module, but for the order of functions; each with the ordinal of its unit.
/// What only the whole module shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleDiagnostics {
    /// Each with the ordinal of its unit, spans relative to it.
    pub found: Vec<(usize, Diagnostic)>,
    /// What a chip has to have, or it is another diagnostic.
    pub shared: Vec<SharedNeed>,
}

pub(crate) fn module_diagnostics(db: &dyn Db, file: SourceFile) -> ModuleDiagnostics {
    let units = graph::split_file(db, file);
    let mut header = Header::default();
    let kinds = units.iter().map(|unit| unit.kind(db));
    let mut found = oriole_hir::check_header(kinds, |at| graph::function_tree(db, units[at]), &mut header);
    let declared = all_declared(db, file);
    let (symbols, diagnostics) = Symbols::new(header, &declared);
    found.extend(diagnostics);
    let first = oriole_hir::first_declarations(&declared);
    let mut defined = Vec::new();
    // Both lists are in file order.
    let mut holders = graph::index(db, file).variables.iter().peekable();
    for (at, &unit) in units.iter().enumerate() {
        if holders.next_if_eq(&&unit).is_none() {
            continue;
        }
        for variable in &graph::variables(db, unit).variables {
            found.extend(
                oriole_hir::initializer_order(variable, at, &first).map(|diagnostic| (at, diagnostic)),
            );
            if symbols.defining_unit(&variable.name) == Some(at) {
                defined.push(variable);
            }
        }
    }
    let outlines = outlines(db, file);
    found.extend(oriole_hir::check_locations(&outlines, |at| graph::function_tree(db, units[at])));
    let labels: Vec<_> = units
        .iter()
        .enumerate()
        .filter(|(_, unit)| unit.kind(db) == UnitKind::DebugSection)
        .map(|(at, &unit)| (at, graph::section_labels(db, unit).as_slice()))
        .collect();
    found.extend(oriole_hir::check_labels(&labels, &outlines, |at| graph::function_tree(db, units[at])));
    let statics =
        units.iter().filter(|unit| unit.has_code(db)).flat_map(|&unit| graph::statics(db, unit).iter());
    found.extend(oriole_hir::check_limits(
        defined.into_iter().chain(statics),
        &symbols,
        &declared,
        &outlines,
    ));
    ModuleDiagnostics { found, shared: oriole_hir::shared_needs(&outlines) }
}

pub(crate) fn order_check(db: &dyn Db, file: SourceFile) -> Vec<EarlyUse> {
    oriole_hir::order_check(&all_declared(db, file), &outlines(db, file))
}

/// A resolved unit, its parts shared so that a projection costs nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolution {
    /// `None` if there are errors, or nothing to compile.
    pub body: Option<Arc<Body>>,
    /// From ordinals back to the text.
    pub source_map: Arc<SourceMap>,
    /// Diagnostics of parser and resolver.
    pub diagnostics: Arc<[Diagnostic]>,
    /// Names of the module that are used.
    pub uses: Arc<Uses>,
    /// Shared variables that are declared or used, for the check of the module's limits.
    pub shared: Arc<[Variable]>,
    /// Static variables that are declared.
    pub statics: Arc<[ModuleVariable]>,
}

pub(crate) fn resolve<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Resolution {
    let parse = graph::function_tree(db, unit);
    let mut diagnostics = parse.errors.clone();
    let view = ModuleView { db, file: unit.file(db) };
    let resolved = oriole_hir::resolve(&parse.unit(), &view).unwrap_or_default();
    diagnostics.extend(resolved.diagnostics);
    diagnostics.sort_by_key(|found| found.span.start);
    let shared = resolved.body.shared_variables().into();
    let compiles = resolved.has_body && !diagnostics.iter().any(Diagnostic::is_error);
    Resolution {
        body: compiles.then(|| Arc::new(resolved.body)),
        source_map: Arc::new(resolved.source_map),
        diagnostics: diagnostics.into(),
        uses: Arc::new(resolved.uses),
        shared,
        statics: resolved.statics.into(),
    }
}
