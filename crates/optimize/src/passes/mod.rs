//! The passes: one file each, named as the phases that run it, with a folder of the same name if it is large. A pass may call
//! another one and the rewriting of parts; nothing else may call a pass but the pipeline.

pub mod back_copy;
pub mod branch_opt;
pub mod constant_addends;
pub mod convert_mov_phi;
pub mod dead_stores;
pub mod expand_sync;
pub mod gather_slow_paths;
pub mod general_optimize;
pub mod generate_mov_phi;
pub mod group_descriptors;
pub mod gvn_cse;
pub mod hoist_invariants;
pub mod invariant_loads;
pub mod keep_factors;
pub mod linear_replacement;
pub mod literal_pool;
pub mod live_dead;
pub mod local_registers;
pub mod memory_values;
pub mod nested_conditions;
pub mod predication;
pub mod reassociate;
pub mod rematerialize;
pub mod rotate_loops;
pub mod sink;
pub mod strength_reduce;
pub mod uniform_atomics;
pub mod uniform_registers;
pub mod unroll;
pub mod vector_accesses;
pub mod vector_loads;
pub mod whole_warp;
