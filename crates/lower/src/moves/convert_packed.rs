//! `cvt` of several values in one word: pairs of f16 or bf16, and FP8 and narrower floats.

use crate::arithmetic;
use crate::context::{Lower, Lowered};
use crate::source::imm;
use oriole_hir::Instruction;
use oriole_ori::Source;
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// Two scale bytes of 1.0, one for each element of a pair.
const NO_SCALES: u32 = 0x7f7f;

pub(super) fn pack_halves(cx: &mut Lower<'_>, i: &Instruction, to: Type) -> Lowered {
    let a = cx.word(cx.operand(i, 1)?, Type::F32)?;
    let a = cx.in_register(a);
    let b = cx.word(cx.operand(i, 2)?, Type::F32)?;
    let b = cx.in_register(b);
    let d = cx.result_word(cx.operand(i, 0)?, to)?;
    let mut mods = arithmetic::packing(cx, if to == Type::F16x2 { Mod::F16 } else { Mod::BF16 });
    mods.extend(arithmetic::rounding(i));
    for (word, token) in [(Word::Relu, Mod::RELU), (Word::Satfinite, Mod::SATFINITE)] {
        mods.extend(i.modifiers.has(word).then_some(token));
    }
    cx.op(Op::F2FP, &mods, d, [a, b]);
    Ok(())
}

pub(super) fn pack_bytes(cx: &mut Lower<'_>, i: &Instruction, to: Type, from: Type) -> Lowered {
    let mut mods: Vec<Mod> = narrow_kind(to).into_iter().chain(arithmetic::rounding(i)).collect();
    // FP8 and narrower conversions always saturate.
    let saturate = to != Type::UE8M0x2 || i.modifiers.has(Word::Satfinite);
    mods.extend(saturate.then_some(Mod::SATFINITE));
    mods.extend(i.modifiers.has(Word::Relu).then_some(Mod::RELU));
    let a = cx.word(cx.operand(i, 1)?, from)?;
    let a = cx.in_register(a);
    let sources = match from {
        Type::F32 => {
            let b = cx.word(cx.operand(i, 2)?, from)?;
            let b = cx.in_register(b);
            mods.extend([Mod::F32, Mod::PACK_AB_MERGE_C]);
            vec![a, b, Source::rz()]
        }
        Type::F16x2 => {
            mods.extend([Mod::F16_2, Mod::UNPACK_B_MERGE_C]);
            vec![a, Source::rz()]
        }
        Type::BF16x2 => {
            mods.extend([Mod::BF16_2, Mod::UNPACK_B_MERGE_C]);
            vec![a, Source::rz()]
        }
        _ => return Err(cx.unsupported_form(i)),
    };
    if !cx.takes(Op::F2FP, &mods, sources.len() + 1) {
        return Err(cx.unsupported_form(i));
    }
    let d = cx.result_word(cx.operand(i, 0)?, to)?;
    cx.op(Op::F2FP, &mods, d, sources);
    Ok(())
}

/// Converts two narrow floats, or scale factors, to a pair of halves.
pub(super) fn unpack_bytes(cx: &mut Lower<'_>, i: &Instruction, to: Type, from: Type) -> Lowered {
    if to == Type::BF16x2 && from != Type::UE8M0x2 {
        return unpack_and_scale(cx, i, from);
    }
    let mut mods = match from {
        Type::E4M3x2 => vec![Mod::F16, Mod::E4M3_2],
        Type::E5M2x2 => vec![Mod::F16, Mod::E5M2_2],
        Type::E2M1x2 => vec![Mod::F16, Mod::E2M1_2],
        Type::E2M3x2 => vec![Mod::F16, Mod::E2M3_2],
        Type::E3M2x2 => vec![Mod::F16, Mod::E3M2_2],
        Type::UE8M0x2 => vec![Mod::BF16, Mod::E8],
        _ => return Err(cx.unsupported_form(i)),
    };
    mods.push(Mod::UNPACK_B);
    mods.extend(i.modifiers.has(Word::Relu).then_some(Mod::RELU));
    if !cx.takes(Op::F2FP, &mods, 2) {
        return Err(cx.unsupported_form(i));
    }
    let a = cx.word(cx.operand(i, 1)?, from)?;
    let a = cx.in_register(a);
    let d = cx.result_word(cx.operand(i, 0)?, to)?;
    cx.op(Op::F2FP, &mods, d, [a]);
    Ok(())
}

/// Converts two narrow floats to a bf16x2 pair, each times a power of two given by a byte.
fn unpack_and_scale(cx: &mut Lower<'_>, i: &Instruction, from: Type) -> Lowered {
    let from_bytes = narrow_kind_second(from).ok_or_else(|| cx.unsupported_form(i))?;
    let mut mods = vec![Mod::BF16, from_bytes, Mod::UNPACK_B];
    for (word, token) in [(Word::Relu, Mod::RELU), (Word::Satfinite, Mod::SATFINITE)] {
        mods.extend(i.modifiers.has(word).then_some(token));
    }
    let a = cx.word(cx.operand(i, 1)?, from)?;
    let a = cx.in_register(a);
    let scales = match i.operands.get(2) {
        Some(operand) => {
            let scales = cx.word(operand, Type::B16)?;
            cx.in_register(scales)
        }
        None => imm(NO_SCALES),
    };
    let d = cx.result_word(cx.operand(i, 0)?, Type::BF16x2)?;
    cx.op(Op::F2FP, &mods, d, [a, scales.suffixed(Mod::H0)]);
    Ok(())
}

/// The SASS modifier of a pair of FP8 or narrower floats.
pub(super) fn narrow_kind(ty: Type) -> Option<Mod> {
    Some(match ty {
        Type::E4M3x2 => Mod::E4M3,
        Type::E5M2x2 => Mod::E5M2,
        Type::E2M1x2 => Mod::E2M1,
        Type::E2M3x2 => Mod::E2M3,
        Type::E3M2x2 => Mod::E3M2,
        Type::UE8M0x2 => Mod::E8,
        _ => return None,
    })
}

/// [`narrow_kind`] where it names the source.
fn narrow_kind_second(ty: Type) -> Option<Mod> {
    Some(match ty {
        Type::E4M3x2 => Mod::E4M3_2,
        Type::E5M2x2 => Mod::E5M2_2,
        Type::E2M1x2 => Mod::E2M1_2,
        Type::E2M3x2 => Mod::E2M3_2,
        Type::E3M2x2 => Mod::E3M2_2,
        Type::S2F6x2 => Mod::S2_6,
        _ => return None,
    })
}
