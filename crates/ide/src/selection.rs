//! The ranges around a position, each inside the next: word, operand, instruction, scope, function, file.

use oriole_inputs::Db;
use oriole_queries::files;

use crate::cursor::{spot, token_range, trimmed};
use crate::snapshot::Snapshot;
use crate::{FileId, Range};

pub(crate) fn selection(snapshot: &Snapshot, file: FileId, at: u32) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    let db: &dyn Db = &snapshot.db;
    if let Some(located) = snapshot.locate(file, at)
        && let Some(spot) = spot(db, located.source, located.at)
    {
        let mut inner = Vec::new();
        if let Some(path) = spot.path(db) {
            inner.extend(spot.number(&path).map(|number| Range::from(number.span())));
            inner.push(token_range(path.token));
            inner.extend(path.ancestors().map(trimmed));
        } else {
            inner.push(trimmed(files::function_tree(db, spot.unit).syntax()));
        }
        ranges.extend(inner.into_iter().filter_map(|range| located.up(range.shifted(spot.start))));
        ranges.extend(located.snippet.map(|snippet| snippet.host));
    }
    if let Some(data) = snapshot.file(file) {
        ranges.push(Range::new(0, data.text.len() as u32));
    }
    ranges.retain(|range| range.touches(at));
    // Each must contain the one before.
    let mut chain: Vec<Range> = Vec::new();
    for range in ranges {
        if chain.last().is_none_or(|last| range.holds(*last) && range != *last) {
            chain.push(range);
        }
    }
    chain
}
