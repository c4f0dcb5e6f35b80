//! Emission of a finished function: its words with the places that stay symbolic, and what the linker, debuggers and
//! reports take of it.
//!
//! It is the last stage that sees one function alone. Block targets become distances, every instruction becomes its word,
//! and references that depend on the layout of a kernel stay symbolic. Everything else is read from two results together:
//! allocation knows values and their sources, the finished code knows places and control words. No layout offset, no pass
//! and no file format may enter, and nothing here changes code.

mod allocated;
mod encode;
pub mod facts;
pub mod holders;
mod linked;
mod places;
pub mod unwinding;

pub use allocated::Allocated;
pub use encode::{EncodeFailure, EncodeReason, EncodedFunction, Relocation, encode_function, patch};
pub use linked::{LinkedFunction, emit, is_for_debuggers};
