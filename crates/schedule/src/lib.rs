//! Instruction scheduling: issue order, stall counts and scoreboards.
//!
//! It is here because the hardware checks nothing: a result read too early is silently wrong. Ori is scheduled before
//! allocation; machine instructions are scheduled again after form selection, and then the control words are filled
//! in. No register is chosen and nothing is encoded here.

mod arrange;
mod between_products;
mod bottom_up;
mod bounded;
mod budget;
mod candidate;
mod choice;
mod copies;
mod decoded;
mod dense_ids;
mod distance;
mod effects;
mod graph;
mod in_order;
mod known_blocks;
mod matrix_blocks;
mod occupancy;
mod pending;
mod post_ra;
mod pre_ra;
mod pressure;
mod products;
mod profile;
mod region;
mod report;
mod reuse;
mod scoreboards;
mod serial;
mod stalls;
mod statistics;
mod tables;
mod timeline;
mod top_down;
mod units;
mod weigh;
mod words;
mod workarounds;

pub use budget::Steps;
pub use choice::PREDICATES;
pub use decoded::decoded;
pub use effects::Finishing;
pub use known_blocks::KnownBlocks;
pub use matrix_blocks::has_matrix_blocks;
pub use occupancy::{Throughput, counts_blocks, registers_decide, step_below};
pub use pre_ra::weight;
pub use pressure::{Named, Pressure, named, pressure};
pub use profile::{LaunchBounds, Profile, profile};
pub use report::report;
pub use statistics::{Hiding, Statistics, Usage, statistics, usage};
pub use tables::Tables;
pub use timeline::{Issue, timeline};

use oriole_options::{FinishOptions, OrderOptions};
use oriole_ori::{Budget, Function, MachineFunction};
use std::fmt;

/// Reason why nothing can be scheduled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScheduleError {
    /// The chip has no instruction that only passes time.
    Nop,
    /// The chip has asynchronous copies and no load from shared memory.
    Load,
    /// The chip marks entries and has no shuffle.
    Shuffle,
    /// The chip has `wgmma` and no wait for it.
    Products,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::Nop => f.write_str("the chip has no form of NOP"),
            ScheduleError::Products => f.write_str("the chip has no form of a wait for products"),
            ScheduleError::Shuffle => f.write_str("the chip has no form of a shuffle that marks an entry"),
            ScheduleError::Load => f.write_str("the chip has no form of a load that goes before copies"),
        }
    }
}

impl std::error::Error for ScheduleError {}

/// Schedules the instructions within the blocks of a function (phase 97), before register allocation. Returns the
/// available registers for values, if more are live at once somewhere even so. `known` is for a function that may be
/// scheduled again, or that is the base of others that are.
pub fn before_allocation(
    function: &mut Function,
    tables: &Tables,
    options: &OrderOptions,
    known: Option<&mut KnownBlocks>,
) -> Option<Budget> {
    if options.reorder { pre_ra::order(function, tables, options, known) } else { None }
}

/// Schedules the machine instructions within the blocks of a function (phase 106), after allocation and form
/// selection.
pub fn after_allocation(finishing: &mut Finishing, tables: &Tables, options: &FinishOptions) {
    if options.reorder {
        post_ra::order(finishing, tables.latency, options.between_products);
    }
}

/// Fills in the control word of every instruction (phases 113 to 116). The code is final then, except for added
/// `NOP`s where a stall does not fit one word, and dummy loads ahead of asynchronous copies.
///
/// # Errors
/// The chip has no form of `NOP`, or of the load before copies.
pub fn control_words(
    mut finishing: Finishing,
    tables: &Tables,
    options: &FinishOptions,
) -> Result<MachineFunction, ScheduleError> {
    let &Tables { forms, latency: model, .. } = tables;
    let nop = words::Nop::new(tables).map_err(|_| ScheduleError::Nop)?;
    products::complete(&mut finishing, tables).map_err(|_| ScheduleError::Products)?;
    copies::insert_loads(&mut finishing, tables).map_err(|_| ScheduleError::Load)?;
    workarounds::insert(&mut finishing, tables, &nop).map_err(|_| ScheduleError::Shuffle)?;
    if options.serial {
        serial::assign(&mut finishing, model, &nop);
        return Ok(finishing.function);
    }
    let rules = in_order::Rules {
        silent: options.in_order,
        loads_read: options.in_order && tables.loads_read_in_order,
    };
    scoreboards::assign(&mut finishing, rules);
    let cap = if options.stall_cap == 0 { words::LONGEST_STALL } else { options.stall_cap };
    stalls::assign(&mut finishing, model, &nop, cap);
    if options.reuse {
        reuse::assign(&mut finishing, forms);
    }
    Ok(finishing.function)
}

#[cfg(test)]
mod tests;
