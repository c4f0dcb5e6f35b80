//! `st.async` and `red.async`: writes to shared memory of the cluster that an mbarrier counts.

use crate::context::{Lower, Lowered};
use crate::memory::{self, operation_mod};
use crate::source::address_of;
use oriole_hir::Instruction;
use oriole_ori::{MemoryInfo, Source};
use oriole_ptx::Opcode;
use oriole_sass::{Mod, Op};

/// `st.async` and `red.async`: a write to shared memory of the cluster, and the mbarrier that counts its bytes.
/// Both addresses are in one register pair.
pub(crate) fn async_store(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let place = memory::shared_address(cx, cx.operand(i, 0)?)?;
    let object = memory::shared_address(cx, cx.operand(i, 2)?)?;
    let pair = [cx.value_of(place), cx.value_of(object)];
    let mut words: Vec<Source> = Vec::new();
    for element in cx.elements(cx.operand(i, 1)?) {
        words.extend(cx.words(&element, ty)?);
    }
    let width = match words.len() {
        1 => None,
        2 => Some(Mod::_64),
        4 => Some(Mod::_128),
        _ => return Err(cx.unsupported_form(i)),
    };
    let data = cx.tuple(words);
    let operation = match i.modifiers.at().map(operation_mod) {
        Some(operation) if i.opcode == Opcode::Red => Some(operation),
        None if i.opcode == Opcode::St => None,
        _ => return Err(cx.unsupported_form(i)),
    };
    let signed = operation.is_some() && ty.is_signed() && width.is_none();
    let op = if operation.is_some() { Op::REDAS } else { Op::STAS };
    let mods: Vec<Mod> = operation.into_iter().chain(width).chain(signed.then_some(Mod::S32)).collect();
    let address = address_of(Source::values(pair), 0).suffixed(Mod::_64);
    let data = cx.in_register(data);
    cx.b.op(op).mods(&mods).from(address).from(data).memory(MemoryInfo::EVERYTHING).emit();
    Ok(())
}
