//! `mov` in all its forms: copies, immediates, addresses, special registers, predicates, packing and unpacking.

use crate::context::{Lower, Lowered};
use crate::{names, texture};
use oriole_hir::{Instruction, Operand};
use oriole_ori::Source;
use oriole_ptx::{SpecialRegister, Type};
use oriole_sass::Mod;

/// `mov`.
pub(crate) fn mov(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let (d, a) = (cx.operand(i, 0)?, cx.operand(i, 1)?);
    if ty == Type::Pred {
        return move_predicate(cx, d, a);
    }
    if i.vector > 1 {
        let sources = a.components().iter().map(|source| cx.words(source, ty));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        return cx.write_all(d.components(), ty, sources);
    }
    if let Operand::Vector(elements) = d {
        return unpack(cx, elements, a, ty);
    }
    if let &Operand::VariableAddress(variable, 0) = a
        && ty.bits() == 64
        && let Some(handle) = texture::handle(cx, variable)?
    {
        return cx.write(d, ty, &handle);
    }
    let words = cx.words(a, ty)?;
    cx.write(d, ty, &words)
}

fn move_predicate(cx: &mut Lower<'_>, d: &Operand, a: &Operand) -> Lowered {
    let Some(d) = cx.result_predicate(d)? else { return Ok(()) };
    if let Operand::Special(SpecialRegister::IsExplicitCluster) = a {
        let place = cx.bank.explicit_cluster.ok_or_else(|| cx.unsupported("`%is_explicit_cluster`"))?;
        let word = names::bank_word(cx, place);
        cx.b.isetp(d, Mod::EQ, true, word, 1u32);
        return Ok(());
    }
    let a = cx.predicate(a)?;
    match a.as_plain_value() {
        Some(value) => cx.b.mov(d, value),
        // The table of its first input.
        None => cx.b.plop3(d, a, Source::pt(), Source::pt(), 0xf0),
    }
    Ok(())
}

/// `mov` into a vector.
fn unpack(cx: &mut Lower<'_>, elements: &[Operand], a: &Operand, ty: Type) -> Lowered {
    let width = ty.bits() / elements.len().max(1) as u32;
    let words = cx.words(a, ty)?;
    let parts = cx.split(&words, width, elements.len())?;
    let element = match width {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        _ => Type::B64,
    };
    cx.write_all(elements, element, parts)
}
