//! Roles of register reads, and result parts of register writes: with the class of the instruction they determine
//! latencies.

/// Role of a register read; with the class it determines the distance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Slot {
    /// Ordinary general operand.
    Operand,
    /// Low half of the 64-bit addend of `IMAD.WIDE`.
    AddendLow,
    /// High half of the 64-bit addend.
    AddendHigh,
    /// Accumulator of a matrix multiply.
    Accumulator,
    /// Memory address.
    Address,
    /// Data of a memory operation.
    Data,
    /// Index into a constant bank.
    ConstantIndex,
    /// Predicate operand.
    Predicate,
    /// Predicate operand of an instruction that reads it as late as a guard.
    SlowPredicate,
    /// Guard predicate.
    Guard,
    /// Uniform operand.
    Uniform,
    /// Uniform part of an address, or a descriptor.
    UniformAddress,
    /// Matrix descriptor `gdesc[UR]`.
    MatrixDescriptor,
    /// Uniform index or handle of a constant bank.
    UniformIndex,
    /// Uniform predicate operand.
    UniformPredicate,
    /// Uniform guard.
    UniformGuard,
    /// Convergence barrier.
    Barrier,
}

/// The part of its result that an instruction writes to a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ResultPart {
    /// A general register.
    General,
    /// The low half of a wide multiply.
    Low,
    /// The high half of a wide multiply.
    High,
    /// A predicate.
    Predicate,
    /// A uniform register.
    Uniform,
    /// A uniform predicate.
    UniformPredicate,
    /// A convergence barrier.
    Barrier,
}
