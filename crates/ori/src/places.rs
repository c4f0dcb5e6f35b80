//! Def-use and use-def chains: where each value is written and read, in rows by value.
//!
//! It is here because a list of its own for each of many thousand values costs more time than all else that a
//! sparse analysis does. What a place means is the business of who asks.

use crate::csr::Csr;
use crate::{BlockId, Function, Value};

/// Places by value.
#[derive(Clone, Debug)]
pub struct Places(Csr<Value, (BlockId, u32)>);

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
        Places(Csr::of_visits(function.values.len(), (BlockId(0), 0), |add| {
            blocks.iter().for_each(|&id| visit(id, &mut |value, index| add(value, (id, index))));
        }))
    }

    /// The places of a value.
    #[inline]
    pub fn of(&self, value: Value) -> &[(BlockId, u32)] {
        self.0.of(value)
    }
}
