//! A whole module at once: every unit parsed, every function resolved, the checks that need all of them.
//!
//! It is here for tools and tests that have no query layer: the same parts in plain calls. Nothing is kept between
//! two calls.

use std::collections::BTreeSet;

use oriole_diagnostics::{Code, Diagnostic, Place, Span};
use oriole_ptx::Space;
use oriole_syntax::ast::{AstNode, Item, Unit};
use oriole_syntax::{UnitKind, parse_unit, split_file, token_span};
use rustc_hash::FxHashMap;

use crate::signature::{FunctionHead, function_head};
use crate::variable::declared_variables;
use crate::{
    GlobalInfo, Header, Linkage, ModuleVariable, Resolved, SignatureInfo, Surroundings, VariableHome,
    module_variables, read_header, resolve_function,
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
    /// All findings, with spans relative to the file, in file order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Module {
    /// Whether a finding is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<&Resolved> {
        self.functions.iter().find(|function| function.0 == name).map(|function| &function.2)
    }
}

/// What a unit declares; no position of another unit and no body enters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Declared {
    /// A variable.
    Variable {
        /// Name.
        name: String,
        /// Place of the name in the unit.
        span: Span,
        /// Type, size, linkage.
        info: GlobalInfo,
    },
    /// A function or kernel.
    Function {
        /// Name.
        name: String,
        /// Place of the name in the unit.
        span: Span,
        /// Kind and signature.
        info: SignatureInfo,
        /// Linkage word.
        linkage: Option<Linkage>,
        /// Last byte of the unit's function.
        end: u32,
    },
    /// An alias.
    Alias {
        /// The new name.
        name: String,
        /// Place of the new name in the unit.
        span: Span,
        /// The function's name.
        function: String,
    },
}

/// The declarations of a unit.
pub fn declarations(unit: &Unit, header: &Header) -> Vec<Declared> {
    let mut found = Vec::new();
    for item in unit.items() {
        match item {
            Item::Variable(variable) => {
                // Findings are those of `module_variables`, which reads the same.
                for (_, variable, _) in declared_variables(&variable, &mut Vec::new()) {
                    found.push(Declared::Variable {
                        name: variable.name,
                        span: variable.name_span,
                        info: variable.info,
                    });
                }
            }
            Item::Function(function) => {
                if let Some(FunctionHead { name, name_span, info, linkage, .. }) =
                    function_head(&function, header)
                {
                    let end = function.span().end();
                    found.push(Declared::Function { name, span: name_span, info, linkage, end });
                }
            }
            Item::Alias(alias) => {
                if let (Some(name), Some(function)) = (alias.alias(), alias.function()) {
                    found.push(Declared::Alias {
                        name: name.text().to_string(),
                        span: token_span(&name),
                        function: function.text().to_string(),
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// The names of a module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Symbols {
    header: Header,
    globals: FxHashMap<String, (GlobalInfo, usize)>,
    functions: FxHashMap<String, (SignatureInfo, usize)>,
    aliases: Vec<(String, String)>,
}

impl Surroundings for Symbols {
    fn header(&self) -> Header {
        self.header.clone()
    }

    fn global(&self, name: &str) -> Option<GlobalInfo> {
        self.globals.get(name).map(|entry| entry.0.clone())
    }

    fn signature(&self, name: &str) -> Option<SignatureInfo> {
        self.functions.get(name).map(|entry| entry.0.clone())
    }
}

impl Symbols {
    /// Joins the declarations of all units, given in file order. Findings come with the number of their unit.
    pub fn new(header: Header, units: &[Vec<Declared>]) -> (Symbols, Vec<(usize, Diagnostic)>) {
        let mut symbols = Symbols { header, ..Symbols::default() };
        let mut findings = Vec::new();
        for (unit, declared) in units.iter().enumerate() {
            for declared in declared {
                symbols.add(unit, declared, &mut findings);
            }
        }
        (symbols, findings)
    }

    fn add(&mut self, unit: usize, declared: &Declared, findings: &mut Vec<(usize, Diagnostic)>) {
        let mut report = |code, span, message: String, name: &str| {
            findings.push((
                unit,
                Diagnostic::new(code, span, message).with_symbol(name, "the other declaration is here"),
            ));
        };
        match declared {
            Declared::Variable { name, span, info } => {
                if self.functions.contains_key(name) {
                    report(Code::DuplicateName, *span, format!("`{name}` is also a function"), name);
                    return;
                }
                match self.globals.get_mut(name) {
                    None => {
                        self.globals.insert(name.clone(), (info.clone(), unit));
                    }
                    Some((known, place)) => {
                        let declaration = |info: &GlobalInfo| info.linkage == Some(Linkage::Extern);
                        let open = known.size == 0 || info.size == 0;
                        if known.space != info.space
                            || known.ty != info.ty
                            || (known.size != info.size && !open)
                        {
                            report(
                                Code::DeclarationMismatch,
                                *span,
                                format!("two declarations of `{name}` differ"),
                                name,
                            );
                        } else if !declaration(known) && !declaration(info) {
                            report(Code::DuplicateName, *span, format!("`{name}` is defined twice"), name);
                        } else if declaration(known) {
                            *known = info.clone();
                            *place = unit;
                        }
                    }
                }
            }
            Declared::Function { name, span, info, end, .. } => {
                if self.globals.contains_key(name) {
                    report(Code::DuplicateName, *span, format!("`{name}` is also a variable"), name);
                    return;
                }
                match self.functions.get_mut(name) {
                    None => {
                        self.functions.insert(name.clone(), (info.clone(), unit));
                    }
                    Some((known, place)) => {
                        if !known.external && !info.external {
                            // Other compilers see the second definition when it ends.
                            let _ = end;
                            report(Code::DuplicateName, *span, format!("`{name}` is defined twice"), name);
                        } else if known.is_entry != info.is_entry || !same_signature(known, info) {
                            report(
                                Code::DeclarationMismatch,
                                *span,
                                format!("two declarations of `{name}` differ in their parameters"),
                                name,
                            );
                        }
                        if known.external && !info.external {
                            *known = info.clone();
                            *place = unit;
                        }
                    }
                }
            }
            Declared::Alias { name, span, function } => match self.functions.get(function).cloned() {
                Some((mut info, _)) => {
                    info.external = false;
                    self.functions.insert(name.clone(), (info, unit));
                    self.aliases.push((name.clone(), function.clone()));
                }
                None => {
                    report(Code::UnknownName, *span, format!("no function is called `{function}`"), function)
                }
            },
        }
    }
}

/// Whether two heads agree in number, sizes and kinds of parameters.
fn same_signature(left: &SignatureInfo, right: &SignatureInfo) -> bool {
    let same = |left: &[crate::Parameter], right: &[crate::Parameter]| {
        left.len() == right.len()
            && left.iter().zip(right).all(|(left, right)| {
                left.size() == right.size()
                    && left.ty.is_float() == right.ty.is_float()
                    && left.length.is_some() == right.length.is_some()
                    && left.in_register == right.in_register
            })
    };
    same(&left.signature.results, &right.signature.results)
        && same(&left.signature.parameters, &right.signature.parameters)
}

/// Functions that the driver supplies; a module may call them without defining them.
const SUPPLIED: [&str; 6] =
    ["vprintf", "__assertfail", "malloc", "free", "cudaGetParameterBuffer", "cudaLaunchDevice"];

/// Resolves a whole module. Never fails: what is wrong stands among the diagnostics.
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
    for (at, found) in check_header(&units, &parses, &mut header) {
        place(at, found);
    }
    let declared: Vec<Vec<Declared>> =
        parses.iter().map(|parse| declarations(&parse.unit(), &header)).collect();
    let (symbols, findings) = Symbols::new(header.clone(), &declared);
    for (at, found) in findings {
        place(at, found);
    }
    let mut module = Module { header, aliases: symbols.aliases.clone(), ..Module::default() };
    let mut order = Vec::new();
    for (at, parse) in parses.iter().enumerate() {
        for item in parse.unit().items() {
            match item {
                Item::Variable(variable) => {
                    let (variables, found) = module_variables(&variable, &symbols);
                    for found in found {
                        place(at, found);
                    }
                    for variable in variables {
                        if symbols.globals.get(&variable.name).is_some_and(|known| known.1 == at) {
                            module.variables.push(variable);
                        }
                    }
                }
                Item::Function(function) => {
                    let Some(resolved) = resolve_function(&function, &symbols) else { continue };
                    for found in &resolved.diagnostics {
                        place(at, found.clone());
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
    let bodies: Vec<(usize, &Resolved)> =
        order.iter().map(|&(at, index)| (at, &module.functions[index].2)).collect();
    for (at, found) in order_check(&declared, &bodies) {
        place(at, found);
    }
    for (at, found) in check_limits(&module, &symbols, &bodies) {
        place(at, found);
    }
    // A finding about the file as a whole stands at its start, behind those with a place.
    diagnostics.sort_by_key(|found| (found.span.start, found.span.len));
    for found in &mut diagnostics {
        found.related.retain(|related| !matches!(&related.place, Place::Symbol(name) if name.is_empty()));
    }
    module.diagnostics = diagnostics;
    module
}

/// Header directives and their order: version and target first, nothing of them later.
fn check_header(
    units: &[oriole_syntax::Unit],
    parses: &[oriole_syntax::Parse],
    header: &mut Header,
) -> Vec<(usize, Diagnostic)> {
    let mut findings = Vec::new();
    let mut position = 0;
    let mut items_seen = false;
    let mut last = 0;
    for (at, parse) in parses.iter().enumerate() {
        if units[at].kind != UnitKind::Header {
            items_seen |= !matches!(units[at].kind, UnitKind::Trailer | UnitKind::Broken);
            if units[at].kind != UnitKind::Trailer && position == 0 {
                findings.push((at, missing_version(first_token(parse))));
                position = 1;
            }
            continue;
        }
        last = at;
        let mut found = Vec::new();
        read_header(&parse.unit(), header, &mut found);
        findings.extend(found.into_iter().map(|found| (at, found)));
        for item in parse.unit().items() {
            let (span, wanted) = match &item {
                Item::VersionDirective(directive) => (directive.span(), 0),
                Item::TargetDirective(directive) => (directive.span(), 1),
                Item::AddressSizeDirective(directive) => (directive.span(), 2),
                _ => continue,
            };
            if items_seen {
                findings.push((
                    at,
                    Diagnostic::new(
                        Code::InvalidHeader,
                        span,
                        "header directives stand before all declarations",
                    ),
                ));
            } else if position == 0 && wanted != 0 {
                findings.push((at, missing_version(span)));
            }
            position = position.max(wanted + 1);
        }
    }
    if position == 0 {
        findings.push((last, missing_version(Span::point(0))));
    } else if position == 1 && !findings.iter().any(|found| found.1.is_error()) {
        findings.push((
            last,
            Diagnostic::new(Code::MissingTarget, Span::point(0), "the module has no `.target` directive"),
        ));
    }
    findings
}

fn first_token(parse: &oriole_syntax::Parse) -> Span {
    let token = parse
        .syntax()
        .descendants_with_tokens()
        .filter_map(oriole_syntax::NodeOrToken::into_token)
        .find(|token| !token.kind().is_trivia());
    token.map_or(Span::point(0), |token| token_span(&token))
}

fn missing_version(span: Span) -> Diagnostic {
    Diagnostic::new(Code::MissingVersion, span, "a module begins with a `.version` directive")
}

/// Uses above declarations. Diagnostics only: no meaning depends on the order.
///
/// `declared` are the declarations of all units in file order, `bodies` the resolved functions with the number of
/// their unit.
pub fn order_check(declared: &[Vec<Declared>], bodies: &[(usize, &Resolved)]) -> Vec<(usize, Diagnostic)> {
    let mut first: FxHashMap<&str, usize> = FxHashMap::default();
    for (unit, declared) in declared.iter().enumerate() {
        for declared in declared {
            let (Declared::Variable { name, .. }
            | Declared::Function { name, .. }
            | Declared::Alias { name, .. }) = declared;
            first.entry(name).or_insert(unit);
        }
    }
    let mut findings = Vec::new();
    for &(unit, resolved) in bodies {
        let uses = &resolved.uses;
        let names = uses.globals.iter().chain(&uses.called).chain(&uses.addressed);
        for (name, span) in names.zip(&resolved.source_map.uses) {
            if first.get(name.as_str()).is_some_and(|&place| place > unit) {
                findings.push((
                    unit,
                    Diagnostic::new(
                        Code::UseBeforeDeclaration,
                        *span,
                        format!("`{name}` is used above its declaration"),
                    )
                    .with_symbol(name.clone(), "declared here"),
                ));
            }
        }
    }
    findings
}

/// Bounds that concern the module: constant memory, shared memory of each kernel, functions that nobody defines.
fn check_limits(
    module: &Module,
    symbols: &Symbols,
    bodies: &[(usize, &Resolved)],
) -> Vec<(usize, Diagnostic)> {
    let mut findings = Vec::new();
    let constants: u64 = module
        .variables
        .iter()
        .filter(|variable| variable.info.space == Space::Constant)
        .map(|variable| variable.info.size)
        .sum();
    if constants > 65536 {
        findings.push((
            0,
            Diagnostic::new(
                Code::TooMuchConstantMemory,
                Span::point(0),
                format!("the module's `.const` variables have {constants} bytes; 65536 are possible"),
            ),
        ));
    }
    let by_name: FxHashMap<&str, usize> =
        bodies.iter().enumerate().map(|(index, body)| (body.1.name.as_str(), index)).collect();
    let mut missing: BTreeSet<&str> = BTreeSet::new();
    for &(unit, resolved) in bodies {
        for name in resolved.uses.called.iter().chain(&resolved.uses.addressed) {
            let external = symbols.functions.get(name).is_some_and(|known| known.0.external);
            if external && !SUPPLIED.contains(&name.as_str()) && missing.insert(name) {
                findings.push((
                    unit,
                    Diagnostic::new(
                        Code::UnresolvedExternal,
                        resolved.source_map.name,
                        format!("the function `{name}` is declared, used, and defined nowhere"),
                    ),
                ));
            }
        }
        if !resolved.body.is_entry {
            continue;
        }
        // Everything that the kernel reaches by calls, itself included.
        let mut reached = vec![false; bodies.len()];
        let mut open: Vec<usize> = by_name.get(resolved.name.as_str()).copied().into_iter().collect();
        let mut shared: FxHashMap<&str, u64> = FxHashMap::default();
        let mut own = 0u64;
        while let Some(index) = open.pop() {
            if std::mem::replace(&mut reached[index], true) {
                continue;
            }
            let body = &bodies[index].1.body;
            for variable in &body.variables {
                if variable.space == Space::Shared {
                    match variable.home {
                        VariableHome::Module => {
                            shared.insert(&variable.name, variable.size);
                        }
                        _ => own += variable.size,
                    }
                }
            }
            let uses = &bodies[index].1.uses;
            open.extend(
                uses.called.iter().chain(&uses.addressed).filter_map(|name| by_name.get(name.as_str())),
            );
        }
        let total = own + shared.values().sum::<u64>();
        if total > 48 * 1024 {
            findings.push((
                unit,
                Diagnostic::new(
                    Code::TooMuchSharedMemory,
                    resolved.source_map.name,
                    format!(
                        "`{}` uses {total} bytes of static shared memory; 49152 are possible",
                        resolved.name
                    ),
                ),
            ));
        }
    }
    findings
}

/// The variables of one unit, for callers that hold its tree.
pub fn unit_variables(
    unit: &Unit,
    surroundings: &dyn Surroundings,
) -> (Vec<ModuleVariable>, Vec<Diagnostic>) {
    let mut variables = Vec::new();
    let mut diagnostics = Vec::new();
    for item in unit.items() {
        if let Item::Variable(variable) = item {
            let (mut found, mut findings) = module_variables(&variable, surroundings);
            variables.append(&mut found);
            diagnostics.append(&mut findings);
        }
    }
    (variables, diagnostics)
}
