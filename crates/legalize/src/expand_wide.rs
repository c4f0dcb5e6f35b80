//! Phase 78, LateExpansionUnsupportedOps: 64-bit integer operations become sequences of 32-bit ones, or single
//! instructions where the chip has them.
//!
//! Works outside SSA and in it. An expansion writes straight into the destinations, except where a destination is also
//! a source or the operation is guarded: then it writes fresh values, and (guarded) copies follow.

use crate::emit::Emit;
use crate::long::Long;
use oriole_chip::Chip;
use oriole_ori::{Builder, FormChange, Function, Instruction, Opcode, Origin, Outcome, Pass, Pseudo, Value};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    ..Pass::new(|function, context| Outcome::changed_if(run(function, context.chip)))
};

/// Expands every 64-bit integer operation. True if there was one.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    let wide = |i: &Instruction| match i.opcode {
        Opcode::Pseudo(pseudo) if is_wide(pseudo) => Some(pseudo),
        _ => None,
    };
    let long = Long::new(function, chip);
    rewrite(function, wide, |builder, instruction, pseudo| {
        let Instruction { mods, sources, .. } = &instruction;
        expand(builder, &instruction, |emit, out| {
            let done = long.as_ref().is_some_and(|long| emit.expand_long(long, pseudo, mods, sources, out));
            if !done {
                emit.expand_wide(pseudo, mods, sources, out);
            }
        });
    })
}

/// Replaces each instruction for which `wanted` returns something by the code that `write` emits. True if there was
/// one.
pub(crate) fn rewrite<W>(
    function: &mut Function,
    wanted: impl Fn(&Instruction) -> Option<W>,
    mut write: impl FnMut(&mut Builder<'_>, Instruction, W),
) -> bool {
    let mut changed = false;
    for id in function.block_ids() {
        if !function.block(id).instructions.iter().any(|instruction| wanted(instruction).is_some()) {
            continue;
        }
        changed = true;
        let instructions = std::mem::take(&mut function.block_mut(id).instructions);
        let mut builder = Builder::new(function, id, Origin(0));
        for instruction in instructions {
            match wanted(&instruction) {
                Some(found) => write(&mut builder, instruction, found),
                None => builder.push(instruction),
            }
        }
    }
    changed
}

fn is_wide(pseudo: Pseudo) -> bool {
    matches!(
        pseudo,
        Pseudo::Add64
            | Pseudo::Mul64
            | Pseudo::MulHi64
            | Pseudo::Shl64
            | Pseudo::Shr64
            | Pseudo::SetPredicate64
            | Pseudo::Select64
            | Pseudo::Logic64
            | Pseudo::Min64
            | Pseudo::Max64
    )
}

/// Emits an expansion of an instruction with one destination operand: `write` defines the given values.
pub(crate) fn expand(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    write: impl FnOnce(&mut Emit<'_, '_>, &[Value]),
) {
    builder.set_origin(instruction.origin);
    let Some(destination) = instruction.destinations.first() else { return };
    if destination.values.is_empty() {
        return;
    }
    let results = &destination.values;
    let mut overlap = false;
    for source in &instruction.sources {
        source.for_each_value(|v| overlap |= results.contains(&v));
    }
    if instruction.guard.is_none() && !overlap {
        return write(&mut Emit { b: builder }, results);
    }
    let fresh: Vec<Value> = results.iter().map(|_| builder.temporary(destination.file)).collect();
    write(&mut Emit { b: builder }, &fresh);
    for (index, (&result, &value)) in results.iter().zip(&fresh).enumerate() {
        let mut copy = Instruction::new(Pseudo::Copy, instruction.origin);
        copy.guard = instruction.guard;
        copy.destinations.push(oriole_ori::Destination::new(destination.file, [result]));
        copy.sources.push(value.into());
        copy.tied.extend(instruction.tied.get(index).copied());
        builder.push(copy);
    }
}
