//! The instruction table: one declarative row for each form of each instruction.
//!
//! The checker, completion, the reference pages and the back end take the valid instructions from here. A row says
//! which modifiers follow the opcode, which types each type position takes, what the operands are, since which PTX
//! version and on which chips the form exists, and whether the back end compiles it. No matching of syntax trees, no
//! evaluation and no machine opcode may enter.

mod columns;
mod form;
mod matching;
mod mismatch;
mod query;
mod rows;
mod token;

pub use columns::{Chips, Family, Kind, Need, Opaque, OperandRow, OperandType, Presence, Row, Slot};
pub use form::Form;
pub use matching::{Shape, match_form, match_form_with_shapes, match_forms};
pub use mismatch::{FormError, FormProblem};
pub use query::{Next, description, families, family_of, next_modifiers, rows_of, synopsis};
pub use token::{Token, classify};

use crate::Opcode;

/// Requirements of single words in any row: none today, since each row states its own.
pub const COMMON_NEEDS: &[Need] = &[];

/// The forms of an opcode, in table order.
pub fn rows(opcode: Opcode) -> impl Iterator<Item = &'static Row> + Clone {
    rows::INDEX[opcode as usize].iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_has_a_row_and_every_row_a_line() {
        for opcode in Opcode::all() {
            assert!(rows(opcode).next().is_some(), "{} has no row", opcode.name());
            for row in rows(opcode) {
                assert_eq!(row.opcode, opcode, "opcodes are in alphabetical order, as their rows are");
                assert!(row.doc.len() > 4 && row.doc.ends_with('.'), "{}", row.spelling());
            }
        }
    }

    #[test]
    fn a_row_prints_as_the_manual_does() {
        let row = rows(Opcode::Fma).next().unwrap();
        expect_test::expect!["fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c"].assert_eq(&row.spelling());
    }
}
