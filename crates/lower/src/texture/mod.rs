//! Textures and surfaces: fetches, gathers, loads, stores, reductions, and queries of their properties.
//!
//! Lowering leaves a handle in a general register; `finishing` moves it where the chip wants it. Other families get no more
//! than the value of a handle.

mod coordinates;
mod fetch;
mod gradients;
mod handle;
mod properties;
mod surface;

pub(crate) use fetch::{fetch, gather};
pub(crate) use handle::{handle, is_type};
pub(crate) use properties::query;
pub(crate) use surface::{load_surface, reduce_surface, store_surface};
