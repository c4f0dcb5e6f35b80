//! Instruction scheduling: issue order, stall counts and scoreboards.
//!
//! It is here because the hardware checks nothing: a result read too early is silently wrong. Ori is scheduled before
//! allocation; machine instructions are scheduled again after form selection, and then the control words are filled
//! in. No register is chosen and nothing is encoded here.

mod between_products;
mod bottom_up;
mod bounded;
mod budget;
mod copies;
mod decoded;
mod dense_ids;
mod effects;
mod graph;
mod in_order;
mod occupancy;
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
mod timeline;
mod top_down;
mod units;
mod words;
mod workarounds;

pub use between_products::has_matrix_blocks;
pub use budget::Steps;
pub use decoded::decoded;
pub use effects::Finishing;
pub use occupancy::{Throughput, counts_blocks, registers_decide, step_below};
pub use pre_ra::{KnownBlocks, weight};
pub use pressure::{Named, Pressure, named, pressure};
pub use profile::{LaunchBounds, Profile, profile};
pub use report::report;
pub use statistics::{Hiding, Statistics, Usage, statistics, usage};
pub use timeline::{Issue, timeline};

use oriole_chip::{Chip, Limits};
use oriole_latency::Model;
use oriole_options::{FinishOptions, OrderOptions};
use oriole_ori::{BlockId, Budget, Function, MachineFunction};
use oriole_sass::form::Table;
use std::fmt;
use typed_index_collections::{TiVec, ti_vec};

/// Chip tables that scheduling needs.
#[derive(Clone, Copy)]
pub struct Tables {
    /// Its resource limits.
    pub limits: Limits,
    /// Its forms.
    pub forms: &'static Table,
    /// Its latencies.
    pub latency: &'static Model,
    /// General registers that a thread may be allocated.
    pub registers: u16,
    /// Count of dummy loads before the first asynchronous copy of a block.
    pub loads_before_copies: u8,
    /// Count of dummy loads before each signal that copies are complete.
    pub loads_before_signals: u8,
    /// A dummy shuffle marks the entry of a function.
    pub marks_entries: bool,
    /// A dummy instruction precedes each barrier of the block.
    pub pauses_before_barriers: bool,
    /// A load from global memory has read its address before a later one writes its result.
    pub loads_read_in_order: bool,
}

impl Tables {
    /// The tables of a chip, `None` if it lacks one.
    pub fn of(chip: Chip) -> Option<Tables> {
        Some(Tables {
            limits: chip.limits()?,
            forms: oriole_sass::form::table(chip)?,
            latency: Model::of(chip)?,
            registers: u16::from(chip.register_files().general.count),
            loads_before_copies: chip.loads_before_copies(),
            loads_before_signals: chip.loads_before_signals(),
            marks_entries: chip.marks_entries(),
            pauses_before_barriers: chip.pauses_before_barriers(),
            loads_read_in_order: chip.loads_read_in_order(),
        })
    }
}

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

/// Blocks in reverse postorder; unreachable ones come last.
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
