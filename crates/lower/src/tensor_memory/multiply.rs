//! `tcgen05.mma`: its operands and its modifiers.

use super::engine::{self, EngineOperand};
use crate::context::{Lower, Lowered};
use crate::matrix;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::Source;
use oriole_ptx::word::{FirstCollector, ScaleBlock, SecondCollector, TensorKind};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Mods, Op, Operand as SassOperand, OperandKind};

/// Collector buffer modifiers for the first factor.
fn kept(collector: FirstCollector) -> &'static [Mod] {
    match collector {
        FirstCollector::CollectorAFill => &[Mod::A_KEEP],
        FirstCollector::CollectorAUse => &[Mod::A_REUSE, Mod::A_KEEP],
        FirstCollector::CollectorALastuse => &[Mod::A_REUSE],
        FirstCollector::CollectorADiscard => &[],
    }
}

/// Collector buffer modifiers for the second factor, which has four buffers.
fn kept_in(collector: SecondCollector) -> &'static [Mod] {
    use SecondCollector::*;
    match collector {
        CollectorB0Fill => &[Mod::B_KEEP],
        CollectorB0Use => &[Mod::B_REUSE, Mod::B_KEEP],
        CollectorB0Lastuse => &[Mod::B_REUSE],
        CollectorB0Discard => &[],
        CollectorB1Fill => &[Mod::B_KEEP, Mod::BUFFER1],
        CollectorB1Use => &[Mod::B_REUSE, Mod::B_KEEP, Mod::BUFFER1],
        CollectorB1Lastuse => &[Mod::B_REUSE, Mod::BUFFER1],
        CollectorB1Discard => &[Mod::BUFFER1],
        CollectorB2Fill => &[Mod::B_KEEP, Mod::BUFFER2],
        CollectorB2Use => &[Mod::B_REUSE, Mod::B_KEEP, Mod::BUFFER2],
        CollectorB2Lastuse => &[Mod::B_REUSE, Mod::BUFFER2],
        CollectorB2Discard => &[Mod::BUFFER2],
        CollectorB3Fill => &[Mod::B_KEEP, Mod::BUFFER3],
        CollectorB3Use => &[Mod::B_REUSE, Mod::B_KEEP, Mod::BUFFER3],
        CollectorB3Lastuse => &[Mod::B_REUSE, Mod::BUFFER3],
        CollectorB3Discard => &[Mod::BUFFER3],
    }
}

fn product_of(kind: TensorKind) -> Op {
    match kind {
        TensorKind::KindF16 | TensorKind::KindTf32 => Op::UTCHMMA,
        TensorKind::KindF8f6f4 | TensorKind::KindMxf8f6f4 => Op::UTCQMMA,
        TensorKind::KindI8 => Op::UTCIMMA,
        TensorKind::KindMxf4 | TensorKind::KindMxf4nvf4 => Op::UTCOMMA,
    }
}

/// An MMA: both factors, the accumulator, the instruction descriptor, masks or scales, and whether it
/// accumulates.
pub(super) fn multiply_in_tensor_memory(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let has = |word| i.modifiers.has(word);
    let op = i.modifiers.at().map(product_of).ok_or_else(|| cx.unsupported_form(i))?;
    let (sparse, scaled, stationary) = (has(Word::Sp), has(Word::BlockScale), has(Word::Ws));
    let sum = engine::tensor_word(cx, i, 0)?;
    let left = match cx.operand(i, 1)? {
        Operand::Address(_) => EngineOperand::Place(vec![engine::tensor_word(cx, i, 1)?], 0),
        _ => engine::descriptor_of(cx, i, 1)?,
    };
    let right = engine::descriptor_of(cx, i, 2)?;
    let selectors = if sparse { engine::tensor_word(cx, i, 3)? } else { Source::rz() };
    let mut next = 3 + usize::from(sparse);
    let own = cx.word(cx.operand(i, next)?, Type::U32)?;
    next += 1;
    let kept = i.modifiers.at().map_or(&[][..], kept).to_vec();
    let kept_in = i.modifiers.at().map_or(&[][..], kept_in).to_vec();
    let mut operands = vec![
        (left, kept),
        (right, kept_in),
        (EngineOperand::Place(vec![sum], 0), Vec::new()),
        (EngineOperand::Words(vec![selectors, own]), Vec::new()),
    ];
    if scaled {
        let scales = vec![engine::tensor_word(cx, i, next)?, engine::tensor_word(cx, i, next + 1)?];
        operands.push((EngineOperand::Place(scales, 0), Vec::new()));
        next += 2;
    } else if matches!(cx.operand(i, next)?, Operand::Vector(_)) {
        let lanes = matrix::fragment(cx, i, next, Type::B32)?;
        operands.push((EngineOperand::Words(lanes.into_iter().collect()), Vec::new()));
        next += 1;
    } else if stationary && i.operands.len() > next + 1 {
        let columns = cx.words(cx.operand(i, next + 1)?, Type::B64)?;
        operands.push((EngineOperand::Words(columns.into_iter().collect()), Vec::new()));
    }
    let adds = cx.predicate(cx.operand(i, next)?)?;
    operands.push((EngineOperand::Truth(adds), Vec::new()));
    if let (false, Some(Operand::Immediate(Immediate::Integer(shift)))) =
        (stationary, i.operands.get(next + 1))
        && *shift != 0
    {
        operands.push((EngineOperand::Number(*shift), Vec::new()));
    }
    let mods = product_mods(cx, i);
    engine::emit(cx, op, &mods, operands);
    Ok(())
}

fn product_mods(cx: &Lower<'_>, i: &Instruction) -> Vec<Mod> {
    let has = |word| i.modifiers.has(word);
    let mut mods = engine::group_mods(i);
    mods.extend(has(Word::Ashift).then_some(Mod::ASHIFT));
    mods.extend(has(Word::Ws).then_some(Mod::WS));
    if matches!(i.modifiers.at(), Some(ScaleBlock::ScaleVec4X | ScaleBlock::Block16)) {
        mods.push(scale_of_sixteen(cx));
    }
    mods
}

/// The SASS modifier of a scale for each sixteen elements.
fn scale_of_sixteen(cx: &Lower<'_>) -> Mod {
    let plain = SassOperand::plain;
    let place = OperandKind::TensorMemory { address: 0, offset: 0 };
    let operands = [
        plain(OperandKind::MatrixDescriptor(0)),
        plain(OperandKind::MatrixDescriptor(0)),
        plain(place),
        plain(OperandKind::InstructionDescriptor(0)),
        plain(place),
        plain(OperandKind::UPred(0)),
    ];
    let known = cx.is_legal(Op::UTCOMMA, &Mods::of(&[Mod::_4X]), &operands);
    if known { Mod::_4X } else { Mod::BLOCK16 }
}
