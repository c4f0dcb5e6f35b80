//! Rules that a program must keep for asynchronous copies and MMAs that use shared memory and tensor memory.
//!
//! It is here because the interpreter and the simulator execute such a copy at once, so that the bytes are right even
//! where a program does not wait for it. They report the operations of each warp, and this crate reports the broken
//! rule. It knows no instruction of either language and no byte of memory; nothing that computes a result may enter.

mod clocks;
mod tensor;
mod transfers;

pub use clocks::Who;
pub use tensor::TensorCell;
pub use transfers::{Bytes, CopyNumber, Phase, RANK_BIT, Race, Transfers, shared_bytes};
