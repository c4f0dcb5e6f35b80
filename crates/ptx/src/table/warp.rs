//! Instructions through which the lanes of a warp talk to each other.
//!
//! Rows only.

use super::pieces::*;
use super::{Chips, Kind, OperandRow, Row, Slot};
use crate::Opcode::{self, *};
use crate::Type::*;
use Slot::{May, Must, Type};

const LANES: &[OperandRow] = &[any("d", Kind::PairDestination, T), A, src("b", W), src("c", W)];
const SYNC_LANES: &[OperandRow] = &[any("d", Kind::PairDestination, T), A, src("b", W), src("c", W), MEMBERS];
const MODE: Slot = Must(&["up", "down", "bfly", "idx"]);
const VOTED: OperandRow = any("a", Kind::Predicate, P);
const FLOATING: Chips = Chips::Family(&[100, 101, 103, 110]);

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Shfl,
        &[
            row(Shfl, &[SYNC, MODE, Type(&[B32])], SYNC_LANES, "Reads a register of another lane.")
                .since(30, 6, 0),
            row(
                Shfl,
                &[MODE, Type(&[B32])],
                LANES,
                "Reads a register of another lane, without naming the lanes.",
            )
            .only(Chips::Before(70), 3, 0)
            .later(),
        ],
    ),
    (
        Vote,
        &[
            row(
                Vote,
                &[SYNC, Must(&["all", "any", "uni"]), Type(&[Pred])],
                &[dst(P), VOTED, MEMBERS],
                "Whether a predicate holds in all, in any, or alike in all lanes.",
            )
            .since(30, 6, 0),
            row(
                Vote,
                &[SYNC, Must(&["ballot"]), Type(&[B32])],
                &[D, VOTED, MEMBERS],
                "The lanes in which a predicate holds.",
            )
            .since(30, 6, 0),
            row(
                Vote,
                &[Must(&["all", "any", "uni"]), Type(&[Pred])],
                &[dst(P), VOTED],
                "Whether a predicate holds, without naming the lanes.",
            )
            .only(Chips::Before(70), 1, 2)
            .later(),
            row(
                Vote,
                &[Must(&["ballot"]), Type(&[B32])],
                &[D, VOTED],
                "The lanes in which a predicate holds, without naming the lanes.",
            )
            .only(Chips::Before(70), 2, 0)
            .later(),
        ],
    ),
    (
        Match,
        &[
            row(
                Match,
                &[Must(&["any"]), SYNC, Type(&[B32, B64])],
                &[DW, A, MEMBERS],
                "The lanes that hold the same value as this one.",
            )
            .since(70, 6, 0),
            row(
                Match,
                &[Must(&["all"]), SYNC, Type(&[B32, B64])],
                &[any("d", Kind::PairDestination, W), A, MEMBERS],
                "All lanes if all hold the same value, else zero.",
            )
            .since(70, 6, 0),
        ],
    ),
    (
        Redux,
        &[
            row(
                Redux,
                &[SYNC, Must(&["add", "min", "max"]), Type(&[U32, S32])],
                &[D, A, MEMBERS],
                "Reduces a value over the lanes.",
            )
            .since(80, 7, 0),
            row(
                Redux,
                &[SYNC, Must(&["and", "or", "xor"]), Type(&[B32])],
                &[D, A, MEMBERS],
                "Reduces a value over the lanes.",
            )
            .since(80, 7, 0),
            row(
                Redux,
                &[SYNC, Must(&["min", "max"]), May(&["abs"]), May(&["NaN"]), Type(&[F32])],
                &[D, A, MEMBERS],
                "Reduces a floating-point value over the lanes.",
            )
            .only(FLOATING, 8, 6)
            .later(),
        ],
    ),
    (
        Activemask,
        &[row(Activemask, &[Type(&[B32])], &[D], "The lanes that execute this instruction.").since(30, 6, 2)],
    ),
    (
        Elect,
        &[row(
            Elect,
            &[SYNC],
            &[any("d", Kind::PairDestination, W), MEMBERS],
            "Elects one lane and says whether it is this one.",
        )
        .since(90, 8, 0)
        .later()],
    ),
];
