//! Latencies of sm_75: differences from sm_80. `observed`: the minimum distance that ptxas left between such a pair;
//! `inferred`: that of a similar group; `unseen`: the longest latency of its producer. Matrix instructions report by
//! scoreboard, as the 64-bit floating-point unit and `R2UR` do; there is no `HFMA2.MMA`.

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
    Row::new(
        P::Alu,
        8,
        &[
            (C::Alu, observed(4)),
            (C::Fma, observed(5)),
            (C::Wide, observed(5)),
            (C::WideLow, observed(5)),
            (C::WideHigh, observed(5)),
            (C::Half, observed(6)),
            (C::HalfToSingle, observed(6)),
            (C::HalfAlu, observed(6)),
            (C::Double, observed(6)),
            (C::Matrix, observed(6)),
            (C::MatrixInteger, inferred(8)),
            (C::MatrixAccumulator, observed(6)),
            (C::Special, observed(6)),
            (C::ToUniform, inferred(8)),
            (C::Address, observed(8)),
            (C::Data, observed(8)),
            (C::ConstantIndex, observed(6)),
            (C::Control, observed(6)),
            (C::HalfMma, unseen()),
            (C::MatrixTwo, inferred(8)),
            (C::MatrixTwoAccumulator, inferred(8)),
            (C::MatrixDouble, unseen()),
        ],
    ),
    Row::new(
        P::Fma,
        8,
        &[
            (C::Alu, observed(5)),
            (C::Fma, observed(4)),
            (C::Wide, observed(4)),
            (C::WideLow, observed(4)),
            (C::WideHigh, observed(4)),
            (C::Half, observed(6)),
            (C::HalfToSingle, observed(6)),
            (C::HalfAlu, observed(6)),
            (C::Double, observed(6)),
            (C::Matrix, observed(6)),
            (C::MatrixInteger, observed(8)),
            (C::MatrixAccumulator, observed(6)),
            (C::Special, observed(6)),
            (C::ToUniform, observed(8)),
            (C::Address, observed(8)),
            (C::Data, observed(8)),
            (C::ConstantIndex, observed(6)),
            (C::Control, observed(6)),
            (C::HalfMma, unseen()),
            (C::MatrixTwo, inferred(8)),
            (C::MatrixTwoAccumulator, inferred(8)),
            (C::MatrixDouble, unseen()),
        ],
    ),
    Row::new(
        P::WideLow,
        8,
        &[
            (C::Alu, observed(5)),
            (C::Fma, observed(4)),
            (C::Wide, observed(6)),
            (C::WideLow, observed(6)),
            (C::Half, observed(6)),
            (C::HalfToSingle, inferred(6)),
            (C::HalfAlu, inferred(6)),
            (C::Double, observed(6)),
            (C::Special, observed(6)),
            (C::ToUniform, inferred(8)),
            (C::Address, observed(8)),
            (C::Data, observed(8)),
            (C::ConstantIndex, inferred(6)),
        ],
    ),
    Row::new(
        P::WideHigh,
        8,
        &[
            (C::Alu, observed(5)),
            (C::Fma, observed(4)),
            (C::Wide, observed(6)),
            (C::WideHigh, observed(6)),
            (C::Half, inferred(6)),
            (C::HalfToSingle, inferred(6)),
            (C::HalfAlu, inferred(6)),
            (C::Double, observed(6)),
            (C::Special, observed(6)),
            (C::ToUniform, inferred(8)),
            (C::Address, observed(8)),
            (C::Data, observed(8)),
            (C::ConstantIndex, inferred(6)),
        ],
    ),
    Row::new(
        P::WideSingle,
        8,
        &[
            (C::Alu, observed(5)),
            (C::Fma, observed(4)),
            (C::Wide, observed(6)),
            (C::WideLow, inferred(6)),
            (C::Half, observed(6)),
            (C::HalfToSingle, observed(6)),
            (C::HalfAlu, inferred(6)),
            (C::Matrix, inferred(8)),
            (C::MatrixInteger, inferred(8)),
            (C::MatrixAccumulator, inferred(8)),
            (C::Special, observed(6)),
            (C::ToUniform, inferred(8)),
            (C::Address, inferred(8)),
            (C::Data, observed(8)),
            (C::ConstantIndex, inferred(6)),
            (C::HalfMma, unseen()),
        ],
    ),
    Row::new(
        P::Half,
        10,
        &[
            (C::Alu, observed(8)),
            (C::Fma, observed(8)),
            (C::Wide, observed(8)),
            (C::Half, observed(6)),
            (C::HalfToSingle, observed(6)),
            (C::HalfAlu, observed(6)),
            (C::Matrix, observed(8)),
            (C::MatrixInteger, observed(8)),
            (C::MatrixAccumulator, observed(8)),
            (C::Special, observed(8)),
            (C::ToUniform, inferred(10)),
            (C::Address, inferred(8)),
            (C::Data, observed(8)),
            (C::ConstantIndex, inferred(8)),
            (C::HalfMma, unseen()),
            (C::MatrixTwo, unseen()),
        ],
    ),
    Row::new(
        P::HalfToSingle,
        10,
        &[
            (C::Alu, observed(8)),
            (C::Fma, observed(8)),
            (C::Wide, inferred(8)),
            (C::Half, inferred(8)),
            (C::HalfToSingle, inferred(8)),
            (C::HalfAlu, inferred(8)),
            (C::MatrixAccumulator, inferred(8)),
            (C::Special, observed(8)),
            (C::Address, inferred(8)),
            (C::Data, observed(8)),
        ],
    ),
    Row::new(
        P::HalfAlu,
        10,
        &[
            (C::Alu, observed(8)),
            (C::Fma, observed(8)),
            (C::Wide, observed(8)),
            (C::Half, observed(6)),
            (C::HalfToSingle, inferred(8)),
            (C::HalfAlu, inferred(6)),
            (C::Matrix, inferred(8)),
            (C::MatrixInteger, inferred(8)),
            (C::MatrixAccumulator, inferred(8)),
            (C::Special, inferred(8)),
            (C::ToUniform, inferred(10)),
            (C::Address, inferred(8)),
            (C::Data, observed(8)),
            (C::ConstantIndex, inferred(8)),
            (C::HalfMma, unseen()),
        ],
    ),
    Row::new(P::Mask, 15, &[(C::Alu, observed(4)), (C::Data, unseen())]),
    Row::new(
        P::Dispatch64,
        15,
        &[
            (C::Alu, observed(6)),
            (C::Fma, observed(6)),
            (C::Wide, observed(6)),
            (C::MatrixTwo, unseen()),
            (C::Special, observed(6)),
            (C::ToUniform, unseen()),
            (C::Address, observed(9)),
            (C::Data, observed(8)),
        ],
    ),
    Row::new(
        P::AluPredicate,
        13,
        &[
            (C::AluPredicate, observed(4)),
            (C::FmaPredicate, observed(5)),
            (C::WidePredicate, observed(5)),
            (C::HalfPredicate, inferred(12)),
            (C::DoublePredicate, observed(12)),
            (C::Guard, observed(12)),
            (C::SlowPredicate, observed(12)),
        ],
    ),
    Row::new(P::FmaPredicate, 13, &[(C::AluPredicate, observed(5)), (C::FmaPredicate, observed(4))]),
    Row::new(P::MaskPredicate, 13, &[(C::Guard, observed(12))]),
    Row::new(P::HalfPredicate, 15, &[(C::AluPredicate, observed(8)), (C::Guard, observed(14))]),
    Row::new(P::UniformMove, 7, &[(C::UniformIndex, observed(5))]),
];

/// Write after write, both of fixed latency.
const WAW: &[Row<P, P>] = &[
    Row::new(
        P::Alu,
        8,
        &[
            (P::Alu, observed(4)),
            (P::Fma, observed(5)),
            (P::WideLow, inferred(5)),
            (P::WideHigh, inferred(5)),
            (P::WideSingle, observed(5)),
            (P::Half, observed(6)),
            (P::HalfToSingle, inferred(6)),
            (P::HalfAlu, observed(6)),
            (P::HalfMma, unseen()),
            (P::Mask, unseen()),
            (P::Dispatch64, observed(7)),
        ],
    ),
    Row::new(
        P::Fma,
        8,
        &[
            (P::Alu, observed(5)),
            (P::Fma, observed(4)),
            (P::WideLow, inferred(4)),
            (P::WideHigh, inferred(4)),
            (P::WideSingle, observed(4)),
            (P::Half, observed(6)),
            (P::HalfToSingle, inferred(6)),
            (P::HalfAlu, observed(6)),
            (P::HalfMma, unseen()),
            (P::Dispatch64, unseen()),
            (P::OtherGeneral, observed(5)),
        ],
    ),
    Row::new(
        P::WideLow,
        8,
        &[
            (P::Alu, observed(5)),
            (P::Fma, observed(4)),
            (P::WideLow, observed(6)),
            (P::WideSingle, observed(6)),
            (P::Dispatch64, unseen()),
        ],
    ),
    Row::new(
        P::WideHigh,
        8,
        &[
            (P::Alu, observed(5)),
            (P::Fma, observed(4)),
            (P::WideHigh, observed(6)),
            (P::WideSingle, observed(6)),
            (P::HalfMma, unseen()),
            (P::Dispatch64, unseen()),
        ],
    ),
    Row::new(
        P::WideSingle,
        8,
        &[
            (P::Alu, observed(5)),
            (P::Fma, observed(4)),
            (P::WideLow, observed(6)),
            (P::WideHigh, observed(6)),
            (P::WideSingle, observed(6)),
            (P::HalfToSingle, inferred(6)),
            (P::HalfMma, unseen()),
        ],
    ),
    Row::new(
        P::Half,
        10,
        &[
            (P::Alu, observed(8)),
            (P::Fma, observed(8)),
            (P::WideLow, inferred(8)),
            (P::WideHigh, inferred(8)),
            (P::WideSingle, observed(8)),
            (P::Half, observed(6)),
            (P::HalfAlu, observed(6)),
        ],
    ),
    Row::new(
        P::HalfToSingle,
        10,
        &[(P::Alu, inferred(8)), (P::Fma, inferred(8)), (P::HalfToSingle, inferred(6))],
    ),
    Row::new(
        P::HalfAlu,
        10,
        &[(P::Alu, observed(8)), (P::Fma, inferred(8)), (P::WideSingle, inferred(8)), (P::Half, observed(6))],
    ),
    Row::new(
        P::Mask,
        15,
        &[(P::Alu, unseen()), (P::Mask, unseen()), (P::Dispatch64, unseen()), (P::Fma, unseen())],
    ),
    Row::new(
        P::Dispatch64,
        18,
        &[(P::Alu, inferred(11)), (P::Fma, observed(11)), (P::Dispatch64, observed(17))],
    ),
    Row::new(
        P::AluPredicate,
        13,
        &[
            (P::AluPredicate, observed(4)),
            (P::FmaPredicate, inferred(7)),
            (P::HalfPredicate, observed(12)),
            (P::MaskPredicate, unseen()),
        ],
    ),
    Row::new(P::HalfPredicate, 15, &[(P::AluPredicate, observed(8)), (P::HalfPredicate, unseen())]),
];

/// A write by scoreboard after one of fixed latency.
const WAW_VARIABLE_OF: &[(P, Cell)] = &[
    (P::Alu, observed(6)),
    (P::Fma, observed(5)),
    (P::WideLow, observed(6)),
    (P::WideHigh, observed(6)),
    (P::WideSingle, observed(6)),
    (P::Half, observed(8)),
    (P::HalfToSingle, inferred(8)),
    (P::HalfAlu, inferred(8)),
    (P::Dispatch64, observed(11)),
    (P::AluPredicate, observed(12)),
];

/// Write after read, both of fixed latency.
const WAR: &[(C, P, Cell)] = &[
    (C::Alu, P::Alu, observed(2)),
    (C::Alu, P::Half, observed(2)),
    (C::Alu, P::HalfToSingle, inferred(2)),
    (C::Alu, P::HalfAlu, observed(2)),
    (C::Fma, P::Half, observed(2)),
    (C::Fma, P::HalfToSingle, inferred(2)),
    (C::Fma, P::HalfAlu, inferred(2)),
    (C::Wide, P::Half, observed(2)),
    (C::Wide, P::HalfAlu, inferred(2)),
    (C::AluPredicate, P::HalfPredicate, inferred(2)),
    (C::FmaPredicate, P::HalfPredicate, inferred(2)),
];

/// Write by scoreboard after a read of fixed latency.
const WAR_VARIABLE: &[(C, Cell)] = &[
    (C::Wide, observed(2)),
    (C::WideLow, inferred(2)),
    (C::WideHigh, inferred(2)),
    (C::Half, observed(2)),
    (C::HalfAlu, observed(4)),
    (C::AluPredicate, observed(2)),
    (C::FmaPredicate, inferred(2)),
];

pub(super) const TIMING: Timing = Timing {
    like: Some(&sm_80::TIMING),
    variable: &[Class::Matrix88, Class::MatrixOne, Class::MatrixOneInteger, Class::MatrixTwo],
    // f64: two results a clock for the whole multiprocessor, as the CUDA programming guide says.
    intervals: &[(Class::Double, 16), (Class::Matrix88, 4), (Class::MatrixOne, 8)],
    intervals_of: &[
        (Op::LDS, Class::Memory, 4),
        (Op::LDSM, Class::Memory, 6),
        (Op::S2UR, Class::SpecialRegister, 4),
    ],
    ..Timing::NONE
};

/// The table of sm_75.
pub const TABLES: Tables = Tables {
    chips: &[75],
    like: Some(&sm_80::TABLES),
    raw: RAW,
    waw: WAW,
    waw_variable: 8,
    waw_variable_of: WAW_VARIABLE_OF,
    war: WAR,
    war_variable: WAR_VARIABLE,
    timing: &TIMING,
    ..sm_80::TABLES
};
