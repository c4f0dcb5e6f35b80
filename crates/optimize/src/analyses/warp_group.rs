//! `wgmma` whose old accumulators do not count: their definitions are not needed.
//!
//! An MMA adds to its accumulators where a uniform predicate holds. Where it is known to be false, or the
//! accumulators are zero, they become `RZ` and the predicate `!UPT`, so that nothing is moved into them before.

use crate::analyses::value_facts::ValueFacts;
use oriole_ori::{File, Instruction, Opcode, Source, SourceKind};
use oriole_sass::{Class, Unit};

/// True for a `wgmma`.
pub fn is_product(i: &Instruction) -> bool {
    matches!(i.opcode, Opcode::Sass(op) if op.info().class(&i.mods) == Class::Group)
}

/// True for an MMA whose accumulators are in tensor memory.
pub fn is_tensor_product(i: &Instruction) -> bool {
    matches!(i.opcode, Opcode::Sass(op)
        if op.info().class(&i.mods) == Class::Bulk && op.info().units.contains(&Unit::Tensor))
}

/// Index of the predicate of an MMA: the first operand of one register. The accumulators come before it.
fn predicate_of(i: &Instruction) -> Option<usize> {
    i.sources.iter().position(|source| match &source.kind {
        SourceKind::Values(values) => values.len() == 1,
        kind => *kind == SourceKind::True(File::UP),
    })
}

/// Folds facts about the predicate and the accumulators into an MMA; true if it changed.
pub fn known_operands(facts: &ValueFacts, i: &mut Instruction) -> bool {
    if is_tensor_product(i) {
        let at = predicate_of(i);
        return at.is_some_and(|at| known_predicate(facts, &mut i.sources[at]));
    }
    if !is_product(i) {
        return false;
    }
    let Some((before, [adds, ..])) = predicate_of(i).and_then(|at| i.sources.split_at_mut_checked(at)) else {
        return false;
    };
    let Some(old) = before.last_mut() else { return false };
    let mut changed = known_predicate(facts, adds);
    let never = matches!(adds.kind, SourceKind::True(_)) && adds.invert;
    let zeros = matches!(old.kind, SourceKind::Zero(_));
    if never && !zeros {
        *old = Source::rz();
        changed = true;
    }
    if zeros && !never {
        *adds = Source::plain(SourceKind::True(File::UP)).inverted();
        changed = true;
    }
    changed
}

/// Folds a known predicate; true if it was known.
fn known_predicate(facts: &ValueFacts, adds: &mut Source) -> bool {
    let SourceKind::Values(values) = &adds.kind else { return false };
    let Some(word) = facts.word(values[0]) else { return false };
    let holds = (word & 1 == 1) != adds.invert;
    let truth = Source::plain(SourceKind::True(File::UP));
    *adds = if holds { truth } else { truth.inverted() };
    true
}
