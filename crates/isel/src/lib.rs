//! Form selection after allocation: maps an Ori instruction with physical registers to a machine instruction that the
//! chip has for these operands; of several equivalent ones, to that of the less loaded pipe.
//!
//! It is here because only after allocation every operand has its final kind. It adds no instruction and knows no
//! encoding. Selection is declarative: rows of tests and templates, of which the most specific match wins.

mod backend;
mod balance;
mod chains;
mod rows;
mod select;
pub mod template;

pub use backend::{patterns, tree};
pub use select::{Explained, SelectError, SelectReason, Tables, explain, select};
