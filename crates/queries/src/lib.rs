//! The query graph: one tracked function for each stage or group of phases, and what a driver needs round them.
//!
//! It is here so that the whole answer to "what runs again after this edit?" can be read on one page, [`graph`]. The
//! stages themselves are in the pure crates; no pass, no rule of PTX, no file access and no rendering may enter.

pub mod debug;
pub mod driver;
pub mod failure;
pub mod graph;
mod lacking;
pub mod link;
pub mod module;
mod progress;
mod relocatable;
mod stage;
mod stored;
pub mod view;
mod weight;

pub use driver::{
    Compiled, compile, compile_watched, diagnostics, diagnostics_for, encoding_diagnostic, leaves_open,
    place_of, replaced_target, stand_in_diagnostic, target_chip, target_diagnostics, warm,
};
pub use failure::{Failed, Staged, Static};
pub use lacking::{Lacking, lacking};
pub use progress::Progress;
pub use stored::BUILD;
