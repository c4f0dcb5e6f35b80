//! Atomic operations and reductions on memory.
//!
//! Rows only.

use super::pieces::*;
use super::{Kind, Need, OperandRow, Row, Slot};
use crate::Opcode::{self, *};
use crate::Space;
use crate::Type::*;
use Slot::{May, MaySpace, Must, Type};

const ORDER: Slot = May(&["relaxed", "acquire", "release", "acq_rel"]);
const RED_ORDER: Slot = May(&["relaxed", "release"]);
const BITWISE: Slot = Must(&["and", "or", "xor"]);
const ADD: Slot = Must(&["add"]);
const COUNT: Slot = Must(&["inc", "dec"]);
const EXTREME: Slot = Must(&["min", "max"]);
const NOFTZ: Slot = Must(&["noftz"]);
const GLOBAL: Slot = MaySpace(&[Space::Global]);
const SUMMANDS: Slot = Type(&[U32, S32, U64, F32, F64]);
const LONG: Slot = Type(&[U32, S32, U64, S64]);
const HALVES: Slot = Type(&[F16, F16x2, BF16, BF16x2]);
const RESULT: OperandRow = any("d", Kind::DestinationOrSink, T);
const VECTOR_RESULT: OperandRow = any("d", Kind::VectorDestination, T);
const VECTOR_SOURCE: OperandRow = any("b", Kind::VectorSource, T);
const HINTED: Slot = Must(&["L2::cache_hint"]);
const FETCH: &[OperandRow] = &[RESULT, ADDRESS, B, POLICY];
const REDUCE: &[OperandRow] = &[ADDRESS, B, POLICY];
const TEXT: &str = "Reads, changes and writes memory in one step.";
const RED_TEXT: &str = "Changes memory in one step, without a result.";
const NEEDS: &[Need] = &[
    Need { token: "bf16", ptx: (7, 8), chip: 90 },
    Need { token: "bf16x2", ptx: (7, 8), chip: 90 },
    Need { token: "L2::cache_hint", ptx: (7, 4), chip: 80 },
    Need { token: "cluster", ptx: (7, 8), chip: 90 },
    Need { token: "relaxed", ptx: (6, 0), chip: 70 },
    Need { token: "acquire", ptx: (6, 0), chip: 70 },
    Need { token: "release", ptx: (6, 0), chip: 70 },
    Need { token: "acq_rel", ptx: (6, 0), chip: 70 },
    Need { token: "cta", ptx: (5, 0), chip: 60 },
    Need { token: "gpu", ptx: (5, 0), chip: 60 },
    Need { token: "sys", ptx: (5, 0), chip: 60 },
];

/// Rows of this family.
pub(super) const ROWS: &[(Opcode, &[Row])] = &[
    (
        Atom,
        &[
            row(Atom, &[ORDER, MAY_SCOPE, MEMORY_SPACES, ADD, SUMMANDS], &[RESULT, ADDRESS, B], TEXT)
                .since(11, 1, 1)
                .needs(NEEDS),
            row(Atom, &[ORDER, MAY_SCOPE, GLOBAL, ADD, HINTED, SUMMANDS], FETCH, TEXT)
                .since(11, 1, 1)
                .needs(NEEDS),
            row(
                Atom,
                &[ORDER, MAY_SCOPE, MEMORY_SPACES, BITWISE, Type(&[B32, B64])],
                &[RESULT, ADDRESS, B],
                TEXT,
            )
            .since(11, 1, 1)
            .needs(NEEDS),
            row(Atom, &[ORDER, MAY_SCOPE, GLOBAL, BITWISE, HINTED, Type(&[B32, B64])], FETCH, TEXT)
                .since(11, 1, 1)
                .needs(NEEDS),
            row(Atom, &[ORDER, MAY_SCOPE, MEMORY_SPACES, COUNT, Type(&[U32])], &[RESULT, ADDRESS, B], TEXT)
                .since(11, 1, 1)
                .needs(NEEDS),
            row(Atom, &[ORDER, MAY_SCOPE, GLOBAL, COUNT, HINTED, Type(&[U32])], FETCH, TEXT)
                .since(11, 1, 1)
                .needs(NEEDS),
            row(Atom, &[ORDER, MAY_SCOPE, MEMORY_SPACES, EXTREME, LONG], &[RESULT, ADDRESS, B], TEXT)
                .since(11, 1, 1)
                .needs(NEEDS),
            row(Atom, &[ORDER, MAY_SCOPE, GLOBAL, EXTREME, HINTED, LONG], FETCH, TEXT)
                .since(11, 1, 1)
                .needs(NEEDS),
            row(
                Atom,
                &[ORDER, MAY_SCOPE, MEMORY_SPACES, Must(&["exch"]), Type(&[B32, B64])],
                &[RESULT, ADDRESS, B],
                TEXT,
            )
            .since(11, 1, 1)
            .needs(NEEDS),
            row(Atom, &[ORDER, MAY_SCOPE, GLOBAL, Must(&["exch"]), HINTED, Type(&[B32, B64])], FETCH, TEXT)
                .since(11, 1, 1)
                .needs(NEEDS),
            row(
                Atom,
                &[ORDER, MAY_SCOPE, MEMORY_SPACES, Must(&["cas"]), Type(&[B16, B32, B64])],
                &[RESULT, ADDRESS, B, C],
                "Writes `c` where memory holds `b`, in one step.",
            )
            .since(11, 1, 1)
            .needs(NEEDS),
            row(
                Atom,
                &[ORDER, MAY_SCOPE, MEMORY_SPACES, Must(&["exch"]), Type(&[B128])],
                &[RESULT, ADDRESS, B],
                TEXT,
            )
            .since(90, 8, 3)
            .needs(NEEDS)
            .later(),
            row(Atom, &[ORDER, MAY_SCOPE, GLOBAL, Must(&["exch"]), HINTED, Type(&[B128])], FETCH, TEXT)
                .since(90, 8, 3)
                .needs(NEEDS)
                .later(),
            row(
                Atom,
                &[ORDER, MAY_SCOPE, MEMORY_SPACES, Must(&["cas"]), Type(&[B128])],
                &[RESULT, ADDRESS, B, C],
                "Writes `c` where memory holds `b`, in one step.",
            )
            .since(90, 8, 3)
            .needs(NEEDS)
            .later(),
            row(Atom, &[ORDER, MAY_SCOPE, MEMORY_SPACES, ADD, NOFTZ, HALVES], &[RESULT, ADDRESS, B], TEXT)
                .since(70, 6, 3)
                .needs(NEEDS),
            row(Atom, &[ORDER, MAY_SCOPE, GLOBAL, ADD, NOFTZ, HINTED, HALVES], FETCH, TEXT)
                .since(70, 6, 3)
                .needs(NEEDS),
            row(
                Atom,
                &[ORDER, MAY_SCOPE, GLOBAL, ADD, HINT, Slot::Vector(&[2, 4]), Type(&[F32])],
                &[VECTOR_RESULT, ADDRESS, VECTOR_SOURCE, POLICY],
                "Adds to each element of a vector in memory.",
            )
            .since(90, 8, 1)
            .needs(NEEDS),
            row(
                Atom,
                &[
                    ORDER,
                    MAY_SCOPE,
                    GLOBAL,
                    Must(&["add", "min", "max"]),
                    NOFTZ,
                    HINT,
                    Slot::Vector(&[2, 4, 8]),
                    HALVES,
                ],
                &[VECTOR_RESULT, ADDRESS, VECTOR_SOURCE, POLICY],
                "Changes each element of a vector of halves in memory.",
            )
            .since(90, 8, 1)
            .needs(NEEDS)
            .later(),
        ],
    ),
    (
        Red,
        &[
            row(Red, &[RED_ORDER, MAY_SCOPE, MEMORY_SPACES, ADD, SUMMANDS], &[ADDRESS, B], RED_TEXT)
                .since(11, 1, 2)
                .needs(NEEDS),
            row(Red, &[RED_ORDER, MAY_SCOPE, GLOBAL, ADD, HINTED, SUMMANDS], REDUCE, RED_TEXT)
                .since(11, 1, 2)
                .needs(NEEDS),
            row(
                Red,
                &[RED_ORDER, MAY_SCOPE, MEMORY_SPACES, BITWISE, Type(&[B32, B64])],
                &[ADDRESS, B],
                RED_TEXT,
            )
            .since(11, 1, 2)
            .needs(NEEDS),
            row(Red, &[RED_ORDER, MAY_SCOPE, GLOBAL, BITWISE, HINTED, Type(&[B32, B64])], REDUCE, RED_TEXT)
                .since(11, 1, 2)
                .needs(NEEDS),
            row(Red, &[RED_ORDER, MAY_SCOPE, MEMORY_SPACES, COUNT, Type(&[U32])], &[ADDRESS, B], RED_TEXT)
                .since(11, 1, 2)
                .needs(NEEDS),
            row(Red, &[RED_ORDER, MAY_SCOPE, GLOBAL, COUNT, HINTED, Type(&[U32])], REDUCE, RED_TEXT)
                .since(11, 1, 2)
                .needs(NEEDS),
            row(Red, &[RED_ORDER, MAY_SCOPE, MEMORY_SPACES, EXTREME, LONG], &[ADDRESS, B], RED_TEXT)
                .since(11, 1, 2)
                .needs(NEEDS),
            row(Red, &[RED_ORDER, MAY_SCOPE, GLOBAL, EXTREME, HINTED, LONG], REDUCE, RED_TEXT)
                .since(11, 1, 2)
                .needs(NEEDS),
            row(Red, &[RED_ORDER, MAY_SCOPE, MEMORY_SPACES, ADD, NOFTZ, HALVES], &[ADDRESS, B], RED_TEXT)
                .since(70, 6, 3)
                .needs(NEEDS),
            row(Red, &[RED_ORDER, MAY_SCOPE, GLOBAL, ADD, NOFTZ, HINTED, HALVES], REDUCE, RED_TEXT)
                .since(70, 6, 3)
                .needs(NEEDS),
            row(
                Red,
                &[RED_ORDER, MAY_SCOPE, GLOBAL, ADD, HINT, Slot::Vector(&[2, 4]), Type(&[F32])],
                &[ADDRESS, VECTOR_SOURCE, POLICY],
                "Adds to each element of a vector in memory.",
            )
            .since(90, 8, 1)
            .needs(NEEDS),
            row(
                Red,
                &[
                    RED_ORDER,
                    MAY_SCOPE,
                    GLOBAL,
                    Must(&["add", "min", "max"]),
                    NOFTZ,
                    HINT,
                    Slot::Vector(&[2, 4, 8]),
                    HALVES,
                ],
                &[ADDRESS, VECTOR_SOURCE, POLICY],
                "Changes each element of a vector of halves in memory.",
            )
            .since(90, 8, 1)
            .needs(NEEDS)
            .later(),
            row(
                Red,
                &[
                    Must(&["async"]),
                    May(&["relaxed"]),
                    May(&["cluster", "gpu"]),
                    May(&["mbarrier::complete_tx::bytes"]),
                    MaySpace(&[Space::SharedCluster]),
                    Must(&["inc", "dec", "min", "max", "add", "and", "or", "xor"]),
                    Type(&[U32, S32, U64, S64, B32, B64]),
                ],
                &[ADDRESS, B, any("mbar", Kind::Address, super::OperandType::AnyInteger)],
                "Changes the shared memory of another block and signals a barrier object.",
            )
            .since(90, 8, 1)
            .later(),
        ],
    ),
    (
        Multimem,
        &[row(Multimem, &[Slot::Anything], &[REST], "Accesses the same address of several devices.")
            .since(90, 8, 1)
            .later()],
    ),
];
