//! Latencies of sm_87. After the kernel entry ptxas emits the code of sm_80, bit for bit, for most kernels; where it
//! differs, f32 arithmetic issues at the rate of sm_86. `observed`: the minimum distance that ptxas left between such
//! a pair in the code of real kernels; `inferred`: that of sm_86.

use super::{sm_80, sm_89};
use crate::group::{Consumer as C, Producer as P};
use crate::table::{Cell, Row, Tables};

/// Read after write.
const RAW: &[Row<P, C>] = &[Row::new(P::UniformVotePredicate, 11, &[(C::UniformGuard, Cell::observed(8))])];

/// Write after write, both of fixed latency.
const WAW: &[Row<P, P>] = &[Row::new(P::Fma, 7, &[(P::Fma, Cell::observed(1))])];

/// Write after read, both of fixed latency.
const WAR: &[(C, P, Cell)] = &[(C::Fma, P::Fma, Cell::inferred(1))];

/// The table of sm_87.
pub const TABLES: Tables = Tables {
    chips: &[87],
    like: Some(&sm_80::TABLES),
    raw: RAW,
    waw: WAW,
    war: WAR,
    timing: &sm_89::TIMING,
    ..sm_80::TABLES
};
