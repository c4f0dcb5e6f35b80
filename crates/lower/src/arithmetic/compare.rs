//! Comparison and selection: `setp`, `set`, `selp`, `slct`, `testp`, `copysign`.

use super::bits::SELECT;
use super::half::{self, Half, half_of};
use super::integer64::signedness_64;
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::{imm, is_register};
use oriole_hir::{Instruction, Operand};
use oriole_ori::{File, Pseudo, Source, Value};
use oriole_ptx::{Type, Word, word};
use oriole_sass::{Mod, Op};

/// A comparison and its combining predicate.
struct Comparison {
    compare: Mod,
    swapped: Mod,
    combine: Mod,
    with: Source,
}

/// A comparison as a SASS modifier, and with swapped operands.
fn comparison_mods(comparison: word::Comparison) -> (Mod, Mod) {
    match comparison {
        word::Comparison::Eq => (Mod::EQ, Mod::EQ),
        word::Comparison::Ne => (Mod::NE, Mod::NE),
        word::Comparison::Lt | word::Comparison::Lo => (Mod::LT, Mod::GT),
        word::Comparison::Le | word::Comparison::Ls => (Mod::LE, Mod::GE),
        word::Comparison::Gt | word::Comparison::Hi => (Mod::GT, Mod::LT),
        word::Comparison::Ge | word::Comparison::Hs => (Mod::GE, Mod::LE),
        word::Comparison::Equ => (Mod::EQU, Mod::EQU),
        word::Comparison::Neu => (Mod::NEU, Mod::NEU),
        word::Comparison::Ltu => (Mod::LTU, Mod::GTU),
        word::Comparison::Leu => (Mod::LEU, Mod::GEU),
        word::Comparison::Gtu => (Mod::GTU, Mod::LTU),
        word::Comparison::Geu => (Mod::GEU, Mod::LEU),
        word::Comparison::Num => (Mod::NUM, Mod::NUM),
        word::Comparison::Nan => (Mod::NAN, Mod::NAN),
    }
}

fn comparison(cx: &mut Lower<'_>, i: &Instruction, with: Option<&Operand>) -> Result<Comparison, LowerError> {
    let Some((compare, swapped)) = i.modifiers.at().map(comparison_mods) else {
        return Err(cx.unsupported_form(i));
    };
    let combine = match i.modifiers.at() {
        Some(word::Combine::And) | None => Mod::AND,
        Some(word::Combine::Or) => Mod::OR,
        Some(word::Combine::Xor) => Mod::XOR,
    };
    let with = match with {
        Some(operand) => cx.predicate(operand)?,
        None => Source::pt(),
    };
    Ok(Comparison { compare, swapped, combine, with })
}

/// `setp`.
pub(crate) fn set_predicate(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let (first, second) = match cx.operand(i, 0)? {
        Operand::Pair(p, q) => (cx.result_predicate(p)?, cx.result_predicate(q)?),
        p => (cx.result_predicate(p)?, None),
    };
    let comparison = comparison(cx, i, i.operands.get(3))?;
    let (a, b) = (cx.operand(i, 1)?, cx.operand(i, 2)?);
    compare(cx, i, ty, comparison, [first, second], a, b)
}

/// Compares `a` and `b` of type `ty`: the first result is the comparison combined with the predicate, the second
/// its negation combined with it (for f16x2: the comparison of the upper halves).
fn compare(
    cx: &mut Lower<'_>,
    i: &Instruction,
    ty: Type,
    c: Comparison,
    d: [Option<Value>; 2],
    a: &Operand,
    b: &Operand,
) -> Lowered {
    let ftz = i.modifiers.has(Word::Ftz);
    let (op, mods, a, b): (Op, Vec<Mod>, Source, Source) = match ty {
        Type::F32 => {
            let (a, b) = (cx.word(a, ty)?, cx.word(b, ty)?);
            let mods = if ftz { vec![Mod::FTZ] } else { vec![] };
            let (compare, a, b) = ordered(&c, a, b);
            (Op::FSETP, [mods, vec![compare]].concat(), cx.in_register(a), b)
        }
        Type::F64 => {
            let a = cx.double(a, false)?;
            let b = cx.double(b, true)?;
            (Op::DSETP, vec![c.compare], a, b)
        }
        _ if half_of(ty).is_some() => {
            let half = half_of(ty).unwrap_or(Half { bf16: false, packed: false });
            let (a, b) = (half::half_source(cx, a, ty)?, half::half_source(cx, b, ty)?);
            let a = cx.in_register(a);
            let mut mods = vec![c.compare];
            mods.extend(half.mods());
            if ftz {
                mods.push(Mod::FTZ);
            }
            (Op::HSETP2, mods, a, b)
        }
        _ if ty.bits() == 64 => {
            let (a, b) = (cx.pair(a, ty)?, cx.pair(b, ty)?);
            return compare_64(cx, ty, c, d, a, b);
        }
        _ => {
            let (a, b) = (cx.extended(a, ty)?, cx.extended(b, ty)?);
            let (compare, a, b) = ordered(&c, a, b);
            let mut mods = vec![compare];
            if !ty.is_signed() {
                mods.push(Mod::U32);
            }
            (Op::ISETP, mods, cx.in_register(a), b)
        }
    };
    let mut draft = cx.b.op(op).mods(&mods).m(c.combine);
    for d in d {
        draft = draft.to_or_drop(d, File::P);
    }
    draft.from(a).from(b).from(c.with).emit();
    Ok(())
}

fn compare_64(
    cx: &mut Lower<'_>,
    ty: Type,
    c: Comparison,
    d: [Option<Value>; 2],
    a: Source,
    b: Source,
) -> Lowered {
    let mods = [c.compare, signedness_64(ty)];
    let plain = c.with == Source::pt() && c.combine == Mod::AND;
    if let ([Some(d), None], true) = (d, plain) {
        cx.pseudo(Pseudo::SetPredicate64, &mods, [d], [a, b]);
        return Ok(());
    }
    let holds = cx.b.p();
    cx.pseudo(Pseudo::SetPredicate64, &mods, [holds], [a, b]);
    // Table of `x op y` and of `!x op y`.
    let (table, contrary) = match c.combine {
        Mod::AND => (0xc0, 0x0c),
        Mod::OR => (0xfc, 0xcf),
        _ => (0x3c, 0xc3),
    };
    // A result may be the predicate that the other combination reads.
    let first = d[0].map(|d| (d, cx.b.p()));
    if let Some((_, temporary)) = first {
        cx.b.plop3(temporary, holds, c.with.clone(), Source::pt(), table);
    }
    if let Some(d) = d[1] {
        cx.b.plop3(d, holds, c.with, Source::pt(), contrary);
    }
    if let Some((d, temporary)) = first {
        cx.b.mov(d, temporary);
    }
    Ok(())
}

/// `set`: all ones or zero, 1.0 or 0.0.
pub(crate) fn set(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (to, from) = (cx.ty(i, 0)?, cx.ty(i, 1)?);
    let comparison = comparison(cx, i, i.operands.get(3))?;
    let (a, b) = (cx.operand(i, 1)?, cx.operand(i, 2)?);
    if let Some(half) = half_of(from)
        && half.packed
    {
        // Both halves at once; results are masks, or 1.0 with BF.
        let (a, b) = (half::half_source(cx, a, from)?, half::half_source(cx, b, from)?);
        let a = cx.in_register(a);
        let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
        let mut mods = vec![comparison.compare, comparison.combine];
        mods.extend(half.mods());
        if to.is_float() {
            mods.push(Mod::BF);
        }
        if i.modifiers.has(Word::Ftz) {
            mods.push(Mod::FTZ);
        }
        cx.op(Op::HSET2, &mods, d, [a, b, comparison.with]);
        return Ok(());
    }
    let p = cx.b.p();
    compare(cx, i, from, comparison, [Some(p), None], a, b)?;
    let true_bits = match to {
        Type::F32 => 0x3f80_0000,
        Type::F16 => 0x3c00,
        Type::BF16 => 0x3f80,
        _ => !0u32,
    };
    let d = cx.result_word(cx.operand(i, 0)?, to)?;
    cx.b.sel(d, Source::rz(), true_bits, Source::value(p).inverted());
    Ok(())
}

/// `selp`.
pub(crate) fn select(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let p = cx.predicate(cx.operand(i, 3)?)?;
    select_by(cx, i, ty, p)
}

fn select_by(cx: &mut Lower<'_>, i: &Instruction, ty: Type, p: Source) -> Lowered {
    let (a, b) = (cx.operand(i, 1)?, cx.operand(i, 2)?);
    if ty.bits() == 64 {
        let (a, b) = (cx.pair(a, ty)?, cx.pair(b, ty)?);
        let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
        cx.pseudo(Pseudo::Select64, &[], d, [a, b, p]);
        return Ok(());
    }
    let (a, b) = (cx.word(a, ty)?, cx.word(b, ty)?);
    let (a, b, p) = if is_register(&a) { (a, b, p) } else { (b, a, p.inverted()) };
    let a = cx.in_register(a);
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    cx.b.sel(d, a, b, p);
    Ok(())
}

/// `slct`: the first operand where the third is not negative.
pub(crate) fn select_by_sign(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (ty, by) = (cx.ty(i, 0)?, cx.ty(i, 1)?);
    let c = cx.word(cx.operand(i, 3)?, by)?;
    let c = cx.in_register(c);
    let p = cx.b.p();
    if by == Type::F32 {
        let mut draft = cx.b.op(Op::FSETP).mods(&[Mod::GE, Mod::AND]);
        if i.modifiers.has(Word::Ftz) {
            draft = draft.m(Mod::FTZ);
        }
        draft.to(p).drop_result(File::P).from(c).from(Source::rz()).from(Source::pt()).emit();
    } else {
        cx.b.isetp(p, Mod::GE, false, c, Source::rz());
    }
    select_by(cx, i, ty, p.into())
}

/// `testp`: tests the class of a floating-point value by its bits.
pub(crate) fn test_class(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let Some(d) = cx.result_predicate(cx.operand(i, 0)?)? else { return Ok(()) };
    let words = cx.words(cx.operand(i, 1)?, ty)?;
    let top = cx.in_register(words[words.len() - 1].clone());
    let magnitude = cx.b.r();
    cx.b.and(magnitude, top, 0x7fff_ffffu32);
    // The bits without the sign, as an integer of one word or two.
    let bits: Source =
        if words.len() == 2 { cx.tuple([words[0].clone(), magnitude.into()]) } else { magnitude.into() };
    let (infinity, normal) =
        if ty == Type::F64 { (0x7ff0_0000, 0x0010_0000) } else { (0x7f80_0000, 0x0080_0000) };
    let Some(class) = i.modifiers.at() else { return Err(cx.unsupported_form(i)) };
    match class {
        word::NumberClass::Finite => compare_bits(cx, d, Mod::LT, bits, infinity),
        word::NumberClass::Infinite => compare_bits(cx, d, Mod::EQ, bits, infinity),
        word::NumberClass::Notanumber => compare_bits(cx, d, Mod::GT, bits, infinity),
        word::NumberClass::Number => compare_bits(cx, d, Mod::LE, bits, infinity),
        word::NumberClass::Normal => {
            let [large, small] = [cx.b.p(), cx.b.p()];
            compare_bits(cx, large, Mod::GE, bits.clone(), normal);
            compare_bits(cx, small, Mod::LT, bits.clone(), infinity);
            // Zero counts as normal: (large and small) or zero.
            let zero = cx.b.p();
            compare_bits(cx, zero, Mod::EQ, bits, 0);
            cx.b.plop3(d, large, small, zero, 0xea);
        }
        word::NumberClass::Subnormal => {
            let [small, nonzero] = [cx.b.p(), cx.b.p()];
            compare_bits(cx, small, Mod::LT, bits.clone(), normal);
            compare_bits(cx, nonzero, Mod::NE, bits, 0);
            cx.b.plop3(d, small, nonzero, Source::pt(), 0xc0);
        }
    }
    Ok(())
}

/// Compares one or two words with a constant whose low word, if any, is zero.
fn compare_bits(cx: &mut Lower<'_>, d: Value, compare: Mod, bits: Source, high: u32) {
    let wide = matches!(&bits.kind, oriole_ori::SourceKind::Values(v) if v.len() == 2);
    if wide {
        let limit = cx.tuple([Source::rz(), imm(high)]);
        cx.pseudo(Pseudo::SetPredicate64, &[compare, Mod::U64], [d], [bits, limit]);
    } else {
        cx.b.isetp(d, compare, true, bits, imm(high));
    }
}

/// `copysign d, a, b`: the magnitude of `b` with the sign of `a`.
pub(crate) fn copy_sign(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let a = cx.words(cx.operand(i, 1)?, ty)?;
    let b = cx.words(cx.operand(i, 2)?, ty)?;
    let top = a.len() - 1;
    let (sign, rest) = (cx.in_register(a[top].clone()), cx.in_register(b[top].clone()));
    let word = cx.b.r();
    let mask = cx.in_register(imm(0x8000_0000));
    cx.b.lop3(word, mask, sign, rest, SELECT);
    let mut result: Vec<Source> = b.to_vec();
    result[top] = word.into();
    cx.write(cx.operand(i, 0)?, ty, &result)
}

/// The comparison with an immediate, if there is one, as second operand.
fn ordered(c: &Comparison, a: Source, b: Source) -> (Mod, Source, Source) {
    if !is_register(&a) && is_register(&b) { (c.swapped, b, a) } else { (c.compare, a, b) }
}
