//! `cvt` with a floating type on one side at least, one value at a time, and the choice among the forms of `cvt`.

use super::{convert_integer, convert_packed, convert_random};
use crate::arithmetic;
use crate::context::{Lower, Lowered};
use crate::source::imm;
use oriole_hir::Instruction;
use oriole_ori::{Pseudo, Source, Value};
use oriole_ptx::word::IntegralRounding;
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// The bits of an f32 that tf32 keeps.
const TF32_MASK: u32 = 0xffff_e000;

/// `cvt`.
pub(crate) fn convert(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if i.modifiers.has(Word::Pack) {
        return convert_integer::convert_pack(cx, i);
    }
    if i.modifiers.has(Word::Rs) {
        return convert_random::convert_at_random(cx, i);
    }
    let (to, from) = (cx.ty(i, 0)?, cx.ty(i, 1)?);
    match (to.is_float(), from.is_float()) {
        (false, false) => convert_integer::convert_integer(cx, i, to, from),
        (true, false) => integer_to_float(cx, i, to, from),
        (false, true) => float_to_integer(cx, i, to, from),
        (true, true) => float_to_float(cx, i, to, from),
    }
}

/// The rounding to an integral value, if there is one; round to nearest even is the hardware default without a
/// modifier.
fn integral(i: &Instruction) -> Option<Option<Mod>> {
    i.modifiers.at().map(|rounding| match rounding {
        IntegralRounding::Rni => None,
        IntegralRounding::Rmi => Some(Mod::FLOOR),
        IntegralRounding::Rpi => Some(Mod::CEIL),
        IntegralRounding::Rzi => Some(Mod::TRUNC),
    })
}

fn integer_to_float(cx: &mut Lower<'_>, i: &Instruction, to: Type, from: Type) -> Lowered {
    let kind: &[Mod] = match to {
        Type::F32 => &[],
        Type::F64 => &[Mod::F64],
        Type::F16 => &[Mod::F16],
        Type::BF16 => &[Mod::BF16],
        _ => return Err(cx.unsupported_form(i)),
    };
    let mut mods = kind.to_vec();
    let rounding = arithmetic::rounding(i);
    let a = if from.bits() == 64 {
        mods.push(if from.is_signed() { Mod::S64 } else { Mod::U64 });
        cx.pair(cx.operand(i, 1)?, from)?
    } else {
        let a = cx.extended(cx.operand(i, 1)?, from)?;
        if !from.is_signed() {
            mods.push(Mod::U32);
        }
        a
    };
    let a = cx.in_register(a);
    // Narrow integers are exact in f32, so no rounding is needed.
    let fast = to == Type::F32 && from.bits() <= 32 && (rounding.is_none() || from.bits() < 32);
    let destination = cx.result(cx.operand(i, 0)?, to)?;
    let saturate = i.modifiers.has(Word::Sat);
    let d: Vec<Value> =
        if saturate { destination.iter().map(|_| cx.b.r()).collect() } else { destination.to_vec() };
    if fast {
        arithmetic::integer_to_single(cx, d[0], from.is_signed(), a);
    } else {
        mods.extend(rounding);
        cx.b.op(Op::I2F).mods(&mods).to_tuple(d.clone()).from(a).emit();
    }
    if saturate {
        saturate_result(cx, to, &destination, &d, false);
    }
    Ok(())
}

/// `destination <- d` clamped to 0 .. 1.
fn saturate_result(cx: &mut Lower<'_>, ty: Type, destination: &[Value], d: &[Value], ftz: bool) {
    match ty {
        Type::F32 => {
            let mods: &[Mod] = if ftz { &[Mod::SAT, Mod::FTZ] } else { &[Mod::SAT] };
            cx.op(Op::FADD, mods, destination[0], [Source::rz(), d[0].into()]);
        }
        Type::F64 => {
            arithmetic::double_saturate(cx, [destination[0], destination[1]], Source::values(d.to_vec()))
        }
        _ => {
            let mut mods = vec![Mod::SAT];
            if ty == Type::BF16 {
                mods.push(Mod::BF16_V2);
            }
            let a = Source::value(d[0]).suffixed(Mod::H0_H0);
            cx.op(Op::HADD2, &mods, destination[0], [a, Source::rz().negated().suffixed(Mod::H0_H0)]);
        }
    }
}

fn float_to_integer(cx: &mut Lower<'_>, i: &Instruction, to: Type, from: Type) -> Lowered {
    let integral = integral(i).ok_or_else(|| cx.unsupported_form(i))?;
    let ftz = i.modifiers.has(Word::Ftz);
    let mut mods: Vec<Mod> = integral.into_iter().collect();
    mods.extend(match to {
        Type::U8 => Some(Mod::U8),
        Type::S8 => Some(Mod::S8),
        Type::U16 => Some(Mod::U16),
        Type::S16 => Some(Mod::S16),
        Type::U32 => Some(Mod::U32),
        Type::S32 => None,
        Type::U64 => Some(Mod::U64),
        Type::S64 => Some(Mod::S64),
        _ => return Err(cx.unsupported_form(i)),
    });
    let wide = to.bits() == 64;
    let mut a = if from == Type::F64 {
        mods.push(Mod::F64);
        cx.double(cx.operand(i, 1)?, false)?
    } else {
        let a = cx.word(cx.operand(i, 1)?, from)?;
        match from {
            Type::F32 => {}
            Type::F16 => mods.push(Mod::F16),
            Type::BF16 => mods.push(Mod::BF16),
            _ => return Err(cx.unsupported_form(i)),
        }
        if !wide {
            mods.push(Mod::NTZ);
        }
        cx.in_register(a)
    };
    if ftz && from == Type::F32 {
        if wide {
            let flushed = cx.b.r();
            cx.op(Op::FMUL, &[Mod::FTZ], flushed, [a, Source::imm(1f32.to_bits())]);
            a = flushed.into();
        } else {
            mods.push(Mod::FTZ);
        }
    }
    let d = cx.result(cx.operand(i, 0)?, to)?;
    cx.b.op(Op::F2I).mods(&mods).to_tuple(d).from(a).emit();
    Ok(())
}

fn float_to_float(cx: &mut Lower<'_>, i: &Instruction, to: Type, from: Type) -> Lowered {
    match to {
        Type::F16x2 | Type::BF16x2 if from == Type::F32 => return convert_packed::pack_halves(cx, i, to),
        Type::F16x2 | Type::BF16x2 => return convert_packed::unpack_bytes(cx, i, to, from),
        _ if convert_packed::narrow_kind(to).is_some() => return convert_packed::pack_bytes(cx, i, to, from),
        Type::TF32 => return convert_tf32(cx, i),
        Type::F16 | Type::BF16 | Type::F32 | Type::F64 => {}
        _ => return Err(cx.unsupported_form(i)),
    }
    let ftz = i.modifiers.has(Word::Ftz);
    let saturate = i.modifiers.has(Word::Sat);
    let words = cx.words(cx.operand(i, 1)?, from)?;
    let a: Vec<Value> = words.into_iter().map(|word| cx.value_of(word)).collect();
    let destination = cx.result(cx.operand(i, 0)?, to)?;
    let d: Vec<Value> =
        if saturate { destination.iter().map(|_| cx.b.r()).collect() } else { destination.to_vec() };
    float_value(cx, i, to, from, &d, &a)?;
    if saturate {
        saturate_result(cx, to, &destination, &d, ftz && from == Type::F32);
    }
    Ok(())
}

/// A conversion between scalar floating-point types, without saturation.
fn float_value(
    cx: &mut Lower<'_>,
    i: &Instruction,
    to: Type,
    from: Type,
    d: &[Value],
    a: &[Value],
) -> Lowered {
    let ftz = i.modifiers.has(Word::Ftz);
    let rounding = arithmetic::rounding(i);
    if to == from {
        same_type(cx, i, to, d, a);
        return Ok(());
    }
    match (to, from) {
        (Type::F16 | Type::BF16, Type::F32)
            if cx.has(Op::F2FP) && matches!(rounding, None | Some(Mod::RZ)) && !(ftz && to == Type::BF16) =>
        {
            let mut mods = arithmetic::packing(cx, kind(to));
            mods.extend(rounding);
            for (word, token) in [(Word::Relu, Mod::RELU), (Word::Satfinite, Mod::SATFINITE)] {
                mods.extend(i.modifiers.has(word).then_some(token));
            }
            cx.op(Op::F2FP, &mods, d[0], [Source::rz(), a[0].into()]);
        }
        // Subnormal bf16 values are normal f32 values.
        (Type::F32, Type::BF16) if ftz => {
            cx.op(Op::F2F, &[Mod::FTZ, Mod::F32, Mod::BF16_2], d[0], [a[0].into()]);
        }
        (Type::F32, Type::F16 | Type::BF16) => arithmetic::single_of_half(cx, d[0], a[0].into(), from),
        (Type::F64, Type::F32) => {
            let a = if ftz { flushed_single(cx, a[0]) } else { a[0] };
            cx.b.op(Op::F2F).mods(&[Mod::F64, Mod::F32_2]).to_tuple(d.to_vec()).from(a).emit();
        }
        (Type::F32, Type::F64) => {
            let target = if ftz { cx.b.r() } else { d[0] };
            let mut mods = vec![Mod::F32, Mod::F64_2];
            mods.extend(rounding);
            cx.b.op(Op::F2F).mods(&mods).to(target).from(Source::values(a.to_vec())).emit();
            if ftz {
                flush_narrowed(cx, d[0], target, [a[0], a[1]], rounding);
            }
        }
        _ => {
            let mut mods = vec![kind(to), kind_second(from)];
            mods.extend(rounding);
            // Subnormal f32 values are far below the smallest f16, but are representable in bf16; with a rounding
            // away from zero they become the smallest f16.
            mods.extend((ftz && to == Type::BF16 && from == Type::F32).then_some(Mod::FTZ));
            let away = matches!(rounding, Some(Mod::RM | Mod::RP));
            let flushes = ftz && away && (to, from) == (Type::F16, Type::F32);
            let a = if flushes { vec![flushed_single(cx, a[0])] } else { a.to_vec() };
            let finite = to == Type::F16 && i.modifiers.has(Word::Satfinite);
            let target = if finite { vec![cx.b.r()] } else { d.to_vec() };
            cx.b.op(Op::F2F).mods(&mods).to_tuple(target.clone()).from(Source::values(a)).emit();
            if finite {
                greatest_for_infinity(cx, d[0], target[0]);
            }
        }
    }
    Ok(())
}

/// `d <- a` of the same type, rounded to an integral value where the form says so.
fn same_type(cx: &mut Lower<'_>, i: &Instruction, ty: Type, d: &[Value], a: &[Value]) {
    let ftz = i.modifiers.has(Word::Ftz) && ty == Type::F32;
    let Some(integral) = integral(i) else {
        if ftz && !i.modifiers.has(Word::Sat) {
            cx.op(Op::FADD, &[Mod::FTZ], d[0], [a[0].into(), Source::rz().negated()]);
        } else {
            for (&d, &a) in d.iter().zip(a) {
                cx.b.mov(d, a);
            }
        }
        return;
    };
    let mut mods: Vec<Mod> = integral.into_iter().collect();
    mods.extend(ftz.then_some(Mod::FTZ));
    mods.extend((ty != Type::F32).then(|| kind(ty)));
    cx.b.op(Op::FRND).mods(&mods).to_tuple(d.to_vec()).from(Source::values(a.to_vec())).emit();
}

/// The SASS modifier of a type.
fn kind(ty: Type) -> Mod {
    match ty {
        Type::F16 => Mod::F16,
        Type::BF16 => Mod::BF16,
        Type::F32 => Mod::F32,
        _ => Mod::F64,
    }
}

/// [`kind`] where it names the source.
fn kind_second(ty: Type) -> Mod {
    match ty {
        Type::F16 => Mod::F16_2,
        Type::BF16 => Mod::BF16_2,
        Type::F32 => Mod::F32_2,
        _ => Mod::F64_2,
    }
}

/// An f32 value with subnormals flushed to zero.
fn flushed_single(cx: &mut Lower<'_>, a: Value) -> Value {
    let flushed = cx.b.r();
    cx.op(Op::FMUL, &[Mod::FTZ], flushed, [a.into(), Source::imm(1f32.to_bits())]);
    flushed
}

/// `d <- half`, or the largest finite value of its sign where it is an infinity: its bits are one less.
fn greatest_for_infinity(cx: &mut Lower<'_>, d: Value, half: Value) {
    const INFINITY: u32 = 0x7c00;
    let [magnitude, less] = [cx.b.r(), cx.b.r()];
    let infinite = cx.b.p();
    cx.b.and(magnitude, half, imm(0x7fff));
    cx.b.isetp(infinite, Mod::EQ, true, magnitude, imm(INFINITY));
    cx.b.iadd3(less, half, imm(u32::MAX), Source::rz());
    cx.b.sel(d, less, half, infinite);
}

/// `d <- narrowed`, or a zero of its sign where the f64 value is below the smallest normal f32.
///
/// The test is on the f64 value rounded to 24 bits with unbounded exponent. To nearest, values within a quarter
/// ulp of the last subnormal below the smallest normal round up to it. Away from zero, everything above the float
/// just below it does.
fn flush_narrowed(cx: &mut Lower<'_>, d: Value, narrowed: Value, a: [Value; 2], rounding: Option<Mod>) {
    const NORMAL: [u32; 2] = [0, 0x3810_0000];
    let away: Option<[u32; 2]> = match rounding {
        None => Some([0xf000_0000, 0x380f_ffff]),
        Some(Mod::RM | Mod::RP) => Some([0xe000_0001, 0x380f_ffff]),
        _ => None,
    };
    let limit: Source = match (rounding, away) {
        (Some(mode @ (Mod::RM | Mod::RP)), Some(away)) => {
            let negative = cx.b.p();
            cx.b.isetp(negative, Mod::LT, false, a[1], Source::rz());
            let rounds_away: Source = negative.into();
            let rounds_away = if mode == Mod::RM { rounds_away } else { rounds_away.inverted() };
            let away = cx.tuple(away.map(imm));
            let normal = cx.tuple(NORMAL.map(imm));
            let limit = cx.b.pair();
            cx.pseudo(Pseudo::Select64, &[], limit, [away, normal, rounds_away]);
            limit.into()
        }
        (_, limit) => cx.tuple(limit.unwrap_or(NORMAL).map(imm)),
    };
    // Greater or equal, or NaN: keep it.
    let keep = arithmetic::compare_double(cx, Mod::GEU, Source::from(a).magnitude(), limit);
    let zero = cx.b.r();
    cx.b.and(zero, narrowed, 0x8000_0000u32);
    cx.b.sel(d, narrowed, zero, keep);
}

fn convert_tf32(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let a = cx.word(cx.operand(i, 1)?, Type::F32)?;
    let a = cx.in_register(a);
    let d = cx.result_word(cx.operand(i, 0)?, Type::TF32)?;
    let finite_only = i.modifiers.has(Word::Satfinite);
    if !i.modifiers.has(Word::Rna) {
        let mut mods = vec![Mod::TF32, Mod::F32, Mod::PACK_B];
        mods.extend(arithmetic::rounding(i));
        for (word, token) in [(Word::Relu, Mod::RELU), (Word::Satfinite, Mod::SATFINITE)] {
            mods.extend(i.modifiers.has(word).then_some(token));
        }
        cx.op(Op::F2FP, &mods, d, [a]);
        return Ok(());
    }
    // To nearest, ties away: add half an ulp to the magnitude, unless nothing is rounded. A NaN is quieted first,
    // so that truncation keeps it a NaN.
    let value = cx.b.r();
    cx.op(Op::FADD, &[], value, [a, Source::rz().negated()]);
    let infinite = arithmetic::compare_magnitude(cx, Mod::GEU, value, f32::INFINITY, false);
    let [sum, chosen] = [cx.b.r(), cx.b.r()];
    cx.b.iadd3(sum, value, 0x1000u32, Source::rz());
    cx.b.sel(chosen, value, sum, infinite);
    if !finite_only {
        cx.b.and(d, chosen, TF32_MASK);
        return Ok(());
    }
    let [cut, less] = [cx.b.r(), cx.b.r()];
    cx.b.and(cut, chosen, TF32_MASK);
    let overflow = arithmetic::compare_magnitude(cx, Mod::GE, cut, f32::INFINITY, false);
    cx.b.iadd3(less, cut, 0x2000u32.wrapping_neg(), Source::rz());
    cx.b.sel(d, less, cut, overflow);
    Ok(())
}
