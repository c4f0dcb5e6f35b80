//! How threads wait for one another and exchange values: lanes of a warp, barriers, fences, mbarriers, and requests to the
//! scheduler. No data moves through memory here, except the counts of an mbarrier.

mod barrier;
mod fence;
pub(crate) mod guarded_exchanges;
mod launch;
mod mbarrier;
mod memory_barrier;
mod warp;

pub(crate) use barrier::{barrier, warp_sync};
pub(crate) use fence::{fence, invalidate};
pub(crate) use launch::{change_registers, grid_dependency, nanosleep, trigger};
pub(crate) use mbarrier::{mbarrier, signal_copies};
pub(crate) use memory_barrier::memory_barrier;
pub(crate) use warp::{active_mask, elect, match_lanes, reduce, shuffle, vote};
