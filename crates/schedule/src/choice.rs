//! A schedule of a block with its time and registers, and which of two is better.
//!
//! It is here because schedules of all schedulers are compared by the same figures. Nothing is scheduled here, and
//! nothing is known of other blocks.

use crate::region::{Counts, Region};
use std::rc::Rc;

/// Predicates live at once that need no spill.
pub const PREDICATES: u32 = 6;
/// Uniform registers live at once.
pub const UNIFORM: u32 = 48;
/// Minimum cost of a predicate beyond the file, in cycles: it is moved to a register and back.
const SPILLED_PREDICATE: u32 = 2;

/// A schedule and its properties.
#[derive(Clone)]
pub struct Choice {
    /// The instructions by their ids in the region.
    pub order: Rc<[u32]>,
    /// Cycles, with the cost of spilled predicates.
    pub time: u32,
    /// The most values live at once.
    pub peak: Counts,
}

impl Choice {
    /// A schedule of a region.
    pub fn new(region: &Region, order: Vec<u32>) -> Choice {
        let peak = region.pressure(&order);
        let mut choice = Choice { time: region.time(&order), peak, order: order.into() };
        choice.time += SPILLED_PREDICATE * choice.spilled();
        choice
    }

    /// Cycles without the cost of spilled predicates.
    pub fn cycles(&self) -> u32 {
        self.time - SPILLED_PREDICATE * self.spilled()
    }

    /// Predicates that take general registers.
    pub fn spilled(&self) -> u32 {
        self.peak[1].saturating_sub(PREDICATES)
    }

    /// General registers that it needs, those of spilled predicates included.
    pub fn registers(&self) -> u32 {
        self.peak[0] + self.spilled()
    }

    /// Budgets of schedules with this many general registers; of the other files what this schedule needs at least.
    pub fn budget(&self, general: u32) -> Counts {
        [general, self.peak[1].max(PREDICATES), self.peak[2].max(UNIFORM)]
    }

    /// True if it fits this many general and uniform registers.
    pub fn fits(&self, general: u32, uniform: u32) -> bool {
        self.registers() <= general && self.peak[2] <= uniform
    }
}

/// The one in fewer registers of two; of equals the second.
pub fn fewer(a: Choice, b: Choice) -> Choice {
    if a.registers() < b.registers() { a } else { b }
}

/// The faster of two; ties go to the second.
pub fn quicker(a: Choice, b: Choice) -> Choice {
    if a.time < b.time { a } else { b }
}
