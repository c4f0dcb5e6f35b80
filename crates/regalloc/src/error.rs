//! Reasons why a function cannot be allocated.
//!
//! It is here because every part of the crate may find one. Codes and pages of diagnostics are not known here.

use oriole_ori::File;
use std::fmt;

/// Why a function cannot be allocated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AllocateError {
    /// One instruction needs more registers of a file than there are.
    TooFewRegisters {
        /// The file.
        file: File,
        /// Registers available.
        limit: u16,
    },
    /// More values of a file that cannot be split are live at once than there are registers.
    Pressure {
        /// The file.
        file: File,
    },
    /// An instruction needs more registers than the directives or options allow a thread.
    Exceeded {
        /// The instruction of the source.
        statement: u32,
        /// Registers of a thread that would do.
        needed: u16,
        /// Registers that a thread has.
        limit: u16,
    },
    /// The kernel releases registers and names more than a thread has there.
    Raised {
        /// The instruction of the source.
        statement: u32,
        /// Registers of a thread that it names.
        asked: u16,
        /// Registers that a thread has.
        held: u16,
    },
    /// The input breaks a rule of this stage's input.
    Input(String),
    /// The frame is too large for an address offset.
    Frame(u64),
    /// The checker found a mistake of the allocator.
    Internal(String),
}

impl fmt::Display for AllocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocateError::TooFewRegisters { file, limit } => {
                write!(f, "one instruction needs more than the {limit} registers of file {file:?}")
            }
            AllocateError::Pressure { file } => {
                write!(f, "more values of file {file:?} are live at once than there are registers")
            }
            AllocateError::Exceeded { needed, limit, .. } => write!(
                f,
                "this instruction needs more registers of a thread than there are: {needed} are enough, and {limit} are all that it may have: \
                 raise `.maxnreg`, `--maxrregcount` or what `setmaxnreg` asks for, or lower the threads of a block"
            ),
            AllocateError::Raised { asked, held, .. } => {
                write!(f, "`setmaxnreg.dec` to {asked} registers where a thread has {held}")
            }
            AllocateError::Input(message) => write!(f, "not ready for register allocation: {message}"),
            AllocateError::Frame(bytes) => write!(f, "a frame of {bytes} bytes is too large"),
            AllocateError::Internal(message) => write!(f, "register allocation is wrong: {message}"),
        }
    }
}

impl std::error::Error for AllocateError {}
