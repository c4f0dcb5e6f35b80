//! `ldmatrix`, `stmatrix` and `movmatrix`: moves of 8x8 matrices.

use super::fragment;
use crate::context::{Lower, Lowered};
use crate::source::Words;
use crate::{LowerError, memory};
use oriole_hir::{Instruction, Operand};
use oriole_ori::Source;
use oriole_ptx::word::{MatrixCount, TensorNumbers};
use oriole_ptx::{Space, Type, Word};
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;

/// `ldmatrix`.
pub(crate) fn load_matrix(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let count = matrix_count(cx, i)?;
    let address = row_address(cx, i, 1)?;
    let elements = cx.elements(cx.operand(i, 0)?);
    let direct = cx.direct_words(&elements, Type::B32);
    let d = direct.clone().unwrap_or_else(|| elements.iter().map(|_| cx.b.r()).collect());
    let memory = memory::memory_info(Space::Shared, true, false, false);
    let mods = move_mods(i, count);
    cx.b.op(Op::LDSM).mods(&mods).to_tuple(d.clone()).from(address).memory(memory).emit();
    if direct.is_none() {
        let parts = d.iter().map(|&v| SmallVec::from_iter([Source::value(v)])).collect();
        cx.write_all(&elements, Type::B32, parts)?;
    }
    Ok(())
}

/// `stmatrix`.
pub(crate) fn store_matrix(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if !cx.has(Op::STSM) {
        return Err(cx.unsupported_form(i));
    }
    let count = matrix_count(cx, i)?;
    let address = row_address(cx, i, 0)?;
    let words = fragment::fragment(cx, i, 1, Type::B32)?;
    // Zeros are in registers as well: the operand is a tuple of as many words as there are matrices.
    let words: Words = words.into_iter().map(|word| cx.value_of(word)).collect();
    let memory = memory::memory_info(Space::Shared, false, true, false);
    let mods = move_mods(i, count);
    cx.b.op(Op::STSM).mods(&mods).from(address).from(Source::values(words)).memory(memory).emit();
    Ok(())
}

/// `movmatrix`.
pub(crate) fn transpose_matrix(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let a = cx.word(cx.operand(i, 1)?, Type::B32)?;
    let a = cx.in_register(a);
    let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
    cx.op(Op::MOVM, &[Mod::_16, Mod::MT88], d, [a]);
    Ok(())
}

fn matrix_count(cx: &Lower<'_>, i: &Instruction) -> Result<MatrixCount, LowerError> {
    i.modifiers.at().ok_or_else(|| cx.unsupported_form(i))
}

/// The address of a row in shared memory. Of a generic one, the low word is that address.
fn row_address(cx: &mut Lower<'_>, i: &Instruction, index: usize) -> Result<Source, LowerError> {
    let operand: &Operand = cx.operand(i, index)?;
    let mut place = memory::place_of(cx, operand, i.space.unwrap_or(Space::Generic))?;
    place.space = Space::Shared;
    place.base = place.base.iter().copied().take(1).collect();
    Ok(memory::memory_operand(cx, &place, false))
}

/// Modifiers of a move of small matrices.
fn move_mods(i: &Instruction, count: MatrixCount) -> SmallVec<[Mod; 3]> {
    let has = |word| i.modifiers.has(word);
    let layout = match () {
        () if has(Word::M16n16) => Mod::MT1616,
        () if has(Word::M16n8) => Mod::MT168,
        () if has(Word::M8n16) => Mod::M816,
        () if has(Word::Trans) => Mod::MT88,
        () => Mod::M88,
    };
    let numbers = match i.modifiers.at() {
        Some(TensorNumbers::B6x16P32) => Mod::U6x16P32TO8,
        Some(TensorNumbers::B4x16P64) => Mod::U4x16P64TO8,
        None if matches!(layout, Mod::MT1616 | Mod::MT168) => Mod::_8,
        None => Mod::_16,
    };
    let count = match count {
        MatrixCount::X1 => None,
        MatrixCount::X2 => Some(Mod::_2),
        MatrixCount::X4 => Some(Mod::_4),
    };
    [Some(numbers), Some(layout), count].into_iter().flatten().collect()
}
