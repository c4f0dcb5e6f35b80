//! The inputs of the query graph: files, configurations, units and their identity, the log of executed queries.
//!
//! One small crate decides what an edit changes. [`SourceFile`] with the [`UnitInput`] of each of its units and
//! [`Config`] are the only inputs; [`FunctionUnit`] is the only identity that stages are keyed by. No stage, no rule of
//! PTX and no file access may enter; the host reads files and sets texts.

mod cancel;
mod config;
mod database;
mod file;
mod history;
mod log;
mod reads;
mod unit;

pub use cancel::{Cancellable, Cancelled, Canceller};
pub use config::{ChipKey, Config};
pub use database::{Database, Db};
pub use file::{Extent, SourceFile, Units};
pub use history::{History, Slot};
pub use log::{Cause, Edit, Execution, ExecutionLog, Place, Running};
pub use reads::{Reads, record_reads};
pub use unit::{FunctionUnit, Unit, UnitInput, UnitText};
