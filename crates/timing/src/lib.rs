//! A model of the time that a kernel takes on a GPU.
//!
//! The functional simulator runs the launch and shows what each warp did: its instructions, the addresses of its accesses,
//! its barriers. The model replays that for some blocks on one SM or a few: schedulers, control words, units, banks of
//! registers, the memory path, contended atomic operations. It is here because the cycles of the functional simulator are
//! latencies of one warp, and say nothing about bandwidth and contention. `docs/timing.md` has the model, its parameters
//! and how it compares with hardware.
//!
//! It knows machine code, latencies and the container, and nothing of the compiler. No semantics of an instruction may
//! enter; numbers of a chip are rows of [`tables`], each with its origin.

mod cache;
mod coalesce;
mod estimate;
mod grid;
mod memory;
mod options;
mod parameters;
mod program;
mod quarter;
mod reason;
mod recorder;
mod recording;
mod remedy;
mod replay;
mod shape;
mod tables;
mod warp;

pub use coalesce::wavefronts;
pub use estimate::{Bound, Error, Estimate};
pub use memory::Traffic;
pub use options::Options;
pub use parameters::{Number, Origin, Parameters};
pub use reason::{Line, REASONS, Reason};
pub use recording::{Imbalance, Recording, estimate};
pub use remedy::{Change, Remedy};
pub use shape::{Neighbours, Shape, least_wavefronts};
