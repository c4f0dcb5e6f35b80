//! Work that engines do while the thread continues: asynchronous and bulk copies, tensor maps, and launches of clusters.
//!
//! Each instruction of the bulk engine is in a block of its own, so that `finishing` can build a waterfall loop where more
//! than one lane may execute it. The mbarriers that copies signal are in `threads`.

mod async_copy;
mod async_store;
mod bulk;
mod cluster_launch;
mod cp;
mod engine;
mod fill;
mod groups;
mod reduction;
mod tensor_map;
mod tensor_map_cache;
mod tiles;

pub(crate) use async_store::async_store;
pub(crate) use bulk::bulk;
pub(crate) use cluster_launch::{take_cluster, taken_cluster};
pub(crate) use cp::cp;
pub(crate) use fill::fill_shared;
pub(crate) use tensor_map::change_map;
pub(crate) use tensor_map_cache::{acquire_map, prefetch_map};
