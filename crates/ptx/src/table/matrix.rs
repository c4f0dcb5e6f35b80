//! Matrix instructions and the moves that feed them.
//!
//! Rows only. Operand shapes of these forms are not checked yet, since no code is made for them.

use super::pieces::*;
use super::{Chips, Row, Slot};
use crate::Opcode::{self, *};
use crate::Space;
use crate::Type::{self as Ty, *};
use Slot::{Anything, May, MaySpace, MayType, Must, Sequence, Type};

const FLOATS: &[Ty] = &[F16, BF16, TF32, F32, F64, E4M3, E5M2, E3M2, E2M3, E2M1];
const INTS: &[Ty] = &[U8, S8, U4, S4, B1];
const ROWCOL: Slot = Sequence(&["row", "col"]);
const FACTORS: Slot = Type(FLOATS);
const TEXT: &str = "Multiplies two matrices held by the warp and adds a third.";
const OLD: Slot = Must(&["row", "col"]);
const BLACKWELL: Chips = Chips::Family(&[100, 101, 103, 110]);
const ELEMENTS: &[Ty] = &[B8, B16, B32, B64, F16, BF16, F32];

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Mma,
        &[
            row(
                Mma,
                &[
                    SYNC,
                    ALIGNED,
                    Must(&["m8n8k4"]),
                    OLD,
                    OLD,
                    Type(&[F16, F32, F64]),
                    Type(&[F16, F64]),
                    Type(&[F16, F64]),
                    Type(&[F16, F32, F64]),
                ],
                &[REST],
                TEXT,
            )
            .since(70, 6, 4)
            .later(),
            row(
                Mma,
                &[
                    SYNC,
                    ALIGNED,
                    Must(&["m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"]),
                    ROWCOL,
                    May(&["kind::f8f6f4"]),
                    Type(&[F16, F32, F64]),
                    FACTORS,
                    FACTORS,
                    Type(&[F16, F32, F64]),
                ],
                &[REST],
                TEXT,
            )
            .since(75, 6, 5)
            .later(),
            row(
                Mma,
                &[
                    SYNC,
                    ALIGNED,
                    Must(&[
                        "m8n8k16",
                        "m8n8k32",
                        "m16n8k16",
                        "m16n8k32",
                        "m16n8k64",
                        "m8n8k128",
                        "m16n8k128",
                        "m16n8k256",
                    ]),
                    ROWCOL,
                    May(&["satfinite"]),
                    Type(&[S32]),
                    Type(INTS),
                    Type(INTS),
                    Type(&[S32]),
                    May(&["xor", "and"]),
                    May(&["popc"]),
                ],
                &[REST],
                TEXT,
            )
            .since(75, 6, 5)
            .later(),
            row(
                Mma,
                &[
                    Must(&["sp", "sp::ordered_metadata"]),
                    SYNC,
                    ALIGNED,
                    Must(&["m16n8k8", "m16n8k16", "m16n8k32", "m16n8k64", "m16n8k128"]),
                    ROWCOL,
                    May(&["satfinite"]),
                    May(&["kind::f8f6f4"]),
                    Type(&[F16, F32, S32]),
                    Type(&[F16, BF16, TF32, E4M3, E5M2, E3M2, E2M3, E2M1, U8, S8, U4, S4]),
                    Type(&[F16, BF16, TF32, E4M3, E5M2, E3M2, E2M3, E2M1, U8, S8, U4, S4]),
                    Type(&[F16, F32, S32]),
                ],
                &[REST],
                "Multiplies a sparse and a dense matrix held by the warp and adds a third.",
            )
            .since(80, 7, 1)
            .later(),
            row(
                Mma,
                &[
                    May(&["sp::ordered_metadata"]),
                    SYNC,
                    ALIGNED,
                    Must(&["m16n8k32", "m16n8k64", "m16n8k128"]),
                    ROWCOL,
                    Must(&["kind::mxf4", "kind::mxf8f6f4", "kind::mxf4nvf4"]),
                    Must(&["block_scale"]),
                    May(&["scale_vec::1X", "scale_vec::2X", "scale_vec::4X"]),
                    Type(&[F32]),
                    FACTORS,
                    FACTORS,
                    Type(&[F32]),
                    Type(&[UE8M0, E4M3]),
                ],
                &[REST],
                "Multiplies two scaled matrices held by the warp and adds a third.",
            )
            .only(Chips::Family(&[120, 121]), 8, 7)
            .later(),
        ],
    ),
    (
        Wmma,
        &[row(
            Wmma,
            &[
                Anything,
                MaySpace(&[Space::Global, Space::Shared]),
                MayType(&[F16, BF16, TF32, F32, F64, S32, U8, S8, U4, S4, B1]),
                MayType(&[F16, BF16, TF32, F32, F64, S32, U8, S8, U4, S4, B1]),
                MayType(&[F16, BF16, TF32, F32, F64, S32, U8, S8, U4, S4, B1]),
                MayType(&[F16, BF16, TF32, F32, F64, S32, U8, S8, U4, S4, B1]),
            ],
            &[REST],
            "Loads, stores and multiplies matrix fragments held by the warp.",
        )
        .since(70, 6, 0)
        .later()],
    ),
    (
        Wgmma,
        &[
            row(
                Wgmma,
                &[Must(&["fence", "commit_group"]), SYNC, ALIGNED],
                &[],
                "Orders or groups the matrix operations of a warp group.",
            )
            .only(Chips::Accelerated(&[90]), 8, 0)
            .later(),
            row(
                Wgmma,
                &[Must(&["wait_group"]), SYNC, ALIGNED],
                &[any("n", super::Kind::Constant(0, 7), W)],
                "Waits for the matrix operations of a warp group.",
            )
            .only(Chips::Accelerated(&[90]), 8, 0)
            .later(),
            row(
                Wgmma,
                &[
                    Must(&["mma_async"]),
                    May(&["sp"]),
                    SYNC,
                    ALIGNED,
                    Anything,
                    Type(&[F16, F32, S32]),
                    Type(&[F16, BF16, TF32, E4M3, E5M2, U8, S8, B1]),
                    Type(&[F16, BF16, TF32, E4M3, E5M2, U8, S8, B1]),
                ],
                &[REST],
                "Multiplies matrices of a warp group while the program goes on.",
            )
            .only(Chips::Accelerated(&[90]), 8, 0)
            .later(),
        ],
    ),
    (
        Tcgen05,
        &[row(
            Tcgen05,
            &[
                Anything,
                MaySpace(&[Space::Shared, Space::SharedCluster]),
                MayType(&[B32, B64, F32, U32, S32]),
                MayType(&[B32, B64]),
            ],
            &[REST],
            "Works on tensor memory.",
        )
        .only(BLACKWELL, 8, 6)
        .later()],
    ),
    (
        Ldmatrix,
        &[row(
            Ldmatrix,
            &[
                SYNC,
                ALIGNED,
                Must(&["m8n8", "m16n16", "m8n16"]),
                Must(&["x1", "x2", "x4"]),
                May(&["trans"]),
                MaySpace(&[Space::Shared]),
                May(&["b8x16"]),
                May(&["b6x16_p32", "b4x16_p64"]),
                MayType(ELEMENTS),
            ],
            &[REST],
            "Loads small matrices from shared memory across the warp.",
        )
        .since(75, 6, 5)
        .later()],
    ),
    (
        Stmatrix,
        &[row(
            Stmatrix,
            &[
                SYNC,
                ALIGNED,
                Must(&["m8n8", "m16n8"]),
                Must(&["x1", "x2", "x4"]),
                May(&["trans"]),
                MaySpace(&[Space::Shared]),
                Type(&[B16, B8]),
            ],
            &[REST],
            "Stores small matrices to shared memory across the warp.",
        )
        .since(90, 7, 8)
        .later()],
    ),
    (
        Movmatrix,
        &[row(
            Movmatrix,
            &[SYNC, ALIGNED, Must(&["m8n8"]), Must(&["trans"]), Type(&[B16])],
            &[DW, src("a", W)],
            "Transposes a small matrix held by the warp.",
        )
        .since(75, 7, 8)
        .later()],
    ),
];
