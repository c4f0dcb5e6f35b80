//! The account of a server of itself.

use serde::{Deserialize, Serialize};

/// The state of a server.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Its process.
    pub process: u32,
    /// Seconds since it started.
    pub seconds: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that it left to the client: it does not do such things, or failed.
    pub declined: u64,
    /// Requests that it refused because it had enough to do.
    pub refused: u64,
    /// Requests whose client went away before the answer.
    pub cancelled: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Bytes of its memory that are resident.
    pub resident_bytes: u64,
    /// The bytes beyond which it ends.
    pub memory_limit: u64,
    /// Seconds without a request after which it ends.
    pub idle_limit: u64,
}
