//! Diagnostics of a file about the language: of each unit, of the module as a whole, and whether they keep an output from being written.
//!
//! No stage reads any of it, so that moving a function compiles nothing again. Places are relative to units.

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_hir::{Declared, EarlyUse, Header, Outline, SharedNeed, Symbols};
use oriole_inputs::{Config, Db, FunctionUnit, Place, SourceFile};
use oriole_options::Linking;
use oriole_query_macro::query;
use oriole_syntax::UnitKind;
use oriole_syntax::ast::Item;

use crate::{configuration, files};

/// The output for a file, as far as its diagnostics depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Output {
    /// A file that the driver loads; blocks declare at most this many bytes of shared memory.
    Loaded(u32),
    /// A file that the driver loads, in which a linker may define missing names.
    Extensible(u32),
    /// A file for a linker: other files may define missing names, and the linker sees the total of shared
    /// memory.
    Linked,
}

impl Output {
    /// The output of a configuration.
    pub(crate) fn of(db: &dyn Db, file: SourceFile, config: Config) -> Output {
        let limit = || match configuration::chip_info(db, config).limits() {
            Some(limits) => limits.static_shared_per_block,
            None => oriole_hir::shared_limit(files::module_header(db, file)),
        };
        match configuration::lower_options(db, config).linking {
            Linking::Whole => Output::Loaded(limit()),
            Linking::Extensible => Output::Extensible(limit()),
            Linking::Relocatable => Output::Linked,
        }
    }

    /// Bytes of shared memory that a block may declare, if that is known now.
    pub(crate) fn shared_limit(self) -> Option<u32> {
        match self {
            Output::Loaded(limit) | Output::Extensible(limit) => Some(limit),
            Output::Linked => None,
        }
    }

    /// Whether a diagnostic keeps the output from being written.
    pub(crate) fn is_stopped_by(self, diagnostic: &Diagnostic) -> bool {
        let is_whole = matches!(self, Output::Loaded(_));
        diagnostic.is_error() && (is_whole || diagnostic.code != Code::UnresolvedExternal)
    }
}

/// The diagnostics about one unit by itself, with spans relative to it.
pub(crate) fn unit_diagnostics<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<Diagnostic> {
    match unit.kind(db) {
        UnitKind::Variable => files::variables(db, unit).diagnostics.clone(),
        UnitKind::Entry | UnitKind::Function | UnitKind::Declaration => {
            let mut found = files::diagnostics(db, unit).to_vec();
            let report = files::flow_report(db, unit);
            if report.has_warnings() {
                found.extend(report.warnings(files::source_map(db, unit)));
            }
            found
        }
        UnitKind::Header | UnitKind::DebugSection | UnitKind::Trailer | UnitKind::Broken => {
            // Declarations there are checked all the same.
            let parse = files::function_tree(db, unit);
            let declared = files::declared(db, unit);
            let mut found = if declared.iter().any(|one| matches!(one, Declared::Function { .. })) {
                files::diagnostics(db, unit).to_vec()
            } else {
                parse.errors.clone()
            };
            // One without a name declares nothing, and is judged too.
            if parse.unit().items().any(|item| matches!(item, Item::Variable(_))) {
                // The errors of the parser come first, and are there already.
                found.extend(files::variables(db, unit).diagnostics[parse.errors.len()..].iter().cloned());
            }
            found
        }
    }
}

/// The declarations of all units, in file order.
fn all_declared(db: &dyn Db, file: SourceFile) -> Vec<&[Declared]> {
    files::split_file(db, file).iter().map(|&unit| &**files::announced(db, unit)).collect()
}

/// Of each function with code what the module's checks look at.
fn outlines(db: &dyn Db, file: SourceFile) -> Vec<Outline<'_>> {
    let units = files::split_file(db, file).iter().enumerate();
    units
        .filter(|(_, unit)| unit.has_code(db))
        .map(|(at, &unit)| Outline {
            unit: at,
            name: unit.name(db),
            name_span: files::announced(db, unit).first().map_or(Span::point(0), Declared::span),
            is_entry: unit.kind(db) == UnitKind::Entry,
            uses: files::uses(db, unit),
            variables: files::shared_variables(db, unit),
        })
        .collect()
}

/// Uses that are above the declaration; diagnostics only, no stage reads it. No place in a unit enters.
#[query(returns(ref))]
pub fn order_check(db: &dyn Db, file: SourceFile) -> Vec<EarlyUse> {
    oriole_hir::order_check(&all_declared(db, file), &outlines(db, file))
}

/// Diagnostics that need the whole module, but not the order of functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleDiagnostics {
    /// Each with the ordinal of its unit, spans relative to it.
    pub found: Vec<(usize, Diagnostic)>,
    /// Needs that a chip must meet, or else they are diagnostics.
    pub shared: Vec<SharedNeed>,
}

/// Diagnostics that need the whole module; no stage reads it.
#[query(returns(ref))]
pub fn module_diagnostics(db: &dyn Db, file: SourceFile) -> ModuleDiagnostics {
    let units = files::split_file(db, file);
    let mut header = Header::default();
    let kinds = units.iter().map(|unit| unit.kind(db));
    let mut found = oriole_hir::check_header(kinds, |at| files::function_tree(db, units[at]), &mut header);
    let declared = all_declared(db, file);
    let (symbols, diagnostics) = Symbols::new(header, &declared);
    found.extend(diagnostics);
    let first = oriole_hir::first_declarations(&declared);
    let mut defined = Vec::new();
    // Both lists are in file order.
    let mut holders = files::index(db, file).variables.iter().peekable();
    for (at, &unit) in units.iter().enumerate() {
        if holders.next_if_eq(&&unit).is_none() {
            continue;
        }
        for variable in &files::variables(db, unit).variables {
            found.extend(
                oriole_hir::initializer_order(variable, at, &first).map(|diagnostic| (at, diagnostic)),
            );
            if symbols.defining_unit(&variable.name) == Some(at) {
                defined.push(variable);
            }
        }
    }
    let outlines = outlines(db, file);
    found.extend(oriole_hir::check_locations(&outlines, |at| files::function_tree(db, units[at])));
    let labels: Vec<_> = units
        .iter()
        .enumerate()
        .filter(|(_, unit)| unit.kind(db) == UnitKind::DebugSection)
        .map(|(at, &unit)| (at, files::section_labels(db, unit).as_slice()))
        .collect();
    found.extend(oriole_hir::check_labels(&labels, &outlines, |at| files::function_tree(db, units[at])));
    let statics =
        units.iter().filter(|unit| unit.has_code(db)).flat_map(|&unit| files::statics(db, unit).iter());
    found.extend(oriole_hir::check_limits(
        defined.into_iter().chain(statics),
        &symbols,
        &declared,
        &outlines,
    ));
    ModuleDiagnostics { found, shared: oriole_hir::shared_needs(&outlines) }
}

/// All diagnostics about the language, each with the ordinal of its unit; spans are relative to it. Without a limit of
/// static shared memory nothing is said of that.
pub(crate) fn diagnostics_by_unit(
    db: &dyn Db,
    file: SourceFile,
    shared_limit: Option<u32>,
) -> Vec<(usize, Diagnostic)> {
    let mut found = Vec::new();
    for (at, &unit) in files::split_file(db, file).iter().enumerate() {
        found.extend(unit_diagnostics(db, unit).into_iter().map(|diagnostic| (at, diagnostic)));
    }
    let of_module = module_diagnostics(db, file);
    found.extend(of_module.found.iter().cloned());
    if let Some(limit) = shared_limit {
        let needs = of_module.shared.iter();
        found.extend(needs.filter_map(|need| Some((need.unit, need.judged(limit)?))));
    }
    let units = files::split_file(db, file);
    found.extend(order_check(db, file).iter().map(|early| {
        let places = &files::source_map(db, units[early.unit]).uses;
        (early.unit, early.diagnostic(places))
    }));
    found
}

/// Whether any diagnostic about the file is an error for an output: then nothing is written.
#[query(returns(copy), at = Place::File(file))]
pub fn has_errors(db: &dyn Db, file: SourceFile, output: Output) -> bool {
    let found = diagnostics_by_unit(db, file, output.shared_limit());
    found.iter().any(|(_, diagnostic)| output.is_stopped_by(diagnostic))
}
