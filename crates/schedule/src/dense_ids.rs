//! Dense ids for the values of a block.
//!
//! It is here because each block needs them several times for each operand: a list over all values of the function,
//! allocated once and cleared from block to block, needs no search.

use oriole_ori::Value;
use typed_index_collections::{TiVec, ti_vec};

const NONE: u32 = u32::MAX;

/// Ids of values, in order of first occurrence.
pub struct DenseIds {
    of: TiVec<Value, u32>,
    met: Vec<Value>,
}

impl DenseIds {
    /// No ids yet, for a function with `values` values.
    pub fn new(values: usize) -> DenseIds {
        DenseIds { of: ti_vec![NONE; values], met: Vec::new() }
    }

    /// The id of a value; assigns one if it has none.
    #[inline]
    pub fn id(&mut self, value: Value) -> u32 {
        let number = &mut self.of[value];
        if *number == NONE {
            *number = self.met.len() as u32;
            self.met.push(value);
        }
        *number
    }

    /// The id of a value that has one.
    #[inline]
    pub fn known(&self, value: Value) -> Option<u32> {
        Some(self.of[value]).filter(|&number| number != NONE)
    }

    /// Forgets all ids.
    pub fn clear(&mut self) {
        self.met.drain(..).for_each(|value| self.of[value] = NONE);
    }
}
