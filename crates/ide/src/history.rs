//! The phases of a kernel's compilation: the text of its intermediate representation after each phase that changed it,
//! each line with the line of PTX that it comes from.
//!
//! The database knows both, and a reader wants to follow one instruction through all phases. Rendering for a page or a
//! terminal is not done here.

use std::sync::Arc;

use oriole_chip::Chip;
use oriole_inputs::FunctionUnit;
use oriole_queries::{files, view};

use crate::snapshot::Snapshot;
use crate::views::OriError;
use crate::{FileId, Range};

/// A line of the intermediate representation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OriLine {
    /// The line. Copies of an unchanged one share it.
    pub text: Arc<str>,
    /// The line of the file that it comes from, from 0.
    pub source: Option<u32>,
}

/// The intermediate representation after one phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OriSnapshot {
    /// Number and name of that phase; `None` for the first.
    pub phase: Option<(u16, &'static str)>,
    /// The description of the phase.
    pub doc: &'static str,
    /// The lines.
    pub lines: Vec<OriLine>,
}

/// A kernel and the functions of the file whose clones its code holds.
fn units<'db>(snapshot: &'db Snapshot, file: FileId, kernel: &str, chip: Chip) -> Vec<FunctionUnit<'db>> {
    let Some(unit) = snapshot.code_unit(file, kernel) else { return Vec::new() };
    let members = snapshot.image(file, unit, chip).map(|(image, _)| image.members).unwrap_or_default();
    let called = members.iter().skip(1).filter_map(|(name, _)| snapshot.code_unit(file, name));
    std::iter::once(unit).chain(called).collect()
}

pub(crate) fn parts(snapshot: &Snapshot, file: FileId, kernel: &str, chip: Chip) -> Vec<(String, Range)> {
    let db = &snapshot.db;
    let part = |unit: FunctionUnit<'_>| {
        let (text, start) = (unit.text(db), unit.start(db));
        // White space before an item belongs to no line.
        let skipped = (text.len() - text.trim_start().len()) as u32;
        (unit.name(db).to_string(), Range::new(start + skipped, start + text.trim_end().len() as u32))
    };
    units(snapshot, file, kernel, chip).into_iter().map(part).collect()
}

pub(crate) fn history(
    snapshot: &Snapshot,
    file: FileId,
    kernel: &str,
    chip: Chip,
) -> Result<Vec<OriSnapshot>, OriError> {
    let db = &snapshot.db;
    let config = snapshot.config(file, chip).ok_or(OriError::Chip(chip))?;
    let mut members = Vec::new();
    for unit in units(snapshot, file, kernel, chip) {
        let snapshots =
            view::history(db, unit, config).map_err(|failed| OriError::of(&failed, unit.name(db)))?;
        let mut before: Vec<OriLine> = Vec::new();
        let snapshots = snapshots.iter().map(|known| {
            before = lines(snapshot, file, unit, &known.text, &before);
            (known.phase, before.clone())
        });
        members.push(snapshots.collect::<Vec<_>>());
    }
    // Raw Ori comes first; then the phases in the order in which they run, which is their order in the list.
    let place = |phase: Option<&oriole_pipeline::Phase>| {
        phase.map(|phase| oriole_pipeline::PHASES.iter().position(|known| known.number == phase.number))
    };
    let mut moments: Vec<_> = members.iter().flatten().map(|&(phase, _)| (place(phase), phase)).collect();
    moments.sort_by_key(|&(place, _)| place);
    moments.dedup_by_key(|&mut (place, _)| place);
    let several = members.len() > 1;
    let at_moment = |(at, phase): (_, Option<&'static oriole_pipeline::Phase>)| {
        let mut lines = Vec::new();
        for (unit, member) in units(snapshot, file, kernel, chip).into_iter().zip(&members) {
            let known = member.iter().rfind(|&&(phase, _)| place(phase) <= at);
            if several {
                let name = Arc::from(format!("// {}", unit.name(db)));
                lines.push(OriLine { text: name, source: None });
            }
            lines.extend(known.into_iter().flat_map(|(_, lines)| lines.iter().cloned()));
        }
        OriSnapshot {
            phase: phase.map(|phase| (phase.number, phase.name)),
            doc: phase.map_or("Lowered from the PTX, before any phase", |phase| phase.doc),
            lines,
        }
    };
    Ok(moments.into_iter().map(at_moment).collect())
}

/// The lines of a text; lines that the earlier text has at the same distance from an end are shared with it.
fn lines(
    snapshot: &Snapshot,
    file: FileId,
    unit: FunctionUnit<'_>,
    text: &str,
    before: &[OriLine],
) -> Vec<OriLine> {
    let db = &snapshot.db;
    let map = files::source_map(db, unit);
    let source = |line: &str| {
        // The text of an instruction ends with the ordinal of its statement.
        let ordinal: usize = line.rsplit_once("; ")?.1.parse().ok()?;
        let place = map.instructions.get(ordinal)?;
        Some(snapshot.file(file)?.lines.line(place.start + unit.start(db)))
    };
    let count = text.lines().count();
    let shared = |at: usize, line: &str| {
        let behind = (before.len() + at).checked_sub(count);
        let places = [Some(at), behind].into_iter().flatten();
        let mut known = places.filter_map(|at| before.get(at));
        known.find(|known| &*known.text == line).cloned()
    };
    let line = |(at, line): (usize, &str)| {
        shared(at, line).unwrap_or_else(|| OriLine { text: Arc::from(line), source: source(line) })
    };
    text.lines().enumerate().map(line).collect()
}
