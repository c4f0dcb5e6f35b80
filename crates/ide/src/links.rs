//! Links from `.file` and `.loc` to the sources that a kernel was made from.

use oriole_query_macro::query;
use std::collections::BTreeMap;

use oriole_inputs::{Db, FunctionUnit};
use oriole_queries::files;
use oriole_syntax::UnitKind;
use oriole_syntax::ast::{AstNode, FileDirective, LocDirective};

use crate::cursor::trimmed;
use crate::snapshot::Snapshot;
use crate::{Feature, FileId, Range};

/// A link to a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Its range.
    pub range: Range,
    /// The path as the file states it.
    pub path: String,
    /// Line, from 1; 0 if there is none.
    pub line: u32,
    /// Column, from 1; 0 if there is none.
    pub column: u32,
}

/// A `.loc` of a unit: range, file index, line, column.
type Line = (Range, u32, u32, u32);

#[query(returns(ref), lru = 2048)]
fn unit_lines<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<Line> {
    let root = files::function_tree(db, unit).syntax();
    let marks = root.descendants().filter_map(LocDirective::cast);
    marks
        .filter_map(|mark| {
            let (file, line, column) = mark.position()?;
            Some((trimmed(mark.syntax()), file, line, column))
        })
        .collect()
}

pub(crate) fn links(snapshot: &Snapshot, file: FileId) -> Vec<Link> {
    let Some(source) = snapshot.ptx(file).filter(|_| snapshot.is_on(file, Feature::Links)) else {
        return Vec::new();
    };
    let db = &snapshot.db;
    let units = files::split_file(db, source);
    let mut paths: BTreeMap<u32, String> = BTreeMap::new();
    let mut all = Vec::new();
    for &unit in units.iter().filter(|unit| unit.kind(db) == UnitKind::DebugSection) {
        let root = files::function_tree(db, unit).syntax();
        for directive in root.descendants().filter_map(FileDirective::cast) {
            let range = trimmed(directive.syntax()).shifted(unit.start(db));
            let (Some(index), Some(path)) = (directive.index(), directive.name()) else { continue };
            all.push(Link { range, path: path.clone(), line: 0, column: 0 });
            paths.insert(index, path);
        }
    }
    if paths.is_empty() {
        return all;
    }
    for &unit in units {
        let start = unit.start(db);
        for &(range, number, line, column) in unit_lines(db, unit) {
            if let Some(path) = paths.get(&number) {
                all.push(Link { range: range.shifted(start), path: path.clone(), line, column });
            }
        }
    }
    all
}
