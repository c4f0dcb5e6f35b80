//! `cp.async.bulk` and `cp.reduce.async.bulk`: the choice among their forms, and byte blocks. TMA tiles are in `tiles`.

use super::engine::{self, Bulk, LOW_HALF, several_blocks};
use super::groups::{self, COPIES};
use super::{reduction, tiles};
use crate::context::{Lower, Lowered};
use crate::memory::{self, scope_mod, whole_address};
use crate::{LowerError, threads};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{MemoryInfo, Source};
use oriole_ptx::word::Semantics;
use oriole_ptx::{Opcode, Space, Type, Word};
use oriole_sass::{Mod, Op};

/// Sizes are in units of 2^SIZE_UNIT bytes, in a 16-bit field.
const SIZE_UNIT: u32 = 4;

/// `cp.async.bulk` and `cp.reduce.async.bulk` in all their forms.
pub(crate) fn bulk(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let has = |word| i.modifiers.has(word);
    let behind = cx.begin_region();
    if has(Word::CommitGroup) {
        cx.b.op(Op::UTMACMDFLUSH).memory(MemoryInfo::EVERYTHING).emit();
    } else if has(Word::WaitGroup) {
        let Operand::Immediate(Immediate::Integer(left)) = *cx.operand(i, 0)? else {
            return Err(cx.unsupported_form(i));
        };
        groups::wait_for_groups(cx, COPIES, left);
        // Data that only the engine reads again is not in the L1 cache either.
        if !has(Word::Read) && !has(Word::SyncRestrictProxyAsync) {
            // Data that the engine wrote is not in the L1 cache.
            threads::invalidate(cx);
        }
    } else if has(Word::Tensor) {
        tiles::copy_box(cx, i)?;
    } else {
        copy_bytes(cx, i)?;
    }
    cx.end_region(behind);
    Ok(())
}

/// A byte block: copied, reduced into memory, or prefetched into L2.
fn copy_bytes(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let has = |word| i.modifiers.has(word);
    let masked = has(Word::CpMask);
    let policy = memory::policy(cx, i)?;
    if has(Word::Prefetch) {
        let source = global_address(cx, cx.operand(i, 0)?)?;
        let count = size(cx, cx.operand(i, 1)?, None)?;
        let (op, mods) = (Op::UBLKPF, vec![Mod::L2]);
        engine::emit_bulk(cx, Bulk { op, mods, brackets: vec![source], count: Some(count), policy });
        return Ok(());
    }
    let to_global = i.space == Some(Space::Global);
    let from_global = i.second_space == Some(Space::Global);
    let mut target = address_in(cx, cx.operand(i, 0)?, to_global)?;
    let source = address_in(cx, cx.operand(i, 1)?, from_global)?;
    if !to_global {
        // The operands before the mbarrier say how much of both ends may be out of bounds; the engine does not
        // get them.
        let object = if has(Word::IgnoreOob) { 5 } else { 3 };
        target.push(memory::shared_address(cx, cx.operand(i, object)?)?);
    }
    let multicast = several_blocks(i);
    // Mask of blocks that get a copy, or of bytes of sixteen that are written.
    let mask = match (multicast, masked) {
        (true, _) => Some(cx.operand(i, 4)?),
        (_, true) => Some(cx.operand(i, i.operands.len().saturating_sub(1))?),
        _ => None,
    };
    let mask = mask.map(|mask| cx.extended(mask, Type::U16)).transpose()?;
    let count = size(cx, cx.operand(i, 2)?, mask)?;
    let mut mods = vec![if to_global { Mod::G } else { Mod::S }];
    let op = if has(Word::Reduce) {
        mods.push(Mod::S_2);
        mods.extend(reduction::reduction_mods(cx, i)?);
        Op::UBLKRED
    } else {
        mods.push(if from_global { Mod::G_2 } else { Mod::S_2 });
        mods.extend(multicast.then_some(Mod::MULTICAST));
        mods.extend(masked.then_some(Mod::DST_G_BYTE_MASK));
        Op::UBLKCP
    };
    mods.extend(strength_of_copy(cx, i)?);
    engine::emit_bulk(cx, Bulk { op, mods, brackets: vec![target, source], count: Some(count), policy });
    Ok(())
}

/// Memory ordering of a copy. Reductions on multicast memory are visible to all devices.
fn strength_of_copy(cx: &Lower<'_>, i: &Instruction) -> Result<Vec<Mod>, LowerError> {
    if i.modifiers.at() == Some(Semantics::Relaxed) {
        let (scope, _) = scope_mod(i).ok_or_else(|| cx.unsupported_form(i))?;
        return Ok(vec![Mod::STRONG, scope]);
    }
    let shared_by_devices = i.opcode == Opcode::Multimem && i.modifiers.has(Word::Reduce);
    Ok(if shared_by_devices { vec![Mod::STRONG, Mod::SYS] } else { Vec::new() })
}

fn address_in(cx: &mut Lower<'_>, operand: &Operand, global: bool) -> Result<Vec<Source>, LowerError> {
    if global { global_address(cx, operand) } else { Ok(vec![memory::shared_address(cx, operand)?]) }
}

/// A global address as two words.
fn global_address(cx: &mut Lower<'_>, operand: &Operand) -> Result<Vec<Source>, LowerError> {
    let place = memory::place_of(cx, operand, Space::Global)?;
    let place = whole_address(cx, place);
    Ok(place.base.iter().map(|&word| word.into()).collect())
}

/// The size in the units of the engine, with a mask above it.
fn size(cx: &mut Lower<'_>, operand: &Operand, mask: Option<Source>) -> Result<Source, LowerError> {
    let bytes = cx.word(operand, Type::U32)?;
    let units = engine::field(cx, bytes, SIZE_UNIT, LOW_HALF, 0);
    Ok(engine::halves(cx, units, mask))
}
