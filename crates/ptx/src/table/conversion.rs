//! Conversions between types.
//!
//! Rows only. What may be clamped and rounded depends on the pair of types, so that the pairs are listed.

use super::pieces::*;
use super::{Chips, Kind, OperandRow, OperandType, Row, Slot};
use crate::Opcode::{self, *};
use crate::Type::*;
use Slot::{Head, May, Must, Type};

const TO: OperandRow = any("d", Kind::Destination, OperandType::Widening(0));
const FROM: OperandRow = any("a", Kind::Source, OperandType::Widening(1));
const FROM_B: OperandRow = any("b", Kind::Source, OperandType::Widening(1));
const ONE: &[OperandRow] = &[TO, FROM];
/// Half precision of the `bf16` kind takes registers of exactly the width of each type.
const EXACT: &[OperandRow] = &[any("d", Kind::Destination, T), any("a", Kind::Source, T1)];
const TWO: &[OperandRow] = &[TO, FROM, FROM_B];
const WHOLE: Slot = Must(&["rni", "rzi", "rmi", "rpi"]);
const MAY_WHOLE: Slot = May(&["rni", "rzi", "rmi", "rpi"]);
const CLAMPED: Slot = Must(&["sat"]);
const NEAR: Slot = Must(&["rn", "rz"]);
const FINITE: Slot = May(&["satfinite"]);
const MUST_FINITE: Slot = Must(&["satfinite"]);
const I: Slot = Type(ALL_INTEGERS);
const SATURATED: &str = "Converts an integer and clamps it to the range of the result.";
const NARROW: Chips = Chips::Family(&[100, 101, 103, 110, 120, 121]);

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[(
    Cvt,
    &[
        row(Cvt, &[I, I], ONE, "Extends or cuts an integer."),
        row(Cvt, &[CLAMPED, Type(&[U8]), Type(&[S8, U16, S16, U32, S32, U64, S64])], ONE, SATURATED),
        row(Cvt, &[CLAMPED, Type(&[S8]), Type(&[U8, U16, S16, U32, S32, U64, S64])], ONE, SATURATED),
        row(Cvt, &[CLAMPED, Type(&[U16]), Type(&[S8, S16, U32, S32, U64, S64])], ONE, SATURATED),
        row(Cvt, &[CLAMPED, Type(&[S16]), Type(&[U16, U32, S32, U64, S64])], ONE, SATURATED),
        row(Cvt, &[CLAMPED, Type(&[U32]), Type(&[S8, S16, S32, U64, S64])], ONE, SATURATED),
        row(Cvt, &[CLAMPED, Type(&[S32]), Type(&[U32, U64, S64])], ONE, SATURATED),
        row(Cvt, &[CLAMPED, Type(&[U64]), Type(&[S8, S16, S32, S64])], ONE, SATURATED),
        row(Cvt, &[CLAMPED, Type(&[S64]), Type(&[U64])], ONE, SATURATED),
        row(Cvt, &[WHOLE, FTZ, SAT, I, Type(&[F32])], ONE, "Rounds to an integer."),
        row(Cvt, &[WHOLE, SAT, I, Type(&[F64])], ONE, "Rounds to an integer.").since(13, 1, 0),
        row(Cvt, &[WHOLE, SAT, I, Type(&[F16])], ONE, "Rounds to an integer.").since(53, 4, 2),
        row(Cvt, &[WHOLE, I, Type(&[BF16])], EXACT, "Rounds to an integer.").since(90, 7, 8),
        row(Cvt, &[ROUNDED, FTZ, SAT, Type(&[F32]), I], ONE, "Converts an integer to floating point."),
        row(Cvt, &[ROUNDED, SAT, Type(&[F64]), I], ONE, "Converts an integer to floating point.")
            .since(13, 1, 0),
        row(Cvt, &[ROUNDED, SAT, Type(&[F16]), I], ONE, "Converts an integer to half precision.")
            .since(53, 4, 2),
        row(Cvt, &[ROUNDED, Type(&[BF16]), I], EXACT, "Converts an integer to half precision.")
            .since(90, 7, 8),
        row(Cvt, &[ROUNDED, FTZ, SAT, Type(&[F32]), Type(&[F64])], ONE, "Rounds to a narrower type.")
            .since(13, 1, 0),
        row(Cvt, &[ROUNDED, SAT, Type(&[F16]), Type(&[F64])], ONE, "Rounds to a narrower type.")
            .since(53, 4, 2),
        row(Cvt, &[ROUNDED, Type(&[BF16]), Type(&[F64])], EXACT, "Rounds to a narrower type.")
            .since(90, 7, 8),
        row(Cvt, &[FTZ, SAT, Type(&[F64]), Type(&[F32])], ONE, "Extends to a wider type.").since(13, 1, 0),
        row(Cvt, &[FTZ, SAT, Type(&[F32]), Type(&[F16])], ONE, "Extends to a wider type.").since(53, 4, 2),
        row(Cvt, &[SAT, Type(&[F64]), Type(&[F16])], ONE, "Extends to a wider type.").since(53, 4, 2),
        row(Cvt, &[ROUND, FTZ, Type(&[F32]), Type(&[BF16])], EXACT, "Extends to a wider type.")
            .since(80, 7, 1)
            .needs(FTZ_NEEDS),
        row(Cvt, &[ROUND, Type(&[F64]), Type(&[BF16])], EXACT, "Extends to a wider type.").since(90, 7, 8),
        row(Cvt, &[ROUND, Type(&[F16]), Type(&[BF16])], EXACT, "Between the two half types.").since(90, 7, 8),
        row(Cvt, &[ROUND, Type(&[BF16]), Type(&[F16])], EXACT, "Between the two half types.").since(90, 7, 8),
        row(
            Cvt,
            &[MAY_WHOLE, FTZ, SAT, Type(&[F32]), Type(&[F32])],
            ONE,
            "Rounds to a whole number, or copies.",
        ),
        row(Cvt, &[MAY_WHOLE, SAT, Type(&[F64]), Type(&[F64])], ONE, "Rounds to a whole number, or copies.")
            .since(13, 1, 0),
        row(Cvt, &[MAY_WHOLE, SAT, Type(&[F16]), Type(&[F16])], ONE, "Rounds to a whole number, or copies.")
            .since(53, 4, 2),
        row(Cvt, &[MAY_WHOLE, Type(&[BF16]), Type(&[BF16])], EXACT, "Rounds to a whole number, or copies.")
            .since(90, 7, 8),
        row(Cvt, &[ROUNDED, FTZ, SAT, Type(&[F16]), Type(&[F32])], ONE, "Rounds to half precision.")
            .since(53, 4, 2),
        row(Cvt, &[NEAR, RELU, FINITE, Type(&[F16]), Type(&[F32])], ONE, "Rounds to half precision.")
            .since(80, 7, 0)
            .needs(FINITE_NEEDS),
        row(Cvt, &[Must(&["rn"]), Type(&[BF16]), Type(&[F32])], EXACT, "Rounds to half precision.")
            .since(80, 7, 0),
        row(Cvt, &[ROUNDED, FTZ, Type(&[BF16]), Type(&[F32])], EXACT, "Rounds to half precision.")
            .since(80, 7, 0),
        row(Cvt, &[NEAR, RELU, FINITE, Type(&[BF16]), Type(&[F32])], EXACT, "Rounds to half precision.")
            .since(80, 7, 0)
            .needs(FINITE_NEEDS),
        row(
            Cvt,
            &[NEAR, RELU, FINITE, Type(&[F16x2, BF16x2]), Type(&[F32])],
            TWO,
            "Rounds two values to a pair.",
        )
        .since(80, 7, 0)
        .needs(FINITE_NEEDS),
        row(
            Cvt,
            &[Must(&["rs"]), RELU, FINITE, Type(&[F16x2, BF16x2]), Type(&[F32])],
            &[TO, FROM, FROM_B, src("rbits", W)],
            "Rounds two values to a pair at random.",
        )
        .only(Chips::Accelerated(&[100, 103]), 8, 7)
        .later(),
        row(Cvt, &[Must(&["rna"]), FINITE, Type(&[TF32]), Type(&[F32])], ONE, "Rounds to the matrix type.")
            .since(80, 7, 0)
            .needs(FINITE_NEEDS),
        row(Cvt, &[NEAR, RELU, Type(&[TF32]), Type(&[F32])], ONE, "Rounds to the matrix type.")
            .since(90, 7, 8),
        row(
            Cvt,
            &[NEAR, Must(&["satfinite"]), RELU, Type(&[TF32]), Type(&[F32])],
            ONE,
            "Rounds to the matrix type.",
        )
        .since(100, 8, 6)
        .later(),
        row(
            Cvt,
            &[Must(&["rn"]), MUST_FINITE, RELU, Type(&[E4M3x2, E5M2x2]), Type(&[F32])],
            TWO,
            "Rounds two values to a pair of bytes.",
        )
        .since(89, 7, 8),
        row(
            Cvt,
            &[Must(&["rn"]), MUST_FINITE, RELU, Type(&[E4M3x2, E5M2x2]), Type(&[F16x2])],
            ONE,
            "Rounds a pair of halves to a pair of bytes.",
        )
        .since(89, 7, 8),
        row(
            Cvt,
            &[Must(&["rn"]), RELU, Type(&[F16x2]), Type(&[E4M3x2, E5M2x2])],
            ONE,
            "Extends a pair of bytes to a pair of halves.",
        )
        .since(89, 7, 8),
        row(
            Cvt,
            &[Must(&["rn"]), MUST_FINITE, RELU, Type(&[E2M1x2, E2M3x2, E3M2x2]), Type(&[F32])],
            TWO,
            "Rounds two values to a pair of narrow ones.",
        )
        .only(NARROW, 8, 6)
        .later(),
        row(
            Cvt,
            &[Must(&["rn"]), RELU, Type(&[F16x2]), Type(&[E2M1x2, E2M3x2, E3M2x2])],
            ONE,
            "Extends a pair of narrow values to a pair of halves.",
        )
        .only(NARROW, 8, 6)
        .later(),
        row(
            Cvt,
            &[Must(&["rz", "rp"]), FINITE, Type(&[UE8M0x2]), Type(&[F32])],
            TWO,
            "Rounds two values to a pair of scale factors.",
        )
        .only(NARROW, 8, 6)
        .later(),
        row(
            Cvt,
            &[Must(&["rz", "rp"]), FINITE, Type(&[UE8M0x2]), Type(&[BF16x2])],
            ONE,
            "Rounds a pair to a pair of scale factors.",
        )
        .only(NARROW, 8, 6)
        .later(),
        row(
            Cvt,
            &[Must(&["rn"]), Type(&[BF16x2]), Type(&[UE8M0x2])],
            ONE,
            "Extends a pair of scale factors.",
        )
        .only(NARROW, 8, 6)
        .later(),
        row(
            Cvt,
            &[Head(&["pack"]), CLAMPED, Type(&[U16, S16]), Type(&[S32])],
            &[DW, src("a", T1), src("b", T1)],
            "Clamps two integers and packs them.",
        )
        .since(72, 6, 5),
        row(
            Cvt,
            &[Head(&["pack"]), CLAMPED, Type(&[U8, S8]), Type(&[S32]), Type(&[B32])],
            &[DW, src("a", T1), src("b", T1), src("c", T2)],
            "Clamps two integers and packs them before what a register holds.",
        )
        .since(72, 6, 5),
        row(
            Cvt,
            &[Head(&["pack"]), CLAMPED, Type(&[U4, S4, U2, S2]), Type(&[S32]), Type(&[B32])],
            &[DW, src("a", T1), src("b", T1), src("c", T2)],
            "Clamps two integers and packs them before what a register holds.",
        )
        .since(75, 6, 5),
    ],
)];

const FTZ_NEEDS: &[super::Need] = &[super::Need { token: "ftz", ptx: (7, 8), chip: 90 }];
const FINITE_NEEDS: &[super::Need] = &[super::Need { token: "satfinite", ptx: (8, 1), chip: 80 }];
