//! The list of phases, and the driver that runs a group of them over one function. The only crate that calls the
//! passes; the only one that the query layer calls.
//!
//! Nothing here reads text, knows a file, or keeps a value from one compile to the next.

pub mod context;
pub mod failure;
pub mod judge;
pub mod phases;
pub mod run;
pub mod search;
pub mod stages;
pub mod target;

pub use context::{Context, Settings};
pub use failure::Failure;
pub use judge::Judge;
pub use oriole_emit::{Allocated, LinkedFunction, facts, is_for_debuggers};
pub use oriole_isel::Explained;
pub use oriole_legalize::library::LibraryFunction;
pub use oriole_legalize::routine::Routine;
pub use oriole_lower::{LowerError, options_for};
pub use oriole_ori::pattern::{Decision, Decisions};
pub use oriole_schedule::Profile;
pub use phases::{Group, ORI_GROUPS, PHASES, Phase, Work};
pub use run::{run, run_part, run_watched};
pub use search::{Found, search};
pub use stages::{
    ASSUMED_THREADS, allocate, encode, explain, finish, library, lower, profile, raw, routine, select,
};
pub use target::{Target, TargetError};
