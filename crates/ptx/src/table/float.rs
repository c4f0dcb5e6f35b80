//! Arithmetic on `.f32` and `.f64`.
//!
//! Rows only; half precision has a file of its own.

use super::pieces::*;
use super::{Chips, Row, Slot};
use crate::Opcode::{self, *};
use crate::Type::*;
use Slot::{May, Must, Type};

const F: Slot = Type(&[F32]);
const G: Slot = Type(&[F64]);
const X2: Slot = Type(&[F32x2]);
const NAN: Slot = May(&["NaN"]);
const XORSIGN: Slot = May(&["xorsign.abs"]);
/// Chips with arithmetic on pairs of `.f32`.
const PAIRS: Chips = Chips::From(100);

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Add,
        &[
            row(Add, &[ROUND, FTZ, SAT, F], &[D, A, B], "Adds."),
            row(Add, &[ROUND, G], &[D, A, B], "Adds.").since(13, 1, 0),
            row(Add, &[ROUND, FTZ, X2], &[D, A, B], "Adds two pairs.").only(PAIRS, 8, 6).later(),
            row(
                Add,
                &[ROUND, SAT, F, Type(&[F16, BF16])],
                &[D, src("a", T1), C],
                "Adds a half to a single value.",
            )
            .since(100, 8, 6)
            .later(),
        ],
    ),
    (
        Sub,
        &[
            row(Sub, &[ROUND, FTZ, SAT, F], &[D, A, B], "Subtracts."),
            row(Sub, &[ROUND, G], &[D, A, B], "Subtracts.").since(13, 1, 0),
            row(Sub, &[ROUND, FTZ, X2], &[D, A, B], "Subtracts two pairs.").only(PAIRS, 8, 6).later(),
            row(
                Sub,
                &[ROUND, SAT, F, Type(&[F16, BF16])],
                &[D, src("a", T1), C],
                "Subtracts a single value from a half.",
            )
            .since(100, 8, 6)
            .later(),
        ],
    ),
    (
        Mul,
        &[
            row(Mul, &[ROUND, FTZ, SAT, F], &[D, A, B], "Multiplies."),
            row(Mul, &[ROUND, G], &[D, A, B], "Multiplies.").since(13, 1, 0),
            row(Mul, &[ROUND, FTZ, X2], &[D, A, B], "Multiplies two pairs.").only(PAIRS, 8, 6).later(),
        ],
    ),
    (
        Fma,
        &[
            row(Fma, &[ROUNDED, FTZ, SAT, F], &[D, A, B, C], "Multiplies and adds with one rounding.")
                .since(20, 2, 0),
            row(Fma, &[ROUNDED, G], &[D, A, B, C], "Multiplies and adds with one rounding.").since(13, 1, 4),
            row(Fma, &[ROUNDED, FTZ, X2], &[D, A, B, C], "Multiplies and adds two pairs.")
                .only(PAIRS, 8, 6)
                .later(),
            row(
                Fma,
                &[ROUNDED, SAT, F, Type(&[F16, BF16])],
                &[D, src("a", T1), src("b", T1), C],
                "Multiplies two halves and adds a single value.",
            )
            .since(100, 8, 6)
            .later(),
        ],
    ),
    (
        Mad,
        &[
            row(Mad, &[ROUNDED, FTZ, SAT, F], &[D, A, B, C], "Multiplies and adds with one rounding.")
                .since(20, 2, 0),
            row(Mad, &[ROUNDED, G], &[D, A, B, C], "Multiplies and adds with one rounding.").since(13, 1, 4),
        ],
    ),
    (
        Div,
        &[
            row(Div, &[Must(&["approx", "full"]), FTZ, F], &[D, A, B], "Divides with a fast approximation.")
                .since(10, 1, 4),
            row(Div, &[ROUNDED, FTZ, F], &[D, A, B], "Divides with correct rounding.").since(20, 1, 4),
            row(Div, &[ROUNDED, G], &[D, A, B], "Divides with correct rounding.").since(13, 1, 4),
        ],
    ),
    (
        Rcp,
        &[
            row(Rcp, &[APPROX, FTZ, F], &[D, A], "Approximates the reciprocal.").since(10, 1, 4),
            row(Rcp, &[ROUNDED, FTZ, F], &[D, A], "Reciprocal with correct rounding.").since(20, 1, 4),
            row(Rcp, &[ROUNDED, FTZ, G], &[D, A], "Reciprocal with correct rounding.").since(13, 1, 4),
            row(Rcp, &[APPROX, Must(&["ftz"]), G], &[D, A], "Approximates the upper half of the reciprocal.")
                .since(20, 2, 1),
        ],
    ),
    (
        Sqrt,
        &[
            row(Sqrt, &[APPROX, FTZ, F], &[D, A], "Approximates the square root.").since(10, 1, 4),
            row(Sqrt, &[ROUNDED, FTZ, F], &[D, A], "Square root with correct rounding.").since(20, 1, 4),
            row(Sqrt, &[ROUNDED, G], &[D, A], "Square root with correct rounding.").since(13, 1, 4),
        ],
    ),
    (
        Rsqrt,
        &[
            row(Rsqrt, &[APPROX, FTZ, F], &[D, A], "Approximates the reciprocal square root.")
                .since(10, 1, 4),
            row(Rsqrt, &[APPROX, FTZ, G], &[D, A], "Approximates the reciprocal square root.")
                .since(13, 1, 4),
        ],
    ),
    (Sin, &[row(Sin, &[APPROX, FTZ, F], &[D, A], "Approximates the sine.").since(10, 1, 4)]),
    (Cos, &[row(Cos, &[APPROX, FTZ, F], &[D, A], "Approximates the cosine.").since(10, 1, 4)]),
    (Lg2, &[row(Lg2, &[APPROX, FTZ, F], &[D, A], "Approximates the logarithm to base two.").since(10, 1, 4)]),
    (Ex2, &[row(Ex2, &[APPROX, FTZ, F], &[D, A], "Approximates two to a power.").since(10, 1, 4)]),
    (Tanh, &[row(Tanh, &[APPROX, F], &[D, A], "Approximates the hyperbolic tangent.").since(75, 7, 0)]),
    (
        Abs,
        &[
            row(Abs, &[FTZ, F], &[D, A], "Absolute value."),
            row(Abs, &[G], &[D, A], "Absolute value.").since(13, 1, 0),
        ],
    ),
    (
        Neg,
        &[
            row(Neg, &[FTZ, F], &[D, A], "Changes the sign."),
            row(Neg, &[G], &[D, A], "Changes the sign.").since(13, 1, 0),
        ],
    ),
    (
        Min,
        &[
            row(Min, &[FTZ, NAN, XORSIGN, F], &[D, A, B], "The smaller value.").needs(MINMAX_NEEDS),
            row(Min, &[G], &[D, A, B], "The smaller value.").since(13, 1, 0),
            row(Min, &[FTZ, NAN, May(&["abs"]), F], &[D, A, B, C], "The smallest of three values.")
                .since(100, 8, 8)
                .later(),
        ],
    ),
    (
        Max,
        &[
            row(Max, &[FTZ, NAN, XORSIGN, F], &[D, A, B], "The larger value.").needs(MINMAX_NEEDS),
            row(Max, &[G], &[D, A, B], "The larger value.").since(13, 1, 0),
            row(Max, &[FTZ, NAN, May(&["abs"]), F], &[D, A, B, C], "The largest of three values.")
                .since(100, 8, 8)
                .later(),
        ],
    ),
    (
        Testp,
        &[row(
            Testp,
            &[
                Must(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]),
                Type(&[F32, F64]),
            ],
            &[any("p", super::Kind::Destination, P), A],
            "Tests which kind of floating-point value it is.",
        )
        .since(20, 2, 0)],
    ),
    (
        Copysign,
        &[row(Copysign, &[Type(&[F32, F64])], &[D, A, B], "The sign of `a` with the magnitude of `b`.")
            .since(20, 2, 0)],
    ),
];

const MINMAX_NEEDS: &[super::Need] = &[
    super::Need { token: "NaN", ptx: (7, 0), chip: 80 },
    super::Need { token: "xorsign", ptx: (7, 2), chip: 86 },
];
