//! Operations in flight at a point of the code: for each register the scoreboards that report results and reads of it.
//!
//! It is here because the choice of scoreboards and the waits both follow this state along the code. It has no opinion
//! which scoreboard an operation gets, and sees no block but the one that it is led through.

use crate::effects::{ALL_UNIFORM, Effects, REGISTERS};
use crate::in_order::Rules;

/// For each register the scoreboards that guard a pending result and pending reads.
#[derive(Clone, PartialEq, Eq)]
pub struct Pending {
    results: [u8; REGISTERS],
    reads: [u8; REGISTERS],
    /// The same for reads of addresses by loads from global memory, where later ones may overwrite these.
    addresses: [u8; REGISTERS],
    /// Pending fences: the next instruction waits for them.
    fence: u8,
    /// Pending loads from tensor memory.
    tensor: u8,
    /// Everything that may be pending. In most blocks this is empty at both ends, so that the tables are skipped.
    pub all: u8,
}

impl Pending {
    /// Nothing is pending.
    pub fn nothing() -> Pending {
        let none = [0; REGISTERS];
        Pending { results: none, reads: none, addresses: none, fence: 0, tensor: 0, all: 0 }
    }

    /// These scoreboards are at zero.
    pub fn clear(&mut self, mask: u8) {
        if mask & self.all != 0 {
            self.all &= !mask;
            self.results.iter_mut().for_each(|m| *m &= !mask);
            self.reads.iter_mut().for_each(|m| *m &= !mask);
            self.addresses.iter_mut().for_each(|m| *m &= !mask);
            self.fence &= !mask;
            self.tensor &= !mask;
        }
    }

    fn join(&mut self, other: &Pending) -> bool {
        let mut new = other.fence & !self.fence | other.tensor & !self.tensor;
        self.fence |= other.fence;
        self.tensor |= other.tensor;
        self.all |= other.all;
        // One list after the other, so that the loop vectorizes.
        let lists = [
            (&mut self.results, &other.results),
            (&mut self.reads, &other.reads),
            (&mut self.addresses, &other.addresses),
        ];
        for (mine, others) in lists {
            for (a, b) in mine.iter_mut().zip(others) {
                new |= b & !*a;
                *a |= b;
            }
        }
        new != 0
    }

    /// Scoreboards that an instruction must wait for.
    pub fn wanted(&self, effects: &Effects) -> u8 {
        if self.all == 0 {
            return 0;
        }
        let mut mask = self.fence | if effects.awaits_tensor { self.tensor } else { 0 };
        for &(r, _) in &effects.reads {
            mask |= self.results[usize::from(r)];
        }
        for &(r, _) in &effects.writes {
            mask |= self.results[usize::from(r)] | self.reads[usize::from(r)];
            if !effects.loads_global {
                mask |= self.addresses[usize::from(r)];
            }
        }
        if effects.ends {
            mask |= ALL_UNIFORM.fold(0, |mask, r| mask | self.reads[usize::from(r)]);
        }
        if effects.drains { mask | self.all } else { mask }
    }

    /// An instruction is issued, with these scoreboards for its results and for its reads.
    pub fn issue(&mut self, effects: &Effects, write: Option<u8>, read: Option<u8>, rules: Rules) {
        let is_load = effects.loads_global && rules.loads_read;
        if is_load && effects.is_always && write.is_some() {
            // When its result is there, earlier loads have read their addresses.
            effects.writes.iter().for_each(|&(r, _)| self.addresses[usize::from(r)] = 0);
        }
        // Without a scoreboard of their own the sources are known to be read when the result is there.
        if let Some(n) = read.or(write) {
            let reads = if is_load { &mut self.addresses } else { &mut self.reads };
            for &(r, _) in &effects.reads {
                if effects.reported_read(r) {
                    reads[usize::from(r)] |= 1 << n;
                    self.all |= 1 << n;
                }
            }
        }
        if let Some(n) = write {
            self.tensor |= if effects.loads_tensor { 1 << n } else { 0 };
            for &(r, _) in &effects.writes {
                self.results[usize::from(r)] |= 1 << n;
                self.all |= 1 << n;
            }
        }
        if effects.reports.fence {
            self.fence |= write.map_or(0, |n| 1 << n) | read.map_or(0, |n| 1 << n);
            self.all |= self.fence;
        }
    }
}

/// State at the top of a block.
#[derive(Clone)]
pub enum Entry {
    /// Not reached yet.
    Unknown,
    /// Reached with nothing pending.
    Quiet,
    /// Possibly pending operations.
    Busy(Box<Pending>),
}

impl Entry {
    /// Joins the state of a predecessor; true if more is known now.
    pub fn join(&mut self, state: &Pending) -> bool {
        match self {
            Entry::Busy(known) => state.all != 0 && known.join(state),
            Entry::Quiet if state.all == 0 => false,
            _ => {
                *self = if state.all == 0 { Entry::Quiet } else { Entry::Busy(Box::new(state.clone())) };
                true
            }
        }
    }

    /// The state at the top.
    pub fn load(&self, state: &mut Pending) {
        match self {
            Entry::Busy(known) => state.clone_from(known),
            _ => state.clear(state.all),
        }
    }
}
