//! Operands of a step: the source of a value, the destination of a result, a place in memory.

use crate::memory::Place;
use oriole_ptx::SpecialRegister;

/// The source of an operand.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A register of the current frame.
    Register(u32),
    /// The complement of a predicate.
    NotPredicate(u32),
    /// A constant.
    Immediate(u64),
    /// Local address of this offset in the current frame.
    Frame(u32),
    /// A special register.
    Special(SpecialRegister),
}

/// The destination of a result: a register of the current frame and its bits.
#[derive(Clone, Copy, Debug)]
pub struct Destination {
    /// Register of the current frame.
    pub slot: u32,
    /// The bits that the register holds.
    pub mask: u64,
}

/// A memory operand.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// Space of the access.
    pub place: Place,
    /// Base address.
    pub base: Source,
    /// Offset in bytes.
    pub offset: i64,
}
