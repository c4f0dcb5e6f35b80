//! The parts of a GPU that the interpreter of PTX and the simulator of SASS share.
//!
//! It is here because these rules are long, and because a program that breaks one still gets the right bytes: a second
//! copy of them would find nothing. Results are computed elsewhere: each of the two adds, rounds and samples in its own
//! way, so that an error in one shows as a difference. No instruction of either language, no loop over steps of a
//! program, and nothing that only one of the two uses may enter.
//!
//! * [`races`]: the rules of asynchronous copies and MMAs, and the knowledge of each warp about others.
//! * [`tensor_memory`]: the tensor memory of Blackwell, and the cells that each instruction reads and writes.
//! * [`texture`]: textures, samplers and surfaces with their texels.

pub mod races;
pub mod tensor_memory;
pub mod texture;
