//! The queries of a file: its units, what each declares for the others, and what each means.
//!
//! Nothing here knows a configuration. The facts about a unit that the rest of a module may read are queries
//! of their own, so that a unit that is edited is resolved again alone. The types that name units have
//! salsa's handles and stay in this crate.
//!
//! A query that is volatile (`SourceFile::volatile`) is verified after each edit, as its inputs may have
//! become less durable: that shields queries over several units. The module facts that a kernel's stages read
//! are not volatile. Otherwise salsa would verify all stages of a kernel before it knew that nothing changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_debug_info::DebugData;
use oriole_diagnostics::{Diagnostic, Span};
use oriole_hir::{
    Body, Declared, FlowReport, GlobalInfo, Header, HeaderQuestion, Linkage, ModuleContext, ModuleVariable,
    SignatureInfo, SourceMap, Uses, Variable,
};
use oriole_inputs::{Db, FunctionUnit, Place, SourceFile};
use oriole_query_macro::query;
use oriole_syntax::{Parse, UnitKind};

use crate::weight;

/// The units of a file, in file order. It reads no text: the writer cuts a text where it changes, and writes the units that
/// changed.
#[query(returns(ref), heap_size = weight::units)]
pub fn split_file(db: &dyn Db, file: SourceFile) -> Vec<FunctionUnit<'_>> {
    FunctionUnit::of(db, file)
}

/// The tree of a unit. The only query here that reads a unit's text, of which the tree is a part that is made at first need.
#[query(returns(ref), heap_size = weight::tree)]
pub fn function_tree<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Parse {
    unit.text(db).0.parse().clone()
}

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

/// Which unit declares which name. Equal unless a unit comes, goes or changes its name.
#[query(returns(ref))]
pub fn index(db: &dyn Db, file: SourceFile) -> Index<'_> {
    let mut index = Index::default();
    // For each name whether it is a function, and how much is said of it.
    let mut strengths: BTreeMap<Arc<str>, (bool, Strength)> = BTreeMap::new();
    for &unit in split_file(db, file) {
        let own = unit.name(db).clone();
        let names: Vec<(Arc<str>, Strength)> = match unit.kind(db) {
            // Text in the place of a header, a section or nothing may declare variables all the same.
            UnitKind::Variable
            | UnitKind::Header
            | UnitKind::DebugSection
            | UnitKind::Trailer
            | UnitKind::Broken => {
                if unit.kind(db) != UnitKind::Variable && globals(db, unit).is_empty() {
                    continue;
                }
                index.variables.push(unit);
                let strength = |info: &GlobalInfo| match info.linkage {
                    Some(Linkage::Extern) => Strength::Declares,
                    _ => Strength::Defines,
                };
                globals(db, unit).iter().map(|(name, info)| (name.clone(), strength(info))).collect()
            }
            // The splitter found no name where the parser, which reads on, may have found one.
            UnitKind::Function | UnitKind::Entry if own.is_empty() => {
                let declared = declared(db, unit).iter();
                declared.map(|declared| (Arc::from(declared.name()), Strength::Defines)).collect()
            }
            UnitKind::Function | UnitKind::Entry => vec![(own, Strength::Defines)],
            UnitKind::Declaration if alias_target(db, unit).is_some() => vec![(own, Strength::Stands)],
            UnitKind::Declaration if own.is_empty() => {
                let declared = declared(db, unit).iter();
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

/// The unit that defines a name, or else the first that declares it; one entry of [`index`].
#[query(returns(copy), at = Place::Name(file, &name))]
pub fn definition(db: &dyn Db, file: SourceFile, name: Arc<str>) -> Option<FunctionUnit<'_>> {
    index(db, file).definition(&name)
}

/// The declarations of the unit, with places. Only projections read it.
#[query(returns(ref), heap_size = weight::declared)]
pub fn declared<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Declared]> {
    let view = ModuleView { db, file: unit.file(db) };
    oriole_hir::declarations(&function_tree(db, unit).unit(), &view).into()
}

/// The declarations for the module's checks. Volatile: no unit that is edited for the first time makes them
/// run again.
#[query(returns(ref))]
pub fn announced<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Declared]> {
    unit.file(db).volatile(db);
    declared(db, unit).clone()
}

/// The header: version, targets, address size.
#[query(returns(ref))]
pub fn module_header(db: &dyn Db, file: SourceFile) -> Header {
    let mut header = Header::default();
    for &unit in split_file(db, file).iter().filter(|unit| unit.kind(db) == UnitKind::Header) {
        // Diagnostics are those of the module's checks, which read the same.
        oriole_hir::read_header(&function_tree(db, unit).unit(), &mut header, &mut Vec::new());
    }
    header
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
    let variable = |declared: &Declared| match declared {
        Declared::Variable { name, info, .. } => Some((Arc::from(name.as_str()), info.clone())),
        _ => None,
    };
    declared(db, unit).iter().filter_map(variable).collect()
}

/// The interface of one module-level variable for its users.
#[query(returns(ref), at = Place::Name(file, &name))]
pub fn global(db: &dyn Db, file: SourceFile, name: Arc<str>) -> Option<GlobalInfo> {
    let unit = definition(db, file, name.clone())?;
    if matches!(unit.kind(db), UnitKind::Function | UnitKind::Entry | UnitKind::Declaration) {
        return None;
    }
    globals(db, unit).iter().find(|(declared, _)| *declared == name).map(|(_, info)| info.clone())
}

/// The variables of one unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VariableUnit {
    /// With initial values.
    pub variables: Vec<ModuleVariable>,
    /// Diagnostics of parser and reader.
    pub diagnostics: Vec<Diagnostic>,
}

/// The variables of a unit with their initial values, and the diagnostics about them.
#[query(returns(ref))]
pub fn variables<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> VariableUnit {
    let parse = function_tree(db, unit);
    let view = ModuleView { db, file: unit.file(db) };
    let (variables, found) = oriole_hir::module::unit_variables(&parse.unit(), &view);
    VariableUnit { variables, diagnostics: parse.errors.iter().cloned().chain(found).collect() }
}

/// The interface of a function for its callers. Read from its tree and not from its resolved body, so that
/// two functions may call each other.
#[query(returns(ref))]
pub fn signature<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<SignatureInfo> {
    if unit.kind(db) == UnitKind::Entry {
        // Code that takes the address of a kernel is not compiled again when the kernel is edited for the first time.
        unit.file(db).volatile(db);
    }
    declared(db, unit).iter().find_map(|declared| match declared {
        Declared::Function { info, .. } => Some(info.clone()),
        _ => None,
    })
}

/// The linkage word of a function.
#[query(returns(copy))]
pub fn linkage<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<Linkage> {
    declared(db, unit).iter().find_map(|declared| match declared {
        Declared::Function { linkage, .. } => *linkage,
        _ => None,
    })
}

/// The function that an `.alias` stands for; `None` for other units.
#[query(returns(ref))]
pub fn alias_target<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<Arc<str>> {
    declared(db, unit).iter().find_map(|declared| match declared {
        Declared::Alias { function, .. } => Some(Arc::from(function.as_str())),
        _ => None,
    })
}

/// The functions that the initial values of a unit's variables name, sorted.
#[query(returns(ref))]
pub fn initial_functions<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<Arc<str>> {
    let initial = variables(db, unit).variables.iter().filter_map(|variable| variable.initial.as_ref());
    let named = initial.flat_map(|initial| initial.relocations.iter().filter(|it| it.function));
    let names: BTreeSet<Arc<str>> = named.map(|relocation| Arc::from(relocation.symbol.as_str())).collect();
    names.into_iter().collect()
}

/// The rest of the module as one function may see it: each question is a query of its own.
struct ModuleView<'db> {
    db: &'db dyn Db,
    file: SourceFile,
}

impl ModuleContext for ModuleView<'_> {
    fn header(&self) -> Header {
        module_header(self.db, self.file).clone()
    }

    fn answer(&self, question: HeaderQuestion) -> bool {
        header_answer(self.db, self.file, question)
    }

    fn address_bits(&self) -> u8 {
        address_bits(self.db, self.file)
    }

    fn global(&self, name: &str) -> Option<GlobalInfo> {
        global(self.db, self.file, Arc::from(name)).clone()
    }

    fn signature(&self, name: &str) -> Option<SignatureInfo> {
        let unit = function_unit(self.db, self.file, name)?;
        signature(self.db, unit).clone()
    }
}

/// The function, kernel or declaration that a name stands for, aliases followed.
pub(crate) fn function_unit<'db>(db: &'db dyn Db, file: SourceFile, name: &str) -> Option<FunctionUnit<'db>> {
    let mut name: Arc<str> = Arc::from(name);
    // An alias of an alias is not legal; the bound ends a ring of them.
    for _ in 0..8 {
        let unit = definition(db, file, name)?;
        match unit.kind(db) {
            UnitKind::Variable
            | UnitKind::Header
            | UnitKind::DebugSection
            | UnitKind::Trailer
            | UnitKind::Broken => return None,
            UnitKind::Declaration => match alias_target(db, unit) {
                Some(target) => name = target.clone(),
                None => return Some(unit),
            },
            _ => return Some(unit),
        }
    }
    None
}

/// The units with code, in file order.
pub fn code_units(db: &dyn Db, file: SourceFile) -> Vec<FunctionUnit<'_>> {
    split_file(db, file).iter().copied().filter(|unit| unit.has_code(db)).collect()
}

/// The kernels and functions with sections of their own, in file order.
pub(crate) fn own_sections(db: &dyn Db, file: SourceFile) -> impl Iterator<Item = FunctionUnit<'_>> {
    let index = index(db, file);
    let functions = index.functions.iter().copied().filter(|unit| unit.has_code(db));
    functions.filter(|&unit| index.definition(unit.name(db)) == Some(unit))
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

impl Resolution {
    fn weight(&self) -> usize {
        weight::resolved(self.body.as_deref(), &self.source_map) + weight::list(&self.diagnostics)
    }
}

/// Everything that resolving gives at once. Only the projections below read it.
#[query(returns(ref), heap_size = Resolution::weight)]
pub fn resolved<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Resolution {
    let parse = function_tree(db, unit);
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

/// The meaning of the function; `None` if it has errors. Comments, positions and the names of registers stop
/// here.
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
pub fn statics<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[ModuleVariable]> {
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

/// Findings about the control flow of a function: registers that nothing writes before they are read,
/// instructions that control never reaches. Diagnostics only, no stage reads it. No place enters.
#[query(returns(ref))]
pub fn flow_report<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> FlowReport {
    unit.file(db).volatile(db);
    body(db, unit).as_deref().map(oriole_hir::check_flow).unwrap_or_default()
}
