//! The outline of a file and the search for names over all files.

use std::sync::Arc;

use oriole_inputs::{Db, FunctionUnit, SourceFile};
use oriole_queries::files;
use oriole_query_macro::query;
use oriole_syntax::UnitKind;

use crate::names::{Access, DeclarationKind, Meaning, names};
use crate::snapshot::{Located, Snapshot};
use crate::{Feature, FileId, Language, Range};

/// The kind of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum SymbolKind {
    /// A kernel.
    Kernel,
    /// A function.
    Function,
    /// A variable.
    Variable,
    /// A parameter or result.
    Parameter,
    /// A register or a range of them.
    Register,
    /// A label, a list of targets, a prototype.
    Label,
    /// An `asm` statement of another language.
    Snippet,
}

/// A declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Name.
    pub name: String,
    /// Type, space or signature as text.
    pub detail: String,
    /// The kind.
    pub kind: SymbolKind,
    /// All of it.
    pub full: Range,
    /// Its name.
    pub range: Range,
    /// The symbols inside of it.
    pub children: Vec<Symbol>,
}

impl Symbol {
    /// The symbol with all ranges counted from an earlier byte.
    #[must_use]
    pub fn shifted(&self, by: u32) -> Symbol {
        Symbol {
            full: self.full.shifted(by),
            range: self.range.shifted(by),
            children: self.children.iter().map(|child| child.shifted(by)).collect(),
            ..self.clone()
        }
    }
}

/// The symbols of a unit of a file. Clones share them.
#[derive(Clone, Debug)]
pub struct UnitSymbols {
    /// The first byte of the unit.
    pub start: u32,
    /// The text of the unit.
    pub text: Arc<str>,
    /// The symbols, their ranges relative to the unit. Those of an unchanged unit are the same.
    pub symbols: Arc<[Symbol]>,
}

/// The symbols of a PTX file, unit by unit; nothing for a host of embedded PTX.
pub(crate) fn by_unit(snapshot: &Snapshot, file: FileId) -> Option<Vec<UnitSymbols>> {
    let source = snapshot.ptx(file)?;
    if !snapshot.is_on(file, Feature::Symbols) {
        return Some(Vec::new());
    }
    let db = &snapshot.db;
    let of_unit = |&unit: &FunctionUnit<'_>| UnitSymbols {
        start: unit.start(db),
        text: Arc::clone(unit.text(db)),
        symbols: relative_symbols(db, unit).clone(),
    };
    Some(files::split_file(db, source).iter().map(of_unit).collect())
}

/// The symbols of a unit with all that it declares, their ranges relative to it.
#[query(returns(ref), lru = 2048)]
fn relative_symbols<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Symbol]> {
    let located = Located { source: unit.file(db), at: 0, snippet: None };
    unit_symbols(db, unit, 0, located, true).into()
}

pub(crate) fn symbols(snapshot: &Snapshot, file: FileId) -> Vec<Symbol> {
    if !snapshot.is_on(file, Feature::Symbols) {
        return Vec::new();
    }
    let db = &snapshot.db;
    let mut all = Vec::new();
    for (number, located) in snapshot.sources(file).into_iter().enumerate() {
        let inner: Vec<Symbol> = files::split_file(db, located.source)
            .iter()
            .flat_map(|&unit| unit_symbols(db, unit, unit.start(db), located, true))
            .collect();
        match located.snippet {
            None => all.extend(inner),
            Some(snippet) => all.push(Symbol {
                name: format!("inline PTX {}", number + 1),
                detail: String::new(),
                kind: SymbolKind::Snippet,
                full: snippet.host,
                range: snippet.host,
                children: inner,
            }),
        }
    }
    all
}

/// The name in its C++ or Rust source, if it has one, and the signature of a function as text.
pub(crate) fn described(db: &dyn Db, unit: FunctionUnit<'_>) -> String {
    let signature = signature(db, unit);
    match crate::demangle::readable(unit.name(db)) {
        Some(readable) => format!("{readable} {signature}"),
        None => signature,
    }
}

/// The signature of a function as text.
pub(crate) fn signature(db: &dyn Db, unit: FunctionUnit<'_>) -> String {
    let Some(info) = files::signature(db, unit) else { return String::new() };
    let list = |parameters: &[oriole_hir::Parameter]| {
        let one = |parameter: &oriole_hir::Parameter| match parameter.length {
            Some(length) => format!("{}[{length}]", parameter.ty),
            None => parameter.ty.to_string(),
        };
        parameters.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let parameters = list(&info.signature.parameters);
    match info.signature.results.as_slice() {
        [] => format!("({parameters})"),
        results => format!("({parameters}) -> {}", list(results)),
    }
}

/// The symbols of a unit that begins at a byte; with `deep` those inside of them, too.
fn unit_symbols(
    db: &dyn Db,
    unit: FunctionUnit<'_>,
    start: u32,
    located: Located<'_>,
    deep: bool,
) -> Vec<Symbol> {
    let kind = match unit.kind(db) {
        UnitKind::Entry => SymbolKind::Kernel,
        UnitKind::Function | UnitKind::Declaration => SymbolKind::Function,
        UnitKind::Variable => SymbolKind::Variable,
        _ => return Vec::new(),
    };
    let names = names(db, unit);
    let own = names
        .occurrences
        .iter()
        .filter(|found| found.meaning == Meaning::Module && found.access == Access::Declare);
    let children: Vec<Symbol> = if deep {
        names
            .declarations
            .iter()
            .filter_map(|declaration| {
                let (name, kind) = match declaration.kind {
                    DeclarationKind::Registers(count) => {
                        (format!("{}<{count}>", declaration.name), SymbolKind::Register)
                    }
                    DeclarationKind::Register => (declaration.name.to_string(), SymbolKind::Register),
                    DeclarationKind::Variable => (declaration.name.to_string(), SymbolKind::Variable),
                    DeclarationKind::Parameter | DeclarationKind::Result => {
                        (declaration.name.to_string(), SymbolKind::Parameter)
                    }
                    _ => (declaration.name.to_string(), SymbolKind::Label),
                };
                Some(Symbol {
                    name,
                    detail: declaration.detail.clone(),
                    kind,
                    full: located.up(declaration.full.shifted(start))?,
                    range: located.up(declaration.range.shifted(start))?,
                    children: Vec::new(),
                })
            })
            .collect()
    } else {
        Vec::new()
    };
    if located.snippet.is_some() {
        return children;
    }
    let mut children = Some(children);
    own.map(|found| Symbol {
        name: found.name.to_string(),
        detail: match kind {
            SymbolKind::Variable => {
                let detail = variable_detail(db, unit, &found.name);
                crate::demangle::readable(&found.name)
                    .map_or(detail.clone(), |name| format!("{name} {detail}"))
            }
            _ => described(db, unit),
        },
        kind,
        full: found.statement.shifted(start),
        range: found.range.shifted(start),
        children: children.take().unwrap_or_default(),
    })
    .collect()
}

/// Space, type and size of a module's variable as text.
pub(crate) fn variable_detail(db: &dyn Db, unit: FunctionUnit<'_>, name: &str) -> String {
    let found = files::globals(db, unit).iter().find(|(known, _)| **known == *name);
    found.map_or_else(String::new, |(_, info)| {
        let vector = if info.vector > 1 { format!(" .v{}", info.vector) } else { String::new() };
        format!(".{}{vector} {}, {} bytes, aligned to {}", info.space.name(), info.ty, info.size, info.align)
    })
}

/// Whether the letters are in the name or in its source name in this order, case-insensitively.
fn matches(query: &str, name: &str) -> bool {
    let in_order = |name: &str| {
        let mut letters = name.chars().map(|letter| letter.to_ascii_lowercase());
        query.chars().all(|wanted| letters.any(|letter| letter == wanted.to_ascii_lowercase()))
    };
    in_order(name) || crate::demangle::readable(name).is_some_and(|readable| in_order(&readable))
}

/// Maximum number of search results.
const MOST: usize = 512;

pub(crate) fn workspace_symbols(snapshot: &Snapshot, query: &str) -> Vec<(FileId, Symbol)> {
    let db = &snapshot.db;
    let mut all = Vec::new();
    for (index, data) in snapshot.files.iter().enumerate() {
        if data.language != Language::Ptx {
            continue;
        }
        let source: SourceFile = data.source;
        let located = Located { source, at: 0, snippet: None };
        for &unit in files::split_file(db, source) {
            let several = unit.kind(db) == UnitKind::Variable;
            if !several && !matches(query, unit.name(db)) {
                continue;
            }
            let found = unit_symbols(db, unit, unit.start(db), located, false);
            let found = found.into_iter().filter(|symbol| matches(query, &symbol.name));
            all.extend(found.map(|symbol| (FileId(index as u32), symbol)));
            if all.len() >= MOST {
                all.truncate(MOST);
                return all;
            }
        }
    }
    all
}
