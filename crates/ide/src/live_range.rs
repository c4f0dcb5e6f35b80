//! The live range of one register of the source, by instructions: from its writes to its last reads, along all paths.
//!
//! It reads the tree and the names, so that it answers while the text has errors elsewhere. Unknown code makes the
//! range larger, never smaller.

use oriole_inputs::{Db, FunctionUnit};
use oriole_queries::files;
use oriole_syntax::ast::{self, AstNode};

use crate::Range;
use crate::cursor::trimmed;
use crate::names::{Access, DeclarationKind, Meaning, Names, Occurrence};

struct Step {
    range: Range,
    reads: bool,
    /// It is written regardless of the guard.
    kills: bool,
    successors: Vec<usize>,
}

/// The instructions at whose start the register is live, as ranges of the unit in text order.
///
/// `names` must have the labels, the jumps and the places of the register.
pub(crate) fn live_range<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    names: &Names,
    register: &Occurrence,
) -> Vec<Range> {
    let mut steps = steps(db, unit, names, register);
    let count = steps.len();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, step) in steps.iter().enumerate() {
        for &next in &step.successors {
            before[next].push(at);
        }
    }
    let mut live = vec![false; count];
    let mut open: Vec<usize> = (0..count).filter(|&at| steps[at].reads).collect();
    open.iter().for_each(|&at| live[at] = true);
    while let Some(at) = open.pop() {
        for &previous in &before[at] {
            if !live[previous] && !steps[previous].kills {
                live[previous] = true;
                open.push(previous);
            }
        }
    }
    steps.retain({
        let mut at = 0;
        move |_| {
            at += 1;
            live[at - 1]
        }
    });
    steps.into_iter().map(|step| step.range).collect()
}

fn steps<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, names: &Names, register: &Occurrence) -> Vec<Step> {
    let root = files::function_tree(db, unit).syntax();
    let instructions: Vec<_> = root.descendants().filter_map(ast::Instruction::cast).collect();
    let ranges: Vec<Range> = instructions.iter().map(|instruction| trimmed(instruction.syntax())).collect();
    // The first instruction after a label.
    let behind = |at: u32| ranges.partition_point(|range| range.start < at);
    let label = |index: u32| {
        let declared = &names.declarations[index as usize];
        match declared.kind {
            DeclarationKind::Label => vec![behind(declared.range.end)],
            // A list of targets: every label that it names.
            DeclarationKind::Targets => names
                .occurrences
                .iter()
                .filter(|found| declared.full.holds(found.range) && found.access == Access::Read)
                .filter_map(|found| names.declaration(found))
                .map(|found| behind(found.range.end))
                .collect(),
            _ => Vec::new(),
        }
    };
    let mut next = 0;
    let mut steps = Vec::with_capacity(ranges.len());
    for (at, instruction) in instructions.into_iter().enumerate() {
        let range = ranges[at];
        while names.occurrences.get(next).is_some_and(|found| found.range.end <= range.start) {
            next += 1;
        }
        let inside = names.occurrences[next..].iter().take_while(|found| found.range.start < range.end);
        let guarded = instruction.guard().is_some();
        let mnemonic = instruction.opcode().and_then(|opcode| opcode.mnemonic());
        let opcode = mnemonic.map_or("", |token| token.text());
        let (mut reads, mut writes) = (false, false);
        let mut successors = Vec::new();
        for found in inside {
            if found.meaning == register.meaning && found.name == register.name {
                reads |= found.access == Access::Read;
                writes |= found.access == Access::Write;
            } else if let Meaning::Local(index) = found.meaning {
                successors.extend(label(index));
            }
        }
        let leaves = matches!(opcode, "bra" | "brx" | "ret" | "exit" | "trap");
        if guarded || !leaves {
            successors.push(at + 1);
        }
        successors.retain(|&next| next < ranges.len());
        steps.push(Step { range, reads, kills: writes && !guarded && !reads, successors });
    }
    steps
}
