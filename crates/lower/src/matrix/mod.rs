//! Matrix multiplies by warps (`mma`, `wmma`) and by groups of four warps (`wgmma`), and the moves that feed them.
//!
//! The registers of a fragment are one operand of the SASS instruction. Shapes that a chip lacks are built from those that
//! it has. MMAs in tensor memory are in `tensor_memory`.

mod bits;
mod f16_steps;
mod floats;
mod fragment;
mod integers;
mod lanes;
mod mma;
mod moves;
mod products;
mod quarters;
mod scaled;
mod sparse;
mod warp_group;
mod wmma;
mod wmma_layout;
mod wmma_memory;
mod wmma_quarters;

pub(crate) use fragment::fragment;
pub(crate) use mma::mma;
pub(crate) use moves::{load_matrix, store_matrix, transpose_matrix};
pub(crate) use warp_group::{uniform_truth, wgmma};
pub(crate) use wmma::wmma;
