//! Form choice after allocation: an Ori instruction with physical registers becomes the machine instruction that the
//! chip has for these operands.
//!
//! It is here because only after allocation every operand has its final kind. It adds and removes no instruction, knows
//! no bits and no latency. What it chooses is declared: rows of tests and templates, of which the most specific one that
//! matches wins.

mod hopper;
pub mod matcher;
pub mod pattern;
mod select;

pub use select::{SelectError, explain, patterns, select};
