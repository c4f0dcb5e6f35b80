//! f32 arithmetic and approximate functions.

use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::{is_register, magnitude, minus_float};
use oriole_hir::Instruction;
use oriole_ori::{Source, SourceKind, Value};
use oriole_ptx::word::Rounding;
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// The sign bit.
const SIGN: u32 = 0x8000_0000;

/// SASS modifiers of four packed narrow floats of a type as the result, and as the second and third operand.
fn four_of(ty: Type) -> Option<[Mod; 3]> {
    Some(match ty {
        Type::E4M3x4 => [Mod::E4M3x4, Mod::E4M3x4_2, Mod::E4M3x4_3],
        Type::E5M2x4 => [Mod::E5M2x4, Mod::E5M2x4_2, Mod::E5M2x4_3],
        // No results are of these types.
        Type::E2M3x4 => [Mod::E4M3x4, Mod::E2M3x4_2, Mod::E2M3x4_3],
        Type::E3M2x4 => [Mod::E4M3x4, Mod::E3M2x4_2, Mod::E3M2x4_3],
        Type::E2M1x4 => [Mod::E4M3x4, Mod::E2M1x4_2, Mod::E2M1x4_3],
        _ => return None,
    })
}

/// Arithmetic on four packed FP8 or narrower floats, each rounded once.
pub(crate) fn four_narrow(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let to = cx.ty(i, 0)?;
    let (op, types) = match i.opcode {
        Opcode::Add | Opcode::Sub => (Op::QADD4, vec![cx.ty(i, 1)?, to]),
        Opcode::Mul => (Op::QMUL4, vec![cx.ty(i, 1)?, cx.ty(i, 2)?]),
        Opcode::Fma => (Op::QFMA4, vec![cx.ty(i, 1)?, cx.ty(i, 2)?, to]),
        _ => return Err(cx.unsupported_form(i)),
    };
    if !cx.has(op) {
        return Err(cx.unsupported_form(i));
    }
    let named = |ty: Type, place: usize| four_of(ty).map(|names| names[place]);
    let mut mods = vec![named(to, 0)];
    // The type of an addend is that of the result and has no name.
    let factors = if op == Op::QADD4 { 1 } else { 2 };
    mods.extend((0..factors).map(|at| named(types[at], at + 1)));
    let mut mods: Vec<Mod> = mods.into_iter().collect::<Option<_>>().ok_or_else(|| cx.unsupported_form(i))?;
    mods.extend(i.modifiers.has(Word::Satfinite).then_some(Mod::SATFINITE));
    let mut sources = Vec::new();
    for (at, &ty) in types.iter().enumerate() {
        let word = cx.word(cx.operand(i, at + 1)?, ty)?;
        // FP4 elements are packed, others are in a byte each.
        let part = if ty == Type::E2M1x4 { Mod::N3210 } else { Mod::B3210 };
        let source = cx.in_register(word).suffixed(part);
        let negates = at == 1 && i.opcode == Opcode::Sub;
        sources.push(if negates { source.negated() } else { source });
    }
    let d = cx.result_word(cx.operand(i, 0)?, to)?;
    cx.op(op, &mods, d, sources);
    Ok(())
}

/// The SASS rounding modifier, if the instruction does not round to nearest.
pub(crate) fn rounding(i: &Instruction) -> Option<Mod> {
    match i.modifiers.at()? {
        // The last is done in integers; see `convert_tf32`.
        Rounding::Rn | Rounding::Rna => None,
        Rounding::Rz => Some(Mod::RZ),
        Rounding::Rm => Some(Mod::RM),
        Rounding::Rp => Some(Mod::RP),
    }
}

fn float_mods(i: &Instruction) -> Vec<Mod> {
    let mut mods: Vec<Mod> = rounding(i).into_iter().collect();
    for (word, token) in [(Word::Ftz, Mod::FTZ), (Word::Sat, Mod::SAT)] {
        if i.modifiers.has(word) {
            mods.push(token);
        }
    }
    mods
}

/// `add`, `sub`, `mul`, `fma`, `mad`, `min`, `max`, `abs`, `neg` of f32.
pub(crate) fn float_arithmetic(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if matches!(i.opcode, Opcode::Min | Opcode::Max) && i.operands.len() > 3 {
        return extreme_of_three(cx, i);
    }
    let ty = Type::F32;
    let mut mods = float_mods(i);
    let a = cx.word(cx.operand(i, 1)?, ty)?;
    if matches!(i.opcode, Opcode::Abs | Opcode::Neg) {
        let a = if i.opcode == Opcode::Abs { magnitude(a, SIGN) } else { minus_float(a, SIGN) };
        let a = cx.in_register(a);
        let d = cx.result_word(cx.operand(i, 0)?, ty)?;
        // Adding minus zero only flushes and quiets.
        cx.op(Op::FADD, &mods, d, [a, Source::rz().negated()]);
        return Ok(());
    }
    let b = cx.word(cx.operand(i, 2)?, ty)?;
    let (a, b) = match i.opcode {
        Opcode::Sub => (a, minus_float(b, SIGN)),
        _ => (a, b),
    };
    let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
    let mut sources = vec![cx.in_register(a), b];
    let op = match i.opcode {
        Opcode::Add | Opcode::Sub => Op::FADD,
        Opcode::Mul => Op::FMUL,
        Opcode::Fma | Opcode::Mad => {
            let c = cx.word(cx.operand(i, 3)?, ty)?;
            let c = if is_register(&sources[1]) { c } else { cx.in_register(c) };
            sources.push(c);
            Op::FFMA
        }
        Opcode::Min | Opcode::Max => {
            if i.modifiers.has(Word::NaN) {
                mods.push(Mod::NAN);
            }
            if i.modifiers.has(Word::XorsignAbs) {
                mods.push(Mod::XORSIGN);
                for source in &mut sources {
                    // The sign of an immediate counts too, so it may not be cut off here.
                    *source = magnitude(cx.in_register(source.clone()), SIGN);
                }
            }
            sources.push(if i.opcode == Opcode::Min { Source::pt() } else { Source::not_pt() });
            Op::FMNMX
        }
        _ => return Err(cx.unsupported_form(i)),
    };
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    let contract = contractable(i);
    cx.b.op(op).mods(&mods).to(d).from_all(sources).contract_if(contract).emit();
    Ok(())
}

/// `min` and `max` of three f32 values.
fn extreme_of_three(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let mut mods = float_mods(i);
    if i.modifiers.has(Word::NaN) {
        mods.push(Mod::NAN);
    }
    let mut sources = Vec::new();
    for index in 1..4 {
        let word = cx.word(cx.operand(i, index)?, Type::F32)?;
        let word = if i.modifiers.has(Word::Abs) { magnitude(word, SIGN) } else { word };
        sources.push(cx.in_register(word));
    }
    let which = || if i.opcode == Opcode::Min { Source::pt() } else { Source::not_pt() };
    let d = cx.result_word(cx.operand(i, 0)?, Type::F32)?;
    if cx.has(Op::FMNMX3) {
        sources.push(which());
        cx.op(Op::FMNMX3, &mods, d, sources);
        return Ok(());
    }
    let first = cx.b.r();
    let [a, b, c] = [0, 1, 2].map(|n| sources[n].clone());
    cx.op(Op::FMNMX, &mods, first, [a, b, which()]);
    cx.op(Op::FMNMX, &mods, d, [first.into(), c, which()]);
    Ok(())
}

/// `add`, `sub`, `fma` of f32 with f16 or bf16 first operands: where the hardware does not read those directly
/// they are widened, which is exact.
pub(crate) fn mixed_singles(cx: &mut Lower<'_>, i: &Instruction, half: Type) -> Lowered {
    let (op, of_halves) = match i.opcode {
        Opcode::Add | Opcode::Sub => (Op::FADD, Op::FHADD),
        Opcode::Fma => (Op::FFMA, Op::FHFMA),
        _ => return Err(cx.unsupported_form(i)),
    };
    let direct = cx.has(of_halves);
    let last = i.operands.len() - 1;
    let mut sources = Vec::new();
    for index in 1..last {
        let word = cx.word(cx.operand(i, index)?, half)?;
        let word = cx.in_register(word);
        if direct {
            sources.push(word);
        } else {
            let single = cx.b.r();
            single_of_half(cx, single, word, half);
            sources.push(single.into());
        }
    }
    let c = cx.word(cx.operand(i, last)?, Type::F32)?;
    let c = if i.opcode == Opcode::Sub { minus_float(c, SIGN) } else { c };
    sources.push(cx.in_register(c));
    let d = cx.result_word(cx.operand(i, 0)?, Type::F32)?;
    let draft = cx.b.op(if direct { of_halves } else { op }).mods(&float_mods(i));
    draft.m_if(direct && half == Type::BF16, Mod::BF16).to(d).from_all(sources).emit();
    Ok(())
}

/// Widens an f16 or bf16 value to f32.
pub(crate) fn single_of_half(cx: &mut Lower<'_>, d: Value, word: Source, half: Type) {
    if half == Type::BF16 {
        cx.b.shl(d, word, 16u32);
    } else {
        cx.op(Op::HADD2, &[Mod::F32], d, [Source::rz().negated(), word.suffixed(Mod::H0_H0)]);
    }
}

/// `add`, `sub`, `mul`, `fma` of f32x2: as one instruction, or as two.
pub(crate) fn single_pairs(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (op, of_pairs) = match i.opcode {
        Opcode::Add | Opcode::Sub => (Op::FADD, Op::FADD2),
        Opcode::Mul => (Op::FMUL, Op::FMUL2),
        Opcode::Fma => (Op::FFMA, Op::FFMA2),
        _ => return Err(cx.unsupported_form(i)),
    };
    let (ty, mods) = (Type::F32x2, float_mods(i));
    let mut operands = Vec::new();
    for index in 1..i.operands.len() {
        operands.push(cx.words(cx.operand(i, index)?, ty)?);
    }
    let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
    if cx.has(of_pairs) {
        let mut sources: Vec<Source> = operands.into_iter().map(|words| pair_of_singles(cx, words)).collect();
        if i.opcode == Opcode::Sub {
            sources[1] = sources[1].clone().negated();
        }
        let contract = contractable(i);
        cx.b.op(of_pairs).mods(&mods).to_tuple(d).from_all(sources).contract_if(contract).emit();
        return Ok(());
    }
    for (half, &d) in d.iter().enumerate() {
        let mut sources: Vec<Source> = operands.iter().map(|words| words[half].clone()).collect();
        if i.opcode == Opcode::Sub {
            sources[1] = minus_float(sources[1].clone(), SIGN);
        }
        let sources: Vec<Source> = sources.into_iter().map(|word| cx.in_register(word)).collect();
        let contract = contractable(i);
        cx.b.op(op).mods(&mods).to(d).from_all(sources).contract_if(contract).emit();
    }
    Ok(())
}

/// An f32x2 operand: one register is enough where both elements are equal.
fn pair_of_singles(cx: &mut Lower<'_>, words: impl IntoIterator<Item = Source>) -> Source {
    let words: Vec<Source> = words.into_iter().collect();
    let same = words.iter().all(|word| *word == words[0]);
    if same && !matches!(words[0].kind, SourceKind::Zero(_)) {
        return cx.in_register(words[0].clone()).suffixed(Mod::F32);
    }
    cx.tuple(words).suffixed(Mod::F32x2).suffixed(Mod::HI_LO)
}

/// True for an add, subtract or multiply without a rounding mode: only then PTX allows contraction of the
/// multiply with the add of its result.
pub(super) fn contractable(i: &Instruction) -> bool {
    matches!(i.opcode, Opcode::Add | Opcode::Sub | Opcode::Mul) && i.modifiers.at::<Rounding>().is_none()
}

/// The type of a floating-point instruction, f32x2 excluded.
pub(crate) fn float_type(cx: &Lower<'_>, i: &Instruction) -> Result<Type, LowerError> {
    let ty = cx.ty(i, 0)?;
    if ty == Type::F32x2 { Err(cx.unsupported_form(i)) } else { Ok(ty) }
}
