//! Copies between memories that run beside the program: `cp.async` and the bulk copies.
//!
//! Rows only.

use super::pieces::*;
use super::{Kind, OperandRow, OperandType, Row, Slot};
use crate::Opcode::{self, *};
use crate::Space;
use Slot::{Head, May, Must, Space as SpaceSlot};

const TO: OperandRow = any("dst", Kind::Address, OperandType::AnyInteger);
const FROM: OperandRow = any("src", Kind::Address, OperandType::AnyInteger);
const SHARED: Slot = SpaceSlot(&[Space::Shared]);
const GLOBAL: Slot = SpaceSlot(&[Space::Global]);
const FETCH: Slot = May(&["L2::64B", "L2::128B", "L2::256B"]);
const GROUPS: OperandRow = any("n", Kind::Constant(0, i64::MAX), W);

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Cp,
        &[
            row(
                Cp,
                &[Head(&["async"]), Must(&["ca"]), SHARED, GLOBAL, HINT, FETCH],
                &[
                    TO,
                    FROM,
                    any("size", Kind::ConstantOf(&[4, 8, 16]), W),
                    any("src_size", Kind::Anything, W).optional(),
                    any("cache_policy", Kind::Anything, W).optional(),
                ],
                "Copies from global to shared memory.",
            )
            .since(80, 7, 0)
            .later(),
            row(
                Cp,
                &[Head(&["async"]), Must(&["cg"]), SHARED, GLOBAL, HINT, FETCH],
                &[
                    TO,
                    FROM,
                    any("size", Kind::ConstantOf(&[16]), W),
                    any("src_size", Kind::Anything, W).optional(),
                    any("cache_policy", Kind::Anything, W).optional(),
                ],
                "Copies from global to shared memory past the first cache.",
            )
            .since(80, 7, 0)
            .later(),
            row(Cp, &[Head(&["async"]), Must(&["commit_group"])], &[], "Closes a group of copies.")
                .since(80, 7, 0)
                .later(),
            row(Cp, &[Head(&["async"]), Must(&["wait_all"])], &[], "Waits for all copies.")
                .since(80, 7, 0)
                .later(),
            row(
                Cp,
                &[Head(&["async"]), Must(&["wait_group"])],
                &[GROUPS],
                "Waits for all but the last groups.",
            )
            .since(80, 7, 0)
            .later(),
            row(
                Cp,
                &[
                    Head(&["async"]),
                    Must(&["mbarrier"]),
                    Must(&["arrive"]),
                    May(&["noinc"]),
                    Slot::MaySpace(&[Space::Shared]),
                    Slot::Type(&[crate::Type::B64]),
                ],
                &[ADDRESS],
                "Signals a barrier object when the copies are done.",
            )
            .since(80, 7, 0)
            .later(),
            row(
                Cp,
                &[Head(&["async"]), Must(&["bulk"]), Must(&["commit_group"])],
                &[],
                "Closes a group of bulk copies.",
            )
            .since(90, 8, 0)
            .later(),
            row(
                Cp,
                &[Head(&["async"]), Must(&["bulk"]), Must(&["wait_group"]), May(&["read"])],
                &[GROUPS],
                "Waits for all but the last groups of bulk copies.",
            )
            .since(90, 8, 0)
            .later(),
            row(
                Cp,
                &[
                    Head(&["async"]),
                    Must(&["bulk"]),
                    SpaceSlot(&[Space::Shared, Space::SharedCluster]),
                    SpaceSlot(&[Space::Global, Space::Shared]),
                    Must(&["mbarrier::complete_tx::bytes"]),
                    May(&["multicast::cluster"]),
                    HINT,
                ],
                &[TO, FROM, src("size", W), any("mbar", Kind::Address, OperandType::AnyInteger), REST],
                "Copies a block of bytes to shared memory and signals a barrier object.",
            )
            .since(90, 8, 0)
            .later(),
            row(
                Cp,
                &[
                    Head(&["async"]),
                    Must(&["bulk"]),
                    GLOBAL,
                    SHARED,
                    Must(&["bulk_group"]),
                    HINT,
                    May(&["cp_mask"]),
                ],
                &[TO, FROM, src("size", W), REST],
                "Copies a block of bytes from shared to global memory.",
            )
            .since(90, 8, 0)
            .later(),
            row(
                Cp,
                &[Head(&["async"]), Must(&["bulk"]), Must(&["prefetch"]), Must(&["L2"]), GLOBAL, HINT],
                &[FROM, src("size", W), REST],
                "Brings a block of bytes into the second cache.",
            )
            .since(90, 8, 0)
            .later(),
            row(
                Cp,
                &[
                    Head(&["reduce"]),
                    Must(&["async"]),
                    Must(&["bulk"]),
                    Slot::Anything,
                    Slot::MaySpace(&[Space::Global, Space::Shared, Space::SharedCluster]),
                    Slot::MaySpace(&[Space::Global, Space::Shared, Space::SharedCluster]),
                    Slot::MayType(TYPES),
                ],
                &[REST],
                "Reduces a block of bytes into memory.",
            )
            .since(90, 8, 0)
            .later(),
            row(
                Cp,
                &[
                    Head(&["async"]),
                    Must(&["bulk"]),
                    Must(&["tensor"]),
                    Slot::Anything,
                    Slot::MaySpace(&[Space::Global, Space::Shared, Space::SharedCluster]),
                    Slot::MaySpace(&[Space::Global, Space::Shared, Space::SharedCluster]),
                ],
                &[REST],
                "Copies a box of a tensor.",
            )
            .since(90, 8, 0)
            .later(),
            row(
                Cp,
                &[
                    Head(&["async"]),
                    Must(&["bulk"]),
                    Must(&["prefetch"]),
                    Must(&["tensor"]),
                    Slot::Anything,
                    Slot::MaySpace(&[Space::Global]),
                ],
                &[REST],
                "Brings a box of a tensor into the second cache.",
            )
            .since(90, 8, 0)
            .later(),
        ],
    ),
    (
        Tensormap,
        &[row(
            Tensormap,
            &[
                Slot::Anything,
                Slot::MaySpace(&[Space::Global, Space::Shared]),
                Slot::MaySpace(&[Space::Global, Space::Shared]),
                Slot::MayType(TYPES),
                Slot::MayType(TYPES),
            ],
            &[REST],
            "Changes a field of a tensor map, or copies the map with a fence.",
        )
        .since(90, 8, 3)
        .later()],
    ),
];

const TYPES: &[crate::Type] = &[
    crate::Type::B32,
    crate::Type::B64,
    crate::Type::U32,
    crate::Type::S32,
    crate::Type::U64,
    crate::Type::S64,
    crate::Type::F16,
    crate::Type::BF16,
    crate::Type::F32,
    crate::Type::F64,
];
