//! Whether the machine has an instruction, and which of its operands the operand cache serves: answered by the form
//! table before registers are known.

use crate::choose::{Asked, choose_for, resolve_as};
use crate::encode::EncodeError;
use crate::form::{self, FormId};
use crate::{Guard, Instruction, Mods, Op, Operand};
use oriole_chip::Chip;

/// The form that takes these operands and modifiers, or why none does. This is the legality predicate: signs,
/// suffixes and the ranges of numbers count, register numbers do not matter.
pub fn legal(chip: Chip, op: Op, mods: &Mods, operands: &[Operand]) -> Result<FormId, EncodeError> {
    let table = form::table(chip).ok_or(EncodeError::UnsupportedChip(chip))?;
    let asked = Asked { guard: Guard::ALWAYS, op, mods, operands };
    choose_for(table, &asked).map(|(resolved, _)| resolved.id)
}

/// For each of the slots of the operand cache (A, B, C) the operand that it serves, `None` where the form has none. Only
/// these operands may carry the flag `.reuse`.
///
/// # Errors
/// The form does not take the instruction.
pub fn cached_operands(
    chip: Chip,
    form: FormId,
    instruction: &Instruction,
) -> Result<[Option<u8>; 3], EncodeError> {
    let table = form::table(chip).ok_or(EncodeError::UnsupportedChip(chip))?;
    let resolved = resolve_as(table, form, instruction)?;
    Ok(resolved
        .form
        .reuse
        .map(|slot| resolved.slots.iter().position(|&s| s == slot).map(|index| index as u8)))
}
