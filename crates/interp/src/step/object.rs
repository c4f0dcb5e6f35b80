//! Operations on mbarriers.

/// An operation on an mbarrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectOperation {
    /// Initializes one with a number of arrivals.
    Initialize {
        /// In the second layout.
        second: bool,
    },
    /// Invalidates one.
    Invalidate,
    /// Expects more transaction bytes.
    Expect,
    /// Completes transaction bytes.
    Complete,
    /// Arrivals.
    Arrive {
        /// They drop out of later phases.
        drop: bool,
    },
    /// Expects more transaction bytes, and arrives.
    ExpectAndArrive {
        /// It drops out of later phases.
        drop: bool,
    },
    /// Arrivals that do not complete the phase.
    ArriveWithin {
        /// They drop out of later phases.
        drop: bool,
    },
    /// An arrival when the copies of the thread are done; unless it was counted, the pending count grows first.
    Copied {
        /// The expected count includes it.
        counted: bool,
    },
}
