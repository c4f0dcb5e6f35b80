//! The check for divergence: barriers and collective instructions that not all of the threads execute that must, and
//! threads that wait forever.

use crate::collector::{ALONE, Collector, Part};
use oriole_diagnostics::Code;
use oriole_interp::{Event, Setting, ThreadNumber, Waiting, WarpAtBarrier};
use std::collections::BTreeMap;

/// Lanes of a warp.
const WARP: u32 = 32;
/// Places at which threads wait that a finding shows.
const SHOWN: usize = 8;

/// A barrier of a block is complete.
pub fn block_meets(block: u32, whole: bool, warps: &[WarpAtBarrier], collector: &mut Collector) {
    let thread = |warp: u32, lane: u32| Some(ThreadNumber { block, thread: warp * WARP + lane });
    let first_at = warps.iter().flat_map(|warp| &warp.waiting).map(|(_, pc)| *pc).next();
    for (number, warp) in (0..).zip(warps) {
        let Some(&(first, pc)) = warp.waiting.first() else { continue };
        let aligned =
            |pc: u32| collector.setting.steps.get(pc as usize).is_some_and(|facts| facts.semantics.aligned);
        if !warp.waiting.iter().any(|(_, pc)| aligned(*pc)) {
            continue;
        }
        if let Some(&(lane, other)) = warp.waiting.iter().find(|(_, at)| *at != pc) {
            let parts = [(pc, first), (other, lane)].map(|(pc, lane)| Part {
                pc,
                thread: thread(number, lane),
                does: "waits",
            });
            let key = (Code::Divergence, pc.min(other), pc.max(other), 0);
            collector.add(key, &parts, None, |_| {
                "lanes of one warp wait at different barrier instructions, which all of them must execute together"
                    .to_owned()
            });
        } else if warp.arrived != warp.live && warp.arrived.count_ones() as usize == warp.waiting.len() {
            let missing = (warp.live & !warp.arrived).trailing_zeros();
            let part = Part { pc, thread: thread(number, first), does: "waits" };
            collector.add((Code::Divergence, pc, ALONE, 1), &[part], None, |_| {
                format!(
                    "a barrier that all lanes of a warp must execute together is complete without lane {missing} of it"
                )
            });
        }
    }
    let gone = |warp: &WarpAtBarrier| warp.all & !warp.live & !warp.arrived;
    let exited: u32 = warps.iter().map(|warp| gone(warp).count_ones()).sum();
    if let (true, Some(pc)) = (whole && exited > 0, first_at) {
        let one = (0..).zip(warps).find_map(|(number, warp)| {
            let gone = gone(warp);
            (gone != 0).then(|| ThreadNumber { block, thread: number * WARP + gone.trailing_zeros() })
        });
        let part = Part { pc, thread: one, does: "is not reached" };
        collector.add((Code::ExitedThreads, pc, ALONE, 0), &[part], None, |_| {
            format!(
                "a barrier of the whole block is complete without {}, which exited before",
                threads(exited)
            )
        });
    }
}

fn threads(count: u32) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

/// Lanes of a warp have met at an instruction for all of them.
pub fn lanes_meet((block, warp): (u32, u32), pc: u32, missing: u32, collector: &mut Collector) {
    if missing == 0 {
        return;
    }
    let lane = missing.trailing_zeros();
    let thread = ThreadNumber { block, thread: warp * WARP + lane };
    let part = Part { pc, thread: Some(thread), does: "does not take part" };
    collector.add((Code::Divergence, pc, ALONE, 2), &[part], None, |_| {
        format!(
            "an instruction of a whole warp is executed without {} of its lanes, which exited before",
            missing.count_ones()
        )
    });
}

/// A shuffle reads from a lane that does not take part.
pub fn absent_lane(thread: ThreadNumber, pc: u32, from: u32, collector: &mut Collector) {
    let part = Part { pc, thread: Some(thread), does: "reads from it" };
    collector.add((Code::AbsentLane, pc, ALONE, 0), &[part], None, |_| {
        format!("a shuffle reads from lane {from}, which does not take part: the value is undefined")
    });
}

/// Nothing can go on.
pub fn stuck(waiting: &[Waiting], collector: &mut Collector) {
    let mut places: BTreeMap<(u32, &str), (ThreadNumber, u64)> = BTreeMap::new();
    for one in waiting {
        places.entry((one.pc, one.what.as_str())).or_insert((one.thread, 0)).1 += 1;
    }
    let texts: Vec<(u32, ThreadNumber, String)> = places
        .iter()
        .map(|((pc, what), (thread, count))| {
            let count = u32::try_from(*count).unwrap_or(u32::MAX);
            let wait = if count == 1 { "waits" } else { "wait" };
            (*pc, *thread, format!("{} {wait} for {what}", threads(count)))
        })
        .collect();
    let parts: Vec<Part> = texts
        .iter()
        .take(SHOWN)
        .map(|(pc, thread, text)| Part { pc: *pc, thread: Some(*thread), does: text })
        .collect();
    let first = parts.first().map_or(ALONE, |part| part.pc);
    collector.add((Code::Deadlock, first, ALONE, 0), &parts, None, |_| {
        "all threads that have not exited wait for others, which never come".to_owned()
    });
}

/// The events of this check.
pub fn follow(event: &Event, collector: &mut Collector) {
    match *event {
        Event::BlockMeets { block, whole, warps, .. } => block_meets(block, whole, warps, collector),
        Event::LanesMeet { block, warp, pc, whole: true, missing, .. } => {
            lanes_meet((block, warp), pc, missing, collector);
        }
        Event::AbsentLane { thread, pc, from } => absent_lane(thread, pc, from, collector),
        Event::Stuck(waiting) => stuck(waiting, collector),
        _ => {}
    }
}

/// Threads of a block.
pub fn threads_of_block(setting: &Setting) -> u32 {
    setting.block.iter().product()
}
