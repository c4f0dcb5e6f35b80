//! Video instructions: arithmetic on one word, two halves or four bytes.
//!
//! Rows only. Forms that select or merge bytes of a register are not in the table.

use super::pieces::*;
use super::{Kind, OperandRow, Row, Slot};
use crate::Opcode::{self, *};
use crate::Type::{self as Ty, *};
use Slot::{May, Must, Type};

const WORDS: &[Ty] = &[U32, S32];
const R: Slot = Type(WORDS);
const CLAMP: Slot = Must(&["clamp", "wrap"]);
const SECOND: Slot = Must(&["add", "min", "max"]);
const COMPARISON: Slot = Must(&["eq", "ne", "lt", "le", "gt", "ge"]);
const A1: OperandRow = src("a", T1);
const B2: OperandRow = src("b", T2);
const TWO: &[OperandRow] = &[D, A1, B2];
const THREE: &[OperandRow] = &[D, A1, B2, C];
const TEXT: &str = "Word arithmetic with one more bit and an optional clamp.";
const TEXT_SECOND: &str = "Word arithmetic followed by a second operation with `c`.";
const TEXT_PACKED: &str = "Arithmetic on each half or byte of a word, merged with or added to `c`.";
const SIMPLE: &[Slot] = &[R, R, R, SAT];
const SIMPLE_SECOND: &[Slot] = &[R, R, R, SAT, SECOND];
const PACKED_OPERANDS: &[OperandRow] = &[
    D,
    any("a", Kind::RegisterSource, T1),
    any("b", Kind::RegisterSource, T2),
    any("c", Kind::RegisterSource, T),
];
const PACKED: &[Slot] = &[R, R, R, SAT];
const PACKED_ADD: &[Slot] = &[R, R, R, Must(&["add"])];
const SHIFT: &[Slot] = &[R, R, Type(&[U32]), SAT, CLAMP];
const SHIFT_SECOND: &[Slot] = &[R, R, Type(&[U32]), SAT, CLAMP, SECOND];

const PACKED_SET: &[Slot] = &[R, R, COMPARISON, May(&["add"])];
const COMPARED: &[OperandRow] = &[DW, src("a", T), src("b", T1), src("c", W)];

const fn word(opcode: Opcode) -> [Row; 2] {
    [
        row(opcode, SIMPLE, TWO, TEXT).since(20, 2, 0),
        row(opcode, SIMPLE_SECOND, THREE, TEXT_SECOND).since(20, 2, 0).later(),
    ]
}

const fn shift(opcode: Opcode) -> [Row; 2] {
    [
        row(opcode, SHIFT, TWO, "Shift with an optional clamp.").since(20, 2, 0),
        row(opcode, SHIFT_SECOND, THREE, "Shift followed by a second operation with `c`.").since(20, 2, 0),
    ]
}

const fn packed(opcode: Opcode) -> [Row; 2] {
    [
        row(opcode, PACKED, PACKED_OPERANDS, TEXT_PACKED).since(30, 3, 0),
        row(opcode, PACKED_ADD, PACKED_OPERANDS, TEXT_PACKED).since(30, 3, 0),
    ]
}

const fn packed_later(opcode: Opcode) -> [Row; 2] {
    let [first, second] = packed(opcode);
    [first.later(), second.later()]
}

const fn packed_set(opcode: Opcode) -> [Row; 1] {
    [row(opcode, PACKED_SET, COMPARED, TEXT_PACKED).since(30, 3, 0).later()]
}

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (Vadd, &word(Vadd)),
    (Vsub, &word(Vsub)),
    (Vabsdiff, &word(Vabsdiff)),
    (Vmin, &word(Vmin)),
    (Vmax, &word(Vmax)),
    (Vshl, &shift(Vshl)),
    (Vshr, &shift(Vshr)),
    (
        Vmad,
        &[row(
            Vmad,
            &[R, R, R, SAT, May(&["shr7", "shr15", "po"])],
            THREE,
            "Multiplies and adds with an optional shift and clamp.",
        )
        .since(20, 2, 0)
        .later()],
    ),
    (
        Vset,
        &[
            row(
                Vset,
                &[R, R, COMPARISON],
                &[DW, src("a", T), src("b", T1)],
                "Compares two words and gives one or zero.",
            )
            .since(20, 2, 0)
            .later(),
            row(
                Vset,
                &[R, R, COMPARISON, SECOND],
                &[DW, src("a", T), src("b", T1), src("c", W)],
                "Compares two words, followed by a second operation with `c`.",
            )
            .since(20, 2, 0)
            .later(),
        ],
    ),
    (Vadd2, &packed(Vadd2)),
    (Vsub2, &packed(Vsub2)),
    (Vavrg2, &packed_later(Vavrg2)),
    (Vabsdiff2, &packed(Vabsdiff2)),
    (Vmin2, &packed(Vmin2)),
    (Vmax2, &packed(Vmax2)),
    (Vset2, &packed_set(Vset2)),
    (Vadd4, &packed(Vadd4)),
    (Vsub4, &packed(Vsub4)),
    (Vavrg4, &packed_later(Vavrg4)),
    (Vabsdiff4, &packed(Vabsdiff4)),
    (Vmin4, &packed(Vmin4)),
    (Vmax4, &packed(Vmax4)),
    (Vset4, &packed_set(Vset4)),
];
