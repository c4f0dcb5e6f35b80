//! Form choice after allocation: an Ori instruction with physical registers becomes the machine instruction that the
//! chip has for these operands, and of several that do the same the one whose unit has time for it.
//!
//! It is here because only after allocation every operand has its final kind. It adds no instruction and knows no bits.
//! What it chooses is declared: rows of tests and templates, of which the most specific one that matches wins.

mod backend;
mod balance;
mod rows;
mod select;
pub mod template;

pub use backend::{patterns, tree};
pub use select::{Explained, SelectError, SelectReason, Tables, explain, select};
