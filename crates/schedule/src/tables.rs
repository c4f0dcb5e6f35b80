//! Facts about a chip that scheduling needs: limits, forms, latencies and defects that code works around.
//!
//! It is here because every part of the crate reads them. Only facts of the chip enter, no options, and nothing that
//! depends on a function.

use oriole_chip::{Chip, Limits};
use oriole_latency::Model;
use oriole_sass::form::Table;

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
