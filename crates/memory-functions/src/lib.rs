//! The functions of the C library that copy, fill and compare memory, for a program that is linked with musl on x86-64.
//!
//! The compiler writes calls of them for every move of a value of more than 128 bytes, an instruction of Ori among them. Those of
//! glibc are fast, but glibc asks the processor what it is at each start, which in a virtual machine takes a quarter of a
//! millisecond; musl does not ask, but compares byte by byte, and copies with an instruction that takes dozens of cycles to begin.
//! So the static program has musl and these, which need no more than every x86-64 has (SSE2). Linked with another C library this
//! crate defines no symbol. Nothing else of a C library may enter, and nothing that asks the processor.
//!
//! It has `unsafe`, as what C calls must have. Its tests run in Miri as well (`tools/memory/miri.sh`).

#![no_std]
// Or a loop that copies would become a call of itself.
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
