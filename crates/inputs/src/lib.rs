//! The inputs of the query graph: files, configurations, units and their identity, the log of executed queries.
//!
//! One small crate decides what an edit changes. [`SourceFile`] with the [`UnitInput`] of each of its units and
//! [`Config`] are the only inputs; [`FunctionUnit`] is the only identity that stages are keyed by. No stage, no rule of
//! PTX and no file access may enter; the host reads files and sets texts.
//!
//! Inputs and units need salsa's database only; [`Db`] is that database with what queries need: the log, the history of
//! results, the store.

mod cancel;
mod config;
mod database;
mod file;
mod function_unit;
mod history;
mod log;
mod place;
mod reads;
mod thread;
mod unit;

pub use cancel::{Cancellable, Cancelled, Canceller};
pub use config::{ChipKey, Config};
pub use database::{Database, Db};
pub use file::{Extent, SourceFile, Units};
pub use function_unit::FunctionUnit;
pub use history::{History, Slot};
pub use log::{Cause, Edit, Execution, ExecutionLog};
pub use place::Place;
pub use reads::{Reads, Running, record_reads};
pub use unit::{Unit, UnitInput, UnitText};
