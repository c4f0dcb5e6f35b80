//! The file system as commands meet it: inputs that end, outputs that are whole, and which file is which.

pub mod binary;
mod chosen;
pub mod device;
pub mod difference;
mod error;
pub mod folder;
pub mod input;
pub mod output;
pub mod sources;

pub use chosen::{Chosen, DeviceError};
pub use error::FileError;

/// A FIFO without a partner at its other end is waited for so long, in seconds.
const PARTNER: u64 = 3;
