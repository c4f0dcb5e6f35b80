//! Conditions under which instructions act: lanes where they are known, guards where they are not.

use oriole_latency::Slot;

/// The condition under which an instruction acts.
pub(crate) trait Condition: Copy + PartialEq {
    /// No lane can meet both conditions.
    fn excludes(&self, other: &Self) -> bool;
    /// Every lane that meets the other condition meets this one.
    fn covers(&self, other: &Self) -> bool;
}

/// The conditions of an instruction: under which it reads its guard, which is whenever it is reached, and under which
/// it acts.
#[derive(Clone, Copy)]
pub(crate) struct Conditions<C> {
    pub reached: C,
    pub acts: C,
}

impl<C: Copy> Conditions<C> {
    /// The condition of an access in a slot.
    pub(crate) fn of(&self, slot: Slot) -> C {
        match slot {
            Slot::Guard | Slot::UniformGuard => self.reached,
            _ => self.acts,
        }
    }
}

/// Lane masks exclude each other if they are disjoint.
impl Condition for u32 {
    fn excludes(&self, other: &u32) -> bool {
        self & other == 0
    }

    fn covers(&self, other: &u32) -> bool {
        other & !self == 0
    }
}
