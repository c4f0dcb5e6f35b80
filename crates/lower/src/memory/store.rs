//! `st`. Stores to parameters in registers are in `parameters`.

use super::access::{self, GROUP, WIDEST};
use super::{cache, parameters, place};
use crate::context::{Lower, Lowered};
use crate::{functions, threads};
use oriole_hir::{Address, AddressBase, Instruction, Operand};
use oriole_ori::Source;
use oriole_ptx::Space;
use oriole_sass::Mod;

/// `st`.
pub(crate) fn store(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let operand = cx.operand(i, 0)?;
    let count = u32::from(i.vector.max(1));
    let bytes = ty.bytes() * count;
    let mut space = access::accessed_space(i, bytes);
    if let Operand::Address(Address { base: AddressBase::Variable(variable), offset }) = operand {
        space = cx.body.variables[*variable].space;
        if functions::in_registers(cx, *variable) && functions::parameter_memory(cx, *variable).is_none() {
            return parameters::store_parameter_words(cx, i, *variable, *offset);
        }
        if functions::in_registers(cx, *variable) && parameters::reaches_beyond(cx, *variable, *offset, bytes)
        {
            return match count {
                1 => Ok(()),
                _ => parameters::element_accesses(cx, i, 1)?.iter().try_for_each(|single| store(cx, single)),
            };
        }
    }
    if space == Space::FunctionParameter {
        space = Space::Local;
    }
    let place = place::place_of(cx, operand, space)?;
    let place = place::cluster_to_generic(cx, place);
    let (_, op, extended) = place::access_ops(cx, place.space)?;
    let size = access::size_of_access(cx, i, bytes, false)?;
    let elements = cx.elements(cx.operand(i, 1)?);
    if elements.len() != count as usize {
        return Err(cx.unsupported_form(i));
    }
    let mut words: Vec<Source> = Vec::new();
    if ty.bits() < 32 && count > 1 {
        let per_word = (32 / ty.bits()) as usize;
        for group in elements.chunks(per_word) {
            let parts = group.iter().map(|e| cx.word(e, ty)).collect::<Result<Vec<_>, _>>()?;
            words.push(cx.join(parts, ty.bits()));
        }
    } else {
        for element in &elements {
            words.extend(cx.words(element, ty)?);
        }
    }
    let groups = if bytes == WIDEST { GROUP } else { words.len() };
    let values: Vec<Source> = words.chunks(groups).map(|group| cx.tuple(group.to_vec())).collect();
    let mut strength = access::strength(i);
    let wide = matches!(place.space, Space::Global | Space::Generic);
    if !wide {
        strength.mods.clear();
    }
    if let Some(scope) = strength.release {
        threads::fence(cx, scope, false, false);
    }
    let memory = place::memory_info(place.space, false, true, strength.ordered);
    let address = cache::cached_operand(cx, i, &place)?;
    cx.b.op(op)
        .m_if(extended, Mod::E)
        .mods(&size)
        .mods(&strength.mods)
        .from(address)
        .from_all(values)
        .memory(memory)
        .emit();
    Ok(())
}
