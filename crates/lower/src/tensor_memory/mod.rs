//! Tensor memory, and the MMAs that accumulate in it: `tcgen05`.
//!
//! Loads and stores are operations of a whole warp. All other operations are those of an engine, once for each thread
//! that executes the instruction, with operands in uniform registers. Each is in a block of its own, so that
//! `finishing` can build a waterfall loop.

mod access;
mod columns;
mod engine;
mod forms;
mod multiply;

pub(crate) use forms::tcgen05;
