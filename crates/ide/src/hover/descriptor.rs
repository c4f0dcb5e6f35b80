//! Known bits of matrix descriptors in shared memory, and of instruction descriptors, where an instruction uses them.

use oriole_hir::Descriptor;
use oriole_inputs::{Db, FunctionUnit};
use oriole_queries::files;

use crate::names::Declaration;
use crate::navigation::Named;
use crate::snapshot::Snapshot;
use crate::{FileId, Range};

/// The descriptors of a unit with the places of their instructions.
fn descriptors<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
) -> impl Iterator<Item = (&'db Descriptor, Range)> {
    let map = files::source_map(db, unit);
    let found = files::flow_report(db, unit).descriptors.iter();
    found.filter_map(|one| Some((one, (*map.instructions.get(one.instruction as usize)?).into())))
}

fn fields(descriptor: &Descriptor) -> String {
    descriptor.fields().iter().map(|(name, what)| format!("\n* {name}: {what}")).collect()
}

/// Those of the instruction at a place of a unit.
pub(super) fn of_instruction<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, place: Range) -> String {
    let map = files::source_map(db, unit);
    let mut text = String::new();
    for (one, _) in descriptors(db, unit).filter(|(_, range)| range.meets(place)) {
        let name = one.register.and_then(|register| map.registers.get(register));
        let name = name.map_or(String::new(), |(name, _)| format!(", `{name}`"));
        text.push_str(&format!(
            "\n\nOperand {}{name}, {}:{}",
            one.operand + 1,
            one.format.name(),
            fields(one)
        ));
    }
    text
}

/// The descriptor that a register is for the current statement, or for the first one that uses it as a descriptor.
pub(super) fn of_register(
    snapshot: &Snapshot,
    file: FileId,
    named: &Named<'_>,
    declared: &Declaration,
) -> String {
    let (unit, start) = (named.spot.unit, named.spot.start);
    let map = files::source_map(&snapshot.db, unit);
    let is_it = |one: &Descriptor| {
        let found = one.register.and_then(|register| map.registers.get(register));
        found.is_some_and(|(name, place)| {
            **name == *named.occurrence.name && Range::from(*place) == declared.range
        })
    };
    let all: Vec<(&Descriptor, Range)> =
        descriptors(&snapshot.db, unit).filter(|(one, _)| is_it(one)).collect();
    let here = all.iter().find(|(_, range)| range.meets(named.occurrence.statement));
    let Some((one, range)) = here.or(all.first()) else { return String::new() };
    let place = named.located.up(range.shifted(start));
    let line = super::lines::lines(snapshot, file, place.into_iter().map(|range| Range::point(range.start)));
    format!("\n\nAt line {line} {}:{}", one.format.name(), fields(one))
}
