//! Form choice after allocation: an Ori instruction with physical registers becomes the machine instruction that the
//! chip has for these operands.
//!
//! It is here because only after allocation every operand has its final kind. It adds and removes no instruction, knows
//! no bits and no latency.

mod select;

pub use select::{SelectError, select};
