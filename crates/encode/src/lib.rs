//! Encodes finished machine instructions as words: block targets become distances, every instruction becomes its
//! word; references that depend on the kernel's layout stay symbolic.
//!
//! It is here because it is the last stage that sees one function alone. No layout offset, no pass and no file format
//! may enter.

mod function;

pub use function::{EncodeFailure, EncodeReason, EncodedFunction, Relocation, encode_function, patch};
