//! The simulator of SASS, and the static checker of its control words.
//!
//! It executes the words of any cubin, so that ptxas's output checks the simulator and the simulator checks ours. It
//! models when a result becomes visible: a register that is read before its producer's latency has passed, or without
//! waiting for its scoreboard, is a reported hazard and not luck. It knows words, latencies and the container, and
//! nothing of the compiler; no semantics may be shared with the PTX interpreter or a constant folder.

mod accesses;
mod arguments;
mod barrier_object;
mod block;
mod cached_source;
mod cluster;
mod condition;
mod conflict;
mod constants;
mod descriptors;
mod execute;
mod format;
mod heap;
mod late;
mod launch;
mod launch_limits;
mod likeness;
mod lint;
mod machine;
mod memory;
mod number;
mod observer;
mod operand_cache;
mod pairs;
mod partings;
mod products;
mod program;
mod sampling;
mod texture;
mod timing;
mod tracker;
mod tracker_rules;
mod transfers;
mod warp;
mod widths;

pub use launch::{Argument, Error, Fault, Hazard, HazardKind, Launch, Options, Outcome};
pub use likeness::{Likeness, likeness};
pub use lint::lint;
pub use machine::{run, run_observed};
pub use observer::{Access, AccessKind, Described, Event, Meeting, Memory, Observer};
pub use pairs::pairs;
