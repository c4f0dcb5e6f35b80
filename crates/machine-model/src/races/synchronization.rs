//! Synchronization, from which warps learn of each other: barriers, mbarriers and their phases, fences, and groups of
//! copies that are waited for.

use super::bytes::Bytes;
use super::clocks::Who;
use super::in_flight::{CopyNumber, Phase, Transfers};

impl Transfers {
    /// A warp arrives at a barrier of its block; with `waits` it continues when all have arrived.
    pub fn arrive(&mut self, who: Who, barrier: usize, waits: bool) {
        if self.watched {
            self.clocks.arrive(who, barrier, waits);
        }
    }

    /// All have arrived at a barrier of a block.
    pub fn met(&mut self, rank: u32, barrier: usize) {
        self.clocks.met(rank, barrier);
    }

    /// An mbarrier changes: by the arrival of `who`, if it was one, and `over` if that completes the phase.
    pub fn change_object(&mut self, object: u64, who: Option<Who>, over: bool) {
        if self.watched {
            self.clocks.change_object(object, who, over);
        }
    }

    /// A thread arrives at an mbarrier of the older format. A warp that loads it acquires from that.
    pub fn count_arrival(&mut self, object: Bytes, who: Who) {
        if self.watched {
            self.clocks.change_object(object.address(), Some(who), true);
            if !self.counted.contains(&object) {
                self.counted.push(object);
            }
        }
    }

    /// A warp finds a phase complete.
    pub fn phase_over(&mut self, phase: Phase, who: Who) {
        if self.watched {
            self.clocks.found_over(phase.0, who);
            let told = self.by_phase.get(&phase).cloned().unwrap_or_default();
            told.into_iter().for_each(|copy| self.find_out(copy, who));
        }
    }

    /// A warp executes an instruction.
    pub fn go_on(&mut self, who: Who) {
        if self.watched {
            self.clocks.go_on(who);
        }
    }

    /// A proxy fence.
    pub fn fence(&mut self) {
        self.written.clear();
    }

    /// A warp arrives at the barrier of its cluster.
    pub fn arrive_at_cluster(&mut self, who: Who) {
        if self.watched {
            self.clocks.arrive_at_cluster(who);
        }
    }

    /// A warp waits for the barrier of its cluster.
    pub fn wait_for_cluster(&mut self, who: Who) {
        if self.watched {
            self.clocks.wait_for_cluster(who);
        }
    }

    /// A warp releases or acquires through memory.
    pub fn through_memory(&mut self, who: Who) {
        if self.watched {
            self.clocks.through_memory(who);
        }
    }

    /// Closes the group of the copies that a warp has started.
    pub fn close_group(&mut self, who: Who) {
        if !self.watched {
            return;
        }
        let count = self.groups.entry(who).or_default();
        *count += 1;
        let open = self.reading.iter_mut().filter(|one| one.who == who && one.group.is_none());
        open.for_each(|one| one.group = Some(*count));
        for &copy in &self.grouped {
            let copy = &mut self.copies[copy];
            if copy.who == who {
                copy.group.get_or_insert(*count);
            }
        }
    }

    /// A warp has waited for all of its groups except the last `left`.
    pub fn wait_for_groups(&mut self, who: Who, left: u32) {
        let through = self.groups.get(&who).copied().unwrap_or(0).saturating_sub(left);
        let done = |group: Option<u32>| group.is_some_and(|group| group <= through);
        self.reading.retain(|one| one.who != who || !done(one.group));
        let (there, rest): (Vec<CopyNumber>, Vec<CopyNumber>) = self.grouped.iter().partition(|&&copy| {
            let copy = &self.copies[copy];
            copy.who == who && done(copy.group)
        });
        self.grouped = rest;
        there.into_iter().for_each(|copy| self.find_out(copy, who));
    }

    /// A phase will also signal the copies of a warp that belong to groups.
    pub fn tell_copies_by(&mut self, phase: Phase, who: Who) {
        let copies = self.grouped.clone();
        for copy in copies {
            let one = &self.copies[copy];
            if one.who != who || !one.known.is_empty() {
                continue;
            }
            self.tell_once(phase, copy);
        }
    }

    /// Treats the copies of a warp as complete: their completion is not tracked.
    pub fn forget_copies(&mut self, who: Who) {
        let warp = self.clocks.number(who);
        for &copy in &self.grouped {
            let copy = &mut self.copies[copy];
            if copy.who == who {
                copy.known.push((warp, 0));
            }
        }
    }
}
