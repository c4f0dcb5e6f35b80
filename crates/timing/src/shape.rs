//! How the lanes of each instruction access memory: sectors and wavefronts, and the least that would do, the distance
//! from lane to lane, lanes at one address, and instructions that access neighbouring addresses. Of recorded blocks; no time
//! may enter.

use crate::coalesce::{SECTOR, crowds};
use oriole_simulate::{Access, AccessKind, Memory};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Distances of an instruction that are counted; all further ones count as none.
const DISTANCES: usize = 8;
/// Earlier accesses of a warp that may be neighbours of the next.
const NEAR: usize = 8;
/// Bytes of a lane at most.
const WIDEST: u32 = 16;

/// The accesses of one instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Its memory and the kind of its accesses, once there was one.
    pub access: Option<(Memory, AccessKind)>,
    /// Bytes of a lane.
    pub bytes: u32,
    /// Accesses of warps.
    pub requests: u64,
    /// Lanes of all of them.
    pub lanes: u64,
    /// Sectors of global and local memory.
    pub sectors: u64,
    /// Sectors that would hold the bytes.
    pub least_sectors: u64,
    /// Passes through the banks of shared memory.
    pub wavefronts: u64,
    /// Passes if no two lanes met in a bank.
    pub least_wavefronts: u64,
    /// Lanes at the address with most lanes, added up.
    pub crowd: u64,
    /// The largest power of two that divides all addresses, up to 16 bytes.
    pub alignment: u32,
    /// How many accesses had each distance in bytes from lane to lane.
    distances: BTreeMap<i64, u64>,
}

impl Shape {
    /// The distance from lane to lane of most accesses, if there is one.
    pub fn distance(&self) -> Option<i64> {
        let most = self.distances.iter().max_by_key(|(_, count)| **count)?;
        (most.1 * 2 > self.requests).then_some(*most.0)
    }

    pub(crate) fn add(&mut self, access: &Access, cost: &Cost) {
        if self.access.is_none() {
            self.alignment = WIDEST;
        }
        self.access = Some((access.memory, access.kind));
        self.bytes = access.bytes;
        self.requests += 1;
        self.lanes += u64::from(access.lanes.count_ones());
        self.sectors += u64::from(cost.sectors);
        self.least_sectors += u64::from(cost.least_sectors);
        self.wavefronts += u64::from(cost.wavefronts);
        self.least_wavefronts += u64::from(cost.least_wavefronts);
        if access.kind == AccessKind::Atomic {
            let most = crowds(access).iter().map(|crowd| crowd.1).max();
            self.crowd += u64::from(most.unwrap_or(0));
        }
        for lane in (0..32).filter(|lane| access.lanes >> lane & 1 == 1) {
            self.alignment = self.alignment.min(1 << access.addresses[lane].trailing_zeros().min(4));
        }
        if let Some(distance) = distance(access)
            && (self.distances.len() < DISTANCES || self.distances.contains_key(&distance))
        {
            *self.distances.entry(distance).or_default() += 1;
        }
    }
}

/// The sectors and wavefronts of an access, and the least of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cost {
    pub sectors: u32,
    pub least_sectors: u32,
    pub wavefronts: u32,
    pub least_wavefronts: u32,
}

/// Sectors that would hold the bytes of an access: those of lanes at one address once.
pub(crate) fn least_sectors(access: &Access) -> u32 {
    let bytes = crowds(access).len() as u64 * u64::from(access.bytes);
    (bytes.div_ceil(SECTOR) as u32).max(1)
}

/// Passes through the banks of shared memory that the words of an access need.
pub fn least_wavefronts(access: &Access) -> u32 {
    let words = crowds(access).len() as u32 * access.bytes.div_ceil(4).max(1);
    words.div_ceil(32).max(1)
}

/// The distance in bytes between neighbouring lanes that most of them have; `None` if fewer than half have one.
fn distance(access: &Access) -> Option<i64> {
    let lanes: Vec<usize> = (0..32).filter(|lane| access.lanes >> lane & 1 == 1).collect();
    let mut found: Vec<i64> = lanes
        .windows(2)
        .filter(|pair| pair[1] == pair[0] + 1)
        .map(|pair| access.addresses[pair[1]].wrapping_sub(access.addresses[pair[0]]) as i64)
        .collect();
    found.sort_unstable();
    let longest = found.chunk_by(|a, b| a == b).max_by_key(|run| run.len())?;
    (longest.len() * 2 > found.len()).then_some(longest[0])
}

/// Two instructions of which the second accesses what comes directly after the first, in every lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Neighbours {
    /// Index of the one at the lower addresses.
    pub low: u32,
    /// Index of the other one.
    pub high: u32,
}

/// The last accesses of each warp to global memory.
#[derive(Debug, Default)]
pub(crate) struct Near {
    warps: HashMap<(u64, u32), VecDeque<(u32, Access)>>,
    pub found: BTreeMap<Neighbours, u64>,
}

impl Near {
    pub(crate) fn add(&mut self, block: u64, warp: u32, index: u32, access: &Access) {
        if access.memory != Memory::Global || access.kind == AccessKind::Atomic || access.bytes >= WIDEST {
            return;
        }
        let earlier = self.warps.entry((block, warp)).or_default();
        for (other, before) in earlier.iter() {
            if *other == index || before.kind != access.kind || before.bytes != access.bytes {
                continue;
            }
            let bytes = u64::from(access.bytes);
            let pair = if follows(before, access, bytes) {
                Neighbours { low: *other, high: index }
            } else if follows(access, before, bytes) {
                Neighbours { low: index, high: *other }
            } else {
                continue;
            };
            *self.found.entry(pair).or_default() += 1;
        }
        if earlier.len() == NEAR {
            earlier.pop_front();
        }
        earlier.push_back((index, access.clone()));
    }
}

/// True if each lane of the second access is this number of bytes beyond the first one.
fn follows(first: &Access, second: &Access, bytes: u64) -> bool {
    first.lanes == second.lanes
        && (0..32)
            .filter(|lane| first.lanes >> lane & 1 == 1)
            .all(|lane| second.addresses[lane] == first.addresses[lane].wrapping_add(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(bytes: u32, lanes: u32, address: impl Fn(u64) -> u64) -> Access {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        Access { memory: Memory::Global, kind: AccessKind::Load, bytes, lanes, addresses }
    }

    #[test]
    fn distances_are_those_of_most_lanes() {
        let of = |address: fn(u64) -> u64| distance(&access(4, u32::MAX, address));
        assert_eq!(of(|lane| 4096 - 4 * lane), Some(-4));
        // Two rows of a tile.
        assert_eq!(of(|lane| lane / 16 * 1000 + lane % 16 * 4), Some(4));
        assert_eq!(of(|lane| lane * lane * 4), None);
        assert_eq!(distance(&access(4, 1, |_| 0)), None);
    }

    #[test]
    fn the_least_counts_an_address_once() {
        let of = |bytes, address: fn(u64) -> u64| {
            let access = access(bytes, u32::MAX, address);
            (least_sectors(&access), least_wavefronts(&access))
        };
        assert_eq!(of(4, |lane| lane * 512), (4, 1));
        assert_eq!(of(16, |lane| lane * 16), (16, 4));
        assert_eq!(of(4, |_| 64), (1, 1));
        assert_eq!(of(1, |lane| lane * 4), (1, 1));
    }

    #[test]
    fn neighbours_are_found_in_either_order() {
        let mut near = Near::default();
        for (index, offset) in [(7, 4), (5, 0), (9, 8), (11, 16)] {
            near.add(0, 0, index, &access(4, u32::MAX, |lane| lane * 32 + offset));
        }
        let found: Vec<(u32, u32)> = near.found.keys().map(|pair| (pair.low, pair.high)).collect();
        assert_eq!(found, [(5, 7), (7, 9)]);
    }
}
