//! Instruction timing: the scheduling class of each opcode, the pipe it occupies, the distances in issue cycles that
//! the hardware requires between a producer and a consumer, and the instructions that report by scoreboard.
//!
//! It is here because the scheduler, the assignment of control words and the hazard checker must use the same values,
//! each with its origin. It is data: no dependency graph, no algorithm, no virtual register may enter.
//!
//! All distances are issue cycles from the issue of the first instruction to the issue of the second.

mod control;
mod group;
mod model;
mod operand_cache;
mod resource;
mod spacing;
mod table;
mod tables;

pub use control::{
    Reports, SCOREBOARDS, SPECIAL_STALL, Touched, accepts_read_barrier, accepts_write_barrier,
    completes_before_next, counted_scoreboard, is_branch_like, waits,
};
pub use model::{Listed, Model};
pub use operand_cache::{CACHE_SLOTS, Cached, CachedRead, OperandCache, banks, operand_cache};
pub use oriole_sass::info::{Class, Unit};
pub use oriole_sass::{ResultPart, Slot};
pub use resource::{Resources, UNITS};
pub use spacing::{FENCE_TO_PRODUCT, LONGEST_SPACING, Milestone, accepted_spacing, longest_spacing, spacing};
pub use table::{Distance, Origin};

#[cfg(test)]
mod tests;
