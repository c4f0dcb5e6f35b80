//! Contests: a choice between alternative code sequences that involves more than one instruction or changes register
//! pressure. It is therefore made before allocation. A contest is a table of alternatives with costs. The pass that
//! holds it offers the result of each alternative, and the cheapest possible one wins.
//!
//! Decisions can be recorded, so that they are shown next to the rows that decide after allocation. No contest and no
//! rewriting may enter.

use crate::Origin;
use smallvec::SmallVec;
use std::cell::RefCell;

/// A choice between alternatives.
#[derive(Debug)]
pub struct Contest {
    /// Its name in explanations.
    pub name: &'static str,
    /// The alternatives, the cheapest first.
    pub alternatives: &'static [Alternative],
}

/// An alternative.
#[derive(Debug)]
pub struct Alternative {
    /// Its name in explanations.
    pub name: &'static str,
    /// Its cost beyond the operation itself.
    pub cost: Cost,
}

/// Cost of an alternative beyond the operation that all of them need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Instructions.
    pub instructions: u8,
    /// General registers that stay live.
    pub registers: u8,
    /// Operands that change places.
    pub exchanges: u8,
}

impl Cost {
    /// Nothing.
    pub const NONE: Cost = Cost { instructions: 0, registers: 0, exchanges: 0 };
    /// Two operands change places.
    pub const EXCHANGE: Cost = Cost { exchanges: 1, ..Cost::NONE };

    /// The cost of an instruction that leaves `registers` more registers live.
    pub const fn instruction(registers: u8) -> Cost {
        Cost { instructions: 1, registers, exchanges: 0 }
    }

    /// Total cost: an instruction counts as two registers; swapped operands only break ties.
    pub const fn total(self) -> u32 {
        8 * self.instructions as u32 + 4 * self.registers as u32 + self.exchanges as u32
    }
}

impl Contest {
    /// Tries the alternatives by index, the cheapest first, and takes the first possible one. For an impossible one
    /// the pass returns the reason.
    pub fn decide<T>(
        &'static self,
        decisions: Option<&Decisions>,
        origin: Origin,
        mut offer: impl FnMut(usize) -> Result<T, &'static str>,
    ) -> Option<T> {
        let mut impossible = SmallVec::new();
        for index in 0..self.alternatives.len() {
            match offer(index) {
                Ok(taken) => {
                    if let Some(decisions) = decisions {
                        decisions.note(Decision { contest: self, origin, chosen: index, impossible });
                    }
                    return Some(taken);
                }
                Err(reason) => impossible.push(reason),
            }
        }
        None
    }
}

/// Result of a contest.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The contest.
    pub contest: &'static Contest,
    /// The statement of the source that it was about.
    pub origin: Origin,
    /// The index of the winner.
    pub chosen: usize,
    /// For each cheaper alternative why it was not possible.
    pub impossible: SmallVec<[&'static str; 2]>,
}

impl Decision {
    /// The name of the winner.
    pub fn winner(&self) -> &'static str {
        self.contest.alternatives[self.chosen].name
    }
}

impl PartialEq for Decision {
    fn eq(&self, other: &Decision) -> bool {
        std::ptr::eq(self.contest, other.contest)
            && (self.origin, self.chosen) == (other.origin, other.chosen)
            && self.impossible == other.impossible
    }
}

/// A record of decisions, to display.
#[derive(Default, Debug)]
pub struct Decisions(RefCell<Vec<Decision>>);

impl Decisions {
    /// Adds a decision. A pass that runs again may repeat a decision, which counts once.
    pub fn note(&self, decision: Decision) {
        let mut all = self.0.borrow_mut();
        if !all.iter().rev().take(64).any(|known| *known == decision) {
            all.push(decision);
        }
    }

    /// All decisions in source order.
    pub fn into_sorted(self) -> Vec<Decision> {
        let mut all = self.0.into_inner();
        all.sort_by_key(|decision| decision.origin);
        let mut kept: Vec<Decision> = Vec::with_capacity(all.len());
        for decision in all {
            let same = kept.iter().rev().take_while(|known| known.origin == decision.origin);
            if !same.into_iter().any(|known| *known == decision) {
                kept.push(decision);
            }
        }
        kept
    }
}
