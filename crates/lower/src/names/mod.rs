//! Meanings of names in PTX text: the address of a variable or a function, and the value of a special register. The
//! context reads operands by these functions, so nothing here may read a PTX operand.

mod special;
mod variables;

pub(crate) use special::{bank_word, special_register};
pub(crate) use variables::{function_address, variable_address, variable_symbol};
