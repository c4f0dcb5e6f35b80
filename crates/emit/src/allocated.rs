//! A function after register allocation.
//!
//! Allocation gives it, and everything that is emitted starts from it and the finished code.

use oriole_ori::{Assignment, Function};

/// A function with its registers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Allocated {
    /// The function, copies and spills included, pseudo-operations expanded.
    pub function: Function,
    /// Where each value lives.
    pub assignment: Assignment,
}
