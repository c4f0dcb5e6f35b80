//! Arithmetic on half precision: `.f16`, `.bf16` and their packed pairs.
//!
//! Rows only.

use super::pieces::*;
use super::{Need, Row, Slot};
use crate::Opcode::{self, *};
use crate::Type::*;
use Slot::{May, Must, Type};

const H: Slot = Type(&[F16, F16x2]);
const BF: Slot = Type(&[BF16, BF16x2]);
const NAN: Slot = May(&["NaN"]);
const XORSIGN: Slot = May(&["xorsign.abs"]);
const OOB: Slot = Must(&["oob"]);
const XORSIGN_NEEDS: &[Need] = &[Need { token: "xorsign", ptx: (7, 2), chip: 86 }];

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Add,
        &[
            row(Add, &[NEAREST, FTZ, SAT, H], &[D, A, B], "Adds.").since(53, 4, 2),
            row(Add, &[NEAREST, BF], &[D, A, B], "Adds.").since(90, 7, 8),
        ],
    ),
    (
        Sub,
        &[
            row(Sub, &[NEAREST, FTZ, SAT, H], &[D, A, B], "Subtracts.").since(53, 4, 2),
            row(Sub, &[NEAREST, BF], &[D, A, B], "Subtracts.").since(90, 7, 8),
        ],
    ),
    (
        Mul,
        &[
            row(Mul, &[NEAREST, FTZ, SAT, H], &[D, A, B], "Multiplies.").since(53, 4, 2),
            row(Mul, &[NEAREST, BF], &[D, A, B], "Multiplies.").since(90, 7, 8),
        ],
    ),
    (
        Fma,
        &[
            row(Fma, &[Must(&["rn"]), FTZ, SAT, H], &[D, A, B, C], "Multiplies and adds with one rounding.")
                .since(53, 4, 2),
            row(
                Fma,
                &[Must(&["rn"]), FTZ, Must(&["relu"]), H],
                &[D, A, B, C],
                "Multiplies and adds; a negative result becomes zero.",
            )
            .since(80, 7, 0),
            row(Fma, &[Must(&["rn"]), RELU, BF], &[D, A, B, C], "Multiplies and adds with one rounding.")
                .since(80, 7, 0),
            row(
                Fma,
                &[Must(&["rn"]), OOB, RELU, Type(&[F16, F16x2, BF16, BF16x2])],
                &[D, A, B, C],
                "Multiplies and adds; an out-of-bounds marker gives zero.",
            )
            .since(90, 8, 1)
            .later(),
            row(
                Fma,
                &[Must(&["rz", "rm", "rp"]), May(&["oob"]), RELU, BF],
                &[D, A, B, C],
                "Multiplies and adds with another rounding.",
            )
            .since(90, 7, 8)
            .later(),
        ],
    ),
    (
        Abs,
        &[
            row(Abs, &[FTZ, H], &[D, A], "Absolute value.").since(53, 6, 5),
            row(Abs, &[BF], &[D, A], "Absolute value.").since(80, 7, 0),
        ],
    ),
    (
        Neg,
        &[
            row(Neg, &[FTZ, H], &[D, A], "Changes the sign.").since(53, 6, 0),
            row(Neg, &[BF], &[D, A], "Changes the sign.").since(80, 7, 0),
        ],
    ),
    (
        Min,
        &[
            row(Min, &[FTZ, NAN, XORSIGN, H], &[D, A, B], "The smaller value.")
                .since(80, 7, 0)
                .needs(XORSIGN_NEEDS),
            row(Min, &[NAN, XORSIGN, BF], &[D, A, B], "The smaller value.")
                .since(80, 7, 0)
                .needs(XORSIGN_NEEDS),
        ],
    ),
    (
        Max,
        &[
            row(Max, &[FTZ, NAN, XORSIGN, H], &[D, A, B], "The larger value.")
                .since(80, 7, 0)
                .needs(XORSIGN_NEEDS),
            row(Max, &[NAN, XORSIGN, BF], &[D, A, B], "The larger value.")
                .since(80, 7, 0)
                .needs(XORSIGN_NEEDS),
        ],
    ),
    (
        Ex2,
        &[
            row(Ex2, &[APPROX, H], &[D, A], "Approximates two to a power.").since(75, 7, 0),
            row(Ex2, &[APPROX, Must(&["ftz"]), BF], &[D, A], "Approximates two to a power.").since(90, 7, 8),
        ],
    ),
    (
        Tanh,
        &[
            row(Tanh, &[APPROX, H], &[D, A], "Approximates the hyperbolic tangent.").since(75, 7, 0),
            row(Tanh, &[APPROX, BF], &[D, A], "Approximates the hyperbolic tangent.").since(90, 7, 8),
        ],
    ),
];
