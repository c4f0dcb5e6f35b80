//! The simulator as its users see it: one program, so that shared helpers are built once.

mod common;
mod driver;
mod foreign_code;
mod likeness;
mod robustness;
mod semantics;
mod warps;
