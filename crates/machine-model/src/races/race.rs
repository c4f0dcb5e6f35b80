//! The rules, each by the way in which a program breaks it.

/// A rule that is broken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Race {
    /// A copy or an MMA reads data that threads wrote, without a proxy fence.
    ProxyFenceMissing,
    /// Shared memory is overwritten before its copy was waited for.
    SourceOverwritten,
    /// Shared memory is used before the mbarrier of the copy to it, or the wait for it, signals completion.
    CopyNotArrived,
    /// A copy overwrites shared memory that may still be in use: no synchronization orders them.
    TargetInUse,
    /// Tensor memory is used before the mbarrier of the operation that writes it signals completion.
    ResultNotThere,
    /// Tensor memory is overwritten that an operation may still read.
    OperandOverwritten,
    /// An operation uses tensor memory whose load or store the warp has not waited for, or not signalled; or a load
    /// uses data that a store of its own warp may not have written.
    AccessGoingOn,
}
