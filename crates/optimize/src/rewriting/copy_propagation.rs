//! Copy propagation: an operand that reads a copy reads the original, in sources, addresses, guards, old values and
//! phis. A predicate that is the complement of another is read through the inversion of the operand.
//!
//! It changes operands only; the copies die later.

use crate::analyses::definitions::Definitions;
use crate::analyses::value_facts::{Fact, ValueFacts};
use oriole_ori::{File, Function, Instruction, Opcode, Phi, PhiSource, Pseudo, Source, SourceKind, Value};

/// Result of a scan of an instruction's operands: the rules that need no second scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operands {
    /// Some were replaced.
    pub changed: bool,
    /// Some register or index operand has a fact.
    pub known: bool,
    /// Some are addresses.
    pub addresses: bool,
}

/// Replaces copies in an instruction.
pub fn run(
    function: &Function,
    definitions: &Definitions,
    facts: &ValueFacts,
    i: &mut Instruction,
) -> Operands {
    let mut operands = Operands::default();
    // Sources of a parallel copy belong to its edge.
    if i.opcode == Opcode::Pseudo(Pseudo::ParallelCopy) {
        return operands;
    }
    if let Some(guard) = &mut i.guard
        && let Some((value, invert)) = original(function, definitions, facts, guard.value)
    {
        guard.value = value;
        guard.negated ^= invert;
        operands.changed = true;
    }
    for source in &mut i.sources {
        operands.known |= match &source.kind {
            SourceKind::Values(values) => values.iter().any(|&value| facts.of(value) != Fact::Unknown),
            SourceKind::ConstIndexed(place) => facts.of(place.index) != Fact::Unknown,
            _ => false,
        };
        operands.addresses |= matches!(source.kind, SourceKind::Address(_));
        operands.changed |= replace(function, definitions, facts, source);
    }
    for old in &mut i.tied {
        if let Some((value, false)) = original(function, definitions, facts, *old) {
            *old = value;
            operands.changed = true;
        }
    }
    operands
}

/// Replaces copies and known constants in a phi; true if it changed.
pub fn run_phi(function: &Function, definitions: &Definitions, facts: &ValueFacts, phi: &mut Phi) -> bool {
    let mut changed = false;
    let (destination, file) = (phi.destination, function.file(phi.destination));
    for (_, source) in &mut phi.sources {
        if let Some(plain) = merged(definitions, facts, destination, file, *source) {
            *source = plain;
            changed = true;
        }
    }
    changed
}

/// True if [`run_phi`] would change the phi.
pub fn is_open(function: &Function, definitions: &Definitions, facts: &ValueFacts, phi: &Phi) -> bool {
    let (destination, file) = (phi.destination, function.file(phi.destination));
    phi.sources.iter().any(|(_, source)| merged(definitions, facts, destination, file, *source).is_some())
}

/// Replacement for a source of a phi.
#[inline]
fn merged(
    definitions: &Definitions,
    facts: &ValueFacts,
    destination: Value,
    file: File,
    source: PhiSource,
) -> Option<PhiSource> {
    let value = source.value()?;
    let plain = match facts.of(value) {
        Fact::Same { value, invert: false } if value != destination => PhiSource::Value(value),
        Fact::Word(0) if file == File::R => PhiSource::Zero(File::R),
        Fact::Word(bits) if file == File::R => PhiSource::Imm(bits),
        _ => return None,
    };
    definitions.is_stable(value).then_some(plain)
}

/// The value that this one copies, and whether it is the contrary.
fn original(
    function: &Function,
    definitions: &Definitions,
    facts: &ValueFacts,
    value: Value,
) -> Option<(Value, bool)> {
    match facts.of(value) {
        Fact::Same { value: other, invert }
            if definitions.is_stable(other)
                && function.file(other) == function.file(value)
                && function.file(value) != File::B =>
        {
            Some((other, invert))
        }
        // Where the chip reads no constants as operands, copies of a loaded constant are propagated, too.
        Fact::Bank { .. } => copied(function, definitions, value).map(|other| (other, false)),
        _ => None,
    }
}

/// The general register that a register is a copy of.
fn copied(function: &Function, definitions: &Definitions, value: Value) -> Option<Value> {
    let copy = definitions.instruction(function, value)?;
    let ([only], Opcode::Pseudo(Pseudo::Copy)) = (copy.sources.as_slice(), copy.opcode) else { return None };
    let other = only.as_plain_value()?;
    (definitions.is_stable(other) && function.file(other) == function.file(value)).then_some(other)
}

fn replace(function: &Function, definitions: &Definitions, facts: &ValueFacts, source: &mut Source) -> bool {
    if source.fixed.is_some() {
        return false;
    }
    if let SourceKind::Values(values) = &mut source.kind
        && let [value] = values.as_mut_slice()
    {
        let Some((other, invert)) = original(function, definitions, facts, *value) else { return false };
        *value = other;
        source.invert ^= invert;
        return true;
    }
    let mut changed = false;
    source.for_each_value_mut(|value| {
        if let Some((other, false)) = original(function, definitions, facts, *value) {
            *value = other;
            changed = true;
        }
    });
    changed
}
