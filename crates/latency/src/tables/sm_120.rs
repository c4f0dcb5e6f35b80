//! Latencies of sm_120 and sm_121: differences from sm_90. `observed`: the minimum distance that ptxas left between
//! such a pair; `inferred`: that of a similar reader. f64 operations report by scoreboard. An MMA takes the same time
//! in every shape: floating-point ones 28 cycles, 29 until the next MMA reads the result; integer ones two less.

use super::{sm_90, sm_100};
use crate::Class;
use crate::group::{Consumer as C, Producer as P};
use crate::table::{Cell, Row, Tables, Timing};
use oriole_sass::{Mod, Op};

const fn observed(cycles: u8) -> Cell {
    Cell::observed(cycles)
}

const fn inferred(cycles: u8) -> Cell {
    Cell::inferred(cycles)
}

/// From a floating-point MMA to its reader: the same for one step and for two.
const AFTER_A_PRODUCT: &[(C, Cell)] = &[
    (C::Alu, observed(24)),
    (C::Fma, observed(28)),
    (C::Dual, inferred(28)),
    (C::Wide, inferred(28)),
    (C::WideLow, inferred(28)),
    (C::WideHigh, inferred(28)),
    (C::Half, observed(28)),
    (C::HalfToSingle, inferred(28)),
    (C::HalfAlu, observed(28)),
    (C::Special, inferred(28)),
    (C::ToUniform, inferred(28)),
    (C::Address, observed(28)),
    (C::Data, observed(28)),
    (C::ConstantIndex, inferred(28)),
    (C::Matrix, inferred(29)),
    (C::MatrixInteger, inferred(29)),
    (C::MatrixTwo, inferred(29)),
    (C::MatrixAccumulator, observed(29)),
    (C::MatrixTwoAccumulator, observed(29)),
];

/// Read after write. Integers are 8x8-bit MMAs here, the only integer ones of the chip.
const RAW: &[Row<P, C>] = &[
    Row::new(P::Alu, 7, &[(C::Long, observed(5))]),
    Row::new(P::Fma, 7, &[(C::Long, observed(5))]),
    Row::new(P::WideLow, 7, &[(C::Long, observed(5)), (C::Special, observed(4))]),
    Row::new(P::WideHigh, 7, &[(C::Long, observed(5))]),
    Row::new(P::WideSingle, 7, &[(C::Long, observed(5))]),
    Row::new(P::Half, 6, &[(C::WideHigh, observed(3)), (C::Long, observed(5))]),
    // 64-bit integers: a reader that does not take the two words one after the other waits for the second one.
    Row::new(
        P::Long,
        7,
        &[
            (C::Alu, observed(5)),
            (C::Long, observed(4)),
            (C::Fma, observed(6)),
            (C::Wide, observed(6)),
            (C::WideLow, observed(6)),
            (C::WideHigh, observed(6)),
            (C::Double, observed(7)),
            (C::Special, observed(5)),
            (C::ToUniform, observed(5)),
            (C::Address, observed(6)),
            (C::Data, observed(6)),
        ],
    ),
    Row::new(
        P::LongPredicate,
        14,
        &[(C::AluPredicate, observed(5)), (C::FmaPredicate, observed(6)), (C::Guard, observed(14))],
    ),
    Row::new(P::AluPredicate, 13, &[(C::HalfPredicate, observed(6))]),
    Row::new(P::HalfPredicate, 13, &[(C::AluPredicate, observed(4))]),
    // The positions of an MMA's scale factors.
    Row::new(P::Uniform, 12, &[(C::OtherUniform, observed(8))]),
    Row::new(P::UniformMove, 7, &[(C::OtherUniform, observed(4))]),
    Row::new(
        P::Matrix88,
        29,
        &[
            (C::Alu, observed(24)),
            (C::Fma, observed(26)),
            (C::Dual, inferred(26)),
            (C::Wide, inferred(26)),
            (C::WideLow, inferred(26)),
            (C::WideHigh, inferred(26)),
            (C::Half, inferred(26)),
            (C::HalfToSingle, inferred(26)),
            (C::HalfAlu, observed(26)),
            (C::Special, inferred(26)),
            (C::ToUniform, inferred(26)),
            (C::Address, inferred(26)),
            (C::Data, observed(26)),
            (C::ConstantIndex, inferred(26)),
            (C::Matrix, observed(27)),
            (C::MatrixInteger, inferred(27)),
            (C::MatrixTwo, inferred(27)),
            (C::MatrixAccumulator, inferred(27)),
            (C::MatrixTwoAccumulator, inferred(27)),
        ],
    ),
    Row::new(P::MatrixOne, 36, AFTER_A_PRODUCT),
    Row::new(P::MatrixTwo, 36, AFTER_A_PRODUCT),
];

/// Write after write, both of fixed latency: for an MMA three or four cycles less than a reader waits.
const WAW: &[Row<P, P>] = &[
    Row::new(
        P::Alu,
        7,
        &[
            (P::Alu, observed(1)),
            (P::Long, observed(1)),
            (P::Dispatch64, observed(5)),
            (P::WideLow, observed(4)),
            (P::WideHigh, observed(1)),
            (P::MatrixOne, observed(6)),
        ],
    ),
    Row::new(P::WideLow, 7, &[(P::Half, observed(4)), (P::Long, observed(1))]),
    Row::new(P::WideHigh, 7, &[(P::Long, observed(1))]),
    Row::new(
        P::Long,
        7,
        &[
            (P::Alu, observed(2)),
            (P::Fma, observed(2)),
            (P::Half, observed(2)),
            (P::HalfToSingle, observed(2)),
        ],
    ),
    Row::new(P::LongPredicate, 14, &[(P::AluPredicate, observed(3))]),
    Row::new(P::Half, 7, &[(P::Dual, observed(1))]),
    Row::new(P::HalfAlu, 7, &[(P::Alu, observed(1))]),
    Row::new(
        P::AluPredicate,
        13,
        &[(P::AluPredicate, observed(1)), (P::LongPredicate, observed(5)), (P::HalfPredicate, observed(5))],
    ),
    Row::new(P::HalfPredicate, 13, &[(P::AluPredicate, observed(4))]),
    Row::new(P::Uniform, 12, &[(P::Uniform, observed(1))]),
    Row::new(
        P::Matrix88,
        29,
        &[
            (P::Alu, observed(22)),
            (P::Fma, observed(22)),
            (P::Dual, inferred(22)),
            (P::WideLow, inferred(22)),
            (P::WideHigh, inferred(22)),
            (P::WideSingle, inferred(22)),
            (P::Half, inferred(22)),
            (P::HalfToSingle, inferred(22)),
            (P::HalfAlu, inferred(22)),
            (P::Mask, observed(23)),
            (P::Dispatch64, observed(22)),
            (P::Matrix88, observed(27)),
            (P::MatrixOne, inferred(27)),
            (P::MatrixTwo, inferred(27)),
        ],
    ),
    Row::new(
        P::MatrixOne,
        36,
        &[
            (P::Alu, observed(25)),
            (P::Fma, observed(25)),
            (P::Dual, inferred(25)),
            (P::WideLow, inferred(25)),
            (P::WideHigh, inferred(25)),
            (P::WideSingle, inferred(25)),
            (P::Half, inferred(25)),
            (P::HalfToSingle, inferred(25)),
            (P::HalfAlu, inferred(25)),
            (P::Dispatch64, inferred(25)),
            (P::Long, inferred(29)),
            (P::Matrix88, inferred(29)),
            (P::MatrixOne, observed(29)),
            (P::MatrixTwo, inferred(29)),
        ],
    ),
    Row::new(
        P::MatrixTwo,
        36,
        &[
            (P::Alu, observed(25)),
            (P::Fma, observed(25)),
            (P::Dual, inferred(25)),
            (P::WideLow, inferred(25)),
            (P::WideHigh, inferred(25)),
            (P::WideSingle, inferred(25)),
            (P::Half, inferred(25)),
            (P::HalfToSingle, inferred(25)),
            (P::HalfAlu, inferred(25)),
            (P::Dispatch64, inferred(25)),
            (P::Long, observed(29)),
            (P::Matrix88, inferred(29)),
            (P::MatrixOne, inferred(29)),
            (P::MatrixTwo, observed(29)),
        ],
    ),
];

/// Write after read, both of fixed latency: the sources of an MMA are read for a long time.
const WAR: &[(C, P, Cell)] = &[
    (C::Matrix, P::Alu, observed(8)),
    (C::Matrix, P::Fma, observed(8)),
    (C::Matrix, P::Dual, inferred(8)),
    (C::Matrix, P::WideLow, inferred(8)),
    (C::Matrix, P::WideHigh, inferred(8)),
    (C::Matrix, P::WideSingle, inferred(8)),
    (C::Matrix, P::Half, inferred(8)),
    (C::Matrix, P::HalfToSingle, inferred(8)),
    (C::Matrix, P::HalfAlu, inferred(8)),
    (C::Matrix, P::Matrix88, observed(16)),
    (C::Matrix, P::MatrixOne, observed(16)),
    (C::Matrix, P::MatrixTwo, observed(16)),
    (C::MatrixTwo, P::Alu, inferred(8)),
    (C::MatrixTwo, P::Fma, inferred(8)),
    (C::MatrixTwo, P::Dual, inferred(8)),
    (C::MatrixTwo, P::WideLow, inferred(8)),
    (C::MatrixTwo, P::WideHigh, inferred(8)),
    (C::MatrixTwo, P::WideSingle, inferred(8)),
    (C::MatrixTwo, P::Half, inferred(8)),
    (C::MatrixTwo, P::HalfToSingle, inferred(8)),
    (C::MatrixTwo, P::HalfAlu, inferred(8)),
    (C::MatrixTwo, P::Matrix88, inferred(16)),
    (C::MatrixTwo, P::MatrixOne, inferred(16)),
    (C::MatrixTwo, P::MatrixTwo, inferred(16)),
    (C::MatrixAccumulator, P::Alu, observed(8)),
    (C::MatrixAccumulator, P::Fma, observed(8)),
    (C::MatrixAccumulator, P::Dual, inferred(8)),
    (C::MatrixAccumulator, P::WideLow, inferred(8)),
    (C::MatrixAccumulator, P::WideHigh, inferred(8)),
    (C::MatrixAccumulator, P::WideSingle, inferred(8)),
    (C::MatrixAccumulator, P::Half, inferred(8)),
    (C::MatrixAccumulator, P::HalfToSingle, inferred(8)),
    (C::MatrixAccumulator, P::HalfAlu, inferred(8)),
    (C::MatrixAccumulator, P::Matrix88, observed(16)),
    (C::MatrixAccumulator, P::MatrixOne, observed(16)),
    (C::MatrixAccumulator, P::MatrixTwo, observed(16)),
    (C::MatrixTwoAccumulator, P::Alu, inferred(8)),
    (C::MatrixTwoAccumulator, P::Fma, inferred(8)),
    (C::MatrixTwoAccumulator, P::Dual, inferred(8)),
    (C::MatrixTwoAccumulator, P::WideLow, inferred(8)),
    (C::MatrixTwoAccumulator, P::WideHigh, inferred(8)),
    (C::MatrixTwoAccumulator, P::WideSingle, inferred(8)),
    (C::MatrixTwoAccumulator, P::Half, inferred(8)),
    (C::MatrixTwoAccumulator, P::HalfToSingle, inferred(8)),
    (C::MatrixTwoAccumulator, P::HalfAlu, inferred(8)),
    (C::MatrixTwoAccumulator, P::Matrix88, inferred(16)),
    (C::MatrixTwoAccumulator, P::MatrixOne, inferred(16)),
    (C::MatrixTwoAccumulator, P::MatrixTwo, inferred(16)),
];

/// A write by scoreboard after one of fixed latency.
const WAW_VARIABLE_OF: &[(P, Cell)] = &[
    (P::Long, inferred(7)),
    (P::LongPredicate, inferred(14)),
    (P::Matrix88, observed(26)),
    (P::MatrixOne, observed(28)),
    (P::MatrixTwo, observed(28)),
];

const TIMING: Timing = Timing {
    like: Some(&sm_100::TIMING),
    variable: &[Class::Double],
    classes: &[
        (Op::IMMA, &[], Class::Matrix88),
        (Op::IADD, &[Mod::_64], Class::Long),
        (Op::ISETP, &[Mod::S64], Class::Long),
        (Op::ISETP, &[Mod::U64], Class::Long),
        (Op::IMNMX, &[Mod::S64], Class::Long),
        (Op::IMNMX, &[Mod::U64], Class::Long),
        (Op::MOV, &[Mod::_64], Class::Long),
        (Op::SEL, &[Mod::_64], Class::Long),
    ],
    // 64-bit min and max; narrower ones are another opcode.
    stalls: &[(Op::IMNMX, 2)],
    class_stalls: &[(Class::Long, 2)],
    intervals: &[
        (Class::Long, 2),
        (Class::Double, 16),
        (Class::Matrix88, 16),
        (Class::MatrixOne, 16),
        (Class::MatrixTwo, 16),
    ],
    // ptxas puts them at a distance of one.
    intervals_of: &[(Op::VIMNMX, Class::Alu, 1)],
    estimates: &[(Op::DADD, 48), (Op::DMUL, 48), (Op::DFMA, 48), (Op::DSETP, 48)],
    ..Timing::NONE
};

/// The table of sm_120 and sm_121.
pub const TABLES: Tables = Tables {
    chips: &[120, 121],
    like: Some(&sm_90::TABLES),
    raw: RAW,
    waw: WAW,
    waw_variable_of: WAW_VARIABLE_OF,
    war: WAR,
    timing: &TIMING,
    ..sm_90::TABLES
};
