//! Tests of expansions against their definitions, and of exchanges before and after phase 5. One program, so that it is
//! linked once.

mod evaluator;
mod exchanges;
mod expansions;
mod routines;
