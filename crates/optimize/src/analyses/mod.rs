//! Analyses that passes share: definitions and uses, facts about values, types of operands. An analysis changes nothing.

pub mod accesses;
pub mod byte_selectors;
pub mod counted_loop;
pub mod definitions;
pub mod guarding;
pub mod loop_size;
pub mod memory_order;
pub mod slots;
pub mod value_facts;
pub(crate) mod warp_group;
