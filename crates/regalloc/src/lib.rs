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
mod allocation;
pub mod check;
mod cold_blocks;
mod color;
mod driver;
mod edges;
mod error;
mod expand;
mod frame;
mod handles;
mod hoist_constants;
mod join_halves;
mod latch_moves;
mod layout;
mod linear_scan;
mod moves;
mod next_use;
mod one_file;
mod operands;
mod places;
mod reallocate;
mod rename;
mod set;
mod work;

pub use allocation::Allocation;
pub use error::AllocateError;

use oriole_chip::Chip;
use oriole_options::AllocateOptions;
use oriole_ori::{Assignment, Function};

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
