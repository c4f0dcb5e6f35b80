//! Vector clocks: how much each thread knows of each other one.
//!
//! The threads of a block are a vector of their own, which clocks share as long as none of them changes it: after a
//! barrier all threads of a block have one clock. No thread and no memory is known here.

use oriole_interp::ThreadNumber;
use std::collections::BTreeMap;
use std::rc::Rc;

/// For each thread how far its accesses are known; zero where nothing is.
#[derive(Clone, Default, Debug)]
pub struct Clock {
    blocks: BTreeMap<u32, Rc<Vec<u32>>>,
}

impl Clock {
    /// How far a thread is known.
    #[inline]
    pub fn of(&self, thread: ThreadNumber) -> u32 {
        let block = self.blocks.get(&thread.block);
        block.and_then(|times| times.get(thread.thread as usize)).copied().unwrap_or(0)
    }

    /// A thread is known up to this time, if not further.
    pub fn learn(&mut self, thread: ThreadNumber, time: u32, threads: usize) {
        if self.of(thread) >= time {
            return;
        }
        let block = self.blocks.entry(thread.block).or_insert_with(|| Rc::new(vec![0; threads]));
        if let Some(known) = Rc::make_mut(block).get_mut(thread.thread as usize) {
            *known = time;
        }
    }

    /// All that another clock knows.
    pub fn join(&mut self, other: &Clock) {
        for (block, theirs) in &other.blocks {
            match self.blocks.get_mut(block) {
                None => drop(self.blocks.insert(*block, theirs.clone())),
                Some(own) if Rc::ptr_eq(own, theirs) => {}
                Some(own) if at_most(theirs, own) => {}
                Some(own) if at_most(own, theirs) => *own = theirs.clone(),
                Some(own) => {
                    for (known, time) in Rc::make_mut(own).iter_mut().zip(theirs.iter()) {
                        *known = (*known).max(*time);
                    }
                }
            }
        }
    }

    /// Whether it knows all that another one does.
    pub fn covers(&self, other: &Clock) -> bool {
        other.blocks.iter().all(|(block, theirs)| {
            self.blocks.get(block).is_some_and(|own| Rc::ptr_eq(own, theirs) || at_most(theirs, own))
        })
    }
}

fn at_most(a: &[u32], b: &[u32]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b)
}

/// A clock that threads publish into.
#[derive(Default)]
pub struct Gathering {
    clock: Clock,
    /// The clock of the thread that came last: threads after a barrier have the same one.
    last: Option<Rc<Clock>>,
}

impl Gathering {
    /// Adds what a thread knows, and its own accesses up to a time.
    pub fn add(&mut self, base: &Rc<Clock>, (thread, time): (ThreadNumber, u32), threads: usize) {
        if !self.last.as_ref().is_some_and(|last| Rc::ptr_eq(last, base)) {
            self.clock.join(base);
            self.last = Some(base.clone());
        }
        self.clock.learn(thread, time, threads);
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The clock, at the end.
    pub fn into_clock(self) -> Clock {
        self.clock
    }
}
