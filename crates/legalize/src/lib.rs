//! What the chip lacks: expansions of operations that stay whole until a phase says otherwise.
//!
//! It is here so that neither lowering nor the passes know how a missing operation is made up. No PTX, no encoding and no
//! physical register may enter.
//!
//! Quotients, remainders, reciprocals and roots (`Divide`, `Remainder`, `FDivide`, `FReciprocal`, `FSquareRoot`) become
//! the templates of `helpers/` in `divide`; the 64-bit operations are expanded one by one in files of their own.

mod divide;
mod template;

pub use divide::{DivideError, expand_divisions, is_division};
pub use template::{Template, TemplateError};
