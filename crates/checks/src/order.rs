//! Which accesses of other threads a thread comes after, by barriers, collective instructions, mbarriers, and atomics
//! with fences.
//!
//! It is here so that the check for races asks one question. The rules are those of PTX's memory model, as far as a run
//! shows them; no access is recorded here.

use crate::clock::{Clock, Gathering};
use oriole_interp::{MemorySpace, MemoryUse, Semantics, ThreadNumber, Use, WarpAtBarrier};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Lanes of a warp.
const WARP: u32 = 32;

/// The knowledge of a thread.
#[derive(Clone, Default)]
struct State {
    /// Of others.
    base: Rc<Clock>,
    /// Time of its own accesses, from 1.
    time: u32,
    /// It has accessed memory in this time.
    used: bool,
    /// Published by its last fence: the clock, the time, and whether only its block may see it.
    fenced: Option<(Rc<Clock>, u32, bool)>,
    /// Read by accesses that do not acquire: known after the next fence.
    seen: Option<Clock>,
}

/// A word of memory through which threads synchronize.
#[derive(Default)]
struct Released {
    gathering: Gathering,
    /// Only this block may see it.
    only: Option<u32>,
}

/// An mbarrier: what was published in all its phases, and in those that are over.
#[derive(Default)]
struct Object {
    gathering: Gathering,
    over: Rc<Clock>,
}

/// The order of a run so far.
pub struct Order {
    threads: usize,
    blocks: HashMap<u32, Vec<State>>,
    barriers: HashMap<(u32, u32), Gathering>,
    /// The accesses of threads of a block that have exited: later barriers of the block wait for them no more, and come
    /// after them.
    exited: HashMap<u32, Gathering>,
    clusters: HashMap<u32, BTreeMap<u64, Gathering>>,
    objects: HashMap<(u32, u64), Object>,
    released: HashMap<(u32, u64), Released>,
}

impl Order {
    /// The order of a run whose blocks have that many threads: nothing is ordered.
    pub fn new(threads: usize) -> Order {
        Order {
            threads,
            blocks: HashMap::new(),
            barriers: HashMap::new(),
            exited: HashMap::new(),
            clusters: HashMap::new(),
            objects: HashMap::new(),
            released: HashMap::new(),
        }
    }

    fn state(&mut self, thread: ThreadNumber) -> &mut State {
        let threads = self.threads.max(thread.thread as usize + 1);
        let block = self
            .blocks
            .entry(thread.block)
            .or_insert_with(|| vec![State { time: 1, ..State::default() }; threads]);
        &mut block[thread.thread as usize]
    }

    /// The knowledge of a thread, and the time of an access that it now makes.
    #[inline]
    pub fn now(&mut self, thread: ThreadNumber) -> (Rc<Clock>, u32) {
        let state = self.state(thread);
        state.used = true;
        (state.base.clone(), state.time)
    }

    /// Publishes the accesses of a thread so far: what it knows, and the time of its last access.
    fn publish(&mut self, thread: ThreadNumber) -> (Rc<Clock>, u32) {
        let state = self.state(thread);
        if std::mem::take(&mut state.used) {
            state.time += 1;
        }
        (state.base.clone(), state.time - 1)
    }

    fn learn(&mut self, thread: ThreadNumber, clock: &Clock) {
        let state = self.state(thread);
        if !state.base.covers(clock) {
            Rc::make_mut(&mut state.base).join(clock);
        }
    }

    /// Lanes of a warp have met.
    pub fn lanes_meet(&mut self, block: u32, warp: u32, lanes: u32) {
        let threads = self.threads;
        let numbers: Vec<ThreadNumber> = (0..WARP)
            .filter(|lane| lanes >> lane & 1 != 0)
            .map(|lane| ThreadNumber { block, thread: warp * WARP + lane })
            .collect();
        let Some(first) = numbers.first() else { return };
        let base = self.state(*first).base.clone();
        let knows_all = numbers.iter().all(|thread| {
            let state = self.state(*thread);
            !state.used && Rc::ptr_eq(&state.base, &base) && base.of(*thread) + 1 >= state.time
        });
        if knows_all {
            return;
        }
        let mut gathering = Gathering::default();
        for thread in &numbers {
            let (base, time) = self.publish(*thread);
            gathering.add(&base, (*thread, time), threads);
        }
        let clock = Rc::new(gathering.into_clock());
        numbers.iter().for_each(|thread| self.state(*thread).base = clock.clone());
    }

    /// A thread arrives at a barrier of its block.
    pub fn arrives(&mut self, thread: ThreadNumber, barrier: u32) {
        let (base, time) = self.publish(thread);
        let threads = self.threads;
        self.barriers.entry((thread.block, barrier)).or_default().add(&base, (thread, time), threads);
    }

    /// A thread exits.
    pub fn exits(&mut self, thread: ThreadNumber) {
        let (base, time) = self.publish(thread);
        let threads = self.threads;
        self.exited.entry(thread.block).or_default().add(&base, (thread, time), threads);
    }

    /// A barrier of a block is complete.
    pub fn block_meets(&mut self, block: u32, barrier: u32, warps: &[WarpAtBarrier]) {
        let mut clock = self.barriers.remove(&(block, barrier)).unwrap_or_default().into_clock();
        if let Some(exited) = self.exited.get(&block) {
            clock.join(exited.clock());
        }
        let clock = Rc::new(clock);
        for (warp, found) in (0..).zip(warps) {
            for (lane, _) in &found.waiting {
                self.state(ThreadNumber { block, thread: warp * WARP + lane }).base = clock.clone();
            }
        }
    }

    /// A thread arrives at the barrier of its cluster.
    pub fn arrives_at_cluster(&mut self, thread: ThreadNumber, cluster: u32, phase: u64, releases: bool) {
        if releases {
            let (base, time) = self.publish(thread);
            let threads = self.threads;
            let phases = self.clusters.entry(cluster).or_default();
            phases.entry(phase).or_default().add(&base, (thread, time), threads);
            // A thread may still wait for the phase before this one, and for none earlier.
            while phases.first_key_value().is_some_and(|(first, _)| first + 2 < phase) {
                phases.pop_first();
            }
        }
    }

    /// A thread has waited for the barrier of its cluster.
    pub fn leaves_cluster(&mut self, thread: ThreadNumber, cluster: u32, phase: u64) {
        let clock = self.clusters.get(&cluster).and_then(|phases| phases.get(&phase));
        if let Some(clock) = clock.map(|gathering| gathering.clock().clone()) {
            self.learn(thread, &clock);
        }
    }

    /// A thread signals an mbarrier.
    pub fn signals(&mut self, thread: ThreadNumber, object: (u32, u64), releases: bool, over: bool) {
        let published = releases.then(|| self.publish(thread));
        let threads = self.threads;
        let object = self.objects.entry(object).or_default();
        if let Some((base, time)) = published {
            object.gathering.add(&base, (thread, time), threads);
        }
        if over {
            object.over = Rc::new(object.gathering.clock().clone());
        }
    }

    /// A thread has found a phase of an mbarrier complete.
    pub fn passes(&mut self, thread: ThreadNumber, object: (u32, u64)) {
        if let Some(clock) = self.objects.get(&object).map(|object| object.over.clone()) {
            self.learn(thread, &clock);
        }
    }

    /// A thread executes a fence.
    pub fn fences(&mut self, thread: ThreadNumber, of_block: bool) {
        if let Some(seen) = self.state(thread).seen.take() {
            self.learn(thread, &seen);
        }
        let (base, time) = self.publish(thread);
        self.state(thread).fenced = Some((base, time, of_block));
    }

    /// A thread makes a strong access: before it counts as an access.
    pub fn synchronizes(&mut self, used: &MemoryUse, semantics: Semantics) {
        let thread = used.thread;
        let owner = if used.space == MemorySpace::Shared { used.owner + 1 } else { 0 };
        let place = (owner, used.address);
        if used.kind != Use::Write {
            let visible = self
                .released
                .get(&place)
                .filter(|released| released.only.is_none_or(|block| block == thread.block))
                .map(|released| released.gathering.clock().clone());
            if let Some(clock) = visible {
                if semantics.acquires {
                    self.learn(thread, &clock);
                } else {
                    self.state(thread).seen.get_or_insert_default().join(&clock);
                }
            }
        }
        if used.kind == Use::Read {
            return;
        }
        // A write ends what others have published here; an atomic goes on with it.
        if used.kind == Use::Write {
            self.released.remove(&place);
        }
        let published = if semantics.releases {
            let (base, time) = self.publish(thread);
            Some((base, time, semantics.of_block))
        } else {
            self.state(thread).fenced.clone()
        };
        if let Some((base, time, of_block)) = published {
            let threads = self.threads;
            let released = self.released.entry(place).or_default();
            released.only = of_block.then_some(thread.block);
            released.gathering.add(&base, (thread, time), threads);
        }
    }

    /// A block has ended.
    pub fn ends(&mut self, block: u32) {
        self.blocks.remove(&block);
        self.clusters.remove(&block);
        self.exited.remove(&block);
    }
}
