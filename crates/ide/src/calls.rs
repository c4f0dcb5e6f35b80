//! Call hierarchy: callers and callees, read from the names of units.

use oriole_inputs::{Db, FunctionUnit};
use oriole_queries::files;
use oriole_syntax::UnitKind;

use crate::names::{Access, Meaning, names};
use crate::navigation::named;
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
    let unit = match named(snapshot, file, at) {
        Some(named) if named.occurrence.meaning == Meaning::Module => {
            files::definition(db, source, named.occurrence.name.clone())?
        }
        _ => crate::cursor::spot(db, source, at)?.unit,
    };
    of_unit(db, file, unit)
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
    let units = files::split_file(db, source).iter().filter(|unit| unit.has_code(db));
    units
        .filter_map(|&unit| {
            let ranges = uses(db, unit, name);
            (!ranges.is_empty()).then(|| Some(Call { item: of_unit(db, file, unit)?, ranges }))?
        })
        .collect()
}

pub(crate) fn outgoing(snapshot: &Snapshot, file: FileId, name: &str) -> Vec<Call> {
    let (Some(source), Some(unit)) = (snapshot.ptx(file), snapshot.code_unit(file, name)) else {
        return Vec::new();
    };
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
            let item = of_unit(db, file, files::definition(db, source, name.into())?)?;
            Some(Call { item, ranges: uses(db, unit, name) })
        })
        .collect()
}
