//! Latencies of sm_110: those of sm_100, with f64 arithmetic by scoreboard.

use super::{sm_100, sm_103};
use crate::table::Tables;

/// The table of sm_110.
pub const TABLES: Tables =
    Tables { chips: &[110], like: Some(&sm_100::TABLES), timing: &sm_103::DOUBLES, ..sm_100::TABLES };
