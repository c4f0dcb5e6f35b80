//! Which instructions can have a guard, and which can be executed where they were not: on lanes and paths that would
//! have skipped them.
//!
//! It is here because all rewritings that put guards in the place of branches ask the same. Limits on how many are
//! worth it are theirs.

use oriole_ori::{File, Instruction, Opcode, Pseudo, Source, SourceKind, effects};

/// Whether an instruction can be guarded, or executed always, and stays about one.
pub fn fits(i: &Instruction) -> bool {
    i.guard.is_none()
        && i.call.is_none()
        && !effects::is_convergent(i)
        && !effects::is_transfer(i)
        && !matches!(i.opcode, Opcode::Pseudo(p) if is_long(p))
        && i.destinations.iter().all(|d| matches!(d.file, File::R | File::P))
}

/// Whether an instruction can be executed where it was not, at about the cost of one.
pub fn is_cheap_anywhere(instruction: &Instruction) -> bool {
    fits(instruction) && is_harmless(instruction)
}

/// Operations that become many.
fn is_long(pseudo: Pseudo) -> bool {
    matches!(
        pseudo,
        Pseudo::Divide
            | Pseudo::Remainder
            | Pseudo::FDivide
            | Pseudo::FReciprocal
            | Pseudo::FSquareRoot
            | Pseudo::MulHi64
            | Pseudo::ParallelCopy
            | Pseudo::Parameters
            | Pseudo::Return
            | Pseudo::Call
            | Pseudo::CallHelper
    )
}

/// True if running it on lanes that would not have has no visible effect. A constant load by register may
/// fault where the index is not checked.
pub fn is_harmless(instruction: &Instruction) -> bool {
    let indexed = |s: &Source| matches!(s.kind, SourceKind::ConstIndexed(_));
    instruction.opcode == Opcode::Pseudo(Pseudo::Undefined)
        || (effects::is_pure(instruction) && !instruction.sources.iter().any(indexed))
}
