//! Oriole behind the functions of NVIDIA's PTX compiler library, and behind those of the linking library for one text of PTX: a
//! program that links against those libraries links against this one instead, and nothing else of it changes.
//!
//! It is here so that programs in other languages embed the compiler, and so that `unsafe` has one place: everything that comes
//! in as a pointer is a value before anything is compiled. The headers are in `include`. No compiler stage, no file and no
//! terminal may enter.
//!
//! Every function may be called from any thread, for one handle from several at a time; a compile of one handle makes those
//! that ask the same handle wait. Nothing unwinds into the caller: a mistake of ours is the result "internal error".

mod compiler;
mod exports;
mod link_exports;
mod linker;
mod pointer;
mod steps;

pub use compiler::{Code, Compiler};
pub use exports::*;
pub use link_exports::*;
pub use linker::{LinkCode, Linker};
pub use steps::Flow;
