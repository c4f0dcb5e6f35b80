//! `ld.param` and `st.param` of a function's parameters: the ones in registers, and accesses past the end of one in memory.
//! Where a parameter is, `functions` knows.

use crate::context::{Lower, Lowered};
use crate::source::{Words, imm};
use crate::{LowerError, functions};
use oriole_hir::{Instruction, Operand, VariableId, VariableKind};
use oriole_ori::Source;
use oriole_ptx::Type;

/// Writes an element of `ty` at a byte offset of words in registers.
fn insert(cx: &mut Lower<'_>, words: &Words, offset: u64, ty: Type, value: &[Source]) -> Lowered {
    let first = (offset / 4) as usize;
    let count = ty.bits().div_ceil(32).max(1) as usize;
    // Stores past the end are dropped.
    let slice = words.get(first..).unwrap_or_default();
    let slice = &slice[..count.min(slice.len())];
    if ty.bits() >= 32 {
        for (&d, source) in slice.iter().zip(value) {
            cx.b.mov(d, source.clone());
        }
        return Ok(());
    }
    let byte = (offset % 4) as u32;
    let mut selector = 0x3210u32;
    for part in 0..ty.bits() / 8 {
        let shift = 4 * (byte + part);
        selector = selector & !(0xf << shift) | (4 + part) << shift;
    }
    let Some(&d) = slice.first() else { return Ok(()) };
    let value = cx.in_register(value[0].clone());
    cx.b.prmt(d, d, imm(selector), value);
    Ok(())
}

/// `ld.param` of a variable in registers.
pub(super) fn load_parameter_words(
    cx: &mut Lower<'_>,
    i: &Instruction,
    variable: VariableId,
    offset: i64,
) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let words = functions::parameter_words(cx, variable);
    let destinations = cx.elements(cx.operand(i, 0)?);
    let mut writes = Vec::new();
    for (index, d) in destinations.iter().enumerate() {
        let place = offset as u64 + index as u64 * u64::from(ty.bytes());
        writes.push((d.clone(), cx.extract(&words, place, ty)?));
    }
    for (d, value) in writes {
        let whole = if ty.bits() < 32 { if ty.is_signed() { Type::S32 } else { Type::U32 } } else { ty };
        cx.write(&d, whole, &value)?;
    }
    Ok(())
}

/// `st.param` of a variable in registers.
pub(super) fn store_parameter_words(
    cx: &mut Lower<'_>,
    i: &Instruction,
    variable: VariableId,
    offset: i64,
) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let words = functions::parameter_words(cx, variable);
    for (index, a) in cx.elements(cx.operand(i, 1)?).iter().enumerate() {
        let value = cx.words(a, ty)?;
        insert(cx, &words, offset as u64 + index as u64 * u64::from(ty.bytes()), ty, &value)?;
    }
    Ok(())
}

/// True if an access to a parameter in memory extends past its end.
pub(super) fn reaches_beyond(cx: &Lower<'_>, variable: VariableId, offset: i64, bytes: u32) -> bool {
    let declared = &cx.body.variables[variable];
    if let VariableKind::Parameter(index) = declared.kind
        && cx.body.parameters[index as usize].is_open()
    {
        return offset < 0;
    }
    let end = u64::try_from(offset).ok().and_then(|offset| offset.checked_add(u64::from(bytes)));
    end.is_none_or(|end| end > declared.size)
}

/// The accesses to the elements of a vector one by one, each with its place; `operand` is the position of the
/// vector.
pub(super) fn element_accesses(
    cx: &Lower<'_>,
    i: &Instruction,
    operand: usize,
) -> Result<Vec<Instruction>, LowerError> {
    let bytes = i64::from(cx.ty(i, 0)?.bytes());
    let elements = cx.elements(cx.operand(i, operand)?);
    let single = |(number, element): (usize, Operand)| {
        let mut single = Instruction { vector: 1, ..i.clone() };
        single.operands[operand] = element;
        for operand in &mut single.operands {
            if let Operand::Address(address) = operand {
                address.offset += bytes * number as i64;
            }
        }
        single
    };
    Ok(elements.into_iter().enumerate().map(single).collect())
}

/// A load of one element past the end of a parameter: zero.
pub(super) fn load_beyond(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let whole = if ty.bits() < 32 { Type::U32 } else { ty };
    let zeros = vec![Source::rz(); whole.bits().div_ceil(32) as usize];
    let d = cx.operand(i, 0)?.clone();
    cx.write(&d, whole, &zeros)
}
