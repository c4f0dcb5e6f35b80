//! Legality of an instruction, and the operands that the operand cache serves: answered by the form table before
//! registers are known.

use crate::choose::{choose_for, refusal, resolve_as};
use crate::error::EncodeError;
use crate::fill::Asked;
use crate::form::{FormId, Table};
use crate::{Guard, Instruction, Mods, Op, Operand};

/// The form that takes these operands and modifiers; `None` if the table has none. This is the legality predicate:
/// signs, suffixes and value ranges count, register indices do not matter.
pub fn legal(table: &'static Table, op: Op, mods: &Mods, operands: &[Operand]) -> Option<FormId> {
    let asked = Asked { guard: Guard::ALWAYS, op, mods, operands };
    choose_for(table, &asked).map(|resolved| resolved.id)
}

/// Why no form takes these operands and modifiers.
pub fn why_not_legal(table: &'static Table, op: Op, mods: &Mods, operands: &[Operand]) -> EncodeError {
    refusal(table, &Asked { guard: Guard::ALWAYS, op, mods, operands })
}

/// For each of the slots of the operand cache (A, B, C) the operand that it serves, `None` where the form has none.
/// Only these operands may carry the flag `.reuse`.
///
/// # Errors
/// The form does not take the instruction.
pub fn cached_operands(
    table: &'static Table,
    form: FormId,
    instruction: &Instruction,
) -> Result<[Option<u8>; 3], EncodeError> {
    let count = instruction.operands.len();
    if let Some(own) = table.get(form).filter(|own| own.op == instruction.op && own.slots.len() == count) {
        // No operand is left out.
        return Ok(own.reuse.map(|slot| Some(slot).filter(|&slot| usize::from(slot) < count)));
    }
    let resolved = resolve_as(table, form, instruction)?;
    Ok(resolved
        .form
        .reuse
        .map(|slot| resolved.slots.iter().position(|&s| s == slot).map(|index| index as u8)))
}
