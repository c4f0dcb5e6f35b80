//! The functions of the C library that copy, fill and compare memory, for a program that is linked with musl on x86-64.
//!
//! The compiler emits calls of them for every move of a value of more than 128 bytes, an instruction of Ori among them.
//! Those of glibc are fast, but glibc queries the CPU's features at each start, which in a virtual machine takes a
//! quarter of a millisecond. musl does not query, but compares byte by byte, and copies with an instruction that takes
//! dozens of cycles to start. So the static program has musl and these functions, which need only the baseline of
//! x86-64 (SSE2). Linked with another C library this crate defines no symbol. Nothing else of a C library may enter,
//! and no query of CPU features.
//!
//! It has `unsafe`, as what C calls must have. Its tests run in Miri as well (`tools/memory/miri.sh`).

#![no_std]
// Otherwise a copy loop would become a call of itself.
#![no_builtins]
#![cfg(target_arch = "x86_64")]

mod compare;
mod copy;
mod fill;
#[cfg(target_env = "musl")]
mod symbols;
mod vector;

pub use compare::compare;
pub use copy::{copy, copy_overlapping};
pub use fill::fill;
