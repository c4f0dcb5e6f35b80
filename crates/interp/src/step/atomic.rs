//! The operation of an atomic, a reduction in memory or a bulk copy that combines.

use crate::value::float::{FloatOperation, Mode};
use crate::value::integer::Kind;
use crate::value::soft::Format;

/// The operation of an atomic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AtomicOperation {
    Add(Kind),
    Minimum(Kind),
    Maximum(Kind),
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    /// Up to a limit, then zero.
    Increment,
    /// Down to zero, then the limit.
    Decrement,
    /// Floating-point add, min or max; `true`: of f16x2 pairs.
    Float(FloatOperation, Format, Mode, bool),
}
