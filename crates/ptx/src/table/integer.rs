//! Integer arithmetic, extended-precision arithmetic and bit fields.
//!
//! Rows only.

use super::pieces::*;
use super::{Kind, OperandType, Row, Slot};
use crate::Opcode::{self, *};
use crate::Type::*;
use Slot::{May, Must, Type};

const POSITION: super::OperandRow = src("b", W);
const LENGTH: super::OperandRow = src("c", W);
const WIDE: OperandType = OperandType::Double(0);

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Add,
        &[
            row(Add, &[Type(INTEGERS)], &[D, A, B], "Adds; the result wraps."),
            row(Add, &[SAT, Type(&[S32])], &[D, A, B], "Adds and clamps to the range of `.s32`."),
            row(Add, &[Type(&[U16x2, S16x2])], &[D, A, B], "Adds two packed pairs of halves.")
                .since(90, 8, 0),
            row(Add, &[Must(&["cc"]), Type(LONG_INTEGERS)], &[D, A, B], "Adds and writes the carry.")
                .since(10, 1, 2),
        ],
    ),
    (
        Addc,
        &[
            row(
                Addc,
                &[May(&["cc"]), Type(LONG_INTEGERS)],
                &[D, A, B],
                "Adds with the carry of the last `.cc`.",
            )
            .since(10, 1, 2),
            row(Addc, &[Type(&[U16, S16])], &[D, A, B], "Adds with the carry of the last `.cc`.")
                .since(10, 1, 2)
                .later(),
        ],
    ),
    (
        Sub,
        &[
            row(Sub, &[Type(INTEGERS)], &[D, A, B], "Subtracts; the result wraps."),
            row(Sub, &[SAT, Type(&[S32])], &[D, A, B], "Subtracts and clamps to the range of `.s32`."),
            row(Sub, &[Must(&["cc"]), Type(LONG_INTEGERS)], &[D, A, B], "Subtracts and writes the borrow.")
                .since(10, 1, 2),
        ],
    ),
    (
        Subc,
        &[
            row(
                Subc,
                &[May(&["cc"]), Type(LONG_INTEGERS)],
                &[D, A, B],
                "Subtracts with the borrow of the last `.cc`.",
            )
            .since(10, 1, 2),
            row(Subc, &[Type(&[U16, S16])], &[D, A, B], "Subtracts with the borrow of the last `.cc`.")
                .since(10, 1, 2)
                .later(),
        ],
    ),
    (
        Mul,
        &[
            row(Mul, &[LOHI, Type(INTEGERS)], &[D, A, B], "Low or high half of the product."),
            row(
                Mul,
                &[Slot::Head(&["wide"]), Type(&[U16, U32, S16, S32])],
                &[dst(WIDE), A, B],
                "The whole product, twice as wide as the factors.",
            ),
        ],
    ),
    (
        Mad,
        &[
            row(
                Mad,
                &[LOHI, Type(INTEGERS)],
                &[D, A, B, C],
                "Low or high half of the product, plus a third value.",
            ),
            row(
                Mad,
                &[Slot::Head(&["hi"]), SAT, Type(&[S32])],
                &[D, A, B, C],
                "High half of the product plus a third value, clamped.",
            ),
            row(
                Mad,
                &[LOHI, Must(&["cc"]), Type(LONG_INTEGERS)],
                &[D, A, B, C],
                "Half of the product plus a third value; writes the carry.",
            )
            .since(20, 3, 0),
            row(
                Mad,
                &[Slot::Head(&["wide"]), Type(&[U16, U32, S16, S32])],
                &[dst(WIDE), A, B, src("c", WIDE)],
                "The whole product plus a value of twice the width.",
            ),
        ],
    ),
    (
        Madc,
        &[
            row(
                Madc,
                &[LOHI, May(&["cc"]), Type(LONG_INTEGERS)],
                &[D, A, B, C],
                "Half of the product plus a third value plus the carry.",
            )
            .since(20, 3, 0),
            row(
                Madc,
                &[LOHI, Type(&[U16, S16])],
                &[D, A, B, C],
                "Half of the product plus a third value plus the carry.",
            )
            .since(20, 3, 0)
            .later(),
            row(
                Madc,
                &[Slot::Head(&["hi"]), SAT, Type(&[S32])],
                &[D, A, B, C],
                "High half of the product plus a third value plus the carry, clamped.",
            )
            .since(20, 3, 0)
            .later(),
        ],
    ),
    (
        Mul24,
        &[row(
            Mul24,
            &[LOHI, Type(&[U32, S32])],
            &[D, A, B],
            "Low or high 32 bits of a product of 24-bit values.",
        )],
    ),
    (
        Mad24,
        &[
            row(
                Mad24,
                &[LOHI, Type(&[U32, S32])],
                &[D, A, B, C],
                "Low or high 32 bits of a product of 24-bit values, plus a third value.",
            ),
            row(
                Mad24,
                &[Slot::Head(&["hi"]), SAT, Type(&[S32])],
                &[D, A, B, C],
                "High 32 bits of a product of 24-bit values plus a third value, clamped.",
            ),
        ],
    ),
    (Sad, &[row(Sad, &[Type(INTEGERS)], &[D, A, B, C], "Absolute difference of `a` and `b`, plus `c`.")]),
    (Div, &[row(Div, &[Type(INTEGERS)], &[D, A, B], "Quotient, rounded towards zero.")]),
    (Rem, &[row(Rem, &[Type(INTEGERS)], &[D, A, B], "Remainder of the division.")]),
    (Abs, &[row(Abs, &[Type(&[S16, S32, S64])], &[D, A], "Absolute value.")]),
    (Neg, &[row(Neg, &[Type(&[S16, S32, S64])], &[D, A], "Arithmetic negation.")]),
    (
        Min,
        &[
            row(Min, &[Type(INTEGERS)], &[D, A, B], "The smaller value."),
            row(Min, &[Type(&[U16x2, S16x2])], &[D, A, B], "The smaller value of each packed half.")
                .since(90, 8, 0),
            row(
                Min,
                &[Must(&["relu"]), Type(&[S32, S16x2])],
                &[D, A, B],
                "The smaller value, or zero where that is negative.",
            )
            .since(90, 8, 0),
        ],
    ),
    (
        Max,
        &[
            row(Max, &[Type(INTEGERS)], &[D, A, B], "The larger value."),
            row(Max, &[Type(&[U16x2, S16x2])], &[D, A, B], "The larger value of each packed half.")
                .since(90, 8, 0),
            row(
                Max,
                &[Must(&["relu"]), Type(&[S32, S16x2])],
                &[D, A, B],
                "The larger value, or zero where that is negative.",
            )
            .since(90, 8, 0),
        ],
    ),
    (Popc, &[row(Popc, &[Type(&[B32, B64])], &[DW, A], "Number of bits set.").since(20, 2, 0)]),
    (Clz, &[row(Clz, &[Type(&[B32, B64])], &[DW, A], "Number of leading zero bits.").since(20, 2, 0)]),
    (
        Bfind,
        &[row(
            Bfind,
            &[May(&["shiftamt"]), Type(LONG_INTEGERS)],
            &[DW, A],
            "Place of the most significant bit that differs from the sign.",
        )
        .since(20, 2, 0)],
    ),
    (
        Fns,
        &[row(
            Fns,
            &[Type(&[B32])],
            &[DW, src("mask", T), src("base", W), src("offset", W)],
            "Place of the n-th set bit, counted from a base.",
        )
        .since(30, 6, 0)],
    ),
    (Brev, &[row(Brev, &[Type(&[B32, B64])], &[D, A], "Reverses the order of the bits.").since(20, 2, 0)]),
    (
        Bfe,
        &[row(
            Bfe,
            &[Type(LONG_INTEGERS)],
            &[D, A, any("b", Kind::SourceInRange(0, 255), W), any("c", Kind::SourceInRange(0, 255), W)],
            "Extracts the field of `c` bits at bit `b`.",
        )
        .since(20, 2, 0)],
    ),
    (
        Bfi,
        &[row(
            Bfi,
            &[Type(&[B32, B64])],
            &[
                any("f", Kind::Destination, T),
                A,
                B,
                any("c", Kind::SourceInRange(0, 255), W),
                any("d", Kind::SourceInRange(0, 255), W),
            ],
            "Puts the low `d` bits of `a` into `b` at bit `c`.",
        )
        .since(20, 2, 0)],
    ),
    (
        Szext,
        &[row(
            Szext,
            &[Must(&["wrap", "clamp"]), Type(&[U32, S32])],
            &[D, A, POSITION],
            "Extends the low `b` bits with zeros or the sign.",
        )
        .since(70, 7, 6)],
    ),
    (
        Bmsk,
        &[row(
            Bmsk,
            &[Must(&["wrap", "clamp"]), Type(&[B32])],
            &[D, src("a", W), POSITION],
            "A mask of `b` ones at bit `a`.",
        )
        .since(70, 7, 6)],
    ),
    (
        Dp4a,
        &[row(
            Dp4a,
            &[Type(&[U32, S32]), Type(&[U32, S32])],
            &[DW, src("a", W), src("b", W), LENGTH],
            "Dot product of four bytes each, plus `c`.",
        )
        .since(61, 5, 0)],
    ),
    (
        Dp2a,
        &[row(
            Dp2a,
            &[LOHI, Type(&[U32, S32]), Type(&[U32, S32])],
            &[DW, src("a", W), src("b", W), LENGTH],
            "Dot product of two halves with two bytes, plus `c`.",
        )
        .since(61, 5, 0)],
    ),
];
