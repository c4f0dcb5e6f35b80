//! The context of the rewrites of one instruction: chip, function, definitions, facts.
//!
//! It is here because every family of rewrites reads it. No rewrite may enter.

use crate::analyses::definitions::Definitions;
use crate::analyses::value_facts::ValueFacts;
use crate::rewriting::operands::is_bare;
use oriole_chip::Chip;
use oriole_ori::pattern::Decisions;
use oriole_ori::{BlockId, Function, Instruction, Loops, Opcode, Source, Value, is_legal};

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

    pub fn known(&self, source: &Source) -> Option<u32> {
        is_bare(source).then(|| self.facts.source_word(source)).flatten().map(|bits| bits as u32)
    }

    pub fn definition(&self, value: Value) -> Option<&Instruction> {
        self.definitions.instruction(self.function, value)
    }

    /// The instruction that defines the one register of a plain source.
    pub fn source_definition(&self, source: &Source) -> Option<&Instruction> {
        let value = source.as_plain_value()?;
        self.definition(value)
    }

    pub fn is_stable(&self, source: &Source) -> bool {
        let mut stable = true;
        source.for_each_value(|value| stable &= self.definitions.is_stable(value));
        stable
    }

    /// Puts the rewritten instruction in place if there is a form for it.
    pub fn accept(&self, i: &mut Instruction, candidate: Instruction) -> bool {
        let legal = match candidate.opcode {
            Opcode::Sass(_) => is_legal(self.chip, self.function, &candidate),
            Opcode::Pseudo(_) => true,
        };
        if legal && *i != candidate {
            *i = candidate;
            return true;
        }
        false
    }
}
