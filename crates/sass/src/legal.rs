//! Whether the machine has an instruction, and which of its operands the operand cache serves: answered by the form
//! table before registers are known.

use crate::choose::{choose_for, refusal, resolve_as};
use crate::error::EncodeError;
use crate::fill::Asked;
use crate::form::{self, FormId};
use crate::{Guard, Instruction, Mods, Op, Operand};
use oriole_chip::Chip;

/// The form that takes these operands and modifiers; `None` if the chip has none. This is the legality predicate: signs,
/// suffixes and the ranges of numbers count, register numbers do not matter.
pub fn legal(chip: Chip, op: Op, mods: &Mods, operands: &[Operand]) -> Option<FormId> {
    let asked = Asked { guard: Guard::ALWAYS, op, mods, operands };
    choose_for(form::table(chip)?, &asked).map(|resolved| resolved.id)
}

/// Why no form takes these operands and modifiers.
pub fn why_not_legal(chip: Chip, op: Op, mods: &Mods, operands: &[Operand]) -> EncodeError {
    match form::table(chip) {
        Some(table) => refusal(table, &Asked { guard: Guard::ALWAYS, op, mods, operands }),
        None => EncodeError::UnsupportedChip(chip),
    }
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
