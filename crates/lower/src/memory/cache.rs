//! Cache lines and cache policies of single accesses: `prefetch`, `discard`, `applypriority`, `.L2::cache_hint`. The
//! policies themselves are made in `cache_policy`.

use super::place::{self, Place, whole_address};
use crate::LowerError;
use crate::context::{Lower, Lowered};
use oriole_hir::Instruction;
use oriole_ori::{Source, SourceKind};
use oriole_ptx::word::{CacheLevel, L2Priority};
use oriole_ptx::{Opcode, Space, Type, Word};
use oriole_sass::{Mod, Op};

/// `prefetch`, `prefetchu`, `discard`, `applypriority`: operations on cache lines.
pub(crate) fn cache_line(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let operation = match i.opcode {
        Opcode::Discard => Mod::RML2,
        Opcode::Applypriority => Mod::DML2,
        // The L1 cache is filled by the sector anyway.
        _ if i.modifiers.has(Word::L132B) => Mod::PF1,
        _ => match (i.modifiers.at(), i.modifiers.at()) {
            (Some(L2Priority::L2EvictLast), _) => Mod::PML2,
            (_, Some(CacheLevel::L1)) => Mod::PF1,
            (_, Some(CacheLevel::L2) | None) => Mod::PF2,
        },
    };
    let space = i.space.unwrap_or(Space::Generic);
    if space == Space::Local {
        // Local memory is cached on use; a prefetch does nothing.
        return Ok(());
    }
    if !matches!(space, Space::Global | Space::Generic) {
        return Err(cx.unsupported_form(i));
    }
    let place = place::place_of(cx, cx.operand(i, 0)?, space)?;
    let place = whole_address(cx, place);
    let address = place::memory_operand(cx, &place, false);
    cx.b.op(Op::CCTL)
        .m(Mod::E)
        .m(operation)
        .from(address)
        .memory(place::memory_info(space, true, i.opcode == Opcode::Discard, true))
        .emit();
    Ok(())
}

/// The memory operand of an instruction at a place, with its cache policy in place of the descriptor.
pub(crate) fn cached_operand(
    cx: &mut Lower<'_>,
    i: &Instruction,
    place: &Place,
) -> Result<Source, LowerError> {
    let address = place::memory_operand(cx, place, true);
    let wide = matches!(place.space, Space::Global | Space::Generic);
    let policy = if wide { policy(cx, i)? } else { None };
    Ok(with_policy(cx, address, policy))
}

/// The cache policy of an instruction that has one: its last operand apart from a byte mask.
pub(crate) fn policy(cx: &mut Lower<'_>, i: &Instruction) -> Result<Option<[Source; 2]>, LowerError> {
    if !i.modifiers.has(Word::L2CacheHint) {
        return Ok(None);
    }
    let behind = if i.modifiers.has(Word::CpMask) { 2 } else { 1 };
    let last = cx.operand(i, i.operands.len().saturating_sub(behind))?;
    let words = cx.words(last, Type::B64)?;
    Ok(Some([words[0].clone(), words[1].clone()]))
}

/// The address with a cache policy in place of the descriptor of global memory.
pub(super) fn with_policy(cx: &mut Lower<'_>, mut address: Source, policy: Option<[Source; 2]>) -> Source {
    let Some(policy) = policy else { return address };
    let pair = cx.uniform_words(&policy);
    if let SourceKind::Address(parts) = &mut address.kind {
        parts.descriptor = Some(pair.into_iter().collect());
        address.suffixes.insert(Mod::_64);
    }
    address
}
