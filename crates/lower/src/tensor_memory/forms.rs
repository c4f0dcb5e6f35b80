//! `tcgen05`: the choice among its forms, and those that are one instruction: commits, copies, shifts, and waits.
//!
//! A load is waited for like one from other memory; the waits for all of them, and the fences, leave an instruction that
//! nothing moves across.

use super::engine::{self, EngineOperand};
use super::{access, columns, multiply};
use crate::context::{Lower, Lowered};
use crate::memory;
use oriole_hir::Instruction;
use oriole_ori::MemoryInfo;
use oriole_ptx::word::{TensorCopy, TensorNumbers, TensorOrder, TensorWarps};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// The shape of a copy; the largest one has no modifier.
fn copy_of(shape: TensorCopy, warps: Option<TensorWarps>) -> Option<Mod> {
    Some(match (shape, warps) {
        (TensorCopy::_128x256b, _) => return None,
        (TensorCopy::_4x256b, _) => Mod::_4dp256bit,
        (TensorCopy::_128x128b, _) => Mod::_128dp128bit,
        (TensorCopy::_64x128b, Some(TensorWarps::Warpx20123)) => Mod::_2x64dp128bit_lw01_lw23,
        (TensorCopy::_64x128b, _) => Mod::_2x64dp128bit_lw02_lw13,
        (TensorCopy::_32x128b, _) => Mod::_4x32dp128bit,
    })
}

/// `tcgen05` in all its forms.
pub(crate) fn tcgen05(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if cx.chip.tensor_partition().is_none() {
        return Err(cx.unsupported_form(i));
    }
    let behind = cx.begin_region();
    let has = |word| i.modifiers.has(word);
    match () {
        () if has(Word::Alloc) => columns::allocate_columns(cx, i)?,
        () if has(Word::Dealloc) => columns::free_columns(cx, i)?,
        () if has(Word::RelinquishAllocPermit) => columns::close_allocation(cx)?,
        () if has(Word::Commit) => commit_products(cx, i)?,
        () if has(Word::Cp) => copy_to_tensor_memory(cx, i)?,
        () if has(Word::Shift) => shift_rows(cx, i)?,
        () if has(Word::Ld) => access::load_tensor(cx, i)?,
        () if has(Word::St) => access::store_tensor(cx, i)?,
        () if has(Word::Mma) => multiply::multiply_in_tensor_memory(cx, i)?,
        () => match i.modifiers.at() {
            Some(TensorOrder::WaitSt) => {
                cx.b.op(Op::FENCE)
                    .mods(&[Mod::VIEW, Mod::ASYNC, Mod::T])
                    .memory(MemoryInfo::EVERYTHING)
                    .emit();
            }
            Some(
                TensorOrder::WaitLd | TensorOrder::FenceBeforeThreadSync | TensorOrder::FenceAfterThreadSync,
            ) => cx.b.op(Op::NOP).memory(MemoryInfo::EVERYTHING).emit(),
            None => return Err(cx.unsupported_form(i)),
        },
    }
    cx.end_region(behind);
    Ok(())
}

fn commit_products(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    // The low word of a generic address is the shared address.
    let object = memory::shared_address(cx, cx.operand(i, 0)?)?;
    let mut operands =
        vec![(EngineOperand::Place(vec![object], 0), Vec::new()), (EngineOperand::Nothing, Vec::new())];
    let mut mods = engine::group_mods(i);
    if i.modifiers.has(Word::MulticastCluster) || i.modifiers.has(Word::MulticastCluster16b) {
        mods.push(Mod::MULTICAST);
        let blocks = cx.extended(cx.operand(i, 1)?, Type::U16)?;
        operands.push((EngineOperand::Words(vec![blocks]), Vec::new()));
    }
    engine::emit(cx, Op::UTCBAR, &mods, operands);
    Ok(())
}

fn copy_to_tensor_memory(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let shape = i.modifiers.at().ok_or_else(|| cx.unsupported_form(i))?;
    let shape = copy_of(shape, i.modifiers.at());
    let numbers = i.modifiers.at().map(|numbers| match numbers {
        TensorNumbers::B6x16P32 => Mod::U6x16P32,
        TensorNumbers::B4x16P64 => Mod::U4x16P64,
    });
    let mut mods = vec![Mod::T, Mod::S];
    mods.extend(engine::group_mods(i));
    mods.extend(shape.into_iter().chain(numbers));
    let (to, offset) = engine::tensor_address(cx, i, 0)?;
    let from = engine::descriptor_of(cx, i, 1)?;
    engine::emit(
        cx,
        Op::UTCCP,
        &mods,
        vec![(EngineOperand::Place(vec![to], offset), Vec::new()), (from, Vec::new())],
    );
    Ok(())
}

fn shift_rows(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let mut mods = engine::group_mods(i);
    mods.push(Mod::DOWN);
    let (base, offset) = engine::tensor_address(cx, i, 0)?;
    engine::emit(cx, Op::UTCSHIFT, &mods, vec![(EngineOperand::Place(vec![base], offset), Vec::new())]);
    Ok(())
}
