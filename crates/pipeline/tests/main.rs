//! Tests of the order of phases over the kernels of the repository: each one changes something, each row of selection wins
//! somewhere, and routines keep what they state. One program, so that it is linked once.

mod occupancy;
mod phases;
mod routines;
mod selection;
