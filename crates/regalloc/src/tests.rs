//! Allocation of written and of random functions, judged by the checker; and the checker judged by broken
//! allocations.

mod broken;
mod moved_loads;
mod random;
mod renamed;
mod written;

use crate::allocation::Prepared;
use crate::check::{Problem, check};
use crate::driver::{allocate, prepare};
use crate::{AllocateError, Allocation, abi};
use oriole_chip::Chip;
use oriole_options::AllocateOptions;
use oriole_ori::Function;

/// Options with a limit.
fn options(limit: Option<u16>) -> AllocateOptions {
    AllocateOptions { limit, check: true, ..oriole_options::Options::default().allocate() }
}

/// Allocates and checks; the problems are for the caller to judge.
fn run(
    function: &Function,
    limit: Option<u16>,
) -> Result<(Prepared, Allocation, Vec<Problem>), AllocateError> {
    let mut input = function.clone();
    abi::bind(&mut input, Chip::SM_90.register_files())?;
    let prepared = prepare(input, Chip::SM_90)?;
    let allocation = allocate(prepared.clone(), Chip::SM_90, &options(limit))?;
    let problems = check(Chip::SM_90, &prepared, &allocation);
    Ok((prepared, allocation, problems))
}
