//! `cvt.rs`: stochastic rounding, with random bits that the program supplies.
//!
//! A pair takes them from the upper half of a word and keeps the lower half above its result; the next pair then
//! finds the other random bits in the upper half, and the first result in the lower half.

use crate::context::{Lower, Lowered};
use oriole_hir::Instruction;
use oriole_ori::Source;
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// `cvt.rs`.
pub(super) fn convert_at_random(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let to = cx.ty(i, 0)?;
    let (kind, pairs) = match to {
        Type::F16x2 => (Mod::F16, 1),
        Type::BF16x2 => (Mod::BF16, 1),
        Type::E4M3x4 => (Mod::E4M3, 2),
        Type::E5M2x4 => (Mod::E5M2, 2),
        Type::E2M3x4 => (Mod::E2M3, 2),
        Type::E3M2x4 => (Mod::E3M2, 2),
        Type::E2M1x4 => (Mod::E2M1, 2),
        _ => return Err(cx.unsupported_form(i)),
    };
    let mut mods = vec![kind, Mod::F32, Mod::RS];
    mods.push(if pairs == 1 { Mod::PACK_AB } else { Mod::PACK_AB_MERGE_C });
    for (word, token) in [(Word::Relu, Mod::RELU), (Word::Satfinite, Mod::SATFINITE)] {
        mods.extend(i.modifiers.has(word).then_some(token));
    }
    if !cx.takes(Op::F2FP, &mods, 4) {
        return Err(cx.unsupported_form(i));
    }
    let last = i.operands.len().saturating_sub(1);
    let mut numbers: Vec<Source> = Vec::new();
    for operand in &i.operands[1..last] {
        for component in operand.components() {
            let number = cx.word(component, Type::F32)?;
            numbers.push(cx.in_register(number));
        }
    }
    let random = cx.word(cx.operand(i, last)?, Type::B32)?;
    let mut kept = cx.in_register(random);
    let d = cx.result_word(cx.operand(i, 0)?, to)?;
    for (pair, [a, b]) in numbers.as_chunks::<2>().0.iter().enumerate() {
        let word = if pair + 1 == pairs { d } else { cx.b.r() };
        cx.op(Op::F2FP, &mods, word, [a.clone(), b.clone(), kept]);
        kept = word.into();
    }
    Ok(())
}
