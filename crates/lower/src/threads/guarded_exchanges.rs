//! Exchanges that guards take lanes past: rows of statements that are lowered once for each value of a guard.
//!
//! Lanes that skip one exchange may exchange with the others at the next one: `@p shfl.sync` and then `@!p shfl.sync`. The
//! statements from the one to the other are on two ways of a branch, so that the phase for exchanges at several places
//! finds them. Only statements without a label between them are considered, and none that transfers control.

use crate::dispatch;
use oriole_hir::{Instruction, Operand, RegisterId, Statement};
use oriole_ptx::{Opcode, Word};

/// Most statements that are lowered twice.
const LENGTH: usize = 32;

/// Most guards whose values are known at once.
pub(crate) const DEPTH: u32 = 3;

/// An instruction of a row, and its number in the body.
pub(crate) type Numbered = (u32, Instruction);

/// The number of instructions in the row that the first of these begins, if it begins one. `None` is a statement that ends rows.
pub(crate) fn row<'a>(mut instructions: impl Iterator<Item = Option<&'a Instruction>>) -> Option<usize> {
    let first = instructions.next()?.filter(|it| exchanges(it))?;
    let guard = first.guard?;
    let mut last = None;
    let mut kept = !writes(first, guard.0);
    for (number, next) in instructions.enumerate().take(LENGTH - 1) {
        let Some(next) = next.filter(|it| exchanges(it) || is_plain(it)) else { break };
        if next.guard != Some(guard) && meet(first, next) {
            last = Some(number + 2);
            // The lanes that are missing come under the opposite guard, all of them.
            if kept && next.guard == Some((guard.0, !guard.1)) {
                break;
            }
        }
        kept &= !writes(next, guard.0);
    }
    last
}

/// The instructions of a row where a guard is known to hold or not, until it is written.
pub(crate) fn under(guard: (RegisterId, bool), holds: bool, row: &[Numbered]) -> Vec<Numbered> {
    let mut known = true;
    let mut kept = Vec::with_capacity(row.len());
    for (number, instruction) in row {
        let own = instruction.guard.filter(|own| known && own.0 == guard.0);
        known &= !writes(instruction, guard.0);
        match own {
            Some(own) if (own.1 == guard.1) != holds => {}
            Some(_) => kept.push((*number, Instruction { guard: None, ..instruction.clone() })),
            None => kept.push((*number, instruction.clone())),
        }
    }
    kept
}

/// The instruction of a statement, if it is one.
pub(crate) fn instruction(statement: &Statement) -> Option<&Instruction> {
    match statement {
        Statement::Instruction(instruction) => Some(instruction),
        _ => None,
    }
}

/// Whether it waits for the lanes of a mask and exchanges.
fn exchanges(instruction: &Instruction) -> bool {
    use Opcode::*;
    matches!(instruction.opcode, Shfl | Vote | Match | Redux | Elect) && instruction.modifiers.has(Word::Sync)
}

/// Whether lanes need not be together for it.
fn is_plain(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Ld | Opcode::St) || dispatch::is_value(instruction.opcode)
}

/// Whether lanes of one may exchange with lanes of the other.
fn meet(one: &Instruction, other: &Instruction) -> bool {
    // The mask is the last operand.
    let masks = match [one, other].map(|it| it.operands.last()) {
        [Some(Operand::Immediate(one)), Some(Operand::Immediate(other))] => one == other,
        _ => true,
    };
    let kind = |it: &Instruction| (it.opcode, it.modifiers.clone(), it.types.clone());
    kind(one) == kind(other) && masks
}

fn writes(instruction: &Instruction, register: RegisterId) -> bool {
    let mut writes = false;
    instruction.for_each_written(|it| writes |= it == register);
    writes
}
