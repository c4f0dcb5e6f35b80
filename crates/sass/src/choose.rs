//! Which form an instruction has: the one that takes its operands, modifiers and signs. It is found once for each
//! instruction; who has the form's number never asks again.

use crate::encode::{EncodeError, Leftover, fill};
use crate::form::{Field, Form, FormId, Shape, Slot, SlotKind, Table};
use crate::{Guard, Instruction, Mods, Op, Operand, OperandKind};
use smallvec::SmallVec;

/// For each operand of an instruction the index of its slot in the form.
pub type Slots = SmallVec<[u8; 8]>;

/// The form of an instruction, and which slot each operand fills.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Its number in the table of the chip.
    pub id: FormId,
    /// The form.
    pub form: &'static Form,
    /// For each operand the index of its slot.
    pub slots: Slots,
}

/// The form without regard to the control word, and the lower 105 bits.
pub(crate) fn choose(
    table: &'static Table,
    instruction: &Instruction,
) -> Result<(Resolved, u128), EncodeError> {
    choose_for(table, &Asked::of(instruction))
}

/// The parts of an instruction that decide its form.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub guard: Guard,
    pub op: Op,
    pub mods: &'a Mods,
    pub operands: &'a [Operand],
}

impl<'a> Asked<'a> {
    pub fn of(instruction: &'a Instruction) -> Asked<'a> {
        let Instruction { guard, op, mods, operands, .. } = instruction;
        Asked { guard: *guard, op: *op, mods, operands }
    }
}

/// The same for an instruction that is not built yet.
pub(crate) fn choose_for(table: &'static Table, asked: &Asked<'_>) -> Result<(Resolved, u128), EncodeError> {
    let op = asked.op;
    let ids = table.ids_of(op);
    if ids.len() == 0 {
        return Err(EncodeError::UnknownOpcode(op));
    }
    let mut error = EncodeError::Operands(op);
    let Some(shape) = Shape::of_operands(asked.operands) else { return Err(error) };
    // Of several forms that fit, the one that adds the fewest operands of its own is meant.
    let mut best: Option<(usize, Resolved, u128)> = None;
    for id in ids {
        let form = table.form(id);
        let missing = form.slots.len().wrapping_sub(asked.operands.len());
        if missing > form.slots.len() || best.as_ref().is_some_and(|(least, ..)| missing >= *least) {
            continue;
        }
        let Some(slots) = align(form, table.shape(id), asked.operands, shape) else { continue };
        match fill(form, asked, &slots) {
            Ok(word) => {
                best = Some((missing, Resolved { id, form, slots }, word));
                if missing == 0 {
                    break;
                }
            }
            Err(found) => {
                if severity(&found) >= severity(&error) {
                    error = found;
                }
            }
        }
    }
    best.map(|(_, resolved, word)| (resolved, word)).ok_or(error)
}

/// An instruction in a form that is known to be its own.
pub(crate) fn resolve_as(
    table: &'static Table,
    id: FormId,
    instruction: &Instruction,
) -> Result<Resolved, EncodeError> {
    let wrong = || EncodeError::Operands(instruction.op);
    let form = table.get(id).filter(|form| form.op == instruction.op).ok_or_else(wrong)?;
    let shape = Shape::of_operands(&instruction.operands).ok_or_else(wrong)?;
    let slots = align(form, table.shape(id), &instruction.operands, shape).ok_or_else(wrong)?;
    Ok(Resolved { id, form, slots })
}

/// How far an attempt came; the error of the one that came furthest is reported.
fn severity(error: &EncodeError) -> u8 {
    match error {
        EncodeError::Operands(_) => 0,
        EncodeError::Modifiers(_, Leftover::Missing) => 1,
        EncodeError::Modifiers(..) => 2,
        _ => 3,
    }
}

/// Gives each operand a slot, in order; slots without an operand must be ones that the text may leave out.
fn align(form: &Form, own: Shape, operands: &[Operand], shape: Shape) -> Option<Slots> {
    if form.slots.len() == operands.len() {
        let fit = own.has_kinds_of(shape)
            && form.slots.iter().zip(operands).all(|(slot, operand)| fits(slot, operand));
        return fit.then(|| (0..operands.len() as u8).collect());
    }
    let mut chosen = Slots::new();
    Alignment { slots: form.slots, own, operands, shape }.place(0, &mut chosen).then_some(chosen)
}

struct Alignment<'a> {
    slots: &'static [Slot],
    own: Shape,
    operands: &'a [Operand],
    shape: Shape,
}

impl Alignment<'_> {
    /// Gives the operands that have no slot yet one each, from slot `from` on.
    fn place(&self, from: usize, chosen: &mut Slots) -> bool {
        let at = chosen.len();
        if at == self.operands.len() {
            return (from..self.slots.len()).all(|slot| self.own.is_optional(slot));
        }
        for index in from..self.slots.len() {
            if self.slots.len() - index < self.operands.len() - at {
                return false;
            }
            if self.own.kind(index) == self.shape.kind(at) && fits(&self.slots[index], &self.operands[at]) {
                chosen.push(index as u8);
                if self.place(index + 1, chosen) {
                    return true;
                }
                chosen.pop();
            }
            if !self.own.is_optional(index) {
                return false;
            }
        }
        false
    }
}

/// True if the operand is of the slot's kind; whether its numbers fit is not asked.
fn fits(slot: &Slot, operand: &Operand) -> bool {
    use OperandKind as O;
    use SlotKind as S;
    // A part that the operand lacks must be one that the text may leave out.
    let part = |have: bool, want: bool, field: Option<&Field>| {
        if want { have || field.is_some_and(|field| field.elided_bits().is_some()) } else { !have }
    };
    match (slot.kind, operand.kind) {
        (S::Reg, O::Reg(_))
        | (S::UReg, O::UReg(_))
        | (S::Pred, O::Pred(_))
        | (S::UPred, O::UPred(_))
        | (S::Barrier, O::Barrier(_))
        | (S::Scoreboard, O::Scoreboard(_))
        | (S::Imm, O::Imm(_))
        | (S::Float(_), O::Float(_))
        | (S::Const, O::Const { .. })
        | (S::ConstIndexed, O::ConstIndexed { .. })
        | (S::ConstUniformIndexed, O::ConstUniformIndexed { .. })
        | (S::ConstBindless, O::ConstBindless { .. })
        | (S::ConstBindlessIndexed, O::ConstBindlessIndexed { .. })
        | (S::MatrixDescriptor, O::MatrixDescriptor(_))
        | (S::Target, O::Target(_))
        | (S::Symbol, O::Symbol(_))
        | (S::ScoreboardSet, O::ScoreboardSet(_)) => true,
        // An index that the text may leave out.
        (S::ConstIndexed, O::Const { .. }) | (S::ConstBindlessIndexed, O::ConstBindless { .. }) => true,
        (S::FixedSymbol(wanted), O::Symbol(symbol)) => wanted == symbol,
        (
            S::Memory { descriptor, base, uniform, offset },
            O::Memory { descriptor: has_descriptor, base: has_base, uniform: has_uniform, offset: value },
        ) => {
            let mut fields = slot.fields.iter().skip(descriptor as usize);
            (descriptor == has_descriptor.is_some() || slot.hidden_descriptor().is_some())
                && part(has_base.is_some(), base, if base { fields.next() } else { None })
                && part(has_uniform.is_some(), uniform, if uniform { fields.next() } else { None })
                && (offset || value == 0)
        }
        (
            S::Attribute { base, uniform, offset },
            O::Attribute { base: has_base, uniform: has_uniform, offset: value },
        ) => base == has_base.is_some() && uniform == has_uniform.is_some() && (offset || value == 0),
        _ => false,
    }
}
