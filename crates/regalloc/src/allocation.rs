//! Input and result of an allocation: a function with its frame laid out, and one with registers.
//!
//! It is here because the allocator, the checker and the expansions share these two and nothing else. No code enters.

use crate::frame::Frame;
use oriole_ori::{Assignment, BlockId, Function, Value};
use typed_index_collections::TiVec;

/// A function whose local variables have frame offsets: the input of the allocation proper, and of the checker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prepared {
    /// The function.
    pub function: Function,
    /// Frame base: the stack pointer, or where that moves, a copy of its old value. Never defined, always in the same
    /// register.
    pub stack_pointer: Value,
    /// Its frame.
    pub frame: Frame,
}

/// A function with registers assigned, before the expansions: the input of the checker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// The function; moves, stores and reloads are in place.
    pub function: Function,
    /// Registers and frame.
    pub assignment: Assignment,
    /// For each value the value of the input that it represents (itself, if it is new).
    pub original: TiVec<Value, Value>,
    /// For each block and instruction: true if the allocator inserted it.
    pub inserted: TiVec<BlockId, Vec<bool>>,
    /// For each block the block of the input; `None` for one made to hold edge moves.
    pub blocks: TiVec<BlockId, Option<BlockId>>,
    /// The stack pointer, R1.
    pub stack_pointer: Value,
}
