//! A function of PTX, resolved and typed: names are indices, operands have kinds and types, immediates are values.
//!
//! It is here so that the interpreter and the lowering read one meaning, and so that a change of spelling, comment
//! or place leaves it equal. No syntax node, no text offset and no machine opcode may enter a [`Body`].

pub mod body;

pub use body::*;
