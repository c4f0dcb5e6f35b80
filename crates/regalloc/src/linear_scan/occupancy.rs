//! Occupants of registers at the current point of the linear scan.
//!
//! It is here because the scan queries the free registers many times for each instruction: they are kept as a set.

use crate::set::RegisterSet;
use std::ops::Index;

/// Occupant of a free register.
pub const FREE: u32 = u32::MAX;
/// Occupant of a register that holds a second copy for one instruction.
pub const COPY: u32 = u32::MAX - 1;

/// The occupant of each register: a value, [`FREE`] or [`COPY`].
pub struct Occupants {
    list: [u32; 256],
    taken: RegisterSet,
}

impl Occupants {
    /// All registers are free.
    pub fn none() -> Occupants {
        Occupants { list: [FREE; 256], taken: RegisterSet::default() }
    }

    /// Another occupant.
    #[inline]
    pub fn set(&mut self, register: usize, occupant: u32) {
        self.list[register] = occupant;
        match occupant {
            FREE => self.taken.remove(register as u8),
            _ => self.taken.insert(register as u8),
        }
    }

    /// Registers that are not free.
    #[inline]
    pub fn taken(&self) -> RegisterSet {
        self.taken
    }
}

impl Index<usize> for Occupants {
    type Output = u32;

    #[inline]
    fn index(&self, register: usize) -> &u32 {
        &self.list[register]
    }
}
