//! Where each value is written and read: lists by value in one piece of memory.
//!
//! It is here because a list of its own for each of many thousand values costs more time than all else that a
//! sparse analysis does. What a place means is the business of who asks.

use crate::{BlockId, Function, Value};

/// Places by value.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Where the list of each value begins; one more than there are values.
    starts: Vec<u32>,
    places: Vec<(BlockId, u32)>,
}

impl Places {
    /// Every place that reads a value, in the order of blocks given: block, and index with phis first and instructions
    /// behind them.
    pub fn of_uses(function: &Function, blocks: &[BlockId]) -> Places {
        Places::collect(function, blocks, |id, add| {
            let block = function.block(id);
            for (index, phi) in (0..).zip(&block.phis) {
                phi.values().for_each(|value| add(value, index));
            }
            for (index, instruction) in (block.phis.len() as u32..).zip(&block.instructions) {
                instruction.for_each_use(|value| add(value, index));
            }
        })
    }

    /// Every place that writes a value, likewise.
    pub fn of_definitions(function: &Function, blocks: &[BlockId]) -> Places {
        Places::collect(function, blocks, |id, add| {
            let block = function.block(id);
            for (index, phi) in (0..).zip(&block.phis) {
                add(phi.destination, index);
            }
            for (index, instruction) in (block.phis.len() as u32..).zip(&block.instructions) {
                instruction.for_each_definition(|value| add(value, index));
            }
        })
    }

    fn collect(
        function: &Function,
        blocks: &[BlockId],
        visit: impl Fn(BlockId, &mut dyn FnMut(Value, u32)),
    ) -> Places {
        let mut starts = vec![0u32; function.values.len() + 1];
        for &id in blocks {
            visit(id, &mut |value, _| starts[value.0 as usize + 1] += 1);
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut places = vec![(BlockId(0), 0); starts.last().map_or(0, |&end| end as usize)];
        for &id in blocks {
            visit(id, &mut |value, index| {
                let at = &mut next[value.0 as usize];
                places[*at as usize] = (id, index);
                *at += 1;
            });
        }
        Places { starts, places }
    }

    /// The places of a value.
    #[inline]
    pub fn of(&self, value: Value) -> &[(BlockId, u32)] {
        let at = value.0 as usize;
        &self.places[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}
