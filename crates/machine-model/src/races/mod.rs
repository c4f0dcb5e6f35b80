//! Rules that a program must keep for asynchronous copies and MMAs that use shared memory and tensor memory.
//!
//! It is here because the interpreter and the simulator execute such a copy at once: the bytes are right even where a
//! program does not wait for it. They report the operations of each warp, and this module reports the broken rule. It
//! knows no instruction of either language and no byte of memory; nothing that computes a result may enter.

mod bytes;
mod clocks;
mod in_flight;
mod race;
mod shared_memory;
mod synchronization;
mod tensor_memory;

pub use bytes::{Bytes, RANK_BIT, shared_bytes};
pub use clocks::Who;
pub use in_flight::{CopyNumber, Phase, TensorCell, Transfers};
pub use race::Race;
