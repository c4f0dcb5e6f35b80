//! `clusterlaunchcontrol`: requests for clusters that have not started, and their answers.

use super::engine::{self, Bulk, LOW_HALF};
use crate::context::{Lower, Lowered};
use crate::memory;
use oriole_hir::Instruction;
use oriole_ori::Source;
use oriole_ptx::word::TakenCluster;
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// `clusterlaunchcontrol.try_cancel`: requests a cluster that has not started. The response goes to shared
/// memory, of all blocks with `.multicast`, and completes on the mbarrier there.
pub(crate) fn take_cluster(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let behind = cx.begin_region();
    let answer = memory::shared_address(cx, cx.operand(i, 0)?)?;
    let object = memory::shared_address(cx, cx.operand(i, 1)?)?;
    let everybody = i.modifiers.has(Word::MulticastClusterAll);
    let mods = vec![if everybody { Mod::BROADCAST } else { Mod::SELFCAST }];
    let brackets = vec![vec![answer, object]];
    engine::emit_bulk(cx, Bulk { op: Op::UGETNEXTWORKID, mods, brackets, count: None, policy: None });
    cx.end_region(behind);
    Ok(())
}

/// `clusterlaunchcontrol.query_cancel`: decodes the response. Its third word says whether there is a cluster; the
/// first is its position along x, the halves of the second those along y and z.
pub(crate) fn taken_cluster(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let words = cx.words(cx.operand(i, 1)?, Type::B128)?;
    let place = |cx: &mut Lower<'_>, axis: u32| match axis {
        0 => words[0].clone(),
        1 => engine::field(cx, words[1].clone(), 0, LOW_HALF, 0),
        _ => {
            let high = cx.in_register(words[1].clone());
            let z = cx.b.r();
            cx.b.shr(z, high, LOW_HALF.count_ones());
            z.into()
        }
    };
    let axes: &[u32] = match i.modifiers.at() {
        Some(TakenCluster::IsCanceled) => {
            let Some(d) = cx.result_predicate(cx.operand(i, 0)?)? else { return Ok(()) };
            let bit = engine::field(cx, words[2].clone(), 0, 1, 0);
            cx.b.isetp(d, Mod::NE, true, bit, Source::rz());
            return Ok(());
        }
        Some(TakenCluster::GetFirstCtaid) => &[0, 1, 2],
        Some(TakenCluster::GetFirstCtaidX) => &[0],
        Some(TakenCluster::GetFirstCtaidY) => &[1],
        Some(TakenCluster::GetFirstCtaidZ) => &[2],
        None => return Err(cx.unsupported_form(i)),
    };
    let elements = cx.elements(cx.operand(i, 0)?);
    let mut parts: Vec<Source> = axes.iter().map(|&axis| place(cx, axis)).collect();
    // The fourth element of a vector is zero.
    parts.resize(elements.len(), Source::rz());
    let parts = parts.into_iter().map(|part| std::iter::once(part).collect()).collect();
    cx.write_all(&elements, Type::B32, parts)
}
