//! Lane numbers, conditions on them, and values of other lanes.

use crate::context::Lower;
use oriole_ori::{File, Source, Value};
use oriole_sass::{Mod, Op, Symbol};

/// The lane id.
pub(super) fn lane_number(cx: &mut Lower<'_>) -> Value {
    let lane = cx.b.r();
    cx.b.s2r(lane, Symbol::SR_LANEID);
    lane
}

/// The lane id masked with `kept`, plus `more`.
pub(super) fn lane_of(cx: &mut Lower<'_>, lane: Value, kept: u32, more: u32) -> Value {
    let [masked, d] = [cx.b.r(), cx.b.r()];
    cx.b.and(masked, lane, kept);
    cx.b.iadd3(d, masked, more, Source::rz());
    d
}

/// A condition: some of these bits are set in the lane id.
pub(super) fn lane_has(cx: &mut Lower<'_>, lane: Value, bits: u32) -> Value {
    let (masked, p) = (cx.b.r(), cx.b.p());
    cx.b.and(masked, lane, bits);
    cx.b.isetp(p, Mod::NE, true, masked, Source::rz());
    p
}

/// `d <- a` of another lane.
pub(super) fn of_lane(cx: &mut Lower<'_>, mode: Mod, a: Source, lane: Source) -> Value {
    let d = cx.b.r();
    let draft = cx.b.op(Op::SHFL).m(mode).drop_result(File::P).to(d);
    draft.from(a).from(lane).from(Source::literal(0x1f)).emit();
    d
}
