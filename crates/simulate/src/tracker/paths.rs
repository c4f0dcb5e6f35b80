//! The states of paths that meet at a block: relative times, and the worst of both.

use super::entries::{Fixed, Pending};
use super::{HORIZON, SET_TO_WAIT, Tracker};
use crate::condition::Condition;
use crate::operand_cache::OperandCache;

impl<C: Condition> Tracker<C> {
    /// The state at the start of a block: times relative to it, without expired entries.
    pub(crate) fn rebased(mut self) -> Tracker<C> {
        let now = self.time;
        self.fixed.retain(|entry| now - entry.time < HORIZON);
        self.recent.retain(|entry| now - entry.time < 8);
        self.fixed.iter_mut().for_each(|entry| entry.time -= now);
        self.recent.iter_mut().for_each(|entry| entry.time -= now);
        for set in &mut self.set {
            *set = set.and_then(|(time, pc)| (now - time < SET_TO_WAIT).then_some((time - now, pc)));
        }
        for milestone in &mut self.milestones {
            *milestone = milestone.and_then(|(time, pc)| (now - time < HORIZON).then_some((time - now, pc)));
        }
        self.time = 0;
        self.kept = OperandCache::default();
        self
    }

    /// Merges the state of another path to the same place; the worst of both holds. True if it changed.
    pub(crate) fn merge(&mut self, other: &Tracker<C>) -> bool {
        let mut changed = false;
        for entry in &other.fixed {
            let same = |mine: &&mut Fixed<C>| {
                mine.register == entry.register && mine.pc == entry.pc && mine.condition == entry.condition
            };
            match self.fixed.iter_mut().find(same) {
                Some(mine) if mine.time >= entry.time => {}
                Some(mine) => {
                    mine.time = entry.time;
                    changed = true;
                }
                None => {
                    self.fixed.push(*entry);
                    changed = true;
                }
            }
        }
        for (mine, theirs) in [(&mut self.results, &other.results), (&mut self.operands, &other.operands)] {
            for entry in theirs {
                // Only the scoreboards common to both paths signal that the register is free.
                let same = |mine: &&mut Pending<C>| {
                    mine.register == entry.register
                        && mine.pc == entry.pc
                        && mine.condition == entry.condition
                };
                match mine.iter_mut().find(same) {
                    Some(known) => {
                        let common = known.scoreboards & entry.scoreboards;
                        changed |= common != known.scoreboards;
                        known.scoreboards = common;
                    }
                    None => {
                        mine.push(*entry);
                        changed = true;
                    }
                }
            }
        }
        for entry in &other.recent {
            if !self.recent.contains(entry) {
                self.recent.push(*entry);
                changed = true;
            }
        }
        let milestones = self.milestones.iter_mut().zip(other.milestones);
        for (mine, theirs) in self.set.iter_mut().zip(other.set).chain(milestones) {
            if theirs.is_some_and(|(time, _)| mine.is_none_or(|(known, _)| known < time)) {
                *mine = theirs;
                changed = true;
            }
        }
        changed | self.products.merge(&other.products)
    }
}
