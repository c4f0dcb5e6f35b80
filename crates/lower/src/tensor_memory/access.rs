//! `tcgen05.ld` and `tcgen05.st`.

use super::engine::{self, EngineOperand};
use crate::context::{Lower, Lowered};
use crate::source::Words;
use crate::{LowerError, matrix};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{MemoryInfo, Source, Value};
use oriole_ptx::word::{Operation, TensorCount, TensorShape};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;

/// Modifiers that a shape adds to a load or a store; a shape whose halves are apart takes two instructions.
fn lanes_of(shape: TensorShape) -> &'static [&'static [Mod]] {
    match shape {
        TensorShape::_32x32b => &[&[]],
        TensorShape::_16x64b => &[&[Mod::_16dp64bit]],
        TensorShape::_16x128b => &[&[Mod::_16dp128bit]],
        TensorShape::_16x256b => &[&[Mod::_16dp256bit]],
        TensorShape::_16x32bx2 => &[&[Mod::_16dp32bit_t0_t15], &[Mod::_16dp32bit_t16_t31]],
    }
}

fn count_of(count: TensorCount) -> Option<Mod> {
    Some(match count {
        TensorCount::X1 => return None,
        TensorCount::X2 => Mod::x2,
        TensorCount::X4 => Mod::x4,
        TensorCount::X8 => Mod::x8,
        TensorCount::X16 => Mod::x16,
        TensorCount::X32 => Mod::x32,
        TensorCount::X64 => Mod::x64,
        TensorCount::X128 => Mod::x128,
    })
}

/// Modifiers of each instruction of a load or a store, and the column offset of the second one.
fn lanes(cx: &Lower<'_>, i: &Instruction, converts: Mod) -> Result<(Vec<Vec<Mod>>, i64), LowerError> {
    let shape: TensorShape = i.modifiers.at().ok_or_else(|| cx.unsupported_form(i))?;
    let narrow = i.modifiers.has(Word::Pack16b) || i.modifiers.has(Word::Unpack16b);
    let count = i.modifiers.at().and_then(count_of);
    let rest: Vec<Mod> = count.into_iter().chain(narrow.then_some(converts)).collect();
    let with_shape = |lanes: &&[Mod]| lanes.iter().chain(&rest).copied().collect();
    let mods = lanes_of(shape).iter().map(with_shape).collect();
    let halves = shape == TensorShape::_16x32bx2;
    let split = i.operands.iter().find_map(|operand| match operand {
        Operand::Immediate(Immediate::Integer(columns)) if halves => Some(*columns),
        _ => None,
    });
    Ok((mods, split.unwrap_or(0)))
}

pub(super) fn load_tensor(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let elements = cx.elements(cx.operand(i, 0)?);
    let direct = cx.direct_words(&elements, Type::B32);
    let d: Words = match &direct {
        Some(words) => words.clone(),
        None => elements.iter().map(|_| cx.b.r()).collect(),
    };
    let (lanes, split) = lanes(cx, i, Mod::PACK16BIT)?;
    if i.modifiers.has(Word::Red) {
        load_and_reduce(cx, i, &lanes, &d, split as i32)?;
    } else {
        let (base, offset) = engine::tensor_address(cx, i, 1)?;
        load_lanes(cx, &lanes, None, &d, &base, [offset, offset + split as i32]);
    }
    if direct.is_none() {
        let parts = d.iter().map(|&v| SmallVec::from_iter([Source::value(v)])).collect();
        cx.write_all(&elements, Type::B32, parts)?;
    }
    Ok(())
}

/// `tcgen05.ld.red`: loads, and also returns the min or max of the elements.
fn load_and_reduce(
    cx: &mut Lower<'_>,
    i: &Instruction,
    lanes: &[Vec<Mod>],
    d: &[Value],
    split: i32,
) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let extreme = match (i.modifiers.at(), i.modifiers.has(Word::Abs)) {
        (Some(Operation::Min), false) => Mod::MIN,
        (Some(Operation::Min), true) => Mod::MINABS,
        (Some(Operation::Max), false) => Mod::MAX,
        (Some(Operation::Max), true) => Mod::MAXABS,
        _ => return Err(cx.unsupported_form(i)),
    };
    let of_type = match ty {
        Type::U32 => None,
        Type::S32 => Some(Mod::S32),
        Type::F32 => Some(Mod::F32),
        _ => return Err(cx.unsupported_form(i)),
    };
    let nan = i.modifiers.has(Word::NaN).then_some(Mod::NAN);
    let (base, offset) = engine::tensor_address(cx, i, 2)?;
    let mut lanes = lanes.to_vec();
    for mods in &mut lanes {
        mods.extend([Mod::STAT, extreme].into_iter().chain(of_type).chain(nan));
    }
    let words: Words = d.iter().map(|_| cx.b.r()).collect();
    let extreme = cx.b.r();
    load_lanes(cx, &lanes, Some(extreme), &words, &base, [offset, offset + split]);
    let statistic = cx.result_word(cx.operand(i, 1)?, ty)?;
    let results = d.iter().copied().chain([statistic]);
    results.zip(words.into_iter().chain([extreme])).for_each(|(d, word)| cx.b.mov(d, word));
    Ok(())
}

/// Loads, with an instruction for each half of the warp where these come from different columns. The second one
/// fills the lanes of the same registers that the first one leaves out.
fn load_lanes(
    cx: &mut Lower<'_>,
    lanes: &[Vec<Mod>],
    statistic: Option<Value>,
    d: &[Value],
    base: &Source,
    offsets: [i32; 2],
) {
    // The address may be in a register that the first instruction overwrites.
    let addresses: Vec<Source> = lanes
        .iter()
        .zip(offsets)
        .map(|(_, offset)| engine::source_of(cx, EngineOperand::Place(vec![base.clone()], offset)))
        .collect();
    for (mods, address) in lanes.iter().zip(addresses) {
        let mut draft = cx.b.op(Op::LDTM).mods(mods);
        if let Some(statistic) = statistic {
            draft = draft.to(statistic);
        }
        draft.to_tuple(d.iter().copied()).from(address).memory(MemoryInfo::EVERYTHING).emit();
    }
}

pub(super) fn store_tensor(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let words = matrix::fragment(cx, i, i.operands.len() - 1, Type::B32)?;
    let data = cx.tuple(words);
    let (lanes, split) = lanes(cx, i, Mod::EXPAND16BIT)?;
    let (base, offset) = engine::tensor_address(cx, i, 0)?;
    for (mods, behind) in lanes.iter().zip([0, split as i32]) {
        let address = engine::source_of(cx, EngineOperand::Place(vec![base.clone()], offset + behind));
        cx.b.op(Op::STTM).mods(mods).from(address).from(data.clone()).memory(MemoryInfo::EVERYTHING).emit();
    }
    Ok(())
}
