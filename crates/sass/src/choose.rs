//! Form selection: the form that takes the operands, modifiers and signs of an instruction. It is found once for each
//! instruction; with the form's id no search is needed again. Acceptance is in tables: no word is encoded, except to
//! report why no form takes an instruction.

use crate::error::{EncodeError, Leftover};
use crate::fill::{Asked, fill, guard_bits, operand_bits};
use crate::form::{Field, Form, FormId, MOST_OPERANDS, OperandKinds, Shape, Slot, SlotKind, Table};
use crate::{Instruction, Operand, OperandKind};
use smallvec::SmallVec;

/// For each operand of an instruction the index of its slot in the form.
pub type Slots = SmallVec<[u8; 8]>;

/// The form of an instruction, and which slot each operand fills.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Its id in the table of the chip.
    pub id: FormId,
    /// The form.
    pub form: &'static Form,
    /// For each operand the index of its slot.
    pub slots: Slots,
    /// Operands of the form may share a field.
    pub shares_fields: bool,
}

/// The form without regard to the control word, and the lower 105 bits.
pub(crate) fn choose(
    table: &'static Table,
    instruction: &Instruction,
) -> Result<(Resolved, u128), EncodeError> {
    let asked = Asked::of(instruction);
    let Some(resolved) = choose_for(table, &asked) else { return Err(refusal(table, &asked)) };
    let word = fill(resolved.form, &asked, &resolved.slots, resolved.shares_fields)?;
    Ok((resolved, word))
}

/// The accepting form that adds the fewest operands of its own; `None` if none accepts.
pub fn choose_for(table: &'static Table, asked: &Asked<'_>) -> Option<Resolved> {
    let kinds = OperandKinds::of(asked.operands)?;
    let mut best: Option<(usize, Resolved)> = None;
    for (id, shape) in table.shapes_of(asked.op) {
        // Most forms of an operation are ruled out here, and the rest of their data is not read.
        if !shape.may_take(&kinds) {
            continue;
        }
        let Some(missing) = shape.count().checked_sub(asked.operands.len()) else { continue };
        if best.as_ref().is_some_and(|(least, _)| missing >= *least) {
            continue;
        }
        let form = table.form(id);
        let Some(slots) = align(form, shape, asked.operands, &kinds) else { continue };
        let constraints = table.constraints(id);
        if constraints.allow(form, asked.mods, asked.operands, &slots)
            && numbers_fit(form, asked.operands, &slots, shape.shares_fields)
            && guard_bits(form, asked.guard).is_some()
        {
            let shares_fields = shape.shares_fields;
            best = Some((missing, Resolved { id, form, slots, shares_fields }));
            if missing == 0 {
                break;
            }
        }
    }
    best.map(|(_, resolved)| resolved)
}

/// True if all operand values fit their fields, and operands that share a field are equal.
fn numbers_fit(form: &Form, operands: &[Operand], slots: &[u8], shared: bool) -> bool {
    let (mut written, mut word) = (0u128, 0u128);
    operands.iter().zip(slots).all(|(operand, &at)| {
        let slot = &form.slots[usize::from(at)];
        let Some(bits) = operand_bits(slot, operand) else { return false };
        !shared
            || slot.fields.iter().zip(bits).all(|(field, bits)| {
                let (mask, placed) = (field.mask(), field.place(bits));
                let agrees = written & mask == 0 || word & mask == placed;
                written |= mask;
                word |= placed;
                agrees
            })
    })
}

/// The reason why no form takes the instruction: all are tried, and the attempt that got furthest counts.
pub(crate) fn refusal(table: &'static Table, asked: &Asked<'_>) -> EncodeError {
    let op = asked.op;
    if table.ids_of(op).len() == 0 {
        return EncodeError::UnknownOpcode(op);
    }
    let mut error = EncodeError::Operands(op);
    let Some(kinds) = OperandKinds::of(asked.operands) else { return error };
    for id in table.ids_of(op) {
        let form = table.form(id);
        if form.slots.len() < asked.operands.len() {
            continue;
        }
        let Some(slots) = align(form, table.shape(id), asked.operands, &kinds) else { continue };
        if let Err(found) = fill(form, asked, &slots, true)
            && severity(&found) >= severity(&error)
        {
            error = found;
        }
    }
    error
}

/// Resolves an instruction whose form is known.
pub(crate) fn resolve_as(
    table: &'static Table,
    id: FormId,
    instruction: &Instruction,
) -> Result<Resolved, EncodeError> {
    let wrong = || EncodeError::Operands(instruction.op);
    let form = table.get(id).filter(|form| form.op == instruction.op).ok_or_else(wrong)?;
    let kinds = OperandKinds::of(&instruction.operands).ok_or_else(wrong)?;
    let slots = align(form, table.shape(id), &instruction.operands, &kinds).ok_or_else(wrong)?;
    Ok(Resolved { id, form, slots, shares_fields: table.shape(id).shares_fields })
}

/// Progress of a failed attempt; the error of the one that got furthest is reported.
fn severity(error: &EncodeError) -> u8 {
    match error {
        EncodeError::Operands(_) => 0,
        EncodeError::Modifiers(_, Leftover::Missing) => 1,
        EncodeError::Modifiers(..) => 2,
        _ => 3,
    }
}

/// The slots of an instruction without omitted operands.
const IN_ORDER: [u8; MOST_OPERANDS] = {
    let mut slots = [0; MOST_OPERANDS];
    let mut at = 0;
    while at < MOST_OPERANDS {
        slots[at] = at as u8;
        at += 1;
    }
    slots
};

/// Assigns each operand a slot, in order: the first one that leaves slots for all operands after it. Slots without an
/// operand must be optional in the text.
fn align(form: &Form, own: &Shape, operands: &[Operand], kinds: &OperandKinds) -> Option<Slots> {
    if !own.may_take(kinds) {
        return None;
    }
    let (slots, count) = (form.slots, operands.len());
    if slots.len() == count {
        let fit =
            own.has_kinds_of(kinds) && slots.iter().zip(operands).all(|(slot, operand)| fits(slot, operand));
        return fit.then(|| Slots::from_slice(&IN_ORDER[..count]));
    }
    // For each slot the operands that it takes, and for each slot position the suffixes of operands that fit the
    // slots after it: bit n for operand n.
    let mut taken = [0u32; MOST_OPERANDS];
    let mut holds = [0u32; MOST_OPERANDS + 1];
    holds[slots.len()] = 1 << count;
    for at in (0..slots.len()).rev() {
        let behind = holds[at + 1];
        let of_kind = kinds.of_kind(own.kind(at)) & behind >> 1;
        taken[at] = if own.takes_all_of_kind(at) {
            of_kind
        } else {
            (0..count)
                .filter(|&n| of_kind >> n & 1 == 1 && fits(&slots[at], &operands[n]))
                .fold(0, |bits, n| bits | 1 << n)
        };
        holds[at] = if own.is_optional(at) { taken[at] | behind } else { taken[at] };
        if holds[at] == 0 {
            return None;
        }
    }
    if holds[0] & 1 == 0 {
        return None;
    }
    let mut chosen = Slots::new();
    for (at, taken) in (0u8..).zip(&taken[..slots.len()]) {
        if taken >> chosen.len() & 1 == 1 {
            chosen.push(at);
        }
    }
    Some(chosen)
}

/// True if the operand is of the slot's kind; its value is not checked.
pub fn fits(slot: &Slot, operand: &Operand) -> bool {
    use OperandKind as O;
    use SlotKind as S;
    // A part that the operand lacks must be optional in the text.
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
        | (S::InstructionDescriptor, O::InstructionDescriptor(_))
        | (S::Target, O::Target(_))
        | (S::Symbol, O::Symbol(_))
        | (S::ScoreboardSet, O::ScoreboardSet(_)) => true,
        // An index that the text may omit.
        (S::ConstIndexed | S::ConstUniformIndexed, O::Const { .. })
        | (S::ConstBindlessIndexed, O::ConstBindless { .. }) => true,
        (S::FixedSymbol(wanted), O::Symbol(symbol)) => wanted == symbol,
        (S::TensorMemory { offset }, O::TensorMemory { offset: value, .. }) => offset || value == 0,
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
