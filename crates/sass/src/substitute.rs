//! Opcodes that do the same with the same operands and modifiers under another name on chips that lack the first one. Code
//! that is written for all chips names the first.

use crate::Op;
use crate::form;
use oriole_chip::Chip;

/// The opcode that code for all chips names, and that of chips without it.
const SAME: [(Op, Op); 3] = [(Op::VIMNMX, Op::IMNMX), (Op::REDG, Op::RED), (Op::ULDC, Op::LDCU)];

/// True if the chip has the opcode.
pub fn has(chip: Chip, op: Op) -> bool {
    form::table(chip).is_some_and(|table| !table.forms_of(op).is_empty())
}

/// What the opcode is called on the chip: itself, unless the chip lacks it and has another that does the same.
pub fn on_chip(chip: Chip, op: Op) -> Op {
    match SAME.iter().find(|row| row.0 == op) {
        Some(&(_, other)) if !has(chip, op) && has(chip, other) => other,
        _ => op,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_chips_have_other_names_for_it() {
        let (older, newer): (Chip, Chip) = ("sm_80".parse().unwrap(), "sm_100".parse().unwrap());
        for (here, there) in SAME {
            let other = if there == Op::LDCU { newer } else { older };
            assert_eq!((on_chip(Chip::SM_90, here), on_chip(other, here)), (here, there));
        }
        assert_eq!(on_chip(older, Op::ELECT), Op::ELECT);
        assert!(!has(older, Op::ELECT) && has(Chip::SM_90, Op::ELECT));
    }
}
