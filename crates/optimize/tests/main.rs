//! Tests of the passes: small functions before and after, and random ones that must keep their semantics. One test
//! program, so that it is linked once and shares its tools.

mod analyses;
mod common;
mod gather_slow_paths;
mod general;
mod invariant_loads;
mod late;
mod live_values;
mod local_registers;
mod long_numbers;
mod memory_values;
mod nested_conditions;
mod predication;
mod rotate_loops;
mod ssa;
mod strength_reduce;
mod uniform_atomics;
mod uniform_variables;
mod unroll;
mod vector_accesses;
mod vector_loads;
mod whole_warp;
