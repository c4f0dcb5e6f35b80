//! Shapes: which kinds of operands a form takes, computed with the table. Most forms that do not take the operands of an
//! instruction are ruled out by their kinds alone.

use super::{Elided, Form, Slot, SlotKind};
use crate::{Operand, OperandKind};

/// Most operands that a form may have.
pub const MOST_OPERANDS: usize = 16;

/// Kinds of operands have numbers below this.
const KINDS: usize = 19;

/// The kinds of the operands that a form takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    kinds: [u8; MOST_OPERANDS],
    /// Bit n: the text may leave operand n out.
    optional: u16,
    count: u8,
}

impl Shape {
    const EMPTY: Shape = Shape { kinds: [0; MOST_OPERANDS], optional: 0, count: 0 };

    /// The kind of operand `at`.
    pub(crate) const fn kind(&self, at: usize) -> u8 {
        self.kinds[at]
    }

    /// True if the text may leave operand `at` out.
    pub(crate) const fn is_optional(&self, at: usize) -> bool {
        self.optional >> at & 1 == 1
    }

    /// True if the operands can be given a slot each, in order, as far as their kinds say; slots that are left must be ones
    /// that the text may leave out.
    pub(crate) fn takes(&self, operands: &OperandKinds) -> bool {
        if self.count == operands.count {
            return self.kinds == operands.kinds;
        }
        // Bit n: the slots so far can hold the first n operands.
        let mut held = 1u32;
        for (at, &kind) in self.kinds[..usize::from(self.count)].iter().enumerate() {
            let with_this = (held & operands.places[usize::from(kind)]) << 1;
            held = if self.is_optional(at) { held | with_this } else { with_this };
            if held == 0 {
                return false;
            }
        }
        held >> operands.count & 1 == 1
    }

    /// The shape of a form.
    const fn of_slots(slots: &[Slot]) -> Shape {
        assert!(slots.len() <= MOST_OPERANDS, "a form has too many operands");
        let mut shape = Shape { count: slots.len() as u8, ..Shape::EMPTY };
        let mut at = 0;
        while at < slots.len() {
            shape.kinds[at] = slot_kind(&slots[at]);
            if can_be_left_out(&slots[at]) {
                shape.optional |= 1 << at;
            }
            at += 1;
        }
        shape
    }
}

/// The kinds of the operands of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandKinds {
    kinds: [u8; MOST_OPERANDS],
    /// For each kind the operands that are of it, bit n for operand n.
    places: [u32; KINDS],
    count: u8,
}

impl OperandKinds {
    /// `None` if there are more operands than any form has, or one that no form takes.
    pub(crate) fn of(operands: &[Operand]) -> Option<OperandKinds> {
        if operands.len() > MOST_OPERANDS {
            return None;
        }
        let (mut kinds, mut places) = ([0; MOST_OPERANDS], [0; KINDS]);
        for (at, operand) in operands.iter().enumerate() {
            kinds[at] = operand_kind(&operand.kind)?;
            places[usize::from(kinds[at])] |= 1 << at;
        }
        Some(OperandKinds { kinds, places, count: operands.len() as u8 })
    }

    /// The kind of operand `at`.
    pub(crate) fn kind(&self, at: usize) -> u8 {
        self.kinds[at]
    }
}

/// The shapes of the forms of a table, in their order.
pub(in crate::form) const fn shapes<const COUNT: usize>(forms: &[Form; COUNT]) -> [Shape; COUNT] {
    let mut shapes = [Shape::EMPTY; COUNT];
    let mut at = 0;
    while at < COUNT {
        shapes[at] = Shape::of_slots(forms[at].slots);
        at += 1;
    }
    shapes
}

/// True if the text may lack the operand altogether.
pub(crate) const fn can_be_left_out(slot: &Slot) -> bool {
    if matches!(slot.kind, SlotKind::Memory { .. } | SlotKind::Attribute { .. }) || slot.fields.is_empty() {
        return false;
    }
    let mut at = 0;
    while at < slot.fields.len() {
        if matches!(slot.fields[at].elided, Elided::Never) {
            return false;
        }
        at += 1;
    }
    true
}

// Kinds that a slot may take beside its own have the number of that kind: an index register that the text may leave
// out, the parts of an address, a name. A descriptor may be one that texts leave out. The exact test is made for the
// few forms whose numbers agree.

const fn slot_kind(slot: &Slot) -> u8 {
    match slot.kind {
        SlotKind::Reg => 1,
        SlotKind::UReg => 2,
        SlotKind::Pred => 3,
        SlotKind::UPred => 4,
        SlotKind::Barrier => 5,
        SlotKind::Scoreboard => 6,
        SlotKind::Imm => 7,
        SlotKind::Float(_) => 8,
        SlotKind::Const | SlotKind::ConstIndexed => 9,
        SlotKind::ConstUniformIndexed => 10,
        SlotKind::ConstBindless | SlotKind::ConstBindlessIndexed => 11,
        SlotKind::Memory { .. } => 12,
        SlotKind::MatrixDescriptor => 14,
        SlotKind::Attribute { .. } => 15,
        SlotKind::Target => 16,
        SlotKind::Symbol | SlotKind::FixedSymbol(_) => 17,
        SlotKind::ScoreboardSet => 18,
    }
}

/// `None` for a value without a name, which no form takes.
const fn operand_kind(kind: &OperandKind) -> Option<u8> {
    Some(match kind {
        OperandKind::Reg(_) => 1,
        OperandKind::UReg(_) => 2,
        OperandKind::Pred(_) => 3,
        OperandKind::UPred(_) => 4,
        OperandKind::Barrier(_) => 5,
        OperandKind::Scoreboard(_) => 6,
        OperandKind::Imm(_) => 7,
        OperandKind::Float(_) => 8,
        OperandKind::Const { .. } | OperandKind::ConstIndexed { .. } => 9,
        OperandKind::ConstUniformIndexed { .. } => 10,
        OperandKind::ConstBindless { .. } | OperandKind::ConstBindlessIndexed { .. } => 11,
        OperandKind::Memory { .. } => 12,
        OperandKind::MatrixDescriptor(_) => 14,
        OperandKind::Attribute { .. } => 15,
        OperandKind::Target(_) => 16,
        OperandKind::Symbol(_) => 17,
        OperandKind::ScoreboardSet(_) => 18,
        OperandKind::SymbolNumber(_) => return None,
    })
}
