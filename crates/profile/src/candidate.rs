//! A fault that may be there: its instructions, its words, and how to find its cost. No replay is done here.

use crate::code::Code;
use crate::kinds::Kind;
use oriole_timing::{Estimate, Recording, Remedy};

/// All that is known when faults are looked for.
pub(crate) struct Question<'a> {
    pub code: &'a Code,
    pub recording: &'a Recording,
    pub estimate: &'a Estimate,
}

/// How the cost of a fault is found.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cost {
    /// The time without the fault, in a replay.
    Without(Remedy),
    /// It is this share of the time.
    Share(f64),
}

/// A fault that may be there.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Candidate {
    pub kind: Kind,
    /// Its instructions by index.
    pub at: Vec<u32>,
    pub cost: Cost,
    /// The more, the more it may cost: an order for those that are looked at.
    pub weight: f64,
    /// Without the place.
    pub words: String,
}

impl Question<'_> {
    /// Cycles of warps at an instruction: its issues and the waits before it.
    pub(crate) fn time(&self, index: usize) -> u64 {
        self.estimate.lines.get(index).map_or(0, |line| line.issued + line.waited.iter().sum::<u64>())
    }

    /// Cycles of all warps.
    pub(crate) fn total(&self) -> u64 {
        (0..self.estimate.lines.len()).map(|index| self.time(index)).sum::<u64>().max(1)
    }

    /// The operation of an instruction.
    pub(crate) fn operation(&self, index: u32) -> &str {
        let line = self.estimate.lines.get(index as usize);
        self.code.operation(index as usize, line.map_or("", |line| line.text.as_str()))
    }
}

/// A mean as text: whole where it is nearly that.
pub(crate) fn mean(sum: u64, count: u64) -> String {
    let value = sum as f64 / count.max(1) as f64;
    if (value - value.round()).abs() < 0.05 { format!("{value:.0}") } else { format!("{value:.1}") }
}
