//! Shapes: which kinds of operands a form takes, one byte for each, computed with the table. A form that does not take
//! the operands of an instruction is ruled out by comparing two numbers.

use super::{Elided, Form, Slot, SlotKind};
use crate::{Operand, OperandKind};

/// Most operands that a form may have.
pub const MOST_OPERANDS: usize = 16;

/// The kinds of a list of operands, the first one lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    kinds: u128,
    /// Bit n: the text may leave operand n out.
    optional: u16,
}

impl Shape {
    /// The kind of operand `at`.
    pub(crate) const fn kind(self, at: usize) -> u8 {
        (self.kinds >> (8 * at)) as u8
    }

    /// True if the text may leave operand `at` out.
    pub(crate) const fn is_optional(self, at: usize) -> bool {
        self.optional >> at & 1 == 1
    }

    /// True if the operands are of the same kinds, one for one.
    pub(crate) const fn has_kinds_of(self, other: Shape) -> bool {
        self.kinds == other.kinds
    }

    /// The shape of a form.
    const fn of_slots(slots: &[Slot]) -> Shape {
        assert!(slots.len() <= MOST_OPERANDS, "a form has too many operands");
        let mut shape = Shape { kinds: 0, optional: 0 };
        let mut at = 0;
        while at < slots.len() {
            shape.kinds |= (slot_kind(&slots[at]) as u128) << (8 * at);
            if can_be_left_out(&slots[at]) {
                shape.optional |= 1 << at;
            }
            at += 1;
        }
        shape
    }

    /// The shape of the operands of an instruction; `None` if there are more than any form has.
    pub(crate) fn of_operands(operands: &[Operand]) -> Option<Shape> {
        if operands.len() > MOST_OPERANDS {
            return None;
        }
        let kinds = operands
            .iter()
            .enumerate()
            .fold(0, |kinds, (at, operand)| kinds | (operand_kind(&operand.kind) as u128) << (8 * at));
        Some(Shape { kinds, optional: 0 })
    }
}

/// The shapes of the forms of a table, in their order.
pub(in crate::form) const fn shapes<const COUNT: usize>(forms: &[Form; COUNT]) -> [Shape; COUNT] {
    let mut shapes = [Shape { kinds: 0, optional: 0 }; COUNT];
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

const fn operand_kind(kind: &OperandKind) -> u8 {
    match kind {
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
        // A value without a name is taken by no form.
        OperandKind::SymbolNumber(_) => u8::MAX,
    }
}
