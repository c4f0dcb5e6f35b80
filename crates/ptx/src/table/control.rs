//! Control flow.
//!
//! Rows only.

use super::pieces::*;
use super::{Kind, OperandType, Row, Slot};
use crate::Opcode::{self, *};
use crate::Type::*;
use Slot::{May, Must, Type};

const UNI: Slot = May(&["uni"]);
const NONE: OperandType = OperandType::None;

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (Bra, &[row(Bra, &[UNI], &[any("target", Kind::Label, NONE)], "Branches to a label.")]),
    (
        Brx,
        &[row(
            Brx,
            &[Slot::Head(&["idx"]), UNI],
            &[any("index", Kind::RegisterSource, W), any("targets", Kind::BranchTargets, NONE)],
            "Branches to the label with this index in a list.",
        )
        .since(30, 6, 0)],
    ),
    (Call, &[row(Call, &[UNI], &[any("...", Kind::Call, NONE)], "Calls a function, by name or by address.")]),
    (Ret, &[row(Ret, &[UNI], &[], "Returns to the caller; ends the thread of a kernel.")]),
    (Exit, &[row(Exit, &[], &[], "Ends the thread.")]),
    (Trap, &[row(Trap, &[], &[], "Stops the grid with an error.")]),
    (Brkpt, &[row(Brkpt, &[], &[], "Stops for a debugger.").since(11, 1, 0)]),
    (
        Nanosleep,
        &[row(Nanosleep, &[Type(&[U32])], &[src("t", T)], "Sleeps for about so many nanoseconds.")
            .since(70, 6, 3)],
    ),
    (
        Pmevent,
        &[
            row(Pmevent, &[], &[any("a", Kind::Constant(0, 15), W)], "Triggers a performance monitor event.")
                .since(10, 1, 4)
                .later(),
            row(
                Pmevent,
                &[Must(&["mask"])],
                &[any("a", Kind::Constant(0, 0xffff), W)],
                "Triggers several performance monitor events.",
            )
            .since(20, 3, 0)
            .later(),
        ],
    ),
];
