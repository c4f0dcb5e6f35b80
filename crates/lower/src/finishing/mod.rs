//! Steps over a whole function after its last statement: what cannot be decided while statements are lowered one by one.
//!
//! They read Ori and the chip, never PTX. A step that optimizes belongs to a later phase.

mod accesses;
mod handles;
mod leaders;
mod offsets;
mod uniform;

pub(crate) use accesses::complete_accesses;
pub(crate) use handles::settle_handles;
pub(crate) use leaders::take_turns;
pub(crate) use offsets::settle_offsets;
pub(crate) use uniform::writes_uniform_in_parts;
