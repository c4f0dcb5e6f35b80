//! Register allocation (phases 97 to 105): assigns physical registers, spills, and lays out the frame; then expands
//! the pseudo-instructions that depend on it.
//!
//! It is here because up to this point registers are unlimited. It knows no encoding and no latency. Input is Ori
//! outside SSA: parallel copies replace phis. The output has machine opcodes only; each value has one physical
//! register for its whole life.
//!
//! Order: predicates first (they are spilled to general registers), then uniform registers, uniform predicates and
//! convergence barriers (by colouring, without splitting), last general registers (spilled to local memory).
//! [`check`] verifies a result independently of the allocator.

pub mod abi;
pub mod check;
mod cold_blocks;
mod color;
mod driver;
mod edges;
mod expand;
mod frame;
mod handles;
mod hoist_constants;
mod join_halves;
mod latch_moves;
mod linear_scan;
mod moves;
mod next_use;
mod operands;
mod reallocate;
mod set;
mod work;

use oriole_chip::Chip;
use oriole_options::AllocateOptions;
use oriole_ori::{Assignment, BlockId, File, Function, Value};
use std::fmt;
use typed_index_collections::TiVec;

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

/// A function with registers assigned, before the expansions: the input of the checker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// The function; moves, stores and reloads are in place.
    pub function: Function,
    /// Registers and frame.
    pub assignment: Assignment,
    /// For each value the value of the input that it represents (itself, if it is new).
    pub original: TiVec<Value, Value>,
    /// For each block and instruction: true if the allocator inserted it.
    pub inserted: TiVec<BlockId, Vec<bool>>,
    /// For each block the block of the input; `None` for one made to hold edge moves.
    pub blocks: TiVec<BlockId, Option<BlockId>>,
    /// The stack pointer, R1.
    pub stack_pointer: Value,
}

/// Assigns registers; the result still has calls, copies and frame addresses unexpanded.
///
/// # Errors
/// The function needs more registers than the hardware has, or is not in the form that this stage takes.
pub fn assign(
    function: &Function,
    chip: Chip,
    options: &AllocateOptions,
) -> Result<Allocation, AllocateError> {
    let mut input = function.clone();
    abi::bind(&mut input, chip.register_files())?;
    driver::allocate(driver::prepare(input, chip)?, chip, options)
}

/// Phases 97 to 105: assigns registers, and expands pseudo-instructions that depend on them. The assignment is
/// checked if the options say so, and always with debug assertions.
///
/// # Errors
/// Like [`assign`]; also if the checker finds a violation.
pub fn allocate(
    mut function: Function,
    chip: Chip,
    options: &AllocateOptions,
) -> Result<(Function, Assignment), AllocateError> {
    abi::bind(&mut function, chip.register_files())?;
    let prepared = driver::prepare(function, chip)?;
    let asked = (options.check || cfg!(debug_assertions)).then(|| prepared.clone());
    let allocation = driver::allocate(prepared, chip, options)?;
    if let Some(asked) = asked
        && let Some(problem) = check::check(chip, &asked, &allocation).first()
    {
        return Err(AllocateError::Internal(problem.to_string()));
    }
    expand::expand(allocation, chip, options)
}

#[cfg(test)]
mod tests;
