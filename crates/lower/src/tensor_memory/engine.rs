//! An instruction of the engine of tensor memory, its operands in uniform registers. Which one a PTX form needs is decided
//! elsewhere.

use crate::context::Lower;
use crate::source::imm;
use crate::{LowerError, matrix};
use oriole_hir::{AddressBase, Instruction, Operand};
use oriole_ori::{Address as OriAddress, File, MemoryInfo, Source, SourceKind};
use oriole_ptx::Type;
use oriole_ptx::word::CtaGroup;
use oriole_sass::{Mod, Op};

/// An operand of the engine.
pub(super) enum EngineOperand {
    /// Consecutive words: a descriptor, a mask, or an operand of the instruction itself.
    Words(Vec<Source>),
    /// One memory address, or two consecutive ones.
    Place(Vec<Source>, i32),
    /// A condition.
    Truth(Source),
    /// No register.
    Nothing,
    /// A literal of the instruction.
    Number(i64),
}

/// An address in tensor memory: a register, and an offset.
pub(super) fn tensor_address(
    cx: &mut Lower<'_>,
    i: &Instruction,
    index: usize,
) -> Result<(Source, i32), LowerError> {
    let Operand::Address(address) = cx.operand(i, index)? else {
        return Err(cx.unsupported_form(i));
    };
    match address.base {
        AddressBase::Register(id) => Ok((Source::value(cx.register(id)[0]), address.offset as i32)),
        AddressBase::Absolute => Ok((imm(address.offset as u32), 0)),
        AddressBase::Variable(_) => Err(cx.unsupported_form(i)),
    }
}

/// [`tensor_address`] as one word.
pub(super) fn tensor_word(cx: &mut Lower<'_>, i: &Instruction, index: usize) -> Result<Source, LowerError> {
    let (base, offset) = tensor_address(cx, i, index)?;
    if offset == 0 {
        return Ok(base);
    }
    let sum = cx.b.r();
    cx.add(sum, base, imm(offset as u32));
    Ok(sum.into())
}

/// Modifier for two cooperating blocks.
pub(super) fn group_mods(i: &Instruction) -> Vec<Mod> {
    if i.modifiers.at() == Some(CtaGroup::CtaGroup2) { vec![Mod::_2CTA] } else { Vec::new() }
}

pub(super) fn descriptor_of(
    cx: &mut Lower<'_>,
    i: &Instruction,
    index: usize,
) -> Result<EngineOperand, LowerError> {
    Ok(EngineOperand::Words(cx.words(cx.operand(i, index)?, Type::U64)?.into_iter().collect()))
}

/// Emits an instruction of the engine in a block of its own.
pub(super) fn emit(cx: &mut Lower<'_>, op: Op, mods: &[Mod], operands: Vec<(EngineOperand, Vec<Mod>)>) {
    let inside = cx.b.new_block();
    cx.run_into(inside);
    let sources: Vec<Source> = operands
        .into_iter()
        .map(|(operand, suffixes)| {
            let mut source = source_of(cx, operand);
            suffixes.into_iter().for_each(|suffix| source.suffixes.insert(suffix));
            source
        })
        .collect();
    cx.b.op(op).mods(mods).from_all(sources).memory(MemoryInfo::EVERYTHING).emit();
    let behind = cx.b.new_block();
    cx.run_into(behind);
}

/// An operand of the engine, in uniform registers.
pub(super) fn source_of(cx: &mut Lower<'_>, operand: EngineOperand) -> Source {
    match operand {
        EngineOperand::Words(words) => Source::values(cx.uniform_words(&words)),
        EngineOperand::Place(words, offset) => {
            let uniform = cx.uniform_words(&words);
            Source::plain(SourceKind::Address(Box::new(OriAddress {
                uniform,
                offset,
                ..OriAddress::default()
            })))
        }
        EngineOperand::Truth(predicate) => matrix::uniform_truth(cx, predicate),
        EngineOperand::Nothing => Source::plain(SourceKind::Zero(File::UR)),
        EngineOperand::Number(number) => Source::literal(number),
    }
}
