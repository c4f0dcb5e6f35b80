//! Call hierarchy: callers and callees, read from the names of units, through all files that share a function.

use oriole_inputs::{Db, FunctionUnit};
use oriole_queries::files;
use oriole_syntax::UnitKind;

use crate::names::{Access, Meaning, names};
use crate::navigation::named;
use crate::shared_names::{self, Standing};
use crate::snapshot::Snapshot;
use crate::{FileId, Range};

/// A kernel or function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallItem {
    /// Its file.
    pub file: FileId,
    /// Its name.
    pub name: String,
    /// Name in its source, if it is mangled, and readable signature.
    pub detail: String,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// All of it.
    pub full: Range,
    /// Its name in the text.
    pub range: Range,
}

/// Calls of one function by another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The other one.
    pub item: CallItem,
    /// The calls, in the caller.
    pub ranges: Vec<Range>,
}

fn of_unit(db: &dyn Db, file: FileId, unit: FunctionUnit<'_>) -> Option<CallItem> {
    if !matches!(unit.kind(db), UnitKind::Entry | UnitKind::Function | UnitKind::Declaration) {
        return None;
    }
    let start = unit.start(db);
    let own = names(db, unit)
        .occurrences
        .iter()
        .find(|found| found.meaning == Meaning::Module && found.access == Access::Declare)?;
    Some(CallItem {
        file,
        name: own.name.to_string(),
        detail: crate::symbols::described(db, unit),
        is_kernel: unit.kind(db) == UnitKind::Entry,
        full: own.statement.shifted(start),
        range: own.range.shifted(start),
    })
}

pub(crate) fn item(snapshot: &Snapshot, file: FileId, at: u32) -> Option<CallItem> {
    let source = snapshot.ptx(file)?;
    let db = &snapshot.db;
    match named(snapshot, file, at) {
        Some(named) if named.occurrence.meaning == Meaning::Module => {
            defined(snapshot, file, &named.occurrence.name)
        }
        _ => of_unit(db, file, crate::cursor::spot(db, source, at)?.unit),
    }
}

/// The function that a file means by a name: what defines it, here or in another file, or else the declaration.
fn defined(snapshot: &Snapshot, file: FileId, name: &str) -> Option<CallItem> {
    let db = &snapshot.db;
    let of = |file: FileId, source| of_unit(db, file, files::definition(db, source, name.into())?);
    let here = of(file, snapshot.ptx(file)?)?;
    let Some(own) = shared_names::sharer(snapshot, file, name) else { return Some(here) };
    let linked = shared_names::linked(snapshot, own, name);
    let definer = linked.iter().find(|sharer| sharer.standing > Standing::Declares);
    definer.and_then(|sharer| of(sharer.file, sharer.source)).or(Some(here))
}

/// The uses of a function in a unit: calls, and places that take its address.
fn uses(db: &dyn Db, unit: FunctionUnit<'_>, name: &str) -> Vec<Range> {
    let start = unit.start(db);
    names(db, unit)
        .occurrences
        .iter()
        .filter(|found| {
            found.meaning == Meaning::Module && found.access != Access::Declare && *found.name == *name
        })
        .map(|found| found.range.shifted(start))
        .collect()
}

pub(crate) fn incoming(snapshot: &Snapshot, file: FileId, name: &str) -> Vec<Call> {
    let Some(source) = snapshot.ptx(file) else { return Vec::new() };
    let db = &snapshot.db;
    let mut all = Vec::new();
    let mut add = |file: FileId, units: &[FunctionUnit<'_>]| {
        for &unit in units.iter().filter(|unit| unit.has_code(db)) {
            let ranges = uses(db, unit, name);
            if !ranges.is_empty() {
                all.extend(of_unit(db, file, unit).map(|item| Call { item, ranges }));
            }
        }
    };
    match shared_names::sharer(snapshot, file, name) {
        Some(own) => {
            let linked = shared_names::linked(snapshot, own, name);
            linked.iter().for_each(|sharer| add(sharer.file, sharer.units));
        }
        None => add(file, files::split_file(db, source)),
    }
    all
}

pub(crate) fn outgoing(snapshot: &Snapshot, file: FileId, name: &str) -> Vec<Call> {
    let Some(unit) = snapshot.code_unit(file, name) else { return Vec::new() };
    let db = &snapshot.db;
    let mut called: Vec<&str> = names(db, unit)
        .occurrences
        .iter()
        .filter(|found| found.meaning == Meaning::Module && found.access != Access::Declare)
        .map(|found| &*found.name)
        .collect();
    called.sort_unstable();
    called.dedup();
    called
        .into_iter()
        .filter_map(|name| {
            let item = defined(snapshot, file, name)?;
            Some(Call { item, ranges: uses(db, unit, name) })
        })
        .collect()
}
