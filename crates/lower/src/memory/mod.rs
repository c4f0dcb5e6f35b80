//! Memory that a thread accesses itself: loads, stores, atomic operations, cache lines, and the spaces of addresses.
//!
//! All families that take an address operand resolve it here ([`place_of`]) and make the operand of their instruction
//! here ([`memory_operand`]). Asynchronous copies by an engine are in `copies`, fences in `threads`.

mod access;
mod atomic_instruction;
mod atomic_loops;
mod atomics;
mod cache;
mod cache_policy;
mod constant;
mod load;
mod multimem;
mod parameters;
mod place;
mod spaces;
mod store;
mod windows;

pub(crate) use access::scope_mod;
pub(crate) use atomic_instruction::operation_mod;
pub(crate) use atomics::atomic;
pub(crate) use cache::{cache_line, cached_operand, policy};
pub(crate) use cache_policy::create_policy;
pub(crate) use load::load;
pub(crate) use multimem::multimem;
pub(crate) use place::{
    Place, access_ops, cluster_to_generic, memory_info, memory_operand, place_of, shared_address,
    whole_address,
};
pub(crate) use spaces::{cvta, getctarank, isspacep, mapa};
pub(crate) use store::store;
pub(crate) use windows::{parameter_bounds, through_shared_window, window};
