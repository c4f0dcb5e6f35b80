//! The rules that a program must keep for copies and products that use shared memory and tensor memory beside its threads.
//!
//! It is here because both machines do such a copy at once, so that the bytes are right where a program does not wait for it: the
//! interpreter and the simulator say what each warp does, and this says which rule is broken. It knows no instruction of either
//! language and no byte of memory; nothing that computes a result may enter.

mod clocks;
mod tensor;
mod transfers;

pub use clocks::Who;
pub use tensor::TensorCell;
pub use transfers::{Bytes, CopyNumber, Phase, RANK_BIT, Race, Transfers, shared_bytes};
