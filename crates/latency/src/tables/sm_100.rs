//! Latencies of sm_100: differences from sm_90. `observed`: the minimum distance that ptxas left between such a pair,
//! where it was seen often enough to count, or is less than on sm_90; `inferred`: every matrix instruction takes as
//! long as the observed ones. Constant-bank words arrive by scoreboard on the uniform datapath as well.

use super::sm_90;
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

/// Read after write.
const RAW: &[Row<P, C>] = &[
    Row::new(P::Alu, 7, &[(C::Address, observed(4)), (C::Data, observed(4))]),
    Row::new(P::Fma, 7, &[(C::Address, observed(4)), (C::Data, observed(4))]),
    Row::new(P::Dual, 7, &[(C::Data, observed(4))]),
    Row::new(P::WideLow, 7, &[(C::Special, observed(4))]),
    Row::new(P::WideHigh, 7, &[(C::Data, observed(4))]),
    Row::new(P::Half, 7, &[(C::WideHigh, observed(3)), (C::Address, observed(4)), (C::Data, observed(4))]),
    Row::new(P::Dispatch64, 18, &[(C::Data, observed(5))]),
    Row::new(
        P::MatrixOne,
        20,
        &[
            (C::Alu, observed(19)),
            (C::Data, observed(19)),
            (C::Dual, inferred(19)),
            (C::Fma, observed(19)),
            (C::HalfToSingle, inferred(19)),
            (C::Matrix, observed(20)),
            (C::MatrixAccumulator, observed(20)),
            (C::MatrixInteger, inferred(20)),
            (C::MatrixTwo, inferred(20)),
            (C::MatrixTwoAccumulator, inferred(20)),
            (C::ToUniform, inferred(19)),
            (C::WideHigh, inferred(19)),
            (C::WideLow, inferred(19)),
        ],
    ),
    Row::new(
        P::MatrixTwo,
        20,
        &[
            (C::Address, observed(19)),
            (C::Alu, observed(19)),
            (C::ConstantIndex, observed(19)),
            (C::Data, observed(19)),
            (C::Dual, observed(19)),
            (C::Fma, observed(19)),
            (C::Half, observed(19)),
            (C::HalfAlu, observed(19)),
            (C::HalfToSingle, inferred(19)),
            (C::Matrix, observed(20)),
            (C::MatrixAccumulator, observed(20)),
            (C::MatrixInteger, inferred(20)),
            (C::MatrixTwo, inferred(20)),
            (C::MatrixTwoAccumulator, inferred(20)),
            (C::Special, inferred(19)),
            (C::ToUniform, inferred(19)),
            (C::Wide, observed(19)),
            (C::WideHigh, inferred(19)),
            (C::WideLow, inferred(19)),
        ],
    ),
    Row::new(
        P::OtherGeneral,
        13,
        &[(C::Alu, observed(4)), (C::Data, observed(5)), (C::Fma, observed(4)), (C::Special, observed(4))],
    ),
    Row::new(P::HalfPredicate, 13, &[(C::SlowPredicate, observed(6))]),
    Row::new(P::OtherPredicate, 13, &[(C::AluPredicate, observed(4))]),
    Row::new(P::Uniform, 12, &[(C::MatrixDescriptor, observed(9)), (C::ControlUniform, observed(10))]),
    Row::new(P::UniformMove, 7, &[(C::MatrixDescriptor, observed(2))]),
    Row::new(
        P::ToUniform,
        14,
        &[(C::UniformIndex, observed(13)), (C::UniformMove, observed(13)), (C::ControlUniform, observed(13))],
    ),
    Row::new(P::UniformVotePredicate, 11, &[(C::ControlUniformPredicate, observed(2))]),
    Row::new(P::OtherUniform, 13, &[(C::VectorUniform, observed(2))]),
];

/// Write after write, both of fixed latency.
const WAW: &[Row<P, P>] = &[
    Row::new(P::Alu, 7, &[(P::MatrixOne, observed(6))]),
    Row::new(P::Fma, 7, &[(P::WideLow, observed(4))]),
    Row::new(P::WideLow, 7, &[(P::Dispatch64, observed(7)), (P::Half, observed(4))]),
    Row::new(P::WideHigh, 7, &[(P::Alu, observed(5)), (P::Dispatch64, observed(7))]),
    Row::new(P::HalfAlu, 7, &[(P::Alu, observed(2))]),
    Row::new(P::Double, 11, &[(P::Half, observed(9))]),
    Row::new(
        P::Dispatch64,
        18,
        &[
            (P::Alu, observed(2)),
            (P::Dispatch64, observed(14)),
            (P::Fma, observed(8)),
            (P::MatrixOne, observed(7)),
        ],
    ),
    Row::new(
        P::MatrixOne,
        20,
        &[
            (P::Alu, observed(16)),
            (P::Dispatch64, observed(15)),
            (P::Dual, inferred(20)),
            (P::Fma, observed(17)),
            (P::HalfToSingle, inferred(20)),
            (P::MatrixOne, observed(20)),
            (P::WideSingle, inferred(20)),
        ],
    ),
    Row::new(
        P::MatrixTwo,
        28,
        &[
            (P::Alu, observed(16)),
            (P::Dual, observed(19)),
            (P::Fma, observed(17)),
            (P::Half, observed(19)),
            (P::HalfAlu, observed(16)),
            (P::HalfToSingle, inferred(20)),
            (P::Matrix88, inferred(20)),
            (P::MatrixTwo, observed(20)),
            (P::WideHigh, inferred(20)),
            (P::WideSingle, observed(17)),
        ],
    ),
    Row::new(P::OtherGeneral, 13, &[(P::Alu, observed(4)), (P::Fma, observed(1))]),
    Row::new(P::AluPredicate, 13, &[(P::FmaPredicate, observed(11))]),
    Row::new(P::OtherPredicate, 13, &[(P::AluPredicate, observed(4))]),
    Row::new(P::UniformMove, 7, &[(P::Uniform, observed(1))]),
    Row::new(P::ToUniform, 14, &[(P::Uniform, observed(13))]),
    Row::new(P::UniformVotePredicate, 11, &[(P::UniformVotePredicate, observed(6))]),
];

/// A write by scoreboard after one of fixed latency.
const WAW_VARIABLE_OF: &[(P, Cell)] = &[(P::MatrixOne, observed(19)), (P::MatrixTwo, observed(19))];

/// Write after read, both of fixed latency.
const WAR: &[(C, P, Cell)] = &[
    (C::AluPredicate, P::DoublePredicate, observed(1)),
    (C::AluPredicate, P::FmaPredicate, observed(1)),
    (C::Control, P::Alu, observed(5)),
    (C::ControlUniform, P::UniformMove, observed(5)),
    (C::ControlUniformPredicate, P::UniformPredicate, observed(5)),
    (C::Double, P::Alu, observed(1)),
    (C::Double, P::Dispatch64, observed(1)),
    (C::Double, P::Dual, observed(1)),
    (C::Double, P::Fma, observed(1)),
    (C::Double, P::Half, observed(1)),
    (C::Double, P::HalfAlu, observed(1)),
    (C::Double, P::WideHigh, observed(1)),
    (C::Double, P::WideLow, observed(1)),
    (C::DoublePredicate, P::AluPredicate, observed(1)),
    (C::Dual, P::Alu, observed(1)),
    (C::Dual, P::Dispatch64, observed(1)),
    (C::Fma, P::MatrixOne, observed(3)),
    (C::Fma, P::MatrixTwo, observed(5)),
    (C::FmaPredicate, P::AluPredicate, observed(1)),
    (C::FmaPredicate, P::FmaPredicate, observed(4)),
    (C::Guard, P::AluPredicate, observed(1)),
    (C::Guard, P::DoublePredicate, observed(1)),
    (C::Guard, P::HalfPredicate, observed(1)),
    (C::Half, P::Alu, observed(1)),
    (C::Half, P::Dispatch64, observed(1)),
    (C::Half, P::Double, observed(1)),
    (C::Half, P::HalfAlu, observed(1)),
    (C::HalfAlu, P::Double, observed(1)),
    (C::HalfAlu, P::Dual, observed(1)),
    (C::HalfAlu, P::Fma, observed(1)),
    (C::HalfAlu, P::Half, observed(1)),
    (C::HalfAlu, P::WideHigh, observed(1)),
    (C::HalfAlu, P::WideLow, observed(1)),
    (C::Matrix, P::Dispatch64, observed(1)),
    (C::Matrix, P::MatrixOne, observed(8)),
    (C::Matrix, P::MatrixTwo, observed(8)),
    (C::MatrixAccumulator, P::Dispatch64, observed(1)),
    (C::MatrixAccumulator, P::MatrixOne, observed(8)),
    (C::MatrixAccumulator, P::MatrixTwo, observed(8)),
    (C::SlowPredicate, P::AluPredicate, observed(1)),
    (C::SlowUniform, P::Uniform, observed(1)),
    (C::SlowUniform, P::UniformMove, observed(1)),
    (C::Special, P::Double, observed(1)),
    (C::Special, P::Dual, observed(1)),
    (C::Special, P::Fma, observed(1)),
    (C::Special, P::Half, observed(1)),
    (C::Special, P::WideHigh, observed(1)),
    (C::Special, P::WideLow, observed(1)),
    (C::Special, P::WideSingle, observed(1)),
    (C::Uniform, P::ToUniform, observed(1)),
    (C::UniformGuard, P::UniformVotePredicate, observed(1)),
    (C::VectorUniformPredicate, P::UniformPredicate, observed(1)),
    (C::WideLow, P::Double, observed(1)),
    (C::WidePredicate, P::AluPredicate, observed(1)),
];

/// Shared with the chips of the family.
pub const TIMING: Timing = Timing {
    like: Some(&sm_90::TIMING),
    variable: &[Class::UniformLoad],
    classes: &[(Op::CLMAD, &[], Class::MatrixDouble)],
    intervals: &[(Class::MatrixOne, 8), (Class::MatrixOneInteger, 8), (Class::MatrixTwo, 8)],
    intervals_of: &[(Op::FADD2, Class::Fma, 2), (Op::FMUL2, Class::Fma, 2), (Op::FFMA2, Class::Fma, 2)],
    ..Timing::NONE
};

/// The table of sm_100.
pub const TABLES: Tables = Tables {
    chips: &[100],
    like: Some(&sm_90::TABLES),
    raw: RAW,
    waw: WAW,
    waw_variable_of: WAW_VARIABLE_OF,
    war: WAR,
    timing: &TIMING,
    ..sm_90::TABLES
};
