//! f64 arithmetic.

use super::float32;
use crate::context::{Lower, Lowered};
use crate::source::{imm, minus_float};
use oriole_hir::Instruction;
use oriole_ori::{File, Pseudo, Source, SourceKind, Value};
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// `add`, `sub`, `mul`, `fma`, `mad`, `min`, `max`, `abs`, `neg` of f64.
pub(crate) fn double_arithmetic(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = Type::F64;
    let mods: Vec<Mod> = float32::rounding(i).into_iter().collect();
    match i.opcode {
        Opcode::Abs | Opcode::Neg => {
            let a = cx.words(cx.operand(i, 1)?, ty)?;
            let high = cx.in_register(a[1].clone());
            let changed = cx.b.r();
            if i.opcode == Opcode::Abs {
                cx.b.and(changed, high, 0x7fff_ffffu32);
            } else {
                cx.b.xor(changed, high, 0x8000_0000u32);
            }
            return cx.write(cx.operand(i, 0)?, ty, &[a[0].clone(), changed.into()]);
        }
        Opcode::Min | Opcode::Max => {
            let a = cx.double(cx.operand(i, 1)?, false)?;
            let b = cx.double(cx.operand(i, 2)?, false)?;
            let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
            double_min_max(cx, d, a, b, i.opcode == Opcode::Min);
            return Ok(());
        }
        _ => {}
    }
    // One operand may be an immediate: the second or the third.
    let mut a = cx.double(cx.operand(i, 1)?, true)?;
    let mut b = cx.double(cx.operand(i, 2)?, true)?;
    if i.opcode == Opcode::Sub {
        b = minus_float(b, 0x8000_0000);
    }
    if matches!(a.kind, SourceKind::Imm(_)) {
        std::mem::swap(&mut a, &mut b);
    }
    let a = double_in_register(cx, a);
    let mut sources = vec![a, b];
    let op = match i.opcode {
        Opcode::Add | Opcode::Sub => Op::DADD,
        Opcode::Mul => Op::DMUL,
        Opcode::Fma | Opcode::Mad => {
            let mut c = cx.double(cx.operand(i, 3)?, true)?;
            if matches!(sources[1].kind, SourceKind::Imm(_)) {
                c = double_in_register(cx, c);
            }
            sources.push(c);
            Op::DFMA
        }
        _ => return Err(cx.unsupported_form(i)),
    };
    let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
    let contract = float32::contractable(i);
    cx.b.op(op).mods(&mods).to_tuple(d).from_all(sources).contract_if(contract).emit();
    Ok(())
}

/// An f64 value in registers: an immediate of its high word is moved there.
fn double_in_register(cx: &mut Lower<'_>, source: Source) -> Source {
    match source.kind {
        SourceKind::Imm(high) => {
            let pair = cx.tuple([Source::rz(), imm(high)]);
            Source { kind: pair.kind, ..source }
        }
        _ => source,
    }
}

/// Min or max: the hardware gives a predicate that selects the first operand, and one for both being NaN.
fn double_min_max(cx: &mut Lower<'_>, d: [Value; 2], a: Source, b: Source, min: bool) {
    let [first, nan] = [cx.b.p(), cx.b.p()];
    cx.b.op(Op::DSETP)
        .mods(&[if min { Mod::MIN } else { Mod::MAX }, Mod::AND])
        .to(first)
        .to(nan)
        .from(a.clone())
        .from(b.clone())
        .from(Source::pt())
        .emit();
    let chosen = cx.b.pair();
    cx.pseudo(Pseudo::Select64, &[], chosen, [a, b.clone(), first.into()]);
    let quiet = cx.b.r();
    let high = match &b.kind {
        SourceKind::Values(values) if values.len() == 2 => Source::value(values[1]),
        _ => Source::rz(),
    };
    cx.b.or(quiet, high, 0x0008_0000u32);
    cx.b.mov(d[0], chosen[0]);
    cx.b.sel(d[1], quiet, chosen[1], nan);
}

/// `d <- a` clamped to 0 .. 1, NaN giving 0.
pub(crate) fn double_saturate(cx: &mut Lower<'_>, d: [Value; 2], a: Source) {
    let above = cx.b.pair();
    double_min_max(cx, above, Source::rz(), a, false);
    let one = cx.tuple([Source::rz(), imm(0x3ff0_0000)]);
    double_min_max(cx, d, above.into(), one, true);
}

/// `div`, `rcp`, `sqrt`, `rsqrt` of f64.
pub(crate) fn double_function(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = Type::F64;
    let approx = i.modifiers.has(Word::Approx);
    let count = if i.opcode == Opcode::Div { 2 } else { 1 };
    let mut sources = Vec::new();
    for index in 1..=count {
        sources.push(cx.double(cx.operand(i, index)?, false)?);
    }
    let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
    if approx && (i.modifiers.has(Word::Ftz) || i.opcode == Opcode::Rsqrt) {
        let function = match i.opcode {
            Opcode::Rcp => Mod::RCP64H,
            Opcode::Rsqrt => Mod::RSQ64H,
            _ => return Err(cx.unsupported_form(i)),
        };
        return if i.modifiers.has(Word::Ftz) {
            approximate_high(cx, d, function, sources.remove(0))
        } else {
            double_root_reciprocal(cx, d, sources.remove(0))
        };
    }
    let pseudo = match i.opcode {
        Opcode::Rcp => Pseudo::FReciprocal,
        Opcode::Sqrt => Pseudo::FSquareRoot,
        Opcode::Div => Pseudo::FDivide,
        _ => return Err(cx.unsupported_form(i)),
    };
    let mods = [Mod::F64, float32::rounding(i).unwrap_or(Mod::RN)];
    let sources: Vec<Source> = sources.into_iter().map(|s| double_zero(cx, s)).collect();
    cx.pseudo(pseudo, &mods, d, sources);
    Ok(())
}

/// An f64 value that may be `RZ`, as two values.
fn double_zero(cx: &mut Lower<'_>, source: Source) -> Source {
    match source.kind {
        SourceKind::Zero(_) => {
            let pair = cx.b.pair();
            cx.b.mov(pair[0], Source::rz());
            cx.b.mov(pair[1], Source::rz());
            pair.into()
        }
        _ => source,
    }
}

/// The high word by the multi-function unit, the low word zero.
fn approximate_high(cx: &mut Lower<'_>, d: [Value; 2], function: Mod, a: Source) -> Lowered {
    let high = high_word(&a);
    let result = cx.b.r();
    cx.op(Op::MUFU, &[function], result, [high.clone()]);
    // The unit takes a NaN whose set bits are all in the low word for an infinity.
    let nan = compare_double(cx, Mod::NAN, a.clone(), a);
    let quiet = cx.b.r();
    cx.b.or(quiet, high, 0x0008_0000u32);
    cx.b.mov(d[0], Source::rz());
    cx.b.sel(d[1], quiet, result, nan);
    Ok(())
}

fn high_word(source: &Source) -> Source {
    match &source.kind {
        SourceKind::Values(values) if values.len() == 2 => Source::value(values[1]),
        _ => Source::rz(),
    }
}

/// `rsqrt.approx.f64`: the estimate of the multi-function unit (`MUFU`), refined once to third order.
///
/// With `e = 1 - a * y * y` the root's reciprocal is `y * (1 - e)^(-1/2)`, near `y + y * e * (1/2 + 3/8 e)`.
/// Subnormal inputs are first scaled by an even power of two. Zeros, infinities, negative values and NaN keep the
/// estimate, which is exact there.
fn double_root_reciprocal(cx: &mut Lower<'_>, d: [Value; 2], a: Source) -> Lowered {
    let a = double_zero(cx, a);
    let high = high_word(&a);
    let [magnitude, biased] = [cx.b.r(), cx.b.r()];
    cx.b.and(magnitude, high.clone(), 0x7fff_ffffu32);
    let small = cx.b.p();
    cx.b.isetp(small, Mod::LT, true, magnitude, 0x0010_0000u32);
    // Scale up by 2^54, and the root down by 2^27.
    let scaled_up = cx.b.pair();
    cx.b.op(Op::DMUL).to_tuple(scaled_up).from(a.clone()).from(0x4350_0000u32).emit();
    let x = cx.b.pair();
    cx.pseudo(Pseudo::Select64, &[], x, [scaled_up.into(), a, small.into()]);
    let y = cx.b.pair();
    approximate_high(cx, y, Mod::RSQ64H, x.into())?;
    let [square, error, poly, change, refined] =
        [cx.b.pair(), cx.b.pair(), cx.b.pair(), cx.b.pair(), cx.b.pair()];
    cx.b.op(Op::DMUL).to_tuple(square).from(y).from(y).emit();
    let one = double_in_register(cx, Source::imm(0x3ff0_0000));
    cx.b.op(Op::DFMA).to_tuple(error).from(x).from(Source::from(square).negated()).from(one).emit();
    let three_eighths = double_in_register(cx, Source::imm(0x3fd8_0000));
    cx.b.op(Op::DFMA).to_tuple(poly).from(error).from(three_eighths).from(0x3fe0_0000u32).emit();
    cx.b.op(Op::DMUL).to_tuple(change).from(y).from(error).emit();
    cx.b.op(Op::DFMA).to_tuple(refined).from(poly).from(change).from(y).emit();
    // Positive, finite and nonzero: exponent bits of the scaled value from 1 to 0x7fe, sign clear.
    let usual = cx.b.p();
    cx.b.iadd3(biased, x[1], 0xfff0_0000u32, Source::rz());
    cx.b.isetp(usual, Mod::LT, true, biased, 0x7fe0_0000u32);
    let chosen = cx.b.pair();
    cx.pseudo(Pseudo::Select64, &[], chosen, [refined.into(), y.into(), usual.into()]);
    let scaled_down = cx.b.pair();
    cx.b.op(Op::DMUL).to_tuple(scaled_down).from(chosen).from(0x41a0_0000u32).emit();
    cx.pseudo(Pseudo::Select64, &[], d, [scaled_down.into(), chosen.into(), small.into()]);
    Ok(())
}

/// `p <- a (compare) b` of f64.
pub(crate) fn compare_double(cx: &mut Lower<'_>, compare: Mod, a: Source, b: Source) -> Value {
    let p = cx.b.p();
    cx.b.op(Op::DSETP)
        .mods(&[compare, Mod::AND])
        .to(p)
        .drop_result(File::P)
        .from(a)
        .from(b)
        .from(Source::pt())
        .emit();
    p
}
