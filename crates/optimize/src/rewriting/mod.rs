//! Rewriting that passes are made of: rules for one instruction or for one kind of value. No file here is a phase.

pub mod address_fold;
pub mod algebra;
pub(crate) mod carry_sums;
pub mod copy_propagation;
pub(crate) mod float_bounds;
pub mod fold;
pub(crate) mod guarded_copies;
pub mod guarded_selections;
pub(crate) mod halves;
pub mod join_phis;
pub(crate) mod loop_copies;
pub mod operand_fold;
pub mod operands;
pub mod product_halves;
pub mod replacement;
pub(crate) mod uniform_addresses;
pub mod uniform_chains;
pub mod uniform_copies;
pub(crate) mod uniform_forms;
pub(crate) mod uniform_numbers;
pub(crate) mod uniform_variables;
pub mod view;
