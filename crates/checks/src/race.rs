//! The check for races: two accesses of different threads to the same byte, at least one a write, that nothing orders.
//!
//! Each cell has the last write and some reads and atomics that no later access comes after, with the time of their
//! thread: an access races with one of them if its thread does not know that time. Accesses that are strong, such as
//! atomics, do not race with each other. Threads and times are of `order`.

use crate::collector::{Collector, Key, Part, place};
use crate::order::Order;
use crate::shadow::Shadow;
use oriole_diagnostics::Code;
use oriole_interp::{MemorySpace, MemoryUse, ThreadNumber, Use};

/// Reads and atomics that a cell has at most.
const MOST_MARKS: usize = 8;
/// Threads of a warp.
const WARP: u32 = 32;

/// An access.
#[derive(Clone, Copy, Debug)]
struct Mark {
    thread: ThreadNumber,
    /// Time of the thread; zero for none.
    time: u32,
    pc: u32,
    writes: bool,
    strong: bool,
    of_block: bool,
}

/// The last accesses to a cell.
#[derive(Clone, Default)]
struct Cell {
    write: Option<Mark>,
    /// Reads and strong writes.
    #[allow(clippy::box_collection)]
    others: Option<Box<Vec<Mark>>>,
}

/// The check.
pub struct Races {
    shadow: Shadow<Cell>,
    /// The findings of the last access.
    last: Vec<Key>,
}

/// The part of an access in a race, in words.
fn does(mark: &Mark) -> &'static str {
    match (mark.writes, mark.strong) {
        (true, false) => "writes",
        (true, true) => "writes, strong",
        (false, false) => "reads",
        (false, true) => "reads, strong",
    }
}

impl Races {
    /// Nothing was accessed.
    pub fn new() -> Races {
        Races { shadow: Shadow::new(), last: Vec::new() }
    }

    /// A thread accesses memory.
    pub fn access(&mut self, used: &MemoryUse, order: &mut Order, collector: &mut Collector) {
        self.last.clear();
        if used.space == MemorySpace::Local {
            return;
        }
        let Some(semantics) = collector.setting.steps.get(used.pc as usize).map(|facts| facts.semantics)
        else {
            return;
        };
        let strong = used.kind == Use::Atomic || semantics.strong && !semantics.makes_object;
        // Threads learn from an mbarrier when a wait for a phase is over, and not by looking at it.
        if strong && !used.of_object {
            order.synchronizes(used, semantics);
        }
        let (known, time) = order.now(used.thread);
        let mark = Mark {
            thread: used.thread,
            time,
            pc: used.pc,
            writes: used.kind != Use::Read,
            strong,
            // Copies of other blocks complete at an mbarrier whatever the scope of a wait there.
            of_block: semantics.of_block && !used.of_object,
        };
        let last = &mut self.last;
        self.shadow.touch(used, |address, cell| {
            let comes_after =
                |other: &Mark| other.thread == mark.thread || known.of(other.thread) >= other.time;
            let others = cell.others.as_ref().map_or(&[][..], |others| others);
            for other in cell.write.iter().chain(others) {
                if conflict(other, &mark) && !comes_after(other) {
                    report(other, &mark, (used.space, address), collector, last);
                }
            }
            cell.enter(mark, comes_after);
        });
    }

    /// The last write changed nothing.
    pub fn unchanged(&self, collector: &mut Collector) {
        self.last.iter().for_each(|key| collector.unchanged(key));
    }

    /// A block has ended.
    pub fn ends(&mut self, block: u32) {
        self.shadow.forget(block);
    }

    /// Whether accesses were left out.
    pub fn is_partial(&self) -> bool {
        self.shadow.is_full
    }
}

/// Whether two accesses of different threads conflict.
fn conflict(a: &Mark, b: &Mark) -> bool {
    let narrow = (a.of_block || b.of_block) && a.thread.block != b.thread.block;
    (a.writes || b.writes) && (!(a.strong && b.strong) || narrow)
}

impl Cell {
    /// Records an access; `comes_after` says which ones it comes after.
    fn enter(&mut self, mark: Mark, comes_after: impl Fn(&Mark) -> bool) {
        if mark.writes && !mark.strong {
            (self.write, self.others) = (Some(mark), None);
            return;
        }
        let others = self.others.get_or_insert_default();
        // An access after this one comes after those before it, and conflicts with this one if with them.
        others.retain(|other| !(comes_after(other) && (mark.writes || !other.writes)));
        if others.len() < MOST_MARKS {
            others.push(mark);
            return;
        }
        // Threads of several blocks and warps are kept, so that for most threads one of them is another one.
        let warp = |mark: &Mark| (mark.thread.block, mark.thread.thread / WARP, mark.writes);
        let crowd = |same: &dyn Fn(&Mark) -> bool| others.iter().filter(|other| same(other)).count();
        let same_warp = |other: &Mark| warp(other) == warp(&mark);
        let same_block = |other: &Mark| other.thread.block == mark.thread.block;
        let chosen = if crowd(&same_warp) > 1 {
            None
        } else if crowd(&same_block) > 2 {
            others.iter().position(|other| same_block(other) && !other.writes)
        } else {
            others.iter().rposition(|other| !other.writes)
        };
        if let Some(chosen) = chosen {
            others[chosen] = mark;
        }
    }
}

fn report(
    other: &Mark,
    mark: &Mark,
    (space, address): (MemorySpace, u64),
    collector: &mut Collector,
    last: &mut Vec<Key>,
) {
    let (low, high) = (other.pc.min(mark.pc), other.pc.max(mark.pc));
    let both = other.writes && mark.writes;
    let key = (Code::Race, low, high, u8::from(both) | u8::from(space == MemorySpace::Shared) << 1);
    // An access of several words is one case.
    if last.contains(&key) {
        return;
    }
    let parts = [other, mark].map(|mark| Part { pc: mark.pc, thread: Some(mark.thread), does: does(mark) });
    let kinds = match (other.writes, mark.writes) {
        (true, true) => "a write and a write",
        (true, false) => "a write and a read",
        (false, _) => "a read and a write",
    };
    collector.add(key, &parts, Some(address), |setting| {
        let lanes = other.thread.block == mark.thread.block
            && other.thread.thread / WARP == mark.thread.thread / WARP;
        let place = place(setting, space, address);
        let between = match (other.thread.block == mark.thread.block, lanes) {
            (false, _) => "of two blocks",
            (true, true) => "of two lanes of a warp",
            (true, false) => "of two warps",
        };
        format!("{kinds} {between} at {place}, and nothing orders them")
    });
    last.push(key);
}
