//! State spaces of PTX.

/// Where a variable lives or an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Space {
    /// `.reg`
    Register,
    /// `.const`
    Constant,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param` of a kernel.
    KernelParameter,
    /// `.param` of a function, or declared in a body for a call.
    FunctionParameter,
    /// `.shared`, `.shared::cta`
    Shared,
    /// `.shared::cluster`
    SharedCluster,
    /// No space written: a generic address.
    Generic,
}
