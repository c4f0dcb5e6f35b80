//! Equivalent opcodes with another name on chips that lack the first one. Code for all chips uses the first.

use crate::form;
use crate::{Mod, Mods, Op, Operand, OperandKind, legal};
use oriole_chip::Chip;

/// The opcode in code for all chips, and that of chips without it.
pub const SAME: [(Op, Op); 3] = [(Op::VIMNMX, Op::IMNMX), (Op::REDG, Op::RED), (Op::ULDC, Op::LDCU)];

/// True if the chip has the opcode.
pub fn has(chip: Chip, op: Op) -> bool {
    form::table(chip).is_some_and(|table| !table.forms_of(op).is_empty())
}

/// True if the chip adds, compares, chooses and moves integers of 64 bits at once.
pub fn has_long_integers(chip: Chip) -> bool {
    has(chip, Op::IADD)
}

/// True if the chip has the lesser and the greater of two integers of 64 bits in one instruction.
pub fn has_long_extremes(chip: Chip) -> bool {
    let predicate = || Operand::plain(OperandKind::Pred(0));
    let register = || Operand::plain(OperandKind::Reg(0));
    let operands = [predicate(), predicate(), register(), register(), register(), predicate(), predicate()];
    form::table(chip)
        .is_some_and(|table| legal(table, Op::IMNMX, &Mods::of(&[Mod::U64]), &operands).is_some())
}

/// The opcode on the chip: itself, or its equivalent if the chip lacks it.
pub fn on_chip(chip: Chip, op: Op) -> Op {
    match SAME.iter().find(|row| row.0 == op) {
        Some(&(_, other)) if !has(chip, op) && has(chip, other) => other,
        _ => op,
    }
}

/// Modifier that generic code omits and the chip requires: the type of a signed 32-bit min, where that is not the
/// only one without a name.
pub fn unsaid(chip: Chip, op: Op, mods: &Mods) -> Option<Mod> {
    let types = [Mod::U32, Mod::S32, Mod::U16x2, Mod::S16x2, Mod::U8x4, Mod::S8x4];
    let typed = types.iter().any(|&ty| mods.has(ty));
    if op != Op::VIMNMX || typed {
        return None;
    }
    let register = || Operand::plain(OperandKind::Reg(0));
    let operands = [register(), register(), register(), Operand::plain(OperandKind::Pred(0))];
    let forms = form::table(chip)?;
    legal(forms, op, &Mods::of(&[Mod::S32]), &operands).map(|_| Mod::S32)
}
