//! The L1 cache of an SM: lines of four sectors, sets of four lines, the least recently used one goes first. No time may
//! enter.

use crate::coalesce::{LINE, SECTOR};

/// Lines of a set.
const WAYS: usize = 4;
/// No line.
const EMPTY: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Line {
    number: u64,
    /// Sectors that are there, bit n for the n-th.
    sectors: u8,
    used: u64,
}

/// A cache.
pub(crate) struct Cache {
    sets: Vec<[Line; WAYS]>,
    clock: u64,
}

impl Cache {
    /// A cache of this size in bytes.
    pub(crate) fn new(bytes: u64) -> Cache {
        let sets = (bytes / LINE / WAYS as u64).max(1) as usize;
        Cache { sets: vec![[Line { number: EMPTY, sectors: 0, used: 0 }; WAYS]; sets], clock: 0 }
    }

    /// Looks for a sector, and puts it there if it is to be kept. True if it was there.
    pub(crate) fn access(&mut self, sector: u64, keep: bool) -> bool {
        self.clock += 1;
        let per_line = LINE / SECTOR;
        let (number, bit) = (sector / per_line, 1u8 << (sector % per_line));
        // Neighbouring lines are in neighbouring sets; higher bits are mixed in, as strides are powers of two.
        let count = self.sets.len() as u64;
        let set = &mut self.sets[((number ^ (number / count.max(2)) ^ (number >> 20)) % count) as usize];
        let clock = self.clock;
        if let Some(line) = set.iter_mut().find(|line| line.number == number) {
            let hit = line.sectors & bit != 0;
            line.used = clock;
            if keep {
                line.sectors |= bit;
            }
            return hit;
        }
        if keep && let Some(oldest) = set.iter_mut().min_by_key(|line| line.used) {
            *oldest = Line { number, sectors: bit, used: clock };
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_found_again_until_they_are_pushed_out() {
        let mut cache = Cache::new(2048);
        assert!(!cache.access(7, true));
        assert!(cache.access(7, true));
        assert!(!cache.access(6, false), "another sector of the line");
        for sector in 100..1000 {
            cache.access(sector, true);
        }
        assert!(!cache.access(7, true));
    }
}
