//! `cvt` between integers (truncation, extension, clamping to the range of the result) and `cvt.pack`.

use crate::arithmetic;
use crate::context::{Lower, Lowered};
use crate::source::imm;
use oriole_hir::Instruction;
use oriole_ori::{Pseudo, Source};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// Smallest and largest value of an integer type.
fn range(ty: Type) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// An integer conversion.
pub(super) fn convert_integer(cx: &mut Lower<'_>, i: &Instruction, to: Type, from: Type) -> Lowered {
    let (d, a) = (cx.operand(i, 0)?, cx.operand(i, 1)?);
    if i.modifiers.has(Word::Sat) {
        return convert_clamped(cx, i, to, from);
    }
    if to.bits() <= from.bits() {
        let words = cx.words(a, from)?;
        let count = to.bits().div_ceil(32) as usize;
        return cx.write(d, to, &words[..count]);
    }
    let low = cx.extended(a, from)?;
    if to.bits() <= 32 {
        return cx.write(d, to, &[low]);
    }
    let high = cx.sign_word(low.clone(), from.is_signed());
    cx.write(d, to, &[low, high])
}

fn convert_clamped(cx: &mut Lower<'_>, i: &Instruction, to: Type, from: Type) -> Lowered {
    let (d, a) = (cx.operand(i, 0)?, cx.operand(i, 1)?);
    let ((least, greatest), (from_least, from_greatest)) = (range(to), range(from));
    let (raise, cap) = (from_least < least, from_greatest > greatest);
    if from.bits() == 64 {
        let mut value = cx.pair(a, from)?;
        let sign = if from.is_signed() { Mod::S64 } else { Mod::U64 };
        for (needed, limit, pseudo) in [(raise, least, Pseudo::Max64), (cap, greatest, Pseudo::Min64)] {
            if needed {
                let limit = cx.tuple([imm(limit as u32), imm((limit >> 32) as u32)]);
                let clamped = cx.b.pair();
                cx.pseudo(pseudo, &[sign], clamped, [value, limit]);
                value = clamped.into();
            }
        }
        let oriole_ori::SourceKind::Values(values) = value.kind else {
            return cx.write(d, to, &[Source::rz(), Source::rz()]);
        };
        let words: Vec<Source> = values.iter().map(|&v| Source::value(v)).collect();
        let count = to.bits().div_ceil(32) as usize;
        return cx.write(d, to, &words[..count]);
    }
    let mut value = cx.extended(a, from)?;
    value = cx.in_register(value);
    let mods: &[Mod] = if from.is_signed() { &[] } else { &[Mod::U32] };
    for (needed, limit, which) in
        [(raise, least, Source::not_pt()), (cap && greatest < i128::from(u32::MAX), greatest, Source::pt())]
    {
        if needed {
            let clamped = cx.b.r();
            arithmetic::min_max(cx, mods, clamped, value, imm(limit as u32), which);
            value = clamped.into();
        }
    }
    if to.bits() == 64 {
        let high = cx.sign_word(value.clone(), to.is_signed() && from.is_signed());
        return cx.write(d, to, &[value, high]);
    }
    cx.write(d, to, &[value])
}

/// `cvt.pack.sat`: two integers, clamped, become the low parts of the result.
pub(super) fn convert_pack(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (to, from) = (cx.ty(i, 0)?, cx.ty(i, 1)?);
    if from != Type::S32 || !i.modifiers.has(Word::Sat) {
        return Err(cx.unsupported_form(i));
    }
    let (kind, suffix) = match to {
        Type::S16 => (Mod::S16, None),
        Type::U16 => (Mod::U16, None),
        Type::S8 => (Mod::S8, None),
        Type::U8 => (Mod::U8, None),
        Type::S4 => (Mod::S4, Some(Mod::_24)),
        Type::U4 => (Mod::U4, Some(Mod::_24)),
        Type::S2 => (Mod::S2, Some(Mod::_28)),
        Type::U2 => (Mod::U2, Some(Mod::_28)),
        _ => return Err(cx.unsupported_form(i)),
    };
    let a = cx.word(cx.operand(i, 1)?, from)?;
    let a = cx.in_register(a);
    let b = cx.word(cx.operand(i, 2)?, from)?;
    let b = cx.in_register(b);
    let mut c = match i.operands.get(3) {
        Some(c) => {
            let c = cx.word(c, Type::B32)?;
            cx.in_register(c)
        }
        None => Source::rz(),
    };
    if let Some(suffix) = suffix {
        c = c.suffixed(suffix);
    }
    let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
    cx.op(Op::I2IP, &[kind, Mod::S32, Mod::SAT], d, [a, b, c]);
    Ok(())
}
