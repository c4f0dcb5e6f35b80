//! Oriole with the functions of NVIDIA's PTX compiler library, and with those of the linking library for one text of
//! PTX: a program that links against those libraries links against this one instead, without other changes.
//!
//! Programs in other languages embed the compiler, and `unsafe` has one place: every incoming pointer is converted to a
//! value before anything is compiled. The headers are in `include`. No compiler stage, no file and no terminal may
//! enter.
//!
//! Every function may be called from any thread, for one handle from several at a time; during a compile of a handle
//! other calls with this handle wait. Nothing unwinds into the caller: an internal error has the result "internal
//! error".

mod code;
mod compiler;
mod exports;
mod link_exports;
mod linker;
mod pointer;
mod steps;

pub use code::Code;
pub use compiler::Compiler;
pub use exports::*;
pub use link_exports::*;
pub use linker::{LinkCode, Linker};
pub use steps::Flow;
