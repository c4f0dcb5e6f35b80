//! A quarter of an SM: its warps, its units, its banks of registers and its operand cache. It knows when they are free, and
//! nothing of memory or of other quarters.

use crate::program::Step;
use oriole_latency::{OperandCache, UNITS};

/// A quarter.
#[derive(Default)]
pub(crate) struct Quarter {
    /// Its warps, those that came first first.
    pub warps: Vec<usize>,
    /// When the next instruction may issue.
    pub free: u64,
    /// When each unit takes the next instruction, and how long it was busy.
    units: [u64; UNITS],
    pub busy: [u64; UNITS],
    /// When each bank has read what it was asked for.
    banks: [u64; 2],
    kept: OperandCache,
    /// The warp that issued last, unless it has yielded.
    pub last: Option<usize>,
    /// The warp that issues next and when, as far as is known.
    pub next: Option<(u64, usize)>,
    /// That has to be found again.
    pub stale: bool,
    pub issued: u64,
}

impl Quarter {
    /// When the units and banks that an instruction needs are free.
    pub(crate) fn accepts(&self, step: &Step, warp: usize) -> u64 {
        let units = step.units.iter().zip(self.units).filter(|(busy, _)| **busy > 0).map(|(_, free)| free);
        let reads = self.reads(step, warp);
        let banks = reads.iter().zip(self.banks).filter(|(reads, _)| **reads > 0).map(|(_, free)| free);
        units.chain(banks).max().unwrap_or(0)
    }

    /// Registers that an instruction reads from each bank: those that are not kept.
    fn reads(&self, step: &Step, warp: usize) -> [u64; 2] {
        // A warp that did not issue last finds nothing.
        let nothing = OperandCache::default();
        if self.last == Some(warp) {
            self.kept.reads(step.sources.iter().copied())
        } else {
            nothing.reads(step.sources.iter().copied())
        }
    }

    /// Issues an instruction of a warp.
    pub(crate) fn issue(&mut self, step: &Step, warp: usize, now: u64) {
        let reads = self.reads(step, warp);
        if self.last != Some(warp) {
            self.kept = OperandCache::default();
        }
        self.kept.keep(step.sources.iter().copied());
        for (free, reads) in self.banks.iter_mut().zip(reads) {
            *free = (*free).max(now) + reads;
        }
        for (unit, &cycles) in step.units.iter().enumerate() {
            if cycles > 0 {
                self.units[unit] = now + u64::from(cycles);
                self.busy[unit] += u64::from(cycles);
            }
        }
        self.free = now + 1;
        self.issued += 1;
        self.last = (!step.yields).then_some(warp);
        self.stale = true;
    }
}
