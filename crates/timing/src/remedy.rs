//! Changes of a replay: the same run as if a fault were not there. The difference of the times is what the fault costs.
//! They are requests to the replay; no finding and no threshold may enter.

use std::collections::BTreeMap;

/// A change of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// Its lanes access the fewest sectors that hold as many bytes.
    Coalesced,
    /// Its lanes meet in no bank.
    ConflictFree,
    /// Its lanes, warps and blocks each operate on an address of their own.
    Apart,
    /// It is not issued.
    Absent,
    /// Its result is there at once; the bandwidth that it takes stays.
    Instant,
    /// Its unit takes it as often as that of 32-bit floating-point arithmetic.
    Quick,
}

/// Some changes of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Changes(u8);

impl Changes {
    pub(crate) fn has(self, change: Change) -> bool {
        self.0 >> change as u8 & 1 == 1
    }
}

/// Changes of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remedy {
    changes: BTreeMap<u32, Changes>,
    /// No warp waits at a barrier for others.
    pub no_barriers: bool,
    /// Results of fixed latency are there in the next cycle.
    pub no_stalls: bool,
    /// Blocks that an SM holds at a time.
    pub resident: Option<u32>,
}

impl Remedy {
    /// A change of some instructions, by their indices.
    pub fn of(change: Change, instructions: impl IntoIterator<Item = u32>) -> Remedy {
        let mut remedy = Remedy::default();
        for index in instructions {
            remedy.changes.entry(index).or_default().0 |= 1 << change as u8;
        }
        remedy
    }

    /// Another number of blocks that an SM holds at a time.
    pub fn with_resident(blocks: u32) -> Remedy {
        Remedy { resident: Some(blocks), ..Remedy::default() }
    }

    /// No stalls.
    pub fn without_stalls() -> Remedy {
        Remedy { no_stalls: true, ..Remedy::default() }
    }

    /// All changes of both.
    pub fn and(&self, other: &Remedy) -> Remedy {
        let mut both = self.clone();
        for (index, changes) in &other.changes {
            both.changes.entry(*index).or_default().0 |= changes.0;
        }
        both.no_barriers |= other.no_barriers;
        both.no_stalls |= other.no_stalls;
        both.resident = both.resident.max(other.resident);
        both
    }

    pub(crate) fn changes(&self, index: u32) -> Changes {
        self.changes.get(&index).copied().unwrap_or_default()
    }

    /// True if atomic operations are at addresses of their own.
    pub(crate) fn parts(&self) -> bool {
        self.changes.values().any(|changes| changes.has(Change::Apart))
    }
}
