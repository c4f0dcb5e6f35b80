//! The target-independent passes over Ori, one file a pass, named as the phases that run them.
//!
//! It is here because every pass changes a function and nothing else: each is `run(&mut Function, &OptimizeOptions)`
//! (or without options where correctness needs it at every level). No PTX, no encoding and no pass order may enter:
//! the order belongs to the pipeline.

pub mod address_fold;
pub mod algebra;
pub mod back_copy;
pub mod branch_opt;
pub mod constant_addends;
pub mod convert_mov_phi;
pub mod copy_propagation;
pub mod definitions;
pub mod expand_sync;
pub mod fold;
pub mod general_optimize;
pub mod generate_mov_phi;
pub mod group_descriptors;
pub mod guarded_selections;
pub mod gvn_cse;
mod halves;
pub mod hoist_invariants;
pub mod join_phis;
pub mod keep_factors;
pub mod linear_replacement;
pub mod literal_pool;
pub mod live_dead;
pub mod operand_fold;
pub mod predication;
pub mod product_halves;
pub mod reassociate;
pub mod rematerialize;
pub mod sink;
pub mod slots;
pub mod strength_reduce;
mod uniform_addresses;
pub mod uniform_copies;
mod uniform_numbers;
pub mod uniform_registers;
mod uniform_variables;
pub mod value_facts;
pub mod vector_loads;
mod warp_group;
