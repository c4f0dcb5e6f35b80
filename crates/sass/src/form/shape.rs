//! Shapes: which kinds of operands a form takes, computed with the table. Most forms that do not take the operands of
//! an instruction are ruled out by their kinds alone.

use super::encoding::{Elided, Slot, SlotKind};
use crate::{Operand, OperandKind};

/// Most operands that a form may have.
pub const MOST_OPERANDS: usize = 16;

/// Upper bound of the operand kind ids.
const KINDS: usize = 21;

/// The kinds of the operands that a form takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    kinds: [u8; MOST_OPERANDS],
    /// Bit n: the text may leave operand n out.
    optional: u16,
    /// Bit n: some slot is of kind n.
    taken: u32,
    /// Bit n: some slot of kind n cannot be left out.
    needed: u32,
    /// Slots that take an immediate or a constant-bank word.
    constants: u8,
    count: u8,
    /// Two operands have a field in common.
    pub shares_fields: bool,
}

impl Shape {
    const EMPTY: Shape = Shape {
        kinds: [0; MOST_OPERANDS],
        optional: 0,
        taken: 0,
        needed: 0,
        constants: 0,
        count: 0,
        shares_fields: false,
    };

    /// Operand count of the form.
    pub(crate) const fn count(&self) -> usize {
        self.count as usize
    }

    /// Operands of the form that are immediates or constant-bank words.
    pub(crate) const fn constants(&self) -> usize {
        self.constants as usize
    }

    /// The kind of operand `at`.
    pub(crate) const fn kind(&self, at: usize) -> u8 {
        self.kinds[at]
    }

    /// True if the text may leave operand `at` out.
    pub(crate) const fn is_optional(&self, at: usize) -> bool {
        self.optional >> at & 1 == 1
    }

    /// False if some operand is of a kind that no slot has, or a required kind is missing; the order is not checked.
    #[inline]
    pub(crate) const fn may_take(&self, operands: &OperandKinds) -> bool {
        operands.present & !self.taken == 0 && self.needed & !operands.present == 0
    }

    /// True if the operands are of the same kinds, one for one.
    pub(crate) fn has_kinds_of(&self, operands: &OperandKinds) -> bool {
        self.kinds == operands.kinds
    }

    /// True if a slot that has the kind of an operand takes it for that reason.
    pub(crate) const fn takes_all_of_kind(&self, at: usize) -> bool {
        !matches!(self.kinds[at], CONSTANT | BINDLESS | MEMORY | ATTRIBUTE | SYMBOL | TENSOR_MEMORY)
    }

    /// The shape of a form that takes these operands, for the generated tables.
    pub(super) const fn of_slots(slots: &[Slot]) -> Shape {
        assert!(slots.len() <= MOST_OPERANDS, "a form has too many operands");
        let shares_fields = shares_fields(slots);
        let mut shape = Shape { count: slots.len() as u8, shares_fields, ..Shape::EMPTY };
        let mut at = 0;
        while at < slots.len() {
            let kind = slot_kind(&slots[at]);
            shape.kinds[at] = kind;
            shape.taken |= 1 << kind;
            shape.constants += matches!(kind, IMMEDIATE | FLOAT | CONSTANT | BINDLESS) as u8;
            if can_be_left_out(&slots[at]) {
                shape.optional |= 1 << at;
            } else {
                shape.needed |= 1 << kind;
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
    /// Bit n: some operand is of kind n.
    present: u32,
}

impl OperandKinds {
    /// `None` if there are more operands than any form has, or one that no form takes.
    pub(crate) fn of(operands: &[Operand]) -> Option<OperandKinds> {
        if operands.len() > MOST_OPERANDS {
            return None;
        }
        let (mut kinds, mut places, mut present) = ([0; MOST_OPERANDS], [0; KINDS], 0);
        for (at, operand) in operands.iter().enumerate() {
            let kind = operand_kind(&operand.kind)?;
            kinds[at] = kind;
            places[usize::from(kind)] |= 1 << at;
            present |= 1 << kind;
        }
        Some(OperandKinds { kinds, places, present })
    }

    /// The operands of a kind, bit n for operand n.
    pub(crate) fn of_kind(&self, kind: u8) -> u32 {
        self.places[usize::from(kind)]
    }
}

/// True if fields of two operands overlap.
const fn shares_fields(slots: &[Slot]) -> bool {
    let (mut seen, mut slot) = (0u128, 0);
    while slot < slots.len() {
        let fields = slots[slot].fields;
        let (mut own, mut field) = (0, 0);
        while field < fields.len() {
            own |= fields[field].mask();
            field += 1;
        }
        if seen & own != 0 {
            return true;
        }
        seen |= own;
        slot += 1;
    }
    false
}

/// True if the text may lack the operand altogether.
pub const fn can_be_left_out(slot: &Slot) -> bool {
    let address = matches!(
        slot.kind,
        SlotKind::Memory { .. } | SlotKind::Attribute { .. } | SlotKind::TensorMemory { .. }
    );
    if address || slot.fields.is_empty() {
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

// Kinds that a slot may take in addition to its own share the id of that kind: an index register that the text may
// omit, the parts of an address, a name. A descriptor may be one that texts omit. For these the exact test is made.

const IMMEDIATE: u8 = 7;
const FLOAT: u8 = 8;
const CONSTANT: u8 = 9;
const BINDLESS: u8 = 11;
const MEMORY: u8 = 12;
const ATTRIBUTE: u8 = 15;
const SYMBOL: u8 = 17;
const TENSOR_MEMORY: u8 = 19;

const fn slot_kind(slot: &Slot) -> u8 {
    match slot.kind {
        SlotKind::Reg => 1,
        SlotKind::UReg => 2,
        SlotKind::Pred => 3,
        SlotKind::UPred => 4,
        SlotKind::Barrier => 5,
        SlotKind::Scoreboard => 6,
        SlotKind::Imm => IMMEDIATE,
        SlotKind::Float(_) => FLOAT,
        SlotKind::Const | SlotKind::ConstIndexed | SlotKind::ConstUniformIndexed => CONSTANT,
        SlotKind::ConstBindless | SlotKind::ConstBindlessIndexed => BINDLESS,
        SlotKind::Memory { .. } => MEMORY,
        SlotKind::MatrixDescriptor => 14,
        SlotKind::Attribute { .. } => ATTRIBUTE,
        SlotKind::Target => 16,
        SlotKind::Symbol | SlotKind::FixedSymbol(_) => SYMBOL,
        SlotKind::ScoreboardSet => 18,
        SlotKind::TensorMemory { .. } => TENSOR_MEMORY,
        SlotKind::InstructionDescriptor => 20,
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
        OperandKind::Imm(_) => IMMEDIATE,
        OperandKind::Float(_) => FLOAT,
        OperandKind::Const { .. }
        | OperandKind::ConstIndexed { .. }
        | OperandKind::ConstUniformIndexed { .. } => CONSTANT,
        OperandKind::ConstBindless { .. } | OperandKind::ConstBindlessIndexed { .. } => BINDLESS,
        OperandKind::Memory { .. } => MEMORY,
        OperandKind::MatrixDescriptor(_) => 14,
        OperandKind::Attribute { .. } => ATTRIBUTE,
        OperandKind::Target(_) => 16,
        OperandKind::Symbol(_) => SYMBOL,
        OperandKind::ScoreboardSet(_) => 18,
        OperandKind::TensorMemory { .. } => TENSOR_MEMORY,
        OperandKind::InstructionDescriptor(_) => 20,
        OperandKind::SymbolNumber(_) => return None,
    })
}
