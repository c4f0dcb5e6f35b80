//! Groups of asynchronous copies, and waits for them.

use super::async_copy::BOTH;
use crate::context::Lower;
use oriole_ori::{MemoryInfo, Source, SourceKind};
use oriole_sass::{Mod, Op};

/// All accesses that a wait orders.
const EVERYTHING: MemoryInfo = MemoryInfo { ordered: true, ..BOTH };

/// The scoreboard that counts groups of copies.
pub(super) const COPIES: u8 = 0;

/// Closes the group of all copies since the last one was closed.
pub(super) fn commit_copies(cx: &mut Lower<'_>) {
    cx.b.op(Op::LDGDEPBAR).memory(EVERYTHING).emit();
}

/// Waits until at most `left` of the youngest groups are in flight; this scoreboard counts them.
pub(super) fn wait_for_groups(cx: &mut Lower<'_>, scoreboard: u8, left: i64) {
    // There are never more groups in flight than the field can encode.
    let left = left.clamp(0, 63);
    cx.b.op(Op::DEPBAR)
        .m(Mod::LE)
        .from(Source::plain(SourceKind::Scoreboard(scoreboard)))
        .from(Source::literal(left))
        .memory(EVERYTHING)
        .emit();
}
