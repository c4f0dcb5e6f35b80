//! Time: which instruction comes when, how long each stalls, and which scoreboards it sets and waits for.
//!
//! It is here because the machine checks nothing: a result read too early is simply wrong. Before allocation the
//! instructions of Ori are ordered; after form choice the control word of each machine instruction is filled in.
//! No register is chosen and no bit is laid out here.

mod serial;
mod words;

use oriole_chip::Chip;
use oriole_latency::Model;
use oriole_options::ScheduleOptions;
use oriole_ori::MachineFunction;
use std::fmt;

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

/// Fills in the control word of every instruction (phases 113 to 116). The stream must be complete: after this,
/// only this function itself may have added an instruction (`NOP`, where a stall does not fit one word).
///
/// # Errors
/// No latency table exists for the chip.
pub fn control_words(
    function: &mut MachineFunction,
    chip: Chip,
    _options: &ScheduleOptions,
) -> Result<(), ScheduleError> {
    let model = Model::of(chip).ok_or(ScheduleError::Chip(chip))?;
    serial::assign(function, model);
    Ok(())
}
