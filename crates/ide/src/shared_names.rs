//! Names that the files of a workspace share: functions and variables with `.visible`, `.extern`, `.weak` or `.common`.
//!
//! A query across files reads one index for each file, which holds no place and changes only if a name comes, goes or
//! changes its linkage: an edit inside of a body reads nothing of other files again. Places are read from the units that
//! mention the name, and only from those. Which file belongs to which program is not a fact of PTX; the rule is here: a file
//! that defines a name is not linked with another one that defines it too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_inputs::{Db, FunctionUnit, SourceFile};
use oriole_queries::files;
use oriole_query_macro::query;
use oriole_syntax::ast::{Item, Linkage};

use crate::names::{Access, Meaning, names, names_of};
use crate::snapshot::Snapshot;
use crate::{FileId, Language};

/// The strength of a file's declaration of a shared name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Standing {
    /// It declares what another file defines.
    Declares,
    /// It defines what other files may define too.
    DefinesWeakly,
    /// It alone defines it.
    Defines,
}

/// A declaration of a name of the module, without its place.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Declared {
    name: Arc<str>,
    /// `None` for a name of the file alone.
    standing: Option<Standing>,
    /// A function with a body.
    has_body: bool,
}

/// The module's names in a unit, without places.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mentions {
    declared: Vec<Declared>,
    /// Names that are used or declared, each once.
    all: BTreeSet<Arc<str>>,
}

/// The names that a unit mentions. Most files of a workspace are never shown, so their trees and places are not kept.
#[query(returns(ref))]
pub(crate) fn mentions<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Mentions {
    let parse = unit.text(db).0.parse_once();
    let mut declared = Vec::new();
    for item in parse.unit().items() {
        match item {
            Item::Function(function) => {
                let has_body = function.body().is_some();
                let standing = of_linkage(function.linkage().first().map(|word| word.0), has_body);
                let name = function.name().map(|name| name.text().into());
                declared.extend(name.map(|name| Declared { name, standing, has_body }));
            }
            Item::Variable(variable) => {
                let standing = of_linkage(variable.linkage().first().map(|word| word.0), true);
                let names = variable.declarators().filter_map(|declarator| declarator.name());
                declared.extend(names.map(|name| Declared {
                    name: name.text().into(),
                    standing,
                    has_body: false,
                }));
            }
            Item::Alias(alias) => {
                let name = alias.alias().map(|name| name.text().into());
                let standing = Some(Standing::DefinesWeakly);
                declared.extend(name.map(|name| Declared { name, standing, has_body: false }));
            }
            _ => {}
        }
    }
    let names = names_of(parse.unit()).occurrences;
    let of_module = names.into_iter().filter(|found| found.meaning == Meaning::Module);
    Mentions { declared, all: of_module.map(|found| found.name).collect() }
}

/// The standing of a declaration; `has_body` for a function with one, and for a variable.
fn of_linkage(linkage: Option<Linkage>, has_body: bool) -> Option<Standing> {
    Some(match linkage? {
        Linkage::Extern => Standing::Declares,
        _ if !has_body => Standing::Declares,
        Linkage::Visible => Standing::Defines,
        Linkage::Weak | Linkage::Common => Standing::DefinesWeakly,
    })
}

/// A name that a file shares.
#[derive(Clone, PartialEq, Eq, Debug, salsa::SalsaValue)]
pub(crate) struct SharedName<'db> {
    standing: Standing,
    /// The units that mention it, in file order.
    units: Vec<FunctionUnit<'db>>,
}

/// The names of a file that other files may mean, and every name that it declares.
#[derive(Clone, PartialEq, Eq, Debug, Default, salsa::SalsaValue)]
pub(crate) struct SharedNames<'db> {
    shared: BTreeMap<Arc<str>, SharedName<'db>>,
    declared: BTreeSet<Arc<str>>,
}

/// The names that a file shares. The only query of a file that queries across files read before they know a place.
#[query(returns(ref))]
pub(crate) fn shared_names(db: &dyn Db, file: SourceFile) -> SharedNames<'_> {
    let mut found = SharedNames::default();
    let mut with_body = BTreeSet::new();
    let units = files::split_file(db, file);
    for &unit in units {
        for Declared { name, standing, has_body } in &mentions(db, unit).declared {
            found.declared.insert(name.clone());
            if *has_body {
                with_body.insert(name.clone());
            }
            let Some(standing) = *standing else { continue };
            let known = found.shared.entry(name.clone());
            let known = known.or_insert(SharedName { standing, units: Vec::new() });
            known.standing = known.standing.max(standing);
        }
    }
    // A function may be declared with its linkage and defined without it.
    for (name, shared) in &mut found.shared {
        if shared.standing == Standing::Declares && with_body.contains(name) {
            shared.standing = Standing::Defines;
        }
    }
    for &unit in units {
        for name in &mentions(db, unit).all {
            if let Some(shared) = found.shared.get_mut(name) {
                shared.units.push(unit);
            }
        }
    }
    found
}

/// A file with what it says of a name.
#[derive(Clone)]
pub(crate) struct Sharer<'a> {
    pub file: FileId,
    pub source: SourceFile,
    pub standing: Standing,
    /// The units that mention the name.
    pub units: &'a [FunctionUnit<'a>],
}

/// A file's share in a name; `None` if the name is of this file alone.
pub(crate) fn sharer<'a>(snapshot: &'a Snapshot, file: FileId, name: &str) -> Option<Sharer<'a>> {
    let source = snapshot.ptx(file)?;
    let shared = shared_names(&snapshot.db, source).shared.get(name)?;
    Some(Sharer { file, source, standing: shared.standing, units: &shared.units })
}

/// Every file that shares a name, in the order of their ids.
pub(crate) fn sharers<'a>(snapshot: &'a Snapshot, name: &str) -> Vec<Sharer<'a>> {
    ptx_files(snapshot).filter_map(|file| sharer(snapshot, file, name)).collect()
}

/// The files that mean the same by a name as this one, this one first. A file that defines it is not linked with another
/// that does.
pub(crate) fn linked<'a>(snapshot: &'a Snapshot, own: Sharer<'a>, name: &str) -> Vec<Sharer<'a>> {
    let defines = own.standing == Standing::Defines;
    let others = sharers(snapshot, name)
        .into_iter()
        .filter(|other| other.file != own.file && !(defines && other.standing == Standing::Defines));
    let others: Vec<Sharer<'a>> = others.collect();
    std::iter::once(own).chain(others).collect()
}

/// The PTX files of the session.
fn ptx_files(snapshot: &Snapshot) -> impl Iterator<Item = FileId> {
    let all = snapshot.files.iter().enumerate();
    all.filter(|(_, data)| data.language == Language::Ptx).map(|(index, _)| FileId(index as u32))
}

/// Whether a file shares a name, or declares it for itself.
pub(crate) fn declares(snapshot: &Snapshot, source: SourceFile, name: &str) -> bool {
    shared_names(&snapshot.db, source).declared.contains(name)
}

/// The declarations of a shared name in a file: of a name that the file defines the definition, else all of them.
pub(crate) fn places(db: &dyn Db, sharer: &Sharer<'_>, name: &str) -> Vec<(crate::Range, crate::Range)> {
    let definition = (sharer.standing > Standing::Declares)
        .then(|| files::definition(db, sharer.source, name.into()))
        .flatten();
    let mut found = Vec::new();
    for &unit in sharer.units.iter().filter(|&&unit| definition.is_none_or(|wanted| wanted == unit)) {
        found.extend(declarations_in(db, unit, name));
    }
    found
}

/// The declarations of a module's name in a unit: the name, and all of it.
pub(crate) fn declarations_in(
    db: &dyn Db,
    unit: FunctionUnit<'_>,
    name: &str,
) -> Vec<(crate::Range, crate::Range)> {
    let start = unit.start(db);
    let declares = |found: &&crate::names::Occurrence| {
        found.meaning == Meaning::Module && found.access == Access::Declare && &*found.name == name
    };
    let all = names(db, unit).occurrences.iter().filter(declares);
    all.map(|found| (found.range.shifted(start), found.statement.shifted(start))).collect()
}
