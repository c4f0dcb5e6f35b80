//! From finished machine instructions to words ("Mercury" in the seeds): block targets become distances, every
//! instruction its word; what only the kernel's layout knows stays symbolic.
//!
//! It is here because it is the last stage that sees one function alone. No layout number, no pass and no file format
//! may enter.

mod function;

pub use function::{EncodeFailure, EncodeReason, EncodedFunction, Relocation, encode_function, patch};
