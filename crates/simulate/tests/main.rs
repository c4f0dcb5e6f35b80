//! The simulator as its users see it: one program, so that what the tests share is built and used once.

mod common;
mod driver;
mod foreign_code;
mod likeness;
mod robustness;
mod semantics;
mod warps;
