//! A whole module at once: every unit parsed, every function resolved, the checks that need all of them.
//!
//! It is here for tools and tests that have no query layer: the same parts in plain calls. Nothing is kept between
//! two calls.

use oriole_diagnostics::{Code, Diagnostic, Place, Span};
use oriole_syntax::ast::{Item, Unit};
use oriole_syntax::{UnitKind, parse_unit, split_file};

use crate::checks::{
    Outline, check_header, check_labels, check_limits, check_locations, first_declarations,
    initializer_order, order_check, section_labels,
};
use crate::{
    Declared, Header, ModuleContext, ModuleVariable, Resolved, Symbols, check_flow, declarations,
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
    /// Variables in file order; a declaration that a definition follows is left out.
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

/// Resolves a whole module. Never fails: what is wrong is among the diagnostics.
pub fn resolve_module(text: &str) -> Module {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    if u32::try_from(text.len()).is_err() {
        let message = "files of 4 GiB and more are not read";
        diagnostics.push(Diagnostic::new(Code::TooLarge, Span::point(0), message));
        return Module { diagnostics, ..Module::default() };
    }
    let units = split_file(text);
    let parses: Vec<_> = units.iter().map(|unit| parse_unit(unit.kind, unit.text(text))).collect();
    let mut header = Header::default();
    // An empty file has no unit, and all the same something to say.
    let mut place = |at: usize, found: Diagnostic| {
        diagnostics.push(found.shifted(units.get(at).map_or(0, |unit| unit.start)));
    };
    for (at, parse) in parses.iter().enumerate() {
        for error in &parse.errors {
            place(at, error.clone());
        }
    }
    for (at, found) in check_header(units.iter().map(|unit| unit.kind), |at| &parses[at], &mut header) {
        place(at, found);
    }
    let declared: Vec<Vec<Declared>> =
        parses.iter().map(|parse| declarations(&parse.unit(), &header)).collect();
    let declared: Vec<&[Declared]> = declared.iter().map(Vec::as_slice).collect();
    let (symbols, reported) = Symbols::new(header.clone(), &declared);
    for (at, found) in reported {
        place(at, found);
    }
    let mut module = Module { header, aliases: symbols.aliases().to_vec(), ..Module::default() };
    let mut order = Vec::new();
    let first = first_declarations(&declared);
    for (at, parse) in parses.iter().enumerate() {
        for item in parse.unit().items() {
            match item {
                Item::Variable(variable) => {
                    let (variables, found) = module_variables(&variable, &symbols);
                    for found in found {
                        place(at, found);
                    }
                    for variable in variables {
                        if let Some(found) = initializer_order(&variable, at, &first) {
                            place(at, found);
                        }
                        if symbols.variable_home(&variable.name) == Some(at) {
                            module.variables.push(variable);
                        }
                    }
                }
                Item::Function(function) => {
                    let Some(resolved) = resolve_function(&function, &symbols) else { continue };
                    for found in &resolved.diagnostics {
                        place(at, found.clone());
                    }
                    if resolved.has_body && !resolved.has_errors() && !parse.has_errors() {
                        for found in check_flow(&resolved.body).warnings(&resolved.source_map) {
                            place(at, found);
                        }
                    }
                    if resolved.has_body {
                        let kind =
                            if function.is_entry() { FunctionKind::Entry } else { FunctionKind::Function };
                        order.push((at, module.functions.len()));
                        module.functions.push((resolved.name.clone(), kind, resolved));
                    }
                }
                _ => {}
            }
        }
    }
    let bodies: Vec<Outline<'_>> = order
        .iter()
        .map(|&(unit, index)| {
            let (name, kind, resolved) = &module.functions[index];
            Outline {
                unit,
                name,
                name_span: resolved.source_map.name,
                is_entry: *kind == FunctionKind::Entry,
                uses: &resolved.uses,
                variables: &resolved.body.variables.raw,
            }
        })
        .collect();
    for early in order_check(&declared, &bodies) {
        // Of the functions of a unit the first.
        let at = order.partition_point(|&(unit, _)| unit < early.unit);
        let body = order.get(at).filter(|&&(unit, _)| unit == early.unit);
        let resolved = body.map(|&(_, index)| &module.functions[index].2);
        place(early.unit, early.diagnostic(resolved.map_or(&[], |resolved| &resolved.source_map.uses)));
    }
    for (at, found) in check_locations(&bodies, |at| &parses[at]) {
        place(at, found);
    }
    let sections = units.iter().zip(&parses).enumerate();
    let sections = sections.filter(|(_, (unit, _))| unit.kind == UnitKind::DebugSection);
    let labels: Vec<_> = sections.map(|(at, (_, parse))| (at, section_labels(&parse.unit()))).collect();
    let labels: Vec<_> = labels.iter().map(|(at, labels)| (*at, labels.as_slice())).collect();
    for (at, found) in check_labels(&labels, &bodies, |at| &parses[at]) {
        place(at, found);
    }
    for (at, found) in check_limits(module.all_variables(), &symbols, &declared, &bodies) {
        place(at, found);
    }
    // A diagnostic about the file as a whole is at its start, behind those with a place.
    diagnostics.sort_by_key(|found| (found.span.start, found.span.len));
    for found in &mut diagnostics {
        found.related.retain(|related| !matches!(&related.place, Place::Symbol(name) if name.is_empty()));
    }
    module.diagnostics = diagnostics;
    module
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
