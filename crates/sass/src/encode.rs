//! From an instruction to its word: the form is found, its fields are filled, and the scheduling control is added. No
//! choice of opcode is made here.

use crate::choose::{Resolved, choose, choose_for, refusal, resolve_as};
use crate::decode::{LAST_BATCH, NO_SCOREBOARD, TOP_SHIFT};
use crate::error::EncodeError;
use crate::fill::{Asked, fill};
use crate::form::{self, CONTROL_SHIFT, Form, FormId, Table};
use crate::{Control, Instruction, InstructionWord};
use oriole_chip::Chip;

/// The word of an instruction.
pub fn encode(chip: Chip, instruction: &Instruction) -> Result<InstructionWord, EncodeError> {
    let table = form::table(chip).ok_or(EncodeError::UnsupportedChip(chip))?;
    let (resolved, body) = choose(table, instruction)?;
    Ok(body | control_bits(resolved.form, instruction, &resolved.slots)?)
}

/// The word of an instruction whose form was chosen before.
///
/// # Errors
/// The form does not take the instruction.
pub fn encode_as(chip: Chip, id: FormId, instruction: &Instruction) -> Result<InstructionWord, EncodeError> {
    let table = form::table(chip).ok_or(EncodeError::UnsupportedChip(chip))?;
    let Resolved { form, slots, shares_fields, .. } = resolve_as(table, id, instruction)?;
    let body = fill(form, &Asked::of(instruction), &slots, shares_fields)?;
    Ok(body | control_bits(form, instruction, &slots)?)
}

/// The form that `encode` would choose.
///
/// # Errors
/// No form of the table takes the instruction.
pub fn form_of(table: &'static Table, instruction: &Instruction) -> Result<FormId, EncodeError> {
    let asked = Asked::of(instruction);
    choose_for(table, &asked).map(|resolved| resolved.id).ok_or_else(|| refusal(table, &asked))
}

fn control_bits(form: &Form, instruction: &Instruction, slots: &[u8]) -> Result<u128, EncodeError> {
    let (op, control) = (instruction.op, instruction.control);
    let mut bits = encode_control(control).map_err(|what| EncodeError::Control(op, what))?;
    if control.write_barrier.is_some() && !form.write_barrier {
        return Err(EncodeError::Control(op, "it cannot release a write barrier"));
    }
    if control.read_barrier.is_some() && !form.read_barrier {
        return Err(EncodeError::Control(op, "it cannot release a read barrier"));
    }
    if control.batch > LAST_BATCH || control.batch != 0 && !form.has_batch() {
        return Err(EncodeError::Control(op, "it has no such place in a batch"));
    }
    bits |= u32::from(control.batch) << TOP_SHIFT;
    for (index, (operand, &at)) in instruction.operands.iter().zip(slots).enumerate() {
        if operand.reuse {
            let bit = form.reuse.iter().position(|&slot| slot == at).ok_or(EncodeError::Reuse(op, index))?;
            bits |= 1 << TOP_SHIFT << bit;
        }
    }
    Ok((bits as u128) << CONTROL_SHIFT)
}

/// The control field without reuse flags, bit 0 being bit 105 of the word.
fn encode_control(control: Control) -> Result<u32, &'static str> {
    let barrier = |number: Option<u8>| match number {
        None => Ok(NO_SCOREBOARD),
        Some(number @ 0..=5) => Ok(number as u32),
        Some(_) => Err("there are six scoreboards"),
    };
    if control.stall > 15 {
        return Err("the stall count is at most 15");
    }
    if control.stall == 0 && !control.yields {
        return Err("an instruction that does not stall must yield");
    }
    if control.wait_mask > 0x3f {
        return Err("there are six scoreboards");
    }
    Ok(control.stall as u32
        | (!control.yields as u32) << 4
        | barrier(control.write_barrier)? << 5
        | barrier(control.read_barrier)? << 8
        | (control.wait_mask as u32) << 11)
}
