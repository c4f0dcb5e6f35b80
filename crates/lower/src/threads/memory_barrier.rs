//! `membar` and `fence` in all their forms.

use super::fence;
use crate::context::{Lower, Lowered};
use crate::memory::scope_mod;
use crate::{copies, names};
use oriole_hir::Instruction;
use oriole_ori::{Guard, MemoryInfo, Source};
use oriole_ptx::word::{BarrierLevel, Semantics};
use oriole_ptx::{Opcode, Word};
use oriole_sass::{Mod, Op};

/// `membar` and `fence`.
pub(crate) fn memory_barrier(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let has = |word| i.modifiers.has(word);
    if has(Word::Alias) {
        alias_fence(cx, i);
        return Ok(());
    }
    if i.opcode == Opcode::Membar {
        let scope = match i.modifiers.at() {
            Some(BarrierLevel::Cta) => Mod::CTA,
            Some(BarrierLevel::Gl) => Mod::GPU,
            Some(BarrierLevel::Sys) => Mod::SYS,
            None => return Err(cx.unsupported_form(i)),
        };
        fence::fence(cx, scope, true, true);
        return Ok(());
    }
    if has(Word::AsyncGeneric) && has(Word::SyncRestrictSharedClusterRead) {
        // An mbarrier orders data that was read over the network.
        fence::ordered_nothing(cx);
        return Ok(());
    }
    if has(Word::SyncRestrictSharedCluster) || has(Word::SyncRestrictSharedCta) {
        // An mbarrier orders data that comes in over the network of the cluster.
        if i.modifiers.at() == Some(Semantics::Release) {
            fence::fence(cx, Mod::CTA, false, false);
            fence::view_fence(cx, Mod::S);
        }
        return Ok(());
    }
    if has(Word::TensormapGeneric) {
        return tensor_map_fence(cx, i);
    }
    if has(Word::Proxy) {
        if !has(Word::Async) {
            return Err(cx.unsupported_form(i));
        }
        let global = i.space == Some(oriole_ptx::Space::Global);
        if !global {
            let own = !has(Word::SyncRestrictSharedClusterRead);
            let scope = if own && i.space.is_some() && i.space != Some(oriole_ptx::Space::Generic) {
                Mod::CTA
            } else {
                Mod::GPU
            };
            cx.b.op(Op::MEMBAR).m(Mod::ALL).m(scope).memory(MemoryInfo::EVERYTHING).emit();
        }
        fence::view_fence(cx, if global { Mod::G } else { Mod::S });
        return Ok(());
    }
    if has(Word::MbarrierInit) {
        return Ok(());
    }
    let Some((_, scope)) = scope_mod(i) else { return Err(cx.unsupported_form(i)) };
    match i.modifiers.at() {
        Some(Semantics::Acquire) if scope == Mod::CTA => {}
        Some(Semantics::Acquire) => fence::invalidate(cx),
        Some(Semantics::Release) => fence::fence(cx, scope, false, false),
        Some(Semantics::Sc) => fence::fence(cx, scope, true, true),
        Some(Semantics::AcqRel) | None => fence::fence(cx, scope, false, true),
        Some(Semantics::Weak | Semantics::Relaxed | Semantics::Volatile) => {
            return Err(cx.unsupported_form(i));
        }
    }
    Ok(())
}

/// Orders accesses through several addresses of the same memory. In one direction that is one half of a system
/// fence. In both, the driver says which scope is enough.
fn alias_fence(cx: &mut Lower<'_>, i: &Instruction) {
    let has = |word| i.modifiers.has(word);
    match i.modifiers.at() {
        // Reads are complete where their results are used.
        Some(Semantics::Release) if has(Word::SyncRestrictRead) => return fence::ordered_nothing(cx),
        Some(Semantics::Release) => {
            cx.b.op(Op::MEMBAR).m(Mod::ALL).m(Mod::SYS).memory(MemoryInfo::EVERYTHING).emit();
            return;
        }
        Some(Semantics::Acquire) => {
            fence::invalidate(cx);
            if has(Word::FabricGeneric) {
                fence::view_fence(cx, Mod::G);
            }
            return;
        }
        _ => {}
    }
    let (place, counts) = cx.bank.within_device;
    let (word, told, within) = (names::bank_word(cx, place), cx.b.r(), cx.b.p());
    cx.b.and(told, word, counts);
    cx.b.isetp(within, Mod::NE, true, told, Source::rz());
    for (scope, negated) in [(Mod::GPU, false), (Mod::SYS, true)] {
        let guard = Guard { value: within, negated };
        cx.b.op(Op::MEMBAR).m(Mod::SC).m(scope).memory(MemoryInfo::EVERYTHING).guarded(guard).emit();
    }
    fence::invalidate(cx);
}

/// `fence.proxy.tensormap::generic`, in the direction that publishes a map.
fn tensor_map_fence(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Some((_, scope)) = scope_mod(i) else { return Err(cx.unsupported_form(i)) };
    if i.modifiers.at() == Some(Semantics::Acquire) {
        return copies::acquire_map(cx, i);
    }
    // The unit that reads maps is beyond the block.
    fence::fence(cx, if scope == Mod::CTA { Mod::GPU } else { scope }, false, false);
    Ok(())
}
