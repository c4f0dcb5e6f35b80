//! Control flow within a function: branches, indexed branches, its end, traps, and the stack pointer. Calls are in
//! `functions`.

mod branches;
mod stack;

pub(crate) use branches::{bra, breakpoint, brx, exit, leave_function, ret, trap};
pub(crate) use stack::{allocate_stack, restore_stack, save_stack};
