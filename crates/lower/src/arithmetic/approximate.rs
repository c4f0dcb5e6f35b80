//! f32 functions of the special function unit, with the scaling that makes their results exact enough, and f32 division.
//! Plain f32 arithmetic is in `float32`.

use super::float32;
use crate::context::{Lower, Lowered};
use oriole_hir::Instruction;
use oriole_ori::{File, Guard, Pseudo, Source, Value};
use oriole_ptx::word::Precision;
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// Smallest normal f32.
const NORMAL: f32 = f32::MIN_POSITIVE;

/// Above this the reciprocal is subnormal.
const LARGE: f32 = 8.507_059e37;

/// 1 / (2 pi), the scale of the hardware's sine and cosine.
const TURNS: f32 = 0.159_154_94;

/// `p <- |a| compare limit`.
pub(crate) fn compare_magnitude(cx: &mut Lower<'_>, compare: Mod, a: Value, limit: f32, ftz: bool) -> Value {
    let p = cx.b.p();
    cx.b.op(Op::FSETP)
        .mods(&[compare, Mod::AND])
        .m_if(ftz, Mod::FTZ)
        .to(p)
        .drop_result(File::P)
        .from(Source::value(a).magnitude())
        .from(limit.to_bits())
        .from(Source::pt())
        .emit();
    p
}

/// A copy of `a`, multiplied by `factor` where the predicate is `when`.
fn scaled_where(cx: &mut Lower<'_>, a: Value, factor: f32, p: Value, when: bool, ftz: bool) -> Value {
    adjusted_where(cx, Op::FMUL, a, Source::imm(factor.to_bits()), p, when, ftz)
}

/// A copy of `a`, with the operation applied where the predicate is `when`.
fn adjusted_where(
    cx: &mut Lower<'_>,
    op: Op,
    a: Value,
    by: Source,
    p: Value,
    when: bool,
    ftz: bool,
) -> Value {
    let d = cx.b.r();
    cx.b.mov(d, a);
    let guard = Guard { value: p, negated: !when };
    cx.b.op(op).m_if(ftz, Mod::FTZ).to(d).from(d).from(by).guarded(guard).emit();
    d
}

/// A function of the multi-function unit.
fn mufu(cx: &mut Lower<'_>, d: Value, function: Mod, a: impl Into<Source>) {
    cx.op(Op::MUFU, &[function], d, [a.into()]);
}

/// `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh` of f32.
///
/// The multi-function unit flushes subnormal inputs; without `.ftz` the input is scaled by a power of two before
/// and the result after.
pub(crate) fn float_function(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ftz = i.modifiers.has(Word::Ftz);
    if !i.modifiers.has(Word::Approx) && matches!(i.opcode, Opcode::Rcp | Opcode::Sqrt) {
        return float_exact(cx, i);
    }
    let a = cx.word(cx.operand(i, 1)?, Type::F32)?;
    let a = cx.value_of(a);
    let d = cx.result_word(cx.operand(i, 0)?, Type::F32)?;
    match i.opcode {
        Opcode::Sin | Opcode::Cos => {
            let mut turns = a;
            // The unit takes the angle in turns, and so does the form with that modifier.
            if !i.modifiers.has(Word::_2pi) {
                turns = cx.b.r();
                let mods: &[Mod] = if ftz { &[Mod::RZ, Mod::FTZ] } else { &[Mod::RZ] };
                cx.op(Op::FMUL, mods, turns, [a.into(), Source::imm(TURNS.to_bits())]);
            }
            mufu(cx, d, if i.opcode == Opcode::Sin { Mod::SIN } else { Mod::COS }, turns);
        }
        Opcode::Tanh => mufu(cx, d, Mod::TANH, a),
        Opcode::Rcp if ftz => mufu(cx, d, Mod::RCP, a),
        Opcode::Sqrt if ftz => mufu(cx, d, Mod::SQRT, a),
        Opcode::Rsqrt if ftz => mufu(cx, d, Mod::RSQ, a),
        Opcode::Lg2 if ftz => mufu(cx, d, Mod::LG2, a),
        Opcode::Ex2 if ftz => mufu(cx, d, Mod::EX2, a),
        Opcode::Rcp => {
            let normal = compare_magnitude(cx, Mod::GEU, a, NORMAL, false);
            let large = compare_magnitude(cx, Mod::GT, a, LARGE, false);
            let [up, factor] = [cx.b.r(), cx.b.r()];
            let one = cx.in_register(Source::imm(1f32.to_bits()));
            cx.b.sel(up, one.clone(), 16_777_216f32.to_bits(), normal);
            cx.b.sel(factor, up, 0.25f32.to_bits(), Source::value(large).inverted());
            let [scaled, reciprocal] = [cx.b.r(), cx.b.r()];
            cx.op(Op::FMUL, &[], scaled, [a.into(), factor.into()]);
            mufu(cx, reciprocal, Mod::RCP, scaled);
            cx.op(Op::FMUL, &[], d, [factor.into(), reciprocal.into()]);
        }
        Opcode::Sqrt | Opcode::Rsqrt => {
            let (function, factor) =
                if i.opcode == Opcode::Sqrt { (Mod::SQRT, 1.0 / 4096.0) } else { (Mod::RSQ, 4096.0) };
            let normal = compare_magnitude(cx, Mod::GEU, a, NORMAL, false);
            let scaled = scaled_where(cx, a, 16_777_216.0, normal, false, false);
            let root = cx.b.r();
            mufu(cx, root, function, scaled);
            let result = scaled_where(cx, root, factor, normal, false, false);
            cx.b.mov(d, result);
        }
        Opcode::Lg2 => {
            let normal = compare_magnitude(cx, Mod::GEU, a, NORMAL, false);
            let scaled = scaled_where(cx, a, 16_777_216.0, normal, false, false);
            let logarithm = cx.b.r();
            mufu(cx, logarithm, Mod::LG2, scaled);
            let less = Source::imm((-24f32).to_bits());
            let result = adjusted_where(cx, Op::FADD, logarithm, less, normal, false, false);
            cx.b.mov(d, result);
        }
        Opcode::Ex2 => {
            // Below -126 the result is subnormal: use half the exponent, then square.
            let normal = cx.b.p();
            cx.b.op(Op::FSETP)
                .mods(&[Mod::GEU, Mod::AND])
                .to(normal)
                .drop_result(File::P)
                .from(a)
                .from((-126f32).to_bits())
                .from(Source::pt())
                .emit();
            let halved = scaled_where(cx, a, 0.5, normal, false, false);
            let power = cx.b.r();
            mufu(cx, power, Mod::EX2, halved);
            let result = adjusted_where(cx, Op::FMUL, power, power.into(), normal, false, false);
            cx.b.mov(d, result);
        }
        _ => return Err(cx.unsupported_form(i)),
    }
    Ok(())
}

/// Correctly rounded `rcp`, `sqrt` and `div`, kept whole for a later phase.
fn float_exact(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let pseudo = match i.opcode {
        Opcode::Rcp => Pseudo::FReciprocal,
        Opcode::Sqrt => Pseudo::FSquareRoot,
        _ => Pseudo::FDivide,
    };
    let mut mods = vec![Mod::F32, float32::rounding(i).unwrap_or(Mod::RN)];
    if i.modifiers.has(Word::Ftz) {
        mods.push(Mod::FTZ);
    }
    let count = if i.opcode == Opcode::Div { 2 } else { 1 };
    let mut sources = Vec::new();
    for index in 1..=count {
        let source = cx.word(cx.operand(i, index)?, Type::F32)?;
        sources.push(cx.in_register(source));
    }
    let d = cx.result_word(cx.operand(i, 0)?, Type::F32)?;
    cx.pseudo(pseudo, &mods, [d], sources);
    Ok(())
}

/// `div` of f32.
pub(crate) fn float_divide(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Some(precision) = i.modifiers.at::<Precision>() else { return float_exact(cx, i) };
    let ftz = i.modifiers.has(Word::Ftz);
    let a = cx.word(cx.operand(i, 1)?, Type::F32)?;
    let mut a = cx.value_of(a);
    let b = cx.word(cx.operand(i, 2)?, Type::F32)?;
    let mut b = cx.value_of(b);
    let d = cx.result_word(cx.operand(i, 0)?, Type::F32)?;
    // Both are scaled, so that the divisor has a normal reciprocal.
    if precision == Precision::Full {
        let large = compare_magnitude(cx, Mod::GT, b, LARGE, ftz);
        let small = (!ftz).then(|| compare_magnitude(cx, Mod::GEU, b, NORMAL, false));
        (a, b) = (scaled_where(cx, a, 0.25, large, true, ftz), scaled_where(cx, b, 0.25, large, true, ftz));
        if let Some(normal) = small {
            (a, b) = (
                scaled_where(cx, a, 16_777_216.0, normal, false, false),
                scaled_where(cx, b, 16_777_216.0, normal, false, false),
            );
        }
    } else if !ftz {
        let normal = compare_magnitude(cx, Mod::GEU, b, NORMAL, false);
        (a, b) = (
            scaled_where(cx, a, 16_777_216.0, normal, false, false),
            scaled_where(cx, b, 16_777_216.0, normal, false, false),
        );
    }
    let reciprocal = cx.b.r();
    mufu(cx, reciprocal, Mod::RCP, b);
    let mods: &[Mod] = if ftz { &[Mod::FTZ] } else { &[] };
    // No rounding mode is asked for: as ptxas does, an addition that follows may take the product as it is.
    cx.b.op(Op::FMUL).mods(mods).to(d).from(a).from(reciprocal).contract_if(true).emit();
    Ok(())
}
