//! A whole module at once: every unit parsed, every function resolved, the checks that need all of them.
//!
//! For tools and tests without a query layer: the same parts in plain calls. Nothing is cached between two calls.

use oriole_diagnostics::{Code, Diagnostic, Place, Span};
use oriole_syntax::ast::{Item, Unit};
use oriole_syntax::{Parse, UnitKind, parse_unit, split_file};

use crate::checks::{
    Outline, check_header, check_labels, check_limits, check_locations, first_declarations,
    initializer_order, order_check, section_labels, shared_limit, shared_needs,
};
use crate::{
    Declared, Header, ModuleContext, ModuleVariable, Resolved, Symbols, Variable, check_flow, declarations,
    module_variables, resolve_function,
};

/// Whether a function is a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Function,
}

/// A module, resolved.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Module {
    /// The header.
    pub header: Header,
    /// Variables in file order; without declarations that a definition follows.
    pub variables: Vec<ModuleVariable>,
    /// Functions and kernels that have a body, in file order.
    pub functions: Vec<(String, FunctionKind, Resolved)>,
    /// `.alias` lines: alias, function.
    pub aliases: Vec<(String, String)>,
    /// All diagnostics, with spans relative to the file, in file order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Module {
    /// Whether a diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The variables of the module, then the static ones of its functions.
    pub fn all_variables(&self) -> impl Iterator<Item = &ModuleVariable> {
        self.variables.iter().chain(self.functions.iter().flat_map(|(_, _, resolved)| &resolved.statics))
    }

    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<&Resolved> {
        self.functions.iter().find(|function| function.0 == name).map(|function| &function.2)
    }
}

/// Resolves a whole module. Never fails: errors are among the diagnostics.
pub fn resolve_module(text: &str) -> Module {
    if u32::try_from(text.len()).is_err() {
        let message = "files of 4 GiB and more are not read";
        let diagnostics = vec![Diagnostic::new(Code::TooLarge, Span::point(0), message)];
        return Module { diagnostics, ..Module::default() };
    }
    let units = split_file(text);
    let parses: Vec<_> = units.iter().map(|unit| parse_unit(unit.kind, unit.text(text))).collect();
    let mut found: Vec<(usize, Diagnostic)> = Vec::new();
    for (at, parse) in parses.iter().enumerate() {
        found.extend(parse.errors.iter().map(|error| (at, error.clone())));
    }
    let mut header = Header::default();
    found.extend(check_header(units.iter().map(|unit| unit.kind), |at| &parses[at], &mut header));
    let declared: Vec<Vec<Declared>> =
        parses.iter().map(|parse| declarations(&parse.unit(), &header)).collect();
    let declared: Vec<&[Declared]> = declared.iter().map(Vec::as_slice).collect();
    let (symbols, reported) = Symbols::new(header.clone(), &declared);
    found.extend(reported);
    let mut module = Module { header, aliases: symbols.aliases().to_vec(), ..Module::default() };
    let order = resolve_items(&mut module, &parses, &symbols, &declared, &mut found);
    check_whole(&module, &order, &units, &parses, &symbols, &declared, &mut found);
    // An empty file has no unit, and still has diagnostics.
    let start = |at: usize| units.get(at).map_or(0, |unit| unit.start);
    let mut diagnostics: Vec<_> = found.into_iter().map(|(at, found)| found.shifted(start(at))).collect();
    // A diagnostic about the file as a whole is at its start, after those with a place.
    diagnostics.sort_by_key(|found| (found.span.start, found.span.len));
    for found in &mut diagnostics {
        found.related.retain(|related| !matches!(&related.place, Place::Symbol(name) if name.is_empty()));
    }
    module.diagnostics = diagnostics;
    module
}

/// Resolves variables and functions into `module`. Gives the unit of each function, with its index there.
fn resolve_items(
    module: &mut Module,
    parses: &[Parse],
    symbols: &Symbols,
    declared: &[&[Declared]],
    diagnostics: &mut Vec<(usize, Diagnostic)>,
) -> Vec<(usize, usize)> {
    let mut order = Vec::new();
    let first = first_declarations(declared);
    for (at, parse) in parses.iter().enumerate() {
        for item in parse.unit().items() {
            match item {
                Item::Variable(variable) => {
                    let (variables, found) = module_variables(&variable, symbols);
                    diagnostics.extend(found.into_iter().map(|found| (at, found)));
                    for variable in variables {
                        diagnostics.extend(initializer_order(&variable, at, &first).map(|found| (at, found)));
                        if symbols.defining_unit(&variable.name) == Some(at) {
                            module.variables.push(variable);
                        }
                    }
                }
                Item::Function(function) => {
                    let Some(resolved) = resolve_function(&function, symbols) else { continue };
                    diagnostics.extend(resolved.diagnostics.iter().map(|found| (at, found.clone())));
                    if !resolved.has_body {
                        continue;
                    }
                    if !resolved.has_errors() && !parse.has_errors() {
                        let flow = check_flow(&resolved.body);
                        let warnings = flow.warnings(&resolved.source_map);
                        diagnostics.extend(warnings.into_iter().map(|found| (at, found)));
                    }
                    let kind = if function.is_entry() { FunctionKind::Entry } else { FunctionKind::Function };
                    order.push((at, module.functions.len()));
                    module.functions.push((resolved.name.clone(), kind, resolved));
                }
                _ => {}
            }
        }
    }
    order
}

/// The checks of more than one unit; `order` has the unit of each function.
fn check_whole(
    module: &Module,
    order: &[(usize, usize)],
    units: &[oriole_syntax::Unit],
    parses: &[Parse],
    symbols: &Symbols,
    declared: &[&[Declared]],
    diagnostics: &mut Vec<(usize, Diagnostic)>,
) {
    let shared: Vec<Vec<Variable>> =
        order.iter().map(|&(_, index)| module.functions[index].2.body.shared_variables()).collect();
    let bodies: Vec<Outline<'_>> = order
        .iter()
        .zip(&shared)
        .map(|(&(unit, index), variables)| {
            let (name, kind, resolved) = &module.functions[index];
            Outline {
                unit,
                name,
                name_span: resolved.source_map.name,
                is_entry: *kind == FunctionKind::Entry,
                uses: &resolved.uses,
                variables,
            }
        })
        .collect();
    for early in order_check(declared, &bodies) {
        // Of the functions of a unit the first counts.
        let at = order.partition_point(|&(unit, _)| unit < early.unit);
        let body = order.get(at).filter(|&&(unit, _)| unit == early.unit);
        let resolved = body.map(|&(_, index)| &module.functions[index].2);
        let found = early.diagnostic(resolved.map_or(&[], |resolved| &resolved.source_map.uses));
        diagnostics.push((early.unit, found));
    }
    diagnostics.extend(check_locations(&bodies, |at| &parses[at]));
    let sections = units.iter().zip(parses).enumerate();
    let sections = sections.filter(|(_, (unit, _))| unit.kind == UnitKind::DebugSection);
    let labels: Vec<_> = sections.map(|(at, (_, parse))| (at, section_labels(&parse.unit()))).collect();
    let labels: Vec<_> = labels.iter().map(|(at, labels)| (*at, labels.as_slice())).collect();
    diagnostics.extend(check_labels(&labels, &bodies, |at| &parses[at]));
    diagnostics.extend(check_limits(module.all_variables(), symbols, declared, &bodies));
    let limit = shared_limit(&module.header);
    let judged = shared_needs(&bodies).into_iter().filter_map(|need| Some((need.unit, need.judged(limit)?)));
    diagnostics.extend(judged);
}

/// The variables of one unit, for callers that hold its tree.
pub fn unit_variables(unit: &Unit, context: &dyn ModuleContext) -> (Vec<ModuleVariable>, Vec<Diagnostic>) {
    let mut variables = Vec::new();
    let mut diagnostics = Vec::new();
    for item in unit.items() {
        if let Item::Variable(variable) = item {
            let (mut found, mut reported) = module_variables(&variable, context);
            variables.append(&mut found);
            diagnostics.append(&mut reported);
        }
    }
    (variables, diagnostics)
}
