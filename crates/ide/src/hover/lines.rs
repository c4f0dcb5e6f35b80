//! Lines of a file as text.

use crate::snapshot::Snapshot;
use crate::{FileId, Range};

/// The lines of ranges as text: `3, 5 to 9`.
pub(super) fn lines(snapshot: &Snapshot, file: FileId, ranges: impl Iterator<Item = Range>) -> String {
    let Some(data) = snapshot.file(file) else { return String::new() };
    let mut found: Vec<u32> = ranges.map(|range| data.lines.line(range.start) + 1).collect();
    found.sort_unstable();
    found.dedup();
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for line in found {
        match runs.last_mut() {
            Some(run) if run.1 + 1 == line => run.1 = line,
            _ => runs.push((line, line)),
        }
    }
    let more = runs.len().saturating_sub(8);
    let shown: Vec<String> = runs
        .iter()
        .take(8)
        .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first} to {last}") })
        .collect();
    let more = if more > 0 { format!(" and {more} more places") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
