//! Single fences, which several families emit around their accesses.

use crate::context::Lower;
use oriole_ori::MemoryInfo;
use oriole_sass::{Mod, Op};

/// A fence: `sequential` for `.sc`, else for acquire and release; `acquire` drops cached lines.
pub(crate) fn fence(cx: &mut Lower<'_>, scope: Mod, sequential: bool, acquire: bool) {
    let kind = if sequential { Mod::SC } else { Mod::ALL };
    cx.b.op(Op::MEMBAR).m(kind).m(scope).memory(MemoryInfo::EVERYTHING).emit();
    if scope != Mod::CTA {
        cx.b.op(Op::ERRBAR).memory(MemoryInfo::EVERYTHING).emit();
        if cx.has(Op::CGAERRBAR) {
            cx.b.op(Op::CGAERRBAR).memory(MemoryInfo::EVERYTHING).emit();
        }
        if acquire {
            invalidate(cx);
        }
    }
}

/// Invalidates lines of the L1 cache, so that later reads see writes of other threads.
pub(crate) fn invalidate(cx: &mut Lower<'_>) {
    cx.b.op(Op::CCTL).m(Mod::IVALL).memory(MemoryInfo::EVERYTHING).emit();
}

/// A `NOP` that keeps program order of memory accesses.
pub(super) fn ordered_nothing(cx: &mut Lower<'_>) {
    cx.b.op(Op::NOP).memory(MemoryInfo::EVERYTHING).emit();
}

/// Orders the accesses of the program and of the asynchronous units to one memory.
pub(super) fn view_fence(cx: &mut Lower<'_>, which: Mod) {
    cx.b.op(Op::FENCE).mods(&[Mod::VIEW, Mod::ASYNC, which]).memory(MemoryInfo::EVERYTHING).emit();
}
