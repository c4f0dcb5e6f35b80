//! The register budget: how many registers a thread may have before an SM holds fewer warps.
//!
//! It is here because loads in flight are paid with registers, and up to the budget they cost nothing. It knows the
//! limits of the chip and the directives of the kernel; instructions and schedules must not enter.

use crate::occupancy;
use crate::tables::Tables;
use oriole_chip::Usage;
use oriole_options::{OrderOptions, ScheduleMode};
use oriole_ori::{Function, changes_registers};
use smallvec::SmallVec;

/// Unit in which the registers of a thread are allocated.
const UNIT: u16 = 8;

/// Threads of a block where the source does not say it: as many warps as an SM adds or drops at a time.
const UNKNOWN_THREADS: u32 = 128;

/// General registers that allocation reserves for the stack pointer and for room to assemble tuples.
pub const RESERVED: u32 = 5;

/// Register counts of a thread, ascending: with more than one of them an SM holds fewer warps.
pub struct Steps(SmallVec<[u16; 12]>);

impl Steps {
    /// The steps of a function with these options, `None` if registers have a price instead.
    pub fn of(function: &Function, tables: &Tables, options: &OrderOptions) -> Option<Steps> {
        let is_budgeted = options.budgeted && options.reorder && options.mode == ScheduleMode::Latency;
        if is_budgeted { Steps::new(function, tables, options.limit) } else { None }
    }

    /// The steps of a function, `None` if its registers are decided elsewhere: by the kernels that call it, by its own
    /// requests, or by accumulators. `limit` is that of an option.
    fn new(function: &Function, tables: &Tables, limit: Option<u16>) -> Option<Steps> {
        if !function.is_entry || changes_registers(function) || occupancy::fills_with_accumulators(function) {
            return None;
        }
        let bounds = [function.register_limit, limit];
        let most =
            bounds.into_iter().flatten().min().map_or(tables.registers, |most| most.min(tables.registers));
        // More warps than with this count are not asked for.
        if limit.is_some() || function.register_limit.is_some() && function.states_registers {
            return Some(Steps(SmallVec::from_slice(&[most])));
        }
        let (threads, shared) = match function.block_threads {
            Some(threads) => (threads, function.shared_bytes),
            None => (UNKNOWN_THREADS, 0),
        };
        let blocks = |registers: u16| {
            let usage = Usage { registers: registers.into(), shared, threads };
            tables.limits.occupancy(tables.forms.registers(), usage).blocks
        };
        let mut steps: SmallVec<[u16; 12]> = SmallVec::new();
        let mut known = blocks(UNIT);
        for registers in (2 * UNIT..=most).step_by(UNIT.into()) {
            let now = blocks(registers);
            if now < known {
                steps.push(registers - UNIT);
                known = now;
            }
        }
        if steps.last().is_none_or(|&step| step < most) {
            steps.push(most);
        }
        Some(Steps(steps))
    }

    /// The first of them.
    pub fn first(&self) -> u16 {
        self.0.first().copied().unwrap_or(0)
    }

    /// The step that a function which needs this many registers reaches: the last one if it needs more.
    pub fn reached(&self, registers: u32) -> u16 {
        let reached = self.0.iter().copied().find(|&step| u32::from(step) >= registers);
        reached.or(self.0.last().copied()).unwrap_or(0)
    }

    /// The step that a function with this many registers exceeds by no more than a unit.
    pub fn missed(&self, registers: u16) -> Option<u16> {
        self.0.iter().copied().rev().find(|&step| step < registers).filter(|&step| registers - step <= UNIT)
    }

    /// The next step, if there is one.
    pub fn after(&self, step: u16) -> Option<u16> {
        self.0.iter().copied().find(|&other| other > step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use oriole_chip::Chip;
    use oriole_ori::parse::parse;

    fn steps(chip: &str, header: &str, expected: Expect) {
        let tables = Tables::of(chip.parse().expect("a chip")).expect("tables");
        let function = parse(&format!("kernel params=0 barriers=0{header}\nb0:\n  EXIT ; 9\n")).expect("Ori");
        let steps = Steps::new(&function, &tables, None).expect("steps");
        expected.assert_eq(&format!("{:?}", steps.0));
    }

    #[test]
    fn a_step_costs_warps() {
        steps("sm_80", "", expect!["[32, 40, 48, 56, 64, 72, 80, 96, 128, 168, 255]"]);
        steps("sm_120", "", expect!["[40, 48, 56, 64, 72, 80, 96, 128, 168, 255]"]);
        steps("sm_75", "", expect!["[64, 72, 80, 96, 128, 168, 255]"]);
        steps("sm_90", " threads=128", expect!["[32, 40, 48, 56, 64, 72, 80, 96, 128, 168, 255]"]);
        steps("sm_80", " threads=128 shared=32768", expect!["[128, 168, 255]"]);
        steps("sm_90", " threads=256", expect!["[32, 40, 48, 64, 80, 128, 255]"]);
        steps("sm_80", " threads=32", expect!["[64, 72, 80, 96, 128, 168, 255]"]);
        steps("sm_120", " threads=1024 registers=64", expect!["[64]"]);
        steps("sm_90", " threads=128 registers=255 stated", expect!["[255]"]);
        steps("sm_90", " registers=64 stated", expect!["[64]"]);
    }

    #[test]
    fn functions_have_no_budget_of_their_own() {
        let tables = Tables::of(Chip::SM_90).expect("tables");
        let function = parse("function params=0 barriers=0\nb0:\n  RET ; 9\n");
        assert!(function.is_ok_and(|function| Steps::new(&function, &tables, None).is_none()));
    }
}
