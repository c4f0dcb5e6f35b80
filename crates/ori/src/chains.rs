//! Def-use and use-def chains: the reads or writes of each value, as compressed sparse rows by value.
//!
//! It is here because a vector for each of many thousand values costs more time than all else in a sparse analysis.
//! The analysis interprets the uses.

use crate::csr::Csr;
use crate::{BlockId, Function, Value};

/// The uses, or the definitions, of each value.
#[derive(Clone, Debug)]
pub struct Chains(Csr<Value, (BlockId, u32)>);

impl Chains {
    /// Def-use chains: every use of each value, in the order of `blocks`. A use is a block and an index; phis are
    /// counted first, then instructions.
    pub fn of_uses(function: &Function, blocks: &[BlockId]) -> Chains {
        let mut uses = Vec::with_capacity(2 * function.values.len());
        for &id in blocks {
            let block = function.block(id);
            for (index, phi) in (0..).zip(&block.phis) {
                phi.values().for_each(|value| uses.push((value, (id, index))));
            }
            for (index, instruction) in (block.phis.len() as u32..).zip(&block.instructions) {
                instruction.for_each_use(|value| uses.push((value, (id, index))));
            }
        }
        Chains(Csr::new(function.values.len(), &uses))
    }

    /// Use-def chains: every definition of each value, likewise.
    pub fn of_definitions(function: &Function, blocks: &[BlockId]) -> Chains {
        let mut definitions = Vec::with_capacity(function.values.len());
        for &id in blocks {
            let block = function.block(id);
            for (index, phi) in (0..).zip(&block.phis) {
                definitions.push((phi.destination, (id, index)));
            }
            for (index, instruction) in (block.phis.len() as u32..).zip(&block.instructions) {
                instruction.for_each_definition(|value| definitions.push((value, (id, index))));
            }
        }
        Chains(Csr::new(function.values.len(), &definitions))
    }

    /// The uses, or the definitions, of a value.
    #[inline]
    pub fn of(&self, value: Value) -> &[(BlockId, u32)] {
        self.0.of(value)
    }
}
