//! Comparisons and selections.
//!
//! Rows only. The set of comparisons depends on the type; scalar half precision has no second result.

use super::pieces::*;
use super::{Kind, Need, OperandRow, Row, Slot};
use crate::Opcode::{self, *};
use crate::Type::{self as Ty, *};
use Slot::{Must, Type};

const EQUALITY: Slot = Must(&["eq", "ne"]);
const ORDER: Slot = Must(&["eq", "ne", "lt", "le", "gt", "ge"]);
const UNSIGNED_ORDER: Slot = Must(&["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"]);
const FLOAT_ORDER: Slot =
    Must(&["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]);
const COMBINE: Slot = Must(&["and", "or", "xor"]);
const UNSIGNED: Slot = Type(&[U16, U32, U64]);
const SIGNED: Slot = Type(&[S16, S32, S64]);
const BIT: Slot = Type(BITS);
const PAIR: OperandRow = any("p", Kind::PairDestination, P);
const ONE: OperandRow = any("p", Kind::Destination, P);
const PLAIN: &[OperandRow] = &[PAIR, A, B];
const COMBINED: &[OperandRow] = &[PAIR, A, B, PREDICATE];
const TEXT: &str = "Compares and writes a predicate, and its complement if asked.";
const TEXT_COMBINED: &str = "Compares and combines the result with a predicate.";

const A1: OperandRow = src("a", T1);
const B1: OperandRow = src("b", T1);
const SET: &[OperandRow] = &[D, A1, B1];
const SET_COMBINED: &[OperandRow] = &[D, A1, B1, PREDICATE];
const SET_TEXT: &str = "Compares and writes all ones, 1.0 or zero.";
const SET_TEXT_COMBINED: &str = "Compares, combines with a predicate and writes all ones, 1.0 or zero.";
const INTEGER_NEEDS: &[Need] = &[
    Need { token: "u16", ptx: (6, 5), chip: 53 },
    Need { token: "s16", ptx: (6, 5), chip: 53 },
    Need { token: "u32", ptx: (6, 5), chip: 53 },
    Need { token: "s32", ptx: (6, 5), chip: 53 },
];
const BF16_NEEDS: &[Need] = &[Need { token: "bf16", ptx: (7, 8), chip: 90 }];
const SET_RESULT: Slot = Type(&[U32, S32, F32]);
const HALF_RESULT: Slot = Type(&[F16, BF16]);
const SELECTED: &[Ty] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64];

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Setp,
        &[
            row(Setp, &[ORDER, SIGNED], PLAIN, TEXT),
            row(Setp, &[UNSIGNED_ORDER, UNSIGNED], PLAIN, TEXT),
            row(Setp, &[EQUALITY, BIT], PLAIN, TEXT),
            row(Setp, &[FLOAT_ORDER, FTZ, Type(&[F32])], PLAIN, TEXT),
            row(Setp, &[FLOAT_ORDER, Type(&[F64])], PLAIN, TEXT).since(13, 1, 0),
            row(Setp, &[FLOAT_ORDER, FTZ, Type(&[F16])], &[ONE, A, B], TEXT).since(53, 4, 2),
            row(Setp, &[FLOAT_ORDER, FTZ, Type(&[F16x2])], PLAIN, TEXT).since(53, 4, 2),
            row(Setp, &[FLOAT_ORDER, Type(&[BF16])], &[ONE, A, B], TEXT).since(90, 7, 8),
            row(Setp, &[FLOAT_ORDER, Type(&[BF16x2])], PLAIN, TEXT).since(90, 7, 8),
            row(Setp, &[ORDER, COMBINE, SIGNED], COMBINED, TEXT_COMBINED),
            row(Setp, &[UNSIGNED_ORDER, COMBINE, UNSIGNED], COMBINED, TEXT_COMBINED),
            row(Setp, &[EQUALITY, COMBINE, BIT], COMBINED, TEXT_COMBINED),
            row(Setp, &[FLOAT_ORDER, COMBINE, FTZ, Type(&[F32])], COMBINED, TEXT_COMBINED),
            row(Setp, &[FLOAT_ORDER, COMBINE, Type(&[F64])], COMBINED, TEXT_COMBINED).since(13, 1, 0),
            row(Setp, &[FLOAT_ORDER, COMBINE, FTZ, Type(&[F16])], &[ONE, A, B, PREDICATE], TEXT_COMBINED)
                .since(53, 4, 2),
            row(Setp, &[FLOAT_ORDER, COMBINE, FTZ, Type(&[F16x2])], COMBINED, TEXT_COMBINED).since(53, 4, 2),
            row(Setp, &[FLOAT_ORDER, COMBINE, Type(&[BF16])], &[ONE, A, B, PREDICATE], TEXT_COMBINED)
                .since(90, 7, 8),
            row(Setp, &[FLOAT_ORDER, COMBINE, Type(&[BF16x2])], COMBINED, TEXT_COMBINED).since(90, 7, 8),
        ],
    ),
    (
        Set,
        &[
            row(Set, &[ORDER, SET_RESULT, SIGNED], SET, SET_TEXT),
            row(Set, &[UNSIGNED_ORDER, SET_RESULT, UNSIGNED], SET, SET_TEXT),
            row(Set, &[EQUALITY, SET_RESULT, BIT], SET, SET_TEXT),
            row(Set, &[FLOAT_ORDER, FTZ, SET_RESULT, Type(&[F32])], SET, SET_TEXT),
            row(Set, &[FLOAT_ORDER, SET_RESULT, Type(&[F64])], SET, SET_TEXT),
            row(Set, &[ORDER, HALF_RESULT, SIGNED], SET, SET_TEXT).since(53, 4, 2).needs(BF16_NEEDS),
            row(Set, &[UNSIGNED_ORDER, HALF_RESULT, UNSIGNED], SET, SET_TEXT)
                .since(53, 4, 2)
                .needs(BF16_NEEDS),
            row(Set, &[EQUALITY, HALF_RESULT, BIT], SET, SET_TEXT).since(53, 4, 2).needs(BF16_NEEDS),
            row(Set, &[FLOAT_ORDER, FTZ, Type(&[F16]), Type(&[F32])], SET, SET_TEXT).since(53, 4, 2),
            row(Set, &[FLOAT_ORDER, Type(&[F16]), Type(&[F64])], SET, SET_TEXT).since(53, 4, 2),
            row(Set, &[FLOAT_ORDER, Type(&[BF16]), Type(&[F32, F64])], SET, SET_TEXT).since(90, 7, 8),
            row(Set, &[FLOAT_ORDER, FTZ, Type(&[U16, S16, U32, S32, F16]), Type(&[F16])], SET, SET_TEXT)
                .since(53, 4, 2)
                .needs(INTEGER_NEEDS),
            row(Set, &[FLOAT_ORDER, Type(&[BF16]), Type(&[F16])], SET, SET_TEXT).since(90, 7, 8),
            row(Set, &[FLOAT_ORDER, Type(&[U16, S16, U32, S32, BF16]), Type(&[BF16])], SET, SET_TEXT)
                .since(90, 7, 8),
            row(Set, &[FLOAT_ORDER, FTZ, Type(&[U32, S32, F16x2]), Type(&[F16x2])], SET, SET_TEXT)
                .since(53, 4, 2)
                .needs(INTEGER_NEEDS),
            row(Set, &[FLOAT_ORDER, Type(&[U32, S32, BF16x2]), Type(&[BF16x2])], SET, SET_TEXT)
                .since(90, 7, 8),
            row(Set, &[ORDER, COMBINE, SET_RESULT, SIGNED], SET_COMBINED, SET_TEXT_COMBINED),
            row(Set, &[UNSIGNED_ORDER, COMBINE, SET_RESULT, UNSIGNED], SET_COMBINED, SET_TEXT_COMBINED),
            row(Set, &[EQUALITY, COMBINE, SET_RESULT, BIT], SET_COMBINED, SET_TEXT_COMBINED),
            row(Set, &[FLOAT_ORDER, COMBINE, FTZ, SET_RESULT, Type(&[F32])], SET_COMBINED, SET_TEXT_COMBINED),
            row(Set, &[FLOAT_ORDER, COMBINE, SET_RESULT, Type(&[F64])], SET_COMBINED, SET_TEXT_COMBINED),
            row(Set, &[ORDER, COMBINE, HALF_RESULT, SIGNED], SET_COMBINED, SET_TEXT_COMBINED)
                .since(53, 4, 2)
                .needs(BF16_NEEDS),
            row(Set, &[UNSIGNED_ORDER, COMBINE, HALF_RESULT, UNSIGNED], SET_COMBINED, SET_TEXT_COMBINED)
                .since(53, 4, 2)
                .needs(BF16_NEEDS),
            row(Set, &[EQUALITY, COMBINE, HALF_RESULT, BIT], SET_COMBINED, SET_TEXT_COMBINED)
                .since(53, 4, 2)
                .needs(BF16_NEEDS),
            row(
                Set,
                &[FLOAT_ORDER, COMBINE, FTZ, Type(&[F16]), Type(&[F32])],
                SET_COMBINED,
                SET_TEXT_COMBINED,
            )
            .since(53, 4, 2),
            row(Set, &[FLOAT_ORDER, COMBINE, Type(&[F16]), Type(&[F64])], SET_COMBINED, SET_TEXT_COMBINED)
                .since(53, 4, 2),
            row(
                Set,
                &[FLOAT_ORDER, COMBINE, Type(&[BF16]), Type(&[F32, F64])],
                SET_COMBINED,
                SET_TEXT_COMBINED,
            )
            .since(90, 7, 8),
            row(
                Set,
                &[FLOAT_ORDER, COMBINE, FTZ, Type(&[U16, S16, U32, S32, F16]), Type(&[F16])],
                SET_COMBINED,
                SET_TEXT_COMBINED,
            )
            .since(53, 4, 2)
            .needs(INTEGER_NEEDS),
            row(Set, &[FLOAT_ORDER, COMBINE, Type(&[BF16]), Type(&[F16])], SET_COMBINED, SET_TEXT_COMBINED)
                .since(90, 7, 8),
            row(
                Set,
                &[FLOAT_ORDER, COMBINE, Type(&[U16, S16, U32, S32, BF16]), Type(&[BF16])],
                SET_COMBINED,
                SET_TEXT_COMBINED,
            )
            .since(90, 7, 8),
            row(
                Set,
                &[FLOAT_ORDER, COMBINE, FTZ, Type(&[U32, S32, F16x2]), Type(&[F16x2])],
                SET_COMBINED,
                SET_TEXT_COMBINED,
            )
            .since(53, 4, 2)
            .needs(INTEGER_NEEDS),
            row(
                Set,
                &[FLOAT_ORDER, COMBINE, Type(&[U32, S32, BF16x2]), Type(&[BF16x2])],
                SET_COMBINED,
                SET_TEXT_COMBINED,
            )
            .since(90, 7, 8),
        ],
    ),
    (
        Selp,
        &[row(
            Selp,
            &[Type(SELECTED)],
            &[D, A, B, PREDICATE],
            "Selects `a` where the predicate holds, else `b`.",
        )],
    ),
    (
        Slct,
        &[
            row(
                Slct,
                &[Type(SELECTED), Type(&[S32])],
                &[D, A, B, src("c", T1)],
                "Selects `a` where `c` is not negative, else `b`.",
            ),
            row(
                Slct,
                &[FTZ, Type(SELECTED), Type(&[F32])],
                &[D, A, B, src("c", T1)],
                "Selects `a` where `c` is not negative, else `b`.",
            ),
        ],
    ),
];
