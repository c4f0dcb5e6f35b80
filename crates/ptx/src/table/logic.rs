//! Logic, shifts and byte permutation.
//!
//! Rows only.

use super::pieces::*;
use super::{Kind, Row, Slot};
use crate::Opcode::{self, *};
use crate::Type::*;
use Slot::{May, Must, Type};

const LOGICAL: Slot = Type(&[Pred, B16, B32, B64]);
const TABLE: super::OperandRow = any("immLut", Kind::Constant(i64::MIN, i64::MAX), W);

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (And, &[row(And, &[LOGICAL], &[D, A, B], "Bitwise and.")]),
    (Or, &[row(Or, &[LOGICAL], &[D, A, B], "Bitwise or.")]),
    (Xor, &[row(Xor, &[LOGICAL], &[D, A, B], "Bitwise exclusive or.")]),
    (Not, &[row(Not, &[LOGICAL], &[D, A], "Bitwise complement.")]),
    (Cnot, &[row(Cnot, &[Type(BITS)], &[D, A], "One where the operand is zero, else zero.")]),
    (
        Lop3,
        &[
            row(Lop3, &[Type(&[B32])], &[D, A, B, C, TABLE], "Any bitwise function of three operands.")
                .since(50, 4, 3),
            row(
                Lop3,
                &[Must(&["or", "and"]), Type(&[B32])],
                &[any("d", Kind::BothDestinations, T), A, B, C, TABLE, any("q", Kind::Predicate, P)],
                "Any bitwise function of three operands, and a predicate that says whether it is nonzero.",
            )
            .since(70, 8, 2),
        ],
    ),
    (Shl, &[row(Shl, &[Type(BITS)], &[D, A, src("b", W)], "Shifts left; large amounts give zero.")]),
    (
        Shr,
        &[row(
            Shr,
            &[Type(&[B16, B32, B64, U16, U32, U64, S16, S32, S64])],
            &[D, A, src("b", W)],
            "Shifts right, with the sign for signed types.",
        )],
    ),
    (
        Shf,
        &[row(
            Shf,
            &[Slot::Head(&["l", "r"]), Must(&["clamp", "wrap"]), Type(&[B32])],
            &[D, A, B, src("c", W)],
            "Shifts the 64-bit value of two registers and keeps one half.",
        )
        .since(32, 3, 1)],
    ),
    (
        Prmt,
        &[row(
            Prmt,
            &[Type(&[B32]), May(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])],
            &[D, A, B, src("c", W)],
            "Picks four bytes out of two registers.",
        )
        .since(20, 2, 0)],
    ),
];
