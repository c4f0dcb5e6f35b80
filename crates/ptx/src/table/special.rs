//! Instructions that steer the launch, the registers of a warp group and the like.
//!
//! Rows only.

use super::pieces::*;
use super::{Chips, Kind, Row, Slot};
use crate::Opcode::{self, *};
use Slot::{May, Must};

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Griddepcontrol,
        &[row(
            Griddepcontrol,
            &[Must(&["launch_dependents", "wait"])],
            &[],
            "Lets dependent grids start, or waits for the grids before.",
        )
        .since(90, 7, 8)
        .later()],
    ),
    (
        Setmaxnreg,
        &[row(
            Setmaxnreg,
            &[Must(&["inc", "dec"]), SYNC, ALIGNED, Slot::Type(&[crate::Type::U32])],
            &[any("imm", Kind::Constant(24, 256), W)],
            "Changes how many registers each warp of a group has.",
        )
        .only(Chips::Family(&[90, 100, 101, 103, 110, 120, 121]), 8, 0)
        .later()],
    ),
    (
        Clusterlaunchcontrol,
        &[row(
            Clusterlaunchcontrol,
            &[
                Slot::Anything,
                May(&["multicast::cluster::all"]),
                Slot::MaySpace(&[crate::Space::Shared]),
                Slot::MayVector(&[4]),
                Slot::MayType(&[crate::Type::Pred, crate::Type::B32, crate::Type::B128]),
                Slot::MayType(&[crate::Type::B128]),
            ],
            &[REST],
            "Takes over the work of a block that has not started.",
        )
        .since(100, 8, 6)
        .later()],
    ),
];
