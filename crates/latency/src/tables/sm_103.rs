//! Latencies of sm_103: those of sm_100, with f64 arithmetic and 8-bit MMAs by scoreboard.

use super::sm_100;
use crate::Class;
use crate::group::{Consumer as C, Producer as P};
use crate::table::{Cell, Row, Tables, Timing};
use oriole_sass::Op;

/// Read after write.
const RAW: &[Row<P, C>] = &[
    Row::new(P::Dispatch64, 18, &[(C::MatrixDouble, Cell::observed(11))]),
    Row::new(P::HalfPredicate, 13, &[(C::AluPredicate, Cell::observed(4))]),
];

const TIMING: Timing = Timing {
    like: Some(&DOUBLES),
    classes: &[(Op::IMMA, &[], Class::MatrixDouble)],
    intervals_of: &[(Op::IMMA, Class::MatrixDouble, 64), (Op::MUFU, Class::Special, 4)],
    ..Timing::NONE
};

/// Shared with sm_110: few f64 units.
pub const DOUBLES: Timing = Timing {
    like: Some(&sm_100::TIMING),
    variable: &[Class::Double],
    // Two results a clock for the whole multiprocessor, as the CUDA programming guide says.
    intervals: &[(Class::Double, 16)],
    estimates: &[(Op::DADD, 48), (Op::DMUL, 48), (Op::DFMA, 48), (Op::DSETP, 48)],
    ..Timing::NONE
};

/// The table of sm_103.
pub const TABLES: Tables =
    Tables { chips: &[103], like: Some(&sm_100::TABLES), raw: RAW, timing: &TIMING, ..sm_100::TABLES };
