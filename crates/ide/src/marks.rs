//! Marks of the registers of the source, from compiled code: dead, spilled, uniform.
//!
//! Tokens are highlighted while a text does not compile, and by a host that never compiles. So marks are plain data:
//! made from good code, kept by the caller, and applied to the tokens of any later text by the names of function and
//! register. A name that means several registers of a function has no marks.

use std::collections::BTreeMap;
use std::sync::Arc;

use oriole_chip::Chip;
use oriole_hir::SourceMap;
use oriole_inputs::FunctionUnit;
use oriole_ori::File;
use oriole_pipeline::facts::{FunctionFacts, Origin};
use oriole_queries::files;
use oriole_syntax::UnitKind;

use crate::names::{Access, DeclarationKind, Names, names};
use crate::snapshot::Snapshot;
use crate::{Feature, FileId, Range};

/// The marks of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Marks {
    /// Its value reaches no machine instruction.
    pub dead: bool,
    /// It is spilled somewhere.
    pub spilled: bool,
    /// It lives in uniform registers only.
    pub uniform: bool,
}

/// Marks of one function by the name of the register.
pub(crate) type OfUnit = BTreeMap<Box<str>, Marks>;

/// Marks of the registers of a file, by function. Registers without marks are left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegisterMarks {
    units: BTreeMap<(UnitKind, Arc<str>), Arc<OfUnit>>,
}

impl RegisterMarks {
    pub(crate) fn of(&self, kind: UnitKind, name: &Arc<str>) -> Option<&Arc<OfUnit>> {
        self.units.get(&(kind, name.clone()))
    }
}

/// The marks of a file for a chip. A function that does not compile keeps its earlier marks.
pub(crate) fn marks(snapshot: &Snapshot, file: FileId, chip: Chip, before: &RegisterMarks) -> RegisterMarks {
    let mut all = RegisterMarks::default();
    let Some(source) = snapshot.ptx(file).filter(|_| snapshot.is_on(file, Feature::CodeDiagnostics)) else {
        return all;
    };
    let db = &snapshot.db;
    for &unit in files::split_file(db, source).iter().filter(|unit| unit.has_code(db)) {
        let key = (unit.kind(db), unit.name(db).clone());
        let known = before.units.get(&key);
        let found = match snapshot.compiled(file, unit, chip) {
            Some(shown) if !shown.stale => {
                let found = of_unit(db, unit, &shown.compiled.facts, &shown.compiled.map);
                // Equal values are shared.
                Some(known.filter(|known| ***known == found).cloned().unwrap_or_else(|| Arc::new(found)))
            }
            _ => known.cloned(),
        };
        if let Some(found) = found.filter(|found| !found.is_empty()) {
            all.units.insert(key, found);
        }
    }
    all
}

fn of_unit(
    db: &dyn oriole_inputs::Db,
    unit: FunctionUnit<'_>,
    facts: &FunctionFacts,
    map: &SourceMap,
) -> OfUnit {
    let names = names(db, unit);
    let dead = dead(names, facts, map);
    let count = map.registers.values().count();
    let mut spilled = vec![false; count];
    for spill in &facts.spills {
        if let Origin::Source(register, _) = spill.origin
            && let Some(known) = spilled.get_mut(register as usize)
        {
            *known = true;
        }
    }
    // In a uniform register somewhere, and in another one elsewhere.
    let mut homes = vec![(false, false); count];
    for home in &facts.homes {
        if let Some(known) = homes.get_mut(home.register as usize) {
            match home.file {
                File::UR | File::UP => known.0 = true,
                File::R | File::P | File::B => known.1 = true,
            }
        }
    }
    let mut all = OfUnit::new();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for (number, (name, declaration)) in map.registers.values().enumerate() {
        *seen.entry(name).or_default() += 1;
        let marks = Marks {
            dead: dead.contains(&(name.as_str(), Range::from(*declaration))),
            spilled: spilled[number],
            uniform: homes[number] == (true, false),
        };
        if marks != Marks::default() {
            all.insert(name.as_str().into(), marks);
        }
    }
    all.retain(|name, _| seen.get(&**name) == Some(&1));
    all
}

/// Registers by name and declaration that are written, and whose values reach no machine instruction. A statement is
/// live if it has code, or if it writes no register, as a store or a branch. The registers that it reads are then live,
/// and with a register all statements that write it.
fn dead<'a>(
    names: &'a Names,
    facts: &FunctionFacts,
    map: &SourceMap,
) -> std::collections::BTreeSet<(&'a str, Range)> {
    let mut has_code = vec![false; map.instructions.len()];
    for word in &facts.words {
        if let Some(known) = has_code.get_mut(word.statement as usize) {
            *known = true;
        }
    }
    // Registers by index, and the reads and writes of each statement.
    let mut numbers: BTreeMap<(&'a str, Range), usize> = BTreeMap::new();
    let (mut reads, mut writes) = (vec![Vec::new(); has_code.len()], vec![Vec::new(); has_code.len()]);
    for found in &names.occurrences {
        let Some(declared) = names.declaration(found) else { continue };
        if !matches!(declared.kind, DeclarationKind::Register | DeclarationKind::Registers(_)) {
            continue;
        }
        let Some(statement) = statement_at(map, found.range) else { continue };
        let next = numbers.len();
        let number = *numbers.entry((&found.name, declared.range)).or_insert(next);
        match found.access {
            Access::Write => writes[statement].push(number),
            Access::Read | Access::Call => reads[statement].push(number),
            Access::Declare => {}
        }
    }
    let mut writers: Vec<Vec<usize>> = vec![Vec::new(); numbers.len()];
    for (statement, list) in writes.iter().enumerate() {
        list.iter().for_each(|&number| writers[number].push(statement));
    }
    let mut counts: Vec<bool> =
        (0..has_code.len()).map(|statement| has_code[statement] || writes[statement].is_empty()).collect();
    let mut open: Vec<usize> = (0..counts.len()).filter(|&statement| counts[statement]).collect();
    let mut live = vec![false; numbers.len()];
    while let Some(statement) = open.pop() {
        for &number in &reads[statement] {
            if std::mem::replace(&mut live[number], true) {
                continue;
            }
            for &writer in &writers[number] {
                if !std::mem::replace(&mut counts[writer], true) {
                    open.push(writer);
                }
            }
        }
    }
    numbers
        .into_iter()
        .filter(|&(_, number)| !live[number] && !writers[number].is_empty())
        .map(|(register, _)| register)
        .collect()
}

/// The statement that holds a range.
fn statement_at(map: &SourceMap, range: Range) -> Option<usize> {
    let behind = map.instructions.partition_point(|span| span.start <= range.start);
    let at = behind.checked_sub(1)?;
    Range::from(map.instructions[at]).holds(range).then_some(at)
}
