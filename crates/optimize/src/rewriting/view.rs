//! The context of the rewrites of one instruction: chip, function, definitions, facts.
//!
//! It is here because every family of rewrites reads it. No rewrite may enter.

use crate::analyses::definitions::Definitions;
use crate::analyses::value_facts::ValueFacts;
use oriole_chip::Chip;
use oriole_ori::pattern::Decisions;
use oriole_ori::{BlockId, Function, Loops, Value};

/// Read-only context of the rewrites.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The chip, for legality.
    pub chip: Chip,
    /// The function.
    pub function: &'a Function,
    /// Definitions of values.
    pub definitions: &'a Definitions,
    /// Facts about the values.
    pub facts: &'a ValueFacts,
    /// Loops of the function.
    pub loops: &'a Loops,
    /// The block of the instruction.
    pub block: BlockId,
    /// Record of contests.
    pub decisions: Option<&'a Decisions>,
}

impl View<'_> {
    /// Whether the value is computed in a loop that the instruction is outside of. The operands of that computation
    /// belong to the loop: if they were read here, they would live on next to the value of the next iteration.
    pub(crate) fn leaves_loop(&self, value: Value) -> bool {
        let made = self.definitions.block(value).and_then(|block| self.loops.innermost(block));
        made.is_some_and(|index| !self.loops.contains(index, self.block))
    }
}
