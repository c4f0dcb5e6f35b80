//! Time: which instruction comes when, how long each stalls, and which scoreboards it sets and waits for.
//!
//! It is here because the machine checks nothing: a result read too early is simply wrong. Before allocation the
//! instructions of Ori are ordered; after form choice the machine instructions are ordered again, and the control word
//! of each is filled in.
//! No register is chosen and no bit is laid out here.

mod backward;
mod decoded;
mod effects;
mod forward;
mod graph;
mod late;
mod numbers;
mod order;
mod piece;
mod profile;
mod report;
mod reuse;
mod scoreboards;
mod serial;
mod stalls;
mod statistics;
mod words;

pub use decoded::decoded;
pub use profile::{Profile, Surroundings, profile};
pub use report::report;
pub use statistics::{Hiding, Statistics, Usage, statistics, usage};

use oriole_chip::Chip;
use oriole_latency::Model;
use oriole_options::{FinishOptions, OrderOptions};
use oriole_ori::{BlockId, Function, MachineFunction};
use std::fmt;
use typed_index_collections::{TiVec, ti_vec};

/// Why nothing can be scheduled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScheduleError {
    /// No distances are known for the chip.
    Chip(Chip),
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::Chip(chip) => write!(f, "no latencies are known for {chip}"),
        }
    }
}

impl std::error::Error for ScheduleError {}

/// Orders the instructions within the blocks of a function (phase 97), before registers are chosen.
///
/// # Errors
/// No latency table exists for the chip.
pub fn before_allocation(
    function: &mut Function,
    chip: Chip,
    options: &OrderOptions,
) -> Result<(), ScheduleError> {
    let model = Model::of(chip).ok_or(ScheduleError::Chip(chip))?;
    if options.reorder {
        order::order(function, model, options);
    }
    Ok(())
}

/// Orders the machine instructions within the blocks of a function (phase 106), registers and forms being chosen.
///
/// # Errors
/// No latency table exists for the chip.
pub fn after_allocation(
    function: &mut MachineFunction,
    chip: Chip,
    options: &FinishOptions,
) -> Result<(), ScheduleError> {
    let model = Model::of(chip).ok_or(ScheduleError::Chip(chip))?;
    if options.reorder {
        let forms = oriole_sass::form::table(chip).ok_or(ScheduleError::Chip(chip))?;
        let blocks = reverse_postorder(function);
        late::order(function, model, forms, &blocks);
    }
    Ok(())
}

/// Fills in the control word of every instruction (phases 113 to 116). The stream must be complete: after this,
/// only this function itself may have added an instruction (`NOP`, where a stall does not fit one word).
///
/// # Errors
/// No latency table exists for the chip.
pub fn control_words(
    function: &mut MachineFunction,
    chip: Chip,
    options: &FinishOptions,
) -> Result<(), ScheduleError> {
    let model = Model::of(chip).ok_or(ScheduleError::Chip(chip))?;
    let forms = oriole_sass::form::table(chip).ok_or(ScheduleError::Chip(chip))?;
    let nop = words::Nop::new(chip).map_err(|_| ScheduleError::Chip(chip))?;
    if options.serial {
        serial::assign(function, model, forms, &nop);
        return Ok(());
    }
    let effects: TiVec<BlockId, Vec<effects::Effects>> = function
        .blocks
        .iter()
        .map(|block| block.instructions.iter().map(|m| effects::Effects::new(model, forms, m)).collect())
        .collect();
    let order = reverse_postorder(function);
    scoreboards::assign(function, &effects, &order);
    let cap = if options.stall_cap == 0 { words::LONGEST_STALL } else { options.stall_cap };
    stalls::assign(function, &effects, &order, model, &nop, cap);
    if options.reuse {
        reuse::assign(function, chip, model, forms);
    }
    Ok(())
}

/// Blocks in reverse postorder; unreachable ones stand at the end, so that they too get control words.
fn reverse_postorder(function: &MachineFunction) -> Vec<BlockId> {
    let count = function.blocks.len();
    let mut order = Vec::with_capacity(count);
    let mut seen: TiVec<BlockId, bool> = ti_vec![false; count];
    let mut unreachable = Vec::new();
    for root in function.blocks.keys() {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        let mut part = Vec::new();
        let mut stack = vec![(root, 0)];
        while let Some((block, next)) = stack.last_mut() {
            if let Some(&successor) = function.blocks[*block].successors.get(*next) {
                *next += 1;
                if !std::mem::replace(&mut seen[successor], true) {
                    stack.push((successor, 0));
                }
            } else {
                part.push(*block);
                stack.pop();
            }
        }
        part.reverse();
        if root == BlockId(0) { order = part } else { unreachable.extend(part) }
    }
    order.extend(unreachable);
    order
}

#[cfg(test)]
mod tests;
