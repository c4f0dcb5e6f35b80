//! Latencies of sm_70 and sm_72: differences from sm_75. Seen in ptxas code for sm_70; on sm_72 only 8-bit MMAs were
//! checked, which report by scoreboard there as well. Steps of an MMA follow one another after two cycles with an f32
//! accumulator, and after four with an f16 one.

use super::sm_75;
use crate::Class;
use crate::group::{Consumer as C, Producer as P};
use crate::table::{Cell, Row, Tables, Timing};
use oriole_sass::Op;

const fn observed(cycles: u8) -> Cell {
    Cell::observed(cycles)
}

/// Read after write.
const RAW: &[Row<P, C>] = &[
    Row::new(P::Mask, 15, &[(C::Alu, observed(10))]),
    Row::new(P::MaskPredicate, 13, &[(C::SlowPredicate, observed(12))]),
    Row::new(
        P::Dispatch64,
        15,
        &[
            (C::Double, observed(7)),
            (C::WideLow, observed(6)),
            (C::WideHigh, observed(6)),
            (C::Special, observed(12)),
        ],
    ),
    Row::new(P::OtherGeneral, 9, &[(C::Alu, observed(9))]),
];

/// Write after write, both of fixed latency.
const WAW: &[Row<P, P>] = &[Row::new(P::AluPredicate, 13, &[(P::FmaPredicate, observed(13))])];

/// A write by scoreboard after one of fixed latency.
const WAW_VARIABLE_OF: &[(P, Cell)] = &[(P::Fma, observed(6)), (P::Dispatch64, observed(8))];

const TIMING: Timing = Timing {
    like: Some(&sm_75::TIMING),
    // f64 in each partition, as on sm_80.
    intervals: &[(Class::Double, 4)],
    intervals_of: &[(Op::LDS, Class::Memory, 4), (Op::PLOP3, Class::Alu, 4)],
    ..Timing::NONE
};

/// The table of sm_70 and sm_72.
pub const TABLES: Tables = Tables {
    chips: &[70, 72],
    like: Some(&sm_75::TABLES),
    raw: RAW,
    waw: WAW,
    waw_variable_of: WAW_VARIABLE_OF,
    war: &[],
    war_variable: &[],
    timing: &TIMING,
    ..sm_75::TABLES
};
