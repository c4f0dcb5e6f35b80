//! `multimem`: memory with a copy on each of several devices, under one address.
//!
//! Stores and reductions are like those of other addresses. A load reduces the copies to one value.

use super::atomic_instruction::packed_type;
use super::{atomics, place, store};
use crate::context::{Lower, Lowered};
use crate::source::Words;
use crate::{LowerError, threads};
use oriole_hir::{Instruction, Operand};
use oriole_ptx::word::{Operation, Semantics};
use oriole_ptx::{Space, Type, Word};
use oriole_sass::{Mod, Mods, Op, Operand as MachineOperand, OperandKind};
use smallvec::SmallVec;

/// `multimem`, except for copies.
pub(crate) fn multimem(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    match () {
        () if i.modifiers.has(Word::LdReduce) => reduce_copies(cx, i),
        () if i.modifiers.has(Word::Red) => atomics::atomic(cx, i),
        () => store::store(cx, i),
    }
}

/// SASS modifier of an f16 add with f32 precision in multimem reductions.
fn exact_sum(cx: &Lower<'_>) -> Mod {
    let place = OperandKind::Memory { descriptor: None, base: Some(0), uniform: Some(0), offset: 0 };
    let mut operands = [MachineOperand::plain(OperandKind::Reg(0)), MachineOperand::plain(place)];
    operands[1].suffixes = Mods::of(&[Mod::_64]);
    let mods = [Mod::E, Mod::HPADD, Mod::F16x2, Mod::RN, Mod::STRONG, Mod::SYS];
    if cx.is_legal(Op::LDGMC, &Mods::of(&mods), &operands) { Mod::HPADD } else { Mod::F32ADD }
}

/// `multimem.ld_reduce`.
fn reduce_copies(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (ty, vector) = packed_type(cx.ty(i, 0)?, i.vector);
    let mods = reduction_of_copies(cx, i, ty, vector)?;
    let mut place = place::place_of(cx, cx.operand(i, 1)?, i.space.unwrap_or(Space::Generic))?;
    place.space = Space::Global;
    let mut address = place::memory_operand(cx, &place, false);
    address.suffixes.insert(Mod::_64);
    let words = (ty.bytes() * vector / 4) as usize;
    let elements = cx.elements(cx.operand(i, 0)?);
    let direct = cx.direct_words(&elements, ty).filter(|direct| direct.len() == words);
    let d: Words = direct.clone().unwrap_or_else(|| (0..words).map(|_| cx.b.r()).collect());
    let memory = place::memory_info(Space::Global, true, false, true);
    cx.b.op(Op::LDGMC).mods(&mods).to_tuple(d.clone()).from(address).memory(memory).emit();
    if i.modifiers.at() == Some(Semantics::Acquire) {
        threads::invalidate(cx);
    }
    match direct {
        Some(_) => Ok(()),
        None if is_narrow(ty) && elements.len() > words => write_bytes(cx, &elements, &d),
        None => atomics::write_vector(cx, &elements, ty, vector, &d),
    }
}

/// Elements of one or two bytes, which are packed in these words.
fn write_bytes(cx: &mut Lower<'_>, elements: &[Operand], words: &Words) -> Lowered {
    let each = 4 * words.len() / elements.len();
    let ty = if each == 1 { Type::U8 } else { Type::U16 };
    let mut parts = Vec::new();
    for element in 0..elements.len() {
        parts.push(cx.extract(words, (each * element) as u64, ty)?.into_iter().collect());
    }
    cx.write_all(elements, Type::U32, parts)
}

fn reduction_of_copies(
    cx: &Lower<'_>,
    i: &Instruction,
    ty: Type,
    vector: u32,
) -> Result<SmallVec<[Mod; 6]>, LowerError> {
    let operation = match i.modifiers.at() {
        Some(Operation::Add) if i.modifiers.has(Word::AccF32) => exact_sum(cx),
        Some(Operation::Add) if i.modifiers.has(Word::AccF16) => Mod::HPADD,
        Some(Operation::Add) => Mod::ADD,
        Some(Operation::Min) => Mod::MIN,
        Some(Operation::Max) => Mod::MAX,
        Some(Operation::And) => Mod::AND,
        Some(Operation::Or) => Mod::OR,
        Some(Operation::Xor) => Mod::XOR,
        Some(Operation::Inc | Operation::Dec | Operation::Exch | Operation::Cas) | None => {
            return Err(cx.unsupported_form(i));
        }
    };
    let of_type = match (ty, vector) {
        (Type::F32, 1) => Mod::F32,
        (Type::F32, 2) => Mod::F32x2,
        (Type::F32, _) => Mod::F32x4,
        (Type::F64, _) => Mod::F64,
        (Type::F16x2, 1) => Mod::F16x2,
        (Type::F16x2, 2) => Mod::F16x4,
        (Type::F16x2, _) => Mod::F16x8,
        (Type::BF16x2, 1) => Mod::BF16x2,
        (Type::BF16x2, 2) => Mod::BF16x4,
        (Type::BF16x2, _) => Mod::BF16x8,
        (Type::E4M3x4, 1) => Mod::E4M3x4,
        (Type::E4M3x4, 2) => Mod::E4M3x8,
        (Type::E4M3x4, _) => Mod::E4M3x16,
        (Type::E5M2x4, 1) => Mod::E5M2x4,
        (Type::E5M2x4, 2) => Mod::E5M2x8,
        (Type::E5M2x4, _) => Mod::E5M2x16,
        (Type::S32, _) => Mod::S32,
        (Type::S64, _) => Mod::S64,
        (ty, _) if ty.bits() == 64 => Mod::_64,
        _ => Mod::_32,
    };
    let rounded = ty.is_float().then_some(Mod::RN);
    let mods = [Some(Mod::E), Some(operation), Some(of_type), rounded, Some(Mod::STRONG), Some(Mod::SYS)];
    Ok(mods.into_iter().flatten().collect())
}

/// True for words of four FP8 elements.
fn is_narrow(ty: Type) -> bool {
    matches!(ty, Type::E4M3x4 | Type::E5M2x4)
}
