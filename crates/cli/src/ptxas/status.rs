//! The exit status of a failed call, which is that of ptxas.

/// The exit status of whatever goes wrong.
pub const FAILED: u8 = 255;
