//! Opcodes of Ori: machine mnemonics, and the pseudo-operations that a later phase expands.

use oriole_sass::Op;

/// The operation of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Opcode {
    /// A machine mnemonic; modifiers and operands as in SASS text.
    Sass(Op),
    /// An operation without a machine opcode, kept whole until the phase that expands it.
    Pseudo(Pseudo),
}

/// Operations without a machine opcode. Operand lists: destinations, then sources. `x2` is a pair of values, low
/// word first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Pseudo {
    /// All destinations take the sources at once: `d0..dn <- s0..sn`; each pair is one component. Placed before
    /// the terminator. Expanded after allocation.
    ParallelCopy,
    /// Copy of one component of R, UR, P or UP. Expanded to MOV / UMOV / PLOP3 / R2UR by the form choice.
    Copy,
    /// `d x2 <- a x2 + b x2`. Sources may be negated. Split at 78.
    Add64,
    /// `d x2 <- low 64 bits of a x2 * b x2`. Split at 78.
    Mul64,
    /// `d x2 <- high 64 bits of a x2 * b x2`; signedness by modifier `U64` or `S64`. Split at 78.
    MulHi64,
    /// `d x2 <- a x2 << b`, amount clamped at 64. Split at 78.
    Shl64,
    /// `d x2 <- a x2 >> b`, amount clamped; arithmetic with modifier `S64`, logical with `U64`. Split at 78.
    Shr64,
    /// `p <- a x2 (compare) b x2`, comparison and signedness by modifier (`LT`, `U64` ...). Split at 78.
    SetPredicate64,
    /// `d x2 <- p ? a x2 : b x2`. Split at 78.
    Select64,
    /// `d x2 <- lut(a x2, b x2, c x2)`, the table an immediate as in LOP3. Split at 78.
    Logic64,
    /// Minimum of two 64-bit integers; signedness by modifier. Split at 78.
    Min64,
    /// Maximum of two 64-bit integers; signedness by modifier. Split at 78.
    Max64,
    /// Integer quotient; `U32`, `S32`, `U64`, `S64` by modifier. A sequence, and a routine for the slow path, from 45
    /// on.
    Divide,
    /// Integer remainder; likewise.
    Remainder,
    /// Floating quotient, `F32` or `F64` (correctly rounded, rounding by RN/RZ/RM/RP modifier, FTZ).
    FDivide,
    /// Correctly rounded reciprocal, likewise.
    FReciprocal,
    /// Correctly rounded square root, likewise.
    FSquareRoot,
    /// A call of a function by the ABI. Sources: argument words in order, for an indirect call the target pair
    /// last; destinations: result words. [`crate::Instruction::call`] holds everything else.
    Call,
    /// A call of a compiler routine. [`crate::Instruction::call`] holds its private convention. Sources and
    /// destinations as for [`Pseudo::Call`]; the results depend only on the arguments.
    CallHelper,
    /// Return from a function; sources: result words.
    Return,
    /// The words that the caller gave: destinations are the parameters of this function, once, at its start.
    Parameters,
    /// `d <- stack pointer + offset of a local variable + byte offset`: the 32-bit local address of a variable;
    /// the source is [`crate::SourceKind::Address32`] of a local symbol. Expanded after allocation.
    FrameAddress,
    /// `d <- stack pointer of the caller`, the start of its stack arguments. Expanded after allocation.
    CallerFrame,
    /// Allocates stack memory; the result is its local address. Sources: size in bytes, and alignment, a literal
    /// power of two. Expanded after allocation, like the two below.
    StackAllocate,
    /// `d <- stack pointer`.
    StackSave,
    /// `stack pointer <- source`.
    StackRestore,
    /// An undefined value (an uninitialized PTX register); destination only. Needs no code.
    Undefined,
    /// Reads its sources, each one component, so that their registers are theirs up to here. Needs no code.
    Keep,
}

impl Pseudo {
    /// True if it moves the stack pointer while the function runs.
    pub fn moves_stack(self) -> bool {
        matches!(self, Pseudo::StackAllocate | Pseudo::StackSave | Pseudo::StackRestore)
    }

    /// Every pseudo-operation.
    pub const ALL: &'static [Pseudo] = &[
        Pseudo::ParallelCopy,
        Pseudo::Copy,
        Pseudo::Add64,
        Pseudo::Mul64,
        Pseudo::MulHi64,
        Pseudo::Shl64,
        Pseudo::Shr64,
        Pseudo::SetPredicate64,
        Pseudo::Select64,
        Pseudo::Logic64,
        Pseudo::Min64,
        Pseudo::Max64,
        Pseudo::Divide,
        Pseudo::Remainder,
        Pseudo::FDivide,
        Pseudo::FReciprocal,
        Pseudo::FSquareRoot,
        Pseudo::Call,
        Pseudo::CallHelper,
        Pseudo::Return,
        Pseudo::Parameters,
        Pseudo::FrameAddress,
        Pseudo::CallerFrame,
        Pseudo::StackAllocate,
        Pseudo::StackSave,
        Pseudo::StackRestore,
        Pseudo::Undefined,
        Pseudo::Keep,
    ];
}
