//! An instruction that may be fused with the makers of its operands: which makers can be fused, and whether the result has a form.

use crate::analyses::slots::exchanged;
use crate::rewriting::view::View;
use oriole_ori::{Instruction, Source, SourceKind, is_legal};
use oriole_sass::{Mods, Op};

pub(super) struct Fuser<'a> {
    pub(super) view: View<'a>,
}

impl Fuser<'_> {
    pub(super) fn accept(&self, candidate: Instruction) -> Option<Instruction> {
        if is_legal(self.view.chip, self.view.function, &candidate) {
            return Some(candidate);
        }
        let other = exchanged(&candidate, 0, 1)?;
        is_legal(self.view.chip, self.view.function, &other).then_some(other)
    }

    /// The instruction that defines all components of an operand and nothing else.
    pub(super) fn maker(&self, source: &Source) -> Option<&Instruction> {
        let SourceKind::Values(values) = &source.kind else { return None };
        let maker = self.view.definitions.instruction(self.view.function, values[0])?;
        let results: usize = maker.destinations.iter().map(|destination| destination.values.len()).sum();
        let same = maker.destinations.iter().any(|destination| destination.values == *values);
        (same && results == values.len()).then_some(maker)
    }

    /// [`Self::maker`] if only this operand reads the results, in the same loop.
    pub(super) fn inner(&self, source: &Source) -> Option<&Instruction> {
        let SourceKind::Values(values) = &source.kind else { return None };
        let inner = self.maker(source)?;
        let alone = values.iter().all(|&value| self.view.definitions.uses(value) == 1);
        let block = self.view.definitions.block(values[0])?;
        (alone && self.view.loops.innermost(block) == self.view.loops.innermost(self.view.block))
            .then_some(inner)
    }
}

/// The instruction with another operation on other sources; results, guard and position stay.
pub(super) fn rewritten(
    i: &Instruction,
    op: Op,
    mods: Mods,
    sources: impl IntoIterator<Item = Source>,
) -> Instruction {
    let mut made = i.clone();
    made.opcode = op.into();
    made.mods = mods;
    made.destinations.truncate(1);
    made.sources.clear();
    made.sources.extend(sources);
    made.contract = false;
    made
}
