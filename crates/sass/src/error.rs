//! Why an instruction has no word.

use crate::{Mod, Op};
use oriole_chip::Chip;
use std::fmt;

/// Why an instruction has no word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EncodeError {
    /// There is no form table for the chip.
    UnsupportedChip(Chip),
    /// The chip has no such opcode.
    UnknownOpcode(Op),
    /// No form of the opcode takes operands of these kinds.
    Operands(Op),
    /// Forms with these operands exist, but none that takes all modifiers and signs; with one unsupported item.
    Modifiers(Op, Leftover),
    /// A value does not fit its field, or two operands that share a field differ. The operand's index is given.
    Range(Op, usize),
    /// The guard is of the wrong register file, or its index is too large.
    Guard(Op),
    /// `.reuse` on an operand that has no reuse bit.
    Reuse(Op, usize),
    /// The scheduling control is not encodable: a value is too large, the instruction cannot release that scoreboard,
    /// or it neither stalls nor yields.
    Control(Op, &'static str),
}

/// The part that a form could not express.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leftover {
    /// A modifier of the instruction.
    Mod(Mod),
    /// A sign, suffix or name of the operand with this index.
    Operand(usize),
    /// Everything is expressible, but a field has no value for it (a required modifier is missing).
    Missing,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::UnsupportedChip(chip) => write!(f, "no instruction table for {chip}"),
            EncodeError::UnknownOpcode(op) => write!(f, "the chip has no {}", op.name()),
            EncodeError::Operands(op) => write!(f, "no form of {} takes these operands", op.name()),
            EncodeError::Modifiers(op, Leftover::Mod(name)) => {
                write!(f, "no form of {} with these operands takes .{}", op.name(), name.spelling())
            }
            EncodeError::Modifiers(op, Leftover::Operand(index)) => {
                write!(f, "no form of {} takes the sign, suffix or name of operand {index}", op.name())
            }
            EncodeError::Modifiers(op, Leftover::Missing) => {
                write!(f, "{} lacks a modifier that it must have", op.name())
            }
            EncodeError::Range(op, index) => {
                write!(f, "operand {index} of {} does not fit its field", op.name())
            }
            EncodeError::Guard(op) => write!(f, "{} cannot have this guard", op.name()),
            EncodeError::Reuse(op, index) => write!(f, "operand {index} of {} has no reuse flag", op.name()),
            EncodeError::Control(op, what) => write!(f, "{}: {what}", op.name()),
        }
    }
}

impl std::error::Error for EncodeError {}
