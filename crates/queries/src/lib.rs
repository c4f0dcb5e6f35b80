//! The query graph: one tracked function for each stage or group of phases, and the entry points of drivers.
//!
//! The calls of a query are all that it may read. Everything is keyed by a unit, or by a unit and a
//! configuration, and no value holds a file position, so an edit changes the values that depend on it and
//! nothing else; `docs/edits.md` has the table of edits and the queries that they run, and the tests read it
//! from there. A new read needs an answer to: which edit will now run the query again? Take the narrowest
//! query that serves.
//!
//! Queries are in the order from text to container, and a file calls only files above it: [`files`],
//! [`calls`], [`configuration`], [`checks`], [`steps`], [`searched`], [`functions`], [`images`], [`debug`],
//! [`modules`]. Below them are their callers: [`driver`] and [`view`]. The stages themselves are in the pure crates; no pass, no rule
//! of PTX, no file access and no rendering may enter.

pub mod calls;
pub mod checks;
pub mod configuration;
pub mod debug;
pub mod driver;
pub mod failure;
pub mod files;
pub mod functions;
pub mod images;
pub mod inlined;
mod lacking;
pub mod modules;
mod progress;
pub mod searched;
mod stage;
pub mod steps;
mod stored;
mod unnamed;
pub mod view;
mod weight;

pub use driver::{
    compile, compile_watched, diagnostics, diagnostics_for, encoding_diagnostic, leaves_open, place_of,
    replaced_target, stand_in_diagnostic, target_chip, target_diagnostics, warm,
};
pub use failure::{Failed, Staged, Static};
pub use lacking::{Lacking, lacking};
pub use progress::Progress;
pub use stored::{BUILD, Compiled};
