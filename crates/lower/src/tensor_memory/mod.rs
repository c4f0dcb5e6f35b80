//! Tensor memory, and the MMAs that accumulate in it: `tcgen05`.
//!
//! Loads and stores are operations of a whole warp. All other operands go to an engine in uniform registers, once for
//! each thread that executes the instruction, in a block of its own, so that `finishing` can build a waterfall loop.

mod access;
mod columns;
mod engine;
mod forms;
mod multiply;

pub(crate) use forms::tcgen05;
