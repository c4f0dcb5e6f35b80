//! The registers that a scan may use, and the cost at which it is given up.
//!
//! It is here because the callers of the scan decide on both, and the scan only reads them.

use crate::set::RegisterSet;
use oriole_ori::File;

/// The registers that may be used, and which to prefer.
#[derive(Clone, Debug)]
pub struct Registers {
    /// The file.
    pub file: File,
    /// Usable registers.
    pub usable: RegisterSet,
    /// One past the highest.
    pub count: u16,
    /// Registers to prefer (in functions: those that need no save).
    pub cheap: RegisterSet,
    /// Prefer the least recently used free register instead of the lowest: independent instructions get fewer false
    /// dependences.
    pub least_recently_used: bool,
    /// Cost at which to give up; `None` for never.
    pub budget: Option<CostBudget>,
}

/// The cost at which an allocation is abandoned.
#[derive(Clone, Copy, Debug)]
pub struct CostBudget {
    /// Inserted instructions, each counted by [`weight`].
    pub moves: u64,
    /// Accesses to the frame.
    pub memory: u32,
}
