//! 64-bit integer arithmetic that is more than one pseudo-operation.

use super::carry;
use crate::context::{Lower, Lowered};
use oriole_hir::Instruction;
use oriole_ori::{Pseudo, Source};
use oriole_ptx::word::Part;
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::Mod;

/// The signedness modifier of a 64-bit pseudo-operation.
pub(super) fn signedness_64(ty: Type) -> Mod {
    if ty.is_signed() { Mod::S64 } else { Mod::U64 }
}

/// `add` and `sub` of 64-bit integers without carry.
pub(crate) fn add_64(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    if i.modifiers.has(Word::Sat) {
        return Err(cx.unsupported_form(i));
    }
    let a = cx.pair(cx.operand(i, 1)?, ty)?;
    let b = cx.pair(cx.operand(i, 2)?, ty)?;
    let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
    cx.pseudo(Pseudo::Add64, &[], d, [a, if i.opcode == Opcode::Sub { b.negated() } else { b }]);
    Ok(())
}

/// `mul`, `mad` and `madc` of 64-bit integers, `.lo` and `.hi`.
pub(super) fn multiply_64(cx: &mut Lower<'_>, i: &Instruction, ty: Type) -> Lowered {
    let a = cx.pair(cx.operand(i, 1)?, ty)?;
    let b = cx.pair(cx.operand(i, 2)?, ty)?;
    let high = i.modifiers.at() == Some(Part::Hi);
    let has_addend = i.opcode != Opcode::Mul;
    let c = if has_addend { Some(cx.words(cx.operand(i, 3)?, ty)?) } else { None };
    let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
    let product = if has_addend { cx.b.pair() } else { d };
    if high {
        cx.pseudo(Pseudo::MulHi64, &[signedness_64(ty)], product, [a, b]);
    } else {
        cx.pseudo(Pseudo::Mul64, &[], product, [a, b]);
    }
    let Some(c) = c else { return Ok(()) };
    let (takes, gives) = (i.opcode == Opcode::Madc, i.modifiers.has(Word::Cc));
    if takes || gives {
        let product = product.map(Source::value);
        carry::add_chain(cx, &d, &product, &c, false, takes, gives);
    } else {
        let c = cx.tuple(c);
        cx.pseudo(Pseudo::Add64, &[], d, [product.into(), c]);
    }
    Ok(())
}

/// `sad` of 64-bit integers.
pub(super) fn sad_64(cx: &mut Lower<'_>, i: &Instruction, ty: Type) -> Lowered {
    let a = cx.pair(cx.operand(i, 1)?, ty)?;
    let b = cx.pair(cx.operand(i, 2)?, ty)?;
    let c = cx.pair(cx.operand(i, 3)?, ty)?;
    let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
    let less = cx.b.p();
    cx.pseudo(Pseudo::SetPredicate64, &[Mod::LT, signedness_64(ty)], [less], [a.clone(), b.clone()]);
    let [up, down, distance] = [cx.b.pair(), cx.b.pair(), cx.b.pair()];
    cx.pseudo(Pseudo::Add64, &[], up, [b.clone(), a.clone().negated()]);
    cx.pseudo(Pseudo::Add64, &[], down, [a, b.negated()]);
    cx.pseudo(Pseudo::Select64, &[], distance, [up.into(), down.into(), less.into()]);
    cx.pseudo(Pseudo::Add64, &[], d, [distance.into(), c]);
    Ok(())
}

/// `abs` of 64-bit integers.
pub(super) fn abs_64(cx: &mut Lower<'_>, i: &Instruction, ty: Type) -> Lowered {
    let a = cx.pair(cx.operand(i, 1)?, ty)?;
    let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
    let less = cx.b.p();
    cx.pseudo(Pseudo::SetPredicate64, &[Mod::LT, Mod::S64], [less], [a.clone(), Source::rz()]);
    let negative = cx.b.pair();
    cx.pseudo(Pseudo::Add64, &[], negative, [Source::rz(), a.clone().negated()]);
    cx.pseudo(Pseudo::Select64, &[], d, [negative.into(), a, less.into()]);
    Ok(())
}
