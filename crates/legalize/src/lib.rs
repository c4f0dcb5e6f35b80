//! What the chip lacks: expansions of operations that stay whole until a phase says otherwise.
//!
//! It is here so that neither lowering nor the passes know how a missing operation is made up. No PTX, no encoding and no
//! physical register may enter.
//!
//! Quotients, remainders, reciprocals and roots (`Divide`, `Remainder`, `FDivide`, `FReciprocal`, `FSquareRoot`) become
//! the templates of `helpers/` in `divide`; the 64-bit operations are expanded one by one in files of their own.

mod divide;
mod emit;
pub mod expand_exact;
pub mod expand_wide;
mod float_divide;
mod integer_divide;
mod root;
mod template;
mod wide;

pub use divide::{DivideError, expand_divisions, is_division};
pub use template::{Template, TemplateError};
