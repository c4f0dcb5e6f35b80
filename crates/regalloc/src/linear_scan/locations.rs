//! Locations of values at the ends of blocks: the result of a scan, which the repair of edges reads.
//!
//! It is here because both read and write it, and only data enters.

use oriole_ori::{BlockId, Value};
use typed_index_collections::TiVec;

/// No register.
pub const NONE: u8 = u8::MAX;

/// Location of a value at a block boundary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// Its register, or [`NONE`].
    pub register: u8,
    /// Its slot holds it too.
    pub in_memory: bool,
}

/// Everything the edges need afterwards.
pub struct BlockStates {
    /// For each block the locations of its live-in values of the file, sorted by value; `None` if unreachable.
    pub entry: TiVec<BlockId, Option<Vec<(Value, Location)>>>,
    /// Locations at the end of each block.
    pub exit: TiVec<BlockId, Vec<(Value, Location)>>,
    /// Values stored right after their only definition: their slot is always valid.
    pub stored_at_definition: TiVec<Value, bool>,
}

/// Location of a value, from a sorted list.
pub fn location(list: &[(Value, Location)], v: Value) -> Option<Location> {
    list.binary_search_by_key(&v, |(u, _)| *u).ok().map(|at| list[at].1)
}

/// Locations from a sorted list, for values that are asked for in order. Long lists differ little from one block to the
/// next, so the next value is mostly next in the list.
pub struct InOrder<'a> {
    rest: &'a [(Value, Location)],
}

impl<'a> InOrder<'a> {
    /// Before the first value.
    pub fn new(list: &'a [(Value, Location)]) -> InOrder<'a> {
        InOrder { rest: list }
    }

    /// Location of a value; later ones must not be lower.
    pub fn location(&mut self, v: Value) -> Option<Location> {
        // Steps get longer, so that a value far away takes few.
        let mut end = 0;
        let mut step = 1;
        while self.rest.get(end).is_some_and(|&(u, _)| u < v) {
            self.rest = &self.rest[end + 1..];
            end = step.min(self.rest.len().saturating_sub(1));
            step *= 2;
        }
        let end = (end + 1).min(self.rest.len());
        let at = self.rest[..end].partition_point(|&(u, _)| u < v);
        self.rest = &self.rest[at..];
        self.rest.first().filter(|&&(u, _)| u == v).map(|&(_, location)| location)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_finds_what_a_search_finds() {
        let mut state = 5u64;
        let mut roll = |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % u64::from(below)) as u32
        };
        let mut found = 0;
        for _ in 0..2_000 {
            let (dense, asked) = (1 + roll(12), 1 + roll(12));
            let mut list = Vec::new();
            for value in (0..100).map(Value) {
                if roll(dense) == 0 {
                    list.push((value, Location { register: value.0 as u8, in_memory: false }));
                }
            }
            let mut in_order = InOrder::new(&list);
            for value in (0..110).map(Value) {
                if roll(asked) == 0 {
                    let expected = location(&list, value);
                    assert_eq!(in_order.location(value), expected, "{value:?} in {list:?}");
                    found += u32::from(expected.is_some());
                }
            }
        }
        assert!(found > 10_000, "only {found}");
    }
}
