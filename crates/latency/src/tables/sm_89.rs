//! Latencies of sm_89, and of sm_86 and sm_88, for which ptxas emits the same code bit for bit: differences from
//! sm_80. `observed`: the minimum distance that ptxas left between such a pair, for the slowest frequent opcode of
//! the group; `inferred`: that of sm_90, whose units are alike; `unseen`: seen on sm_80, but not often enough here.

use super::sm_80;
use crate::Class;
use crate::group::{Consumer as C, Producer as P};
use crate::table::{Cell, Row, Tables, Timing};
use oriole_sass::Op;

const fn observed(cycles: u8) -> Cell {
    Cell::observed(cycles)
}

const fn inferred(cycles: u8) -> Cell {
    Cell::inferred(cycles)
}

const fn unseen() -> Cell {
    Cell::unseen()
}

/// Read after write.
const RAW: &[Row<P, C>] = &[
    Row::new(P::Alu, 7, &[(C::HalfMma, unseen())]),
    Row::new(P::Fma, 7, &[(C::HalfToSingle, unseen()), (C::HalfMma, unseen())]),
    Row::new(P::WideLow, 7, &[(C::ToUniform, observed(5)), (C::ConstantIndex, unseen())]),
    Row::new(P::WideHigh, 7, &[(C::ToUniform, observed(4)), (C::ConstantIndex, observed(4))]),
    Row::new(
        P::WideSingle,
        7,
        &[
            (C::HalfMma, unseen()),
            (C::Matrix, unseen()),
            (C::MatrixAccumulator, unseen()),
            (C::Address, unseen()),
        ],
    ),
    Row::new(P::Half, 8, &[(C::HalfMma, unseen()), (C::MatrixTwo, observed(8)), (C::Address, observed(6))]),
    Row::new(P::HalfToSingle, 7, &[(C::MatrixAccumulator, observed(7))]),
    Row::new(
        P::HalfAlu,
        7,
        &[
            (C::HalfToSingle, observed(5)),
            (C::HalfMma, unseen()),
            (C::Matrix, unseen()),
            (C::ToUniform, unseen()),
        ],
    ),
    Row::new(
        P::HalfMma,
        11,
        &[
            (C::Alu, unseen()),
            (C::Fma, unseen()),
            (C::Wide, unseen()),
            (C::WideHigh, unseen()),
            (C::Half, unseen()),
            (C::HalfToSingle, unseen()),
            (C::HalfAlu, unseen()),
            (C::HalfMma, unseen()),
            (C::Double, unseen()),
            (C::Special, unseen()),
            (C::ToUniform, unseen()),
            (C::Address, unseen()),
            (C::Data, unseen()),
            (C::ConstantIndex, unseen()),
            (C::Control, unseen()),
        ],
    ),
    Row::new(P::Mask, 8, &[(C::Alu, observed(4))]),
    Row::new(
        P::Dispatch64,
        14,
        &[
            (C::Matrix, observed(7)),
            (C::Special, observed(6)),
            (C::ToUniform, unseen()),
            (C::Address, unseen()),
        ],
    ),
    Row::new(
        P::Matrix88,
        17,
        &[
            (C::Wide, observed(17)),
            (C::MatrixInteger, unseen()),
            (C::MatrixTwo, unseen()),
            (C::MatrixTwoAccumulator, unseen()),
            (C::Address, unseen()),
            (C::ConstantIndex, unseen()),
        ],
    ),
    Row::new(P::MatrixOne, 20, &[(C::MatrixInteger, observed(19)), (C::MatrixTwo, unseen())]),
    Row::new(P::MatrixTwo, 36, &[(C::MatrixInteger, observed(32)), (C::MatrixTwo, observed(31))]),
    Row::new(
        P::HalfPredicate,
        13,
        &[(C::HalfPredicate, unseen()), (C::DoublePredicate, unseen()), (C::SlowPredicate, unseen())],
    ),
    Row::new(P::Uniform, 12, &[(C::TextureHandle, observed(9)), (C::ControlUniform, unseen())]),
    Row::new(P::UniformLoad, 5, &[(C::UniformIndex, unseen()), (C::ControlUniform, observed(3))]),
];

/// Write after write, both of fixed latency.
const WAW: &[Row<P, P>] = &[
    Row::new(P::Alu, 7, &[(P::HalfMma, unseen()), (P::Matrix88, observed(6))]),
    Row::new(
        P::Fma,
        7,
        &[
            (P::Fma, observed(1)),
            (P::WideLow, observed(2)),
            (P::Half, observed(1)),
            (P::HalfMma, unseen()),
            (P::Mask, observed(6)),
            (P::Dispatch64, observed(7)),
            (P::Matrix88, observed(7)),
        ],
    ),
    Row::new(P::WideHigh, 7, &[(P::HalfMma, unseen())]),
    Row::new(
        P::WideSingle,
        7,
        &[
            (P::WideSingle, observed(6)),
            (P::Half, observed(5)),
            (P::HalfToSingle, unseen()),
            (P::HalfMma, unseen()),
        ],
    ),
    Row::new(
        P::Half,
        7,
        &[
            (P::Alu, observed(2)),
            (P::WideLow, unseen()),
            (P::WideHigh, unseen()),
            (P::WideSingle, observed(5)),
        ],
    ),
    Row::new(P::HalfToSingle, 7, &[(P::Alu, observed(5))]),
    Row::new(
        P::HalfAlu,
        7,
        &[
            (P::Alu, observed(2)),
            (P::Fma, observed(3)),
            (P::WideSingle, unseen()),
            (P::MatrixOne, observed(7)),
        ],
    ),
    Row::new(
        P::HalfMma,
        11,
        &[
            (P::Alu, unseen()),
            (P::Fma, unseen()),
            (P::WideLow, unseen()),
            (P::WideHigh, unseen()),
            (P::WideSingle, unseen()),
        ],
    ),
    Row::new(P::Mask, 8, &[(P::Fma, observed(1))]),
    Row::new(P::Dispatch64, 18, &[(P::Dispatch64, observed(17))]),
    Row::new(P::Matrix88, 17, &[(P::MatrixTwo, unseen())]),
    Row::new(
        P::MatrixOne,
        20,
        &[
            (P::WideHigh, observed(14)),
            (P::WideSingle, unseen()),
            (P::HalfAlu, unseen()),
            (P::Matrix88, observed(8)),
            (P::MatrixOne, observed(16)),
        ],
    ),
    Row::new(
        P::MatrixTwo,
        28,
        &[
            (P::WideLow, unseen()),
            (P::WideHigh, unseen()),
            (P::WideSingle, observed(24)),
            (P::Half, unseen()),
            (P::HalfAlu, unseen()),
            (P::Matrix88, observed(16)),
            (P::MatrixOne, unseen()),
        ],
    ),
    Row::new(P::AluPredicate, 13, &[(P::FmaPredicate, observed(5))]),
    Row::new(P::FmaPredicate, 28, &[(P::FmaPredicate, observed(28))]),
    Row::new(P::HalfPredicate, 13, &[(P::HalfPredicate, unseen())]),
    Row::new(P::MaskPredicate, 20, &[(P::AluPredicate, observed(20))]),
    Row::new(P::Uniform, 12, &[(P::Uniform, observed(2)), (P::UniformMove, observed(10))]),
    Row::new(P::UniformLoad, 5, &[(P::UniformVote, unseen())]),
    Row::new(P::UniformMove, 7, &[(P::UniformLoad, observed(7))]),
];

/// A write by scoreboard after one of fixed latency.
const WAW_VARIABLE_OF: &[(P, Cell)] = &[
    (P::HalfToSingle, observed(6)),
    (P::HalfMma, inferred(11)),
    (P::Matrix88, inferred(17)),
    (P::MatrixOne, observed(10)),
];

/// Write after read, both of fixed latency.
const WAR: &[(C, P, Cell)] = &[
    (C::Alu, P::HalfAlu, observed(2)),
    (C::Alu, P::HalfMma, inferred(1)),
    (C::Alu, P::MatrixOne, observed(2)),
    (C::Fma, P::Fma, observed(1)),
    (C::Fma, P::HalfMma, inferred(1)),
    (C::Fma, P::Matrix88, observed(7)),
    (C::Wide, P::Half, inferred(4)),
    (C::Wide, P::HalfMma, inferred(1)),
    (C::WideLow, P::Fma, observed(2)),
    (C::WideHigh, P::Fma, observed(1)),
    (C::Half, P::WideSingle, observed(1)),
    (C::Half, P::HalfAlu, unseen()),
    (C::HalfAlu, P::Alu, observed(2)),
    (C::HalfAlu, P::Half, unseen()),
    (C::HalfAlu, P::HalfAlu, unseen()),
    (C::HalfMma, P::Alu, unseen()),
    (C::HalfMma, P::Fma, unseen()),
    (C::HalfMma, P::HalfMma, inferred(2)),
    (C::Matrix, P::Matrix88, inferred(4)),
    (C::Matrix, P::MatrixOne, observed(4)),
    (C::MatrixInteger, P::MatrixOne, inferred(4)),
    (C::MatrixTwo, P::Matrix88, inferred(6)),
    (C::MatrixTwo, P::MatrixOne, inferred(6)),
    (C::MatrixAccumulator, P::Matrix88, inferred(4)),
    (C::MatrixAccumulator, P::MatrixOne, observed(4)),
    (C::Control, P::Alu, unseen()),
    (C::Control, P::Fma, unseen()),
    (C::AluPredicate, P::FmaPredicate, observed(1)),
    (C::AluPredicate, P::HalfPredicate, unseen()),
    (C::FmaPredicate, P::HalfPredicate, unseen()),
    (C::WidePredicate, P::AluPredicate, unseen()),
    (C::SlowPredicate, P::AluPredicate, observed(4)),
    (C::Guard, P::HalfPredicate, unseen()),
    (C::Uniform, P::Uniform, observed(4)),
    (C::VectorUniform, P::UniformVote, inferred(1)),
    (C::ControlUniform, P::UniformLoad, unseen()),
    (C::VectorUniformPredicate, P::UniformPredicate, observed(1)),
];

/// Write by scoreboard after a read of fixed latency.
const WAR_VARIABLE: &[(C, Cell)] = &[
    (C::WideLow, unseen()),
    (C::HalfMma, unseen()),
    (C::MatrixInteger, inferred(1)),
    (C::Control, unseen()),
    (C::FmaPredicate, unseen()),
    (C::ControlUniform, unseen()),
];

/// Shared with sm_87.
pub const TIMING: Timing = Timing {
    like: Some(&sm_80::TIMING),
    // f64: two results a clock for the whole multiprocessor, as the CUDA programming guide says.
    intervals: &[(Class::Fma, 1), (Class::Double, 16)],
    intervals_of: &[(Op::IMAD, Class::Fma, 2), (Op::IDP, Class::Fma, 2)],
    estimates: &[(Op::DADD, 48), (Op::DMUL, 48), (Op::DFMA, 48), (Op::DSETP, 48)],
    ..Timing::NONE
};

/// The table of sm_86, sm_88 and sm_89.
pub const TABLES: Tables = Tables {
    chips: &[86, 88, 89],
    like: Some(&sm_80::TABLES),
    raw: RAW,
    waw: WAW,
    waw_variable_of: WAW_VARIABLE_OF,
    war: WAR,
    war_variable: WAR_VARIABLE,
    timing: &TIMING,
    ..sm_80::TABLES
};
