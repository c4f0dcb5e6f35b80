//! Checks that need the whole module: the order of header lines and of declarations, limits of memories, functions
//! without a definition.
//!
//! They are separate from resolution: these diagnostics change no meaning, so that moving a function recompiles
//! nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::Space;
use oriole_syntax::ast::{self, AstNode, Item};
use oriole_syntax::{NodeRef, Parse, TokenRef, UnitKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::header::NOUNROLL;
use crate::signature::is_scoped;
use crate::{
    Declared, Header, Linkage, ModuleContext, ModuleVariable, Symbols, Uses, Variable, VariableKind,
    read_header,
};

/// Whether a function that a unit declares must be defined by another module; the driver defines some.
pub fn is_open(declared: &Declared) -> bool {
    match declared {
        Declared::Function { name, linkage, .. } => {
            *linkage == Some(Linkage::Extern) && !DRIVER_FUNCTIONS.contains(&name.as_str())
        }
        _ => false,
    }
}

/// Functions that the driver supplies; a module may call them without defining them.
pub const DRIVER_FUNCTIONS: [&str; 6] =
    ["vprintf", "__assertfail", "malloc", "free", "cudaGetParameterBuffer", "cudaLaunchDevice"];

/// A function with code, as far as the checks of the module need it.
#[derive(Clone, Copy, Debug)]
pub struct Outline<'a> {
    /// The index of its unit.
    pub unit: usize,
    /// Its name.
    pub name: &'a str,
    /// Where its name is in the unit.
    pub name_span: Span,
    /// Whether it is a kernel.
    pub is_entry: bool,
    /// The names of the module that it uses.
    pub uses: &'a Uses,
    /// The variables that it declares or uses; only shared ones are checked.
    pub variables: &'a [Variable],
}

/// Header directives and their order: version and target first, and nowhere later. `parse` is called for the trees of
/// header units, for that of the first unit if no version is above it, and for debug sections where `debug` promises
/// them.
pub fn check_header<'a>(
    units: impl IntoIterator<Item = UnitKind>,
    parse: impl Fn(usize) -> &'a Parse,
    header: &mut Header,
) -> Vec<(usize, Diagnostic)> {
    let mut diagnostics = Vec::new();
    let mut position = 0;
    let mut items_seen = false;
    let mut seen = [false; 3];
    let mut last = 0;
    let (mut target, mut sections) = ((0, Span::point(0)), Vec::new());
    for (at, kind) in units.into_iter().enumerate() {
        if kind == UnitKind::DebugSection {
            sections.push(at);
        }
        if kind != UnitKind::Header {
            items_seen |= !matches!(kind, UnitKind::Trailer | UnitKind::Broken);
            if kind != UnitKind::Trailer && position == 0 {
                diagnostics.push((at, missing_version(first_word(parse(at).syntax()))));
                position = 1;
            }
            continue;
        }
        last = at;
        let unit = parse(at).unit();
        let mut found = Vec::new();
        read_header(&unit, header, &mut found);
        diagnostics.extend(found.into_iter().map(|found| (at, found)));
        let items: Vec<Item> = unit.items().collect();
        for (number, item) in items.iter().enumerate() {
            let (span, wanted) = match item {
                Item::VersionDirective(directive) => (directive.span(), 0),
                Item::TargetDirective(directive) => {
                    target = (at, directive.span());
                    (directive.span(), 1)
                }
                Item::Pragma(pragma) => {
                    diagnostics.extend(module_pragma(pragma).map(|found| (at, found)));
                    continue;
                }
                Item::AddressSizeDirective(directive) => (directive.span(), 2),
                _ => continue,
            };
            if items_seen {
                diagnostics.push((
                    at,
                    Diagnostic::new(
                        Code::InvalidHeader,
                        span,
                        "header directives come before all declarations",
                    ),
                ));
            } else if position == 0 && wanted != 0 {
                // ptxas reports it at the next item.
                let next = items.get(number + 1).map_or(span, |item| first_word(item.syntax()));
                diagnostics.push((at, missing_version(next)));
            }
            if wanted == 2 && !seen[1] && !items_seen {
                diagnostics.push((at, Diagnostic::new(Code::MissingTarget, span, MISSING_TARGET)));
                seen[1] = true;
            }
            if std::mem::replace(&mut seen[wanted], true) && wanted != 1 && !items_seen {
                diagnostics
                    .push((at, Diagnostic::new(Code::InvalidHeader, span, "this directive is given twice")));
            }
            position = position.max(wanted + 1);
        }
    }
    if position == 0 {
        diagnostics.push((last, missing_version(Span::point(0))));
    } else if !seen[1] && !diagnostics.iter().any(|found| found.1.is_error()) {
        diagnostics.push((last, Diagnostic::new(Code::MissingTarget, Span::point(0), MISSING_TARGET)));
    }
    let is_debug = |item| matches!(item, Item::Section(section) if section.name().starts_with(".debug"));
    if header.debug && !sections.into_iter().any(|at| parse(at).unit().items().any(is_debug)) {
        let message = "`debug` promises debug information, and the module has no `.section .debug_...`";
        diagnostics.push((target.0, Diagnostic::new(Code::InvalidHeader, target.1, message)));
    }
    diagnostics
}

/// A pragma of the module that ptxas refuses there: an unknown one, or one of a function.
fn module_pragma(pragma: &ast::Pragma) -> Option<Diagnostic> {
    let text = pragma.strings().into_iter().find(|text| text != NOUNROLL)?;
    let message = if is_scoped(&text) {
        format!("`{text}` is a pragma for the inside of a function")
    } else {
        format!("no pragma of a module is called `{text}`")
    };
    Some(Diagnostic::new(Code::InvalidDirective, pragma.span(), message))
}

/// The place of the first word of a node.
fn first_word(node: NodeRef<'_>) -> Span {
    node.first_solid_token().map_or(Span::point(0), TokenRef::span)
}

/// Arrays without a size outside of shared memory that are declared `.extern` and not defined: nothing can
/// supply their size.
fn open_externals<'a>(
    symbols: &'a Symbols,
    declared: &'a [&'a [Declared]],
) -> impl Iterator<Item = (usize, Diagnostic)> + 'a {
    let all = declared.iter().enumerate().flat_map(|(unit, list)| list.iter().map(move |one| (unit, one)));
    all.filter_map(|(unit, declared)| match declared {
        Declared::Variable { name, span, info }
            if info.linkage == Some(Linkage::Extern)
                && info.size == 0
                && info.space != Space::Shared
                && symbols.global(name).is_some_and(|known| known.linkage == Some(Linkage::Extern)) =>
        {
            let message = format!("the array `{name}` has no size and is defined nowhere");
            Some((unit, Diagnostic::new(Code::UnresolvedExternal, *span, message)))
        }
        _ => None,
    })
}

const MISSING_TARGET: &str = "a module has a `.target` directive after `.version`";

fn missing_version(span: Span) -> Diagnostic {
    Diagnostic::new(Code::MissingVersion, span, "a module begins with a `.version` directive")
}

/// The unit and the place in it where each name is first declared.
pub fn first_declarations<'a>(declared: &[&'a [Declared]]) -> FxHashMap<&'a str, (usize, Span)> {
    let mut first: FxHashMap<&str, (usize, Span)> = FxHashMap::default();
    for (unit, declared) in declared.iter().enumerate() {
        for declared in *declared {
            first.entry(declared.name()).or_insert((unit, declared.span()));
        }
    }
    first
}

/// Names that an initial value uses above their declaration, its own name included.
pub fn initializer_order(
    variable: &ModuleVariable,
    unit: usize,
    first: &FxHashMap<&str, (usize, Span)>,
) -> Option<Diagnostic> {
    let place = (unit, variable.name_span);
    let late = variable.initial.iter().flat_map(|initial| &initial.relocations).find(|relocation| {
        first.get(relocation.symbol.as_str()).is_some_and(|&declared| declared >= place)
    })?;
    let message = format!("the initial value uses `{}` above its declaration", late.symbol);
    Some(Diagnostic::new(Code::UseBeforeDeclaration, variable.name_span, message))
}

/// A use above the declaration. It names the use and not its position, so that it stays equal while a user types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EarlyUse {
    /// The index of the unit.
    pub unit: usize,
    /// Index into `SourceMap::uses`.
    pub ordinal: usize,
    /// The name.
    pub name: Arc<str>,
}

impl EarlyUse {
    /// The diagnostic, given the places of the unit's uses.
    pub fn diagnostic(&self, uses: &[Span]) -> Diagnostic {
        let place = uses.get(self.ordinal).copied().unwrap_or(Span::point(0));
        let message = format!("`{}` is used above its declaration", self.name);
        Diagnostic::new(Code::UseBeforeDeclaration, place, message)
            .with_symbol(self.name.to_string(), "declared here")
    }
}

/// Uses above declarations. Diagnostics only: no meaning depends on the order.
///
/// `declared` are the declarations of all units in file order.
pub fn order_check(declared: &[&[Declared]], bodies: &[Outline<'_>]) -> Vec<EarlyUse> {
    let first = first_declarations(declared);
    let mut early = Vec::new();
    for body in bodies {
        let names = body.uses.globals.iter().chain(&body.uses.called).chain(&body.uses.addressed);
        for (ordinal, name) in names.enumerate() {
            if first.get(name.as_str()).is_some_and(|place| place.0 > body.unit) {
                early.push(EarlyUse { unit: body.unit, ordinal, name: Arc::from(name.as_str()) });
            }
        }
    }
    early
}

/// Locations that an `inlined_at` names and no `.loc` of the module gives before it. `parse` is called for the trees of
/// functions only where the functions alone do not decide it.
pub fn check_locations<'a>(
    bodies: &[Outline<'_>],
    parse: impl Fn(usize) -> &'a Parse,
) -> Vec<(usize, Diagnostic)> {
    let mut found = Vec::new();
    if !bodies.iter().any(|body| body.uses.outer_locations) {
        return found;
    }
    let mut known = FxHashSet::default();
    for body in bodies {
        let lines = parse(body.unit).syntax().descendants().filter_map(ast::LocDirective::cast);
        for line in lines {
            if let Some(at) = line.inlined_at().and_then(|inlined| inlined.position())
                && !known.contains(&at)
            {
                let message = format!("no `.loc {} {} {}` comes before this `inlined_at`", at.0, at.1, at.2);
                found.push((body.unit, Diagnostic::new(Code::InvalidDirective, line.span(), message)));
            }
            known.extend(line.position());
        }
    }
    found
}

/// The names and labels of the debug sections of a unit, each with its place; the name of a section begins with a dot.
pub fn section_labels(unit: &ast::Unit<'_>) -> Vec<(String, Span)> {
    let mut labels = Vec::new();
    for item in unit.items() {
        if let Item::Section(section) = item {
            labels.push((section.name(), section.span()));
            let own = section.data().filter_map(ast::SectionData::label);
            labels.extend(own.map(|token| (token.text().to_owned(), token.span())));
        }
    }
    labels
}

/// Labels that are defined twice in the debug sections of a module, and those that a `function_name` names and no
/// section holds. `labels` are the units with sections and their [`section_labels`]; `parse` is called for the trees of
/// functions that name a missing label.
pub fn check_labels<'a>(
    labels: &[(usize, &[(String, Span)])],
    bodies: &[Outline<'_>],
    parse: impl Fn(usize) -> &'a Parse,
) -> Vec<(usize, Diagnostic)> {
    let mut found = Vec::new();
    // The section of strings exists whether it is written or not.
    let mut known: FxHashSet<&str> = FxHashSet::from_iter([".debug_str"]);
    for &(unit, list) in labels {
        for (label, span) in list {
            if !known.insert(label) && !label.starts_with('.') {
                let message = format!("the label `{label}` is defined twice in the debug sections");
                found.push((unit, Diagnostic::new(Code::DuplicateName, *span, message)));
            }
        }
    }
    for body in bodies {
        let missing = |name: &str| !known.contains(name);
        if !body.uses.function_names.iter().any(|name| missing(name)) {
            continue;
        }
        for line in parse(body.unit).syntax().descendants().filter_map(ast::LocDirective::cast) {
            if let Some((label, _)) = line.inlined_at().and_then(|inlined| inlined.function_name())
                && missing(label.text())
            {
                let message = format!("no debug section has the label `{}`", label.text());
                found.push((body.unit, Diagnostic::new(Code::UnknownName, label.span(), message)));
            }
        }
    }
    found
}

/// Bounds that concern the module: constant memory, functions without a definition.
pub fn check_limits<'a>(
    variables: impl IntoIterator<Item = &'a ModuleVariable>,
    symbols: &Symbols,
    declared: &[&[Declared]],
    bodies: &[Outline<'_>],
) -> Vec<(usize, Diagnostic)> {
    let mut diagnostics = Vec::new();
    let constants: u64 = variables
        .into_iter()
        .filter(|variable| variable.info.space == Space::Constant)
        .map(|variable| variable.info.size)
        .sum();
    if constants > 65536 {
        diagnostics.push((
            0,
            Diagnostic::new(
                Code::TooMuchConstantMemory,
                Span::point(0),
                format!("the module's `.const` variables have {constants} bytes; 65536 are possible"),
            ),
        ));
    }
    diagnostics.extend(open_externals(symbols, declared));
    diagnostics.extend(undefined_functions(symbols, declared, bodies));
    diagnostics
}

/// Functions that the module declares and does not define, though it promises to or uses them; each is reported once.
fn undefined_functions(
    symbols: &Symbols,
    declared: &[&[Declared]],
    bodies: &[Outline<'_>],
) -> Vec<(usize, Diagnostic)> {
    let mut found = Vec::new();
    let mut missing: BTreeSet<&str> = BTreeSet::new();
    let external = |name: &str| symbols.signature(name).is_some_and(|known| known.external);
    for (unit, declared) in declared.iter().enumerate() {
        for declared in *declared {
            if let Declared::Function { name, span, linkage, .. } = declared
                && *linkage != Some(Linkage::Extern)
                && external(name)
                && missing.insert(name)
            {
                let message = format!("the function `{name}` is declared and defined nowhere");
                found.push((unit, Diagnostic::new(Code::UnresolvedExternal, *span, message)));
            }
        }
    }
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for body in bodies {
        for name in body.uses.called.iter().chain(&body.uses.addressed) {
            if external(name)
                && !DRIVER_FUNCTIONS.contains(&name.as_str())
                && !missing.contains(name.as_str())
            {
                used.insert(name);
            }
        }
    }
    if used.is_empty() {
        return found;
    }
    // The declaration is to blame, not the functions that use it.
    for (unit, declared) in declared.iter().enumerate() {
        for declared in *declared {
            if let Declared::Function { name, span, .. } = declared
                && used.remove(name.as_str())
            {
                let message = format!("the function `{name}` is declared, used, and defined nowhere");
                let help = "a whole program defines its functions; `-c` leaves this one to a linker";
                let diagnostic = Diagnostic::new(Code::UnresolvedExternal, *span, message).with_help(help);
                found.push((unit, diagnostic));
            }
        }
    }
    found
}

/// Bytes of static shared memory of a block on an unknown chip. No chip has less.
const STATIC_SHARED: u32 = 48 * 1024;

/// A kernel that uses more static shared memory than every chip has. The limit depends on the chip that the code is
/// for, not on the target of the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedNeed {
    /// The ordinal of its unit.
    pub unit: usize,
    name: String,
    /// Place of its name in the unit.
    span: Span,
    bytes: u64,
}

impl SharedNeed {
    /// The diagnostic for a block with `limit` bytes, if the kernel needs more.
    pub fn judged(&self, limit: u32) -> Option<Diagnostic> {
        let Self { name, span, bytes, .. } = self;
        let message = || format!("`{name}` uses {bytes} bytes of static shared memory; {limit} are possible");
        (*bytes > limit.into()).then(|| Diagnostic::new(Code::TooMuchSharedMemory, *span, message()))
    }
}

/// The most static shared memory that the target of a module has, in bytes.
pub fn shared_limit(header: &Header) -> u32 {
    let limits = header.chip().and_then(oriole_chip::Chip::limits);
    limits.map_or(STATIC_SHARED, |limits| limits.static_shared_per_block)
}

/// Kernels that some chip has too little static shared memory for.
pub fn shared_needs(bodies: &[Outline<'_>]) -> Vec<SharedNeed> {
    let by_name: FxHashMap<&str, usize> =
        bodies.iter().enumerate().map(|(index, body)| (body.name, index)).collect();
    let entries = bodies.iter().filter(|body| body.is_entry);
    let needs = entries.map(|body| SharedNeed {
        unit: body.unit,
        name: body.name.to_owned(),
        span: body.name_span,
        bytes: shared_bytes(by_name[body.name], bodies, &by_name),
    });
    needs.filter(|need| need.bytes > STATIC_SHARED.into()).collect()
}

/// Bytes of static shared memory of a kernel and of everything that it reaches by calls.
fn shared_bytes(kernel: usize, bodies: &[Outline<'_>], by_name: &FxHashMap<&str, usize>) -> u64 {
    let mut reached: FxHashSet<usize> = FxHashSet::default();
    let mut open = vec![kernel];
    let mut shared: FxHashMap<&str, u64> = FxHashMap::default();
    let mut own = 0u64;
    while let Some(index) = open.pop() {
        if !reached.insert(index) {
            continue;
        }
        let Outline { variables, uses, .. } = bodies[index];
        for variable in variables.iter().filter(|variable| variable.space == Space::Shared) {
            match variable.kind {
                VariableKind::Module => {
                    shared.insert(&variable.name, variable.size);
                }
                _ => own += variable.size,
            }
        }
        open.extend(uses.called.iter().chain(&uses.addressed).filter_map(|name| by_name.get(name.as_str())));
    }
    own + shared.values().sum::<u64>()
}
