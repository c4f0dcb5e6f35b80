//! Replacement of an instruction by another one that writes the same result: the form that rewrites end with. It is here
//! because several rewrites end so; no rule of algebra may enter.

use oriole_ori::{File, Instruction, Opcode, Pseudo, Source, SourceKind};
use oriole_sass::{Mods, Op};

/// The only result that is not dropped, if there is just one.
pub fn sole_destination(i: &Instruction) -> Option<usize> {
    let mut found = None;
    for (index, destination) in i.destinations.iter().enumerate() {
        if !destination.values.is_empty() && found.replace(index).is_some() {
            return None;
        }
    }
    found.filter(|&index| i.destinations[index].fixed.is_none())
}

/// Replaces the operation; the only result, the guard and the old value stay.
pub(super) fn become_op(
    i: &mut Instruction,
    opcode: impl Into<Opcode>,
    mods: Mods,
    sources: &[Source],
) -> bool {
    let Some(index) = sole_destination(i) else { return false };
    let destination = i.destinations[index].clone();
    i.destinations.clear();
    i.destinations.push(destination);
    i.opcode = opcode.into();
    i.mods = mods;
    i.sources.clear();
    i.sources.extend(sources.iter().cloned());
    i.contract = false;
    true
}

/// Makes the instruction a copy of a source without signs.
pub(super) fn become_copy(i: &mut Instruction, source: Source) -> bool {
    let Some(index) = sole_destination(i) else { return false };
    if i.destinations[index].values.len() != 1 || source.fixed.is_some() {
        return false;
    }
    let bare = !source.negate && !source.absolute && source.suffixes.is_empty();
    let file = i.destinations[index].file;
    match (&source.kind, file) {
        (SourceKind::Values(_) | SourceKind::Zero(_), File::R) if bare && !source.invert => {
            become_op(i, Pseudo::Copy, Mods::none(), &[source])
        }
        (SourceKind::Imm(_) | SourceKind::Const { .. }, File::R) if bare && !source.invert => {
            become_op(i, Op::MOV, Mods::none(), &[source])
        }
        (SourceKind::Values(_) | SourceKind::True(_), File::P) if bare => {
            become_op(i, Pseudo::Copy, Mods::none(), &[source])
        }
        _ => false,
    }
}
