//! The allocation of one file by the linear scan, predicates or general registers: the registers that there are for it,
//! the scan, and the repair of edges.
//!
//! It is here because the first allocation and every further attempt take this step. Limits, and which attempt is
//! kept, are not known here.

use crate::error::AllocateError;
use crate::linear_scan::{CostBudget, Registers, ScanInputs, scan};
use crate::set::RegisterSet;
use crate::work::Work;
use crate::{abi, edges};
use oriole_chip::RegisterFiles;
use oriole_ori::File;

/// Allocates the predicates; with `clusters` those that are connected are joined.
pub fn predicates(work: &mut Work, files: &RegisterFiles, clusters: bool) -> Result<(), AllocateError> {
    let usable = work.function.routine.map_or(files.all_predicates(), |clobbers| clobbers.predicates);
    let count = u16::from(files.predicate.end_usable);
    let usable = RegisterSet::from_words([usable.into(), 0, 0, 0]);
    let registers =
        Registers { file: File::P, usable, count, cheap: usable, least_recently_used: false, budget: None };
    let inputs = ScanInputs::new(work, File::P, clusters);
    file(work, None, &inputs, &registers)
}

/// Allocates the general registers below a limit; with `least_recently_used` those first. `before` has the
/// instructions that are left out of `work`.
pub fn general(
    work: &mut Work,
    before: Option<&Work>,
    inputs: &ScanInputs,
    limit: u16,
    least_recently_used: bool,
    budget: Option<CostBudget>,
) -> Result<(), AllocateError> {
    let usable = usable(work, limit);
    let cheap = if work.function.is_entry || work.function.routine.is_some() {
        usable
    } else {
        usable.without(abi::saved())
    };
    let registers = Registers { file: File::R, usable, count: limit, cheap, least_recently_used, budget };
    file(work, before, inputs, &registers)
}

/// The general registers below a limit that are there for values.
pub fn usable(work: &Work, limit: u16) -> RegisterSet {
    let mut usable = RegisterSet::range(0, limit);
    usable.remove(abi::STACK_POINTER);
    if let Some(base) = work.register[work.stack_pointer] {
        usable.remove(base);
    }
    match work.function.routine {
        Some(clobbers) => usable.within(RegisterSet::from_words([clobbers.general, 0, 0, 0])),
        None => usable,
    }
}

/// Scans one file and repairs the edges.
fn file(
    work: &mut Work,
    before: Option<&Work>,
    inputs: &ScanInputs,
    registers: &Registers,
) -> Result<(), AllocateError> {
    let states = scan(work, before, registers, inputs)?;
    edges::repair(work, registers, inputs, &states);
    Ok(())
}
