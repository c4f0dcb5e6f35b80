//! Operations and types of bulk reductions as SASS modifiers.

use crate::LowerError;
use crate::context::Lower;
use oriole_hir::Instruction;
use oriole_ptx::Type;
use oriole_ptx::word::Operation;
use oriole_sass::Mod;

/// Operation and type of a reduction.
pub(super) fn reduction_mods(cx: &Lower<'_>, i: &Instruction) -> Result<Vec<Mod>, LowerError> {
    let mut mods = vec![reduction_operation(cx, i)?];
    mods.extend_from_slice(match cx.ty(i, 0)? {
        Type::B32 | Type::U32 => &[],
        Type::S32 => &[Mod::S32],
        Type::B64 | Type::U64 => &[Mod::U64],
        Type::S64 => &[Mod::S64],
        Type::F16 => &[Mod::F16, Mod::RN],
        Type::BF16 => &[Mod::BF16, Mod::RN],
        Type::F32 => &[Mod::F32, Mod::RN],
        Type::F64 => &[Mod::F64, Mod::RN],
        _ => return Err(cx.unsupported_form(i)),
    });
    Ok(mods)
}

pub(super) fn reduction_operation(cx: &Lower<'_>, i: &Instruction) -> Result<Mod, LowerError> {
    Ok(match i.modifiers.at() {
        Some(Operation::Add) => Mod::ADD,
        Some(Operation::Min) => Mod::MIN,
        Some(Operation::Max) => Mod::MAX,
        Some(Operation::Inc) => Mod::INC,
        Some(Operation::Dec) => Mod::DEC,
        Some(Operation::And) => Mod::AND,
        Some(Operation::Or) => Mod::OR,
        Some(Operation::Xor) => Mod::XOR,
        Some(Operation::Exch | Operation::Cas) | None => return Err(cx.unsupported_form(i)),
    })
}
