//! Definitions, declarations, references and highlights, all read from the names of units; names that files share through all
//! files of the workspace.

use oriole_inputs::{Db, FunctionUnit, SourceFile};
use oriole_queries::files;

use crate::cursor::{Spot, spot};
use crate::names::{Access, DeclarationKind, Meaning, Names, Occurrence, names, names_like};
use crate::shared_names::{self, Sharer, Standing, declarations_in};
use crate::snapshot::{Located, Snapshot};
use crate::{FileId, Range};

/// The declaration of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The file.
    pub file: FileId,
    /// The name.
    pub range: Range,
    /// The whole declaration.
    pub full: Range,
    /// The name at the query.
    pub origin: Range,
}

/// A use of a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reference {
    /// The file.
    pub file: FileId,
    /// The name.
    pub range: Range,
    /// The kind of use.
    pub access: Access,
}

/// The name at a position.
pub(crate) struct Named<'a> {
    pub located: Located<'a>,
    pub spot: Spot<'a>,
    /// The names of the unit that are relevant to the name.
    pub names: Names,
    pub occurrence: Occurrence,
}

pub(crate) fn named<'a>(snapshot: &'a Snapshot, file: FileId, at: u32) -> Option<Named<'a>> {
    let located = snapshot.locate(file, at)?;
    let db: &dyn Db = &snapshot.db;
    let spot = spot(db, located.source, located.at)?;
    named_at(db, located, spot).or_else(|| {
        // At the border of two units the name may begin the second one.
        let units = files::split_file(db, located.source);
        let next = units.iter().copied().find(|unit| unit.start(db) == located.at)?;
        named_at(db, located, Spot { unit: next, start: located.at, at: 0 })
    })
}

fn named_at<'a>(db: &'a dyn Db, located: Located<'a>, spot: Spot<'a>) -> Option<Named<'a>> {
    let spelling = spot.name(db)?;
    let names = names_like(db, spot.unit, spelling);
    let occurrence = names.at(spot.at)?.clone();
    Some(Named { located, spot, names, occurrence })
}

/// The files that mean the same by a name of the module as the file it is in, that one first; `None` for a name of the file
/// alone.
pub(crate) fn sharers<'a>(
    snapshot: &'a Snapshot,
    named: &Named<'_>,
    file: FileId,
) -> Option<Vec<Sharer<'a>>> {
    if named.occurrence.meaning != Meaning::Module || named.located.snippet.is_some() {
        return None;
    }
    let name = &named.occurrence.name;
    let own = shared_names::sharer(snapshot, file, name)?;
    Some(shared_names::linked(snapshot, own, name))
}

/// Whether other files may mean what the name at a position means.
pub(crate) fn is_shared(snapshot: &Snapshot, file: FileId, at: u32) -> bool {
    let Some(named) = named(snapshot, file, at) else { return false };
    named.occurrence.meaning == Meaning::Module
        && named.located.snippet.is_none()
        && shared_names::sharer(snapshot, file, &named.occurrence.name).is_some()
}

pub(crate) fn definition(snapshot: &Snapshot, file: FileId, at: u32) -> Vec<Target> {
    let Some(named) = named(snapshot, file, at) else { return Vec::new() };
    let others = definitions_elsewhere(snapshot, &named, file);
    if others.is_empty() { own_declaration(snapshot, &named, file) } else { others }
}

/// The definitions in other files of a name that this file only declares.
pub(crate) fn definitions_elsewhere(snapshot: &Snapshot, named: &Named<'_>, file: FileId) -> Vec<Target> {
    let Some(sharers) = sharers(snapshot, named, file) else { return Vec::new() };
    let Some(origin) = named.located.up(named.occurrence.range.shifted(named.spot.start)) else {
        return Vec::new();
    };
    if sharers[0].standing > Standing::Declares {
        return Vec::new();
    }
    let mut found = Vec::new();
    for sharer in sharers.iter().filter(|sharer| sharer.standing > Standing::Declares) {
        let places = shared_names::places(&snapshot.db, sharer, &named.occurrence.name);
        let target = |(range, full)| Target { file: sharer.file, range, full, origin };
        found.extend(places.into_iter().map(target));
    }
    found
}

/// The declarations of a name in its own file: those without a definition, or else the definition.
pub(crate) fn declaration(snapshot: &Snapshot, file: FileId, at: u32) -> Vec<Target> {
    let Some(named) = named(snapshot, file, at) else { return Vec::new() };
    let (located, name) = (named.located, &named.occurrence.name);
    if named.occurrence.meaning == Meaning::Module
        && let Some(origin) = located.up(named.occurrence.range.shifted(named.spot.start))
    {
        let db = &snapshot.db;
        let defined = files::definition(db, located.source, name.clone());
        let units = files::split_file(db, located.source).iter();
        let mut found = Vec::new();
        for &unit in units.filter(|&&unit| Some(unit) != defined) {
            for (range, full) in declarations_in(db, unit, name) {
                let up = located.up(range).map(|range| (range, located.up(full).unwrap_or(range)));
                found.extend(up.map(|(range, full)| Target { file, range, full, origin }));
            }
        }
        if !found.is_empty() {
            return found;
        }
    }
    own_declaration(snapshot, &named, file)
}

/// The declaration of a name in its own file: the definition, or else the first declaration.
fn own_declaration(snapshot: &Snapshot, named: &Named<'_>, file: FileId) -> Vec<Target> {
    let (located, start) = (named.located, named.spot.start);
    let Some(origin) = located.up(named.occurrence.range.shifted(start)) else { return Vec::new() };
    let target = |range: Range, full: Range| {
        let (range, full) = (located.up(range)?, located.up(full));
        Some(Target { file, range, full: full.unwrap_or(range), origin })
    };
    if let Some(declaration) = named.names.declaration(&named.occurrence) {
        let range = declaration.range.shifted(start);
        return target(range, declaration.full.shifted(start)).into_iter().collect();
    }
    if named.occurrence.meaning != Meaning::Module {
        return Vec::new();
    }
    let places = declarations(&snapshot.db, located.source, &named.occurrence.name);
    places.into_iter().filter_map(|(range, full)| target(range, full)).collect()
}

/// The declarations of a name in the module: the definition, or else the first declaration.
fn declarations(db: &dyn Db, source: SourceFile, name: &str) -> Vec<(Range, Range)> {
    let unit = files::definition(db, source, name.into());
    unit.map_or_else(Vec::new, |unit| declarations_in(db, unit, name))
}

pub(crate) fn references(snapshot: &Snapshot, file: FileId, at: u32) -> Vec<Reference> {
    let Some(named) = named(snapshot, file, at) else { return Vec::new() };
    if named.occurrence.meaning != Meaning::Module {
        return in_unit(&named, file);
    }
    let db = &snapshot.db;
    let mut all = Vec::new();
    let mut add = |file: FileId, units: &[FunctionUnit<'_>]| {
        for &unit in units {
            let start = unit.start(db);
            for found in names(db, unit).same(&named.occurrence) {
                if let Some(range) = named.located.up(found.range.shifted(start)) {
                    all.push(Reference { file, range, access: found.access });
                }
            }
        }
    };
    match sharers(snapshot, &named, file) {
        Some(sharers) => sharers.iter().for_each(|sharer| add(sharer.file, sharer.units)),
        None => add(file, files::split_file(db, named.located.source)),
    }
    all
}

fn in_unit(named: &Named<'_>, file: FileId) -> Vec<Reference> {
    let declared = named.names.declaration(&named.occurrence);
    let prefix = declared.filter(|declared| matches!(declared.kind, DeclarationKind::Registers(_)));
    let mut all: Vec<Reference> = named
        .names
        .same(&named.occurrence)
        .chain(
            // The declaration of the range that the register is one of.
            named.names.occurrences.iter().filter(|found| {
                prefix.is_some_and(|prefix| prefix.range == found.range)
                    && found.name != named.occurrence.name
            }),
        )
        .filter_map(|found| {
            let range = named.located.up(found.range.shifted(named.spot.start))?;
            Some(Reference { file, range, access: found.access })
        })
        .collect();
    all.sort();
    all
}

pub(crate) fn highlights(snapshot: &Snapshot, file: FileId, at: u32) -> Vec<Reference> {
    named(snapshot, file, at).map_or_else(Vec::new, |named| in_unit(&named, file))
}
