//! `ld` and `ldu` of memory. Loads of constant banks and of parameters in registers are in `constant` and `parameters`.

use super::access::{self, GROUP, WIDEST};
use super::{cache, constant, parameters, place};
use crate::context::{Lower, Lowered};
use crate::source::Words;
use crate::{LowerError, functions, threads};
use oriole_hir::{AddressBase, Instruction, Operand};
use oriole_ori::Source;
use oriole_ptx::{Space, Type};
use oriole_sass::Mod;
use smallvec::SmallVec;

/// `ld` and `ldu`.
pub(crate) fn load(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let operand = cx.operand(i, 1)?;
    let count = u32::from(i.vector.max(1));
    let bytes = ty.bytes() * count;
    let mut space = access::accessed_space(i, bytes);
    let Operand::Address(address) = operand else { return Err(cx.unsupported_form(i)) };
    if let AddressBase::Variable(variable) = address.base {
        space = cx.body.variables[variable].space;
        if functions::in_registers(cx, variable) && functions::parameter_memory(cx, variable).is_none() {
            return parameters::load_parameter_words(cx, i, variable, address.offset);
        }
    }
    if let AddressBase::Variable(variable) = address.base
        && functions::in_registers(cx, variable)
    {
        if parameters::reaches_beyond(cx, variable, address.offset, bytes) {
            return match count {
                1 => parameters::load_beyond(cx, i),
                _ => parameters::element_accesses(cx, i, 0)?.iter().try_for_each(|single| load(cx, single)),
            };
        }
        space = Space::Local;
    }
    match space {
        Space::Constant | Space::KernelParameter => return constant::load_bank(cx, i, address, space),
        // A pointer to a function parameter points into its frame.
        Space::FunctionParameter => space = Space::Local,
        _ => {}
    }
    let place = place::place_of(cx, operand, space)?;
    let place = place::cluster_to_generic(cx, place);
    let (op, _, extended) = place::access_ops(cx, place.space)?;
    let narrow = ty.bits() < 32;
    let signed = ty.is_signed() && count == 1;
    let size = access::size_of_access(cx, i, bytes, signed)?;
    let mut strength = access::strength(i);
    match place.space {
        Space::Global | Space::Generic => {}
        // Other spaces have no memory ordering; only the last-use hint applies to local memory.
        Space::Local => strength.mods.retain(|&m| m == Mod::LU),
        _ => strength.mods.clear(),
    }
    let elements = cx.elements(cx.operand(i, 0)?);
    if elements.len() != count as usize {
        return Err(cx.unsupported_form(i));
    }
    let words = bytes.div_ceil(4) as usize;
    let whole = if narrow { if ty.is_signed() { Type::S32 } else { Type::U32 } } else { ty };
    // The loaded words are the results themselves where each is a register of just that size, once.
    let direct = (!narrow || count == 1).then(|| cx.direct_words(&elements, whole)).flatten();
    let d: Words = match &direct {
        Some(words) => words.clone(),
        None => (0..words).map(|_| cx.b.r()).collect(),
    };
    let memory = place::memory_info(place.space, true, false, strength.ordered);
    let address = cache::cached_operand(cx, i, &place)?;
    let mut draft = cx.b.op(op).m_if(extended, Mod::E).mods(&size).mods(&strength.mods);
    // Of two groups of registers the upper one comes first.
    let groups = if bytes == WIDEST { GROUP } else { words };
    for group in d.chunks(groups).rev() {
        draft = draft.to_tuple(group.to_vec());
    }
    draft.from(address).memory(memory).emit();
    if strength.acquire && matches!(place.space, Space::Global | Space::Generic) {
        threads::invalidate(cx);
    }
    if direct.is_some() {
        return Ok(());
    }
    let parts = parts_of(cx, &d, ty, count)?;
    cx.write_all(&elements, whole, parts)
}

/// The elements of a vector in loaded words.
fn parts_of(
    cx: &mut Lower<'_>,
    d: &Words,
    ty: Type,
    count: u32,
) -> Result<Vec<SmallVec<[Source; 4]>>, LowerError> {
    let mut parts = Vec::new();
    for index in 0..u64::from(count) {
        if ty.bits() < 32 && count > 1 {
            parts.push(cx.extract(d, index * u64::from(ty.bytes()), ty)?.into_iter().collect());
        } else {
            let each = ty.bits().div_ceil(32) as usize;
            let start = index as usize * each;
            parts.push(d[start..start + each].iter().map(|&v| Source::value(v)).collect());
        }
    }
    Ok(parts)
}
