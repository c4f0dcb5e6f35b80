//! The latency tables, one file for each chip, and the map from chips to tables. Each value carries its origin.

mod sm_100;
mod sm_103;
mod sm_110;
mod sm_120;
mod sm_70;
mod sm_75;
mod sm_80;
mod sm_87;
mod sm_89;
mod sm_90;

use crate::table::Tables;

/// Every table.
pub const ALL: &[&Tables] = &[
    &sm_70::TABLES,
    &sm_75::TABLES,
    &sm_80::TABLES,
    &sm_87::TABLES,
    &sm_89::TABLES,
    &sm_90::TABLES,
    &sm_100::TABLES,
    &sm_103::TABLES,
    &sm_110::TABLES,
    &sm_120::TABLES,
];
