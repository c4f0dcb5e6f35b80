//! A block that is scheduled before allocation: the schedules that are known of it, and the fastest within a budget.
//!
//! It is here because the budget is one of the whole function: each block is asked for several, and schedules that
//! were made for one budget serve others. Blocks are not weighed against each other here.

use crate::bounded::{Followed, Preference};
use crate::choice::{Choice, PREDICATES, UNIFORM, fewer, quicker};
use crate::region::{Counts, Region};
use crate::{bottom_up, top_down};
use oriole_ori::BlockId;
use smallvec::SmallVec;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// Time does not matter where more than 1/LACKING of the registers is missing.
const LACKING: u32 = 4;
/// With this many registers beyond those of a schedule, the scheduler was never short of registers.
const LOOSE: u32 = 4;

/// Kinds of schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheduler {
    /// The bounded one, which prefers the longest path.
    Longest,
    /// The bounded one, which prefers the followed schedule: where registers are short, instructions moved ahead take
    /// them away from others.
    First,
    BottomUp,
}

/// All of them. If the first one comes near the fastest known schedule, the others are skipped.
const SCHEDULERS: [Scheduler; 3] = [Scheduler::Longest, Scheduler::First, Scheduler::BottomUp];
/// Nearness: within 1/NEAR of the cycles.
const NEAR: u32 = 8;

/// A block with its known schedules.
pub struct Candidate {
    /// The block.
    pub block: BlockId,
    /// Estimated executions per run of the function.
    pub weight: u64,
    /// Data that is independent of the budget.
    pub prepared: Rc<Prepared>,
    /// A schedule with few registers.
    pub low: Rc<Low>,
    /// Schedules that were made for some budgets: each may be the fastest within another budget.
    made: Vec<Choice>,
    /// The schedulers that may give another schedule for a larger budget.
    schedulers: SmallVec<[Scheduler; 3]>,
}

/// Data about the instructions of a block and its live-out values, shared by all schedulings of the function.
pub struct Prepared {
    /// The instructions with their dependencies.
    pub region: Region,
    /// Lower bound of the cycles of any schedule.
    bound: u32,
    /// The program order.
    source: Choice,
    /// A schedule with few registers.
    low: Rc<Low>,
    /// The one of `low` and another such schedule that needs fewer registers, once computed.
    lower: OnceCell<Rc<Low>>,
    /// The fastest known schedule.
    pub quick: Choice,
    /// Loads in flight in it, once counted.
    loads: OnceCell<u32>,
}

/// A schedule with few registers, and schedules that follow it.
pub struct Low {
    /// The schedule.
    pub choice: Choice,
    /// The same, to be followed.
    followed: OnceCell<Followed>,
    /// Results of schedulers for budgets.
    made: RefCell<Vec<Made>>,
}

/// Result of a scheduler for a budget.
struct Made {
    scheduler: Scheduler,
    budget: Counts,
    choice: Choice,
    /// A larger budget could give another schedule.
    limited: bool,
}

impl Low {
    fn new(choice: Choice) -> Rc<Low> {
        Rc::new(Low { choice, followed: OnceCell::new(), made: RefCell::default() })
    }

    /// The schedule for a budget, and whether a larger one could give another schedule.
    fn make(&self, region: &Region, scheduler: Scheduler, budget: Counts) -> (Choice, bool) {
        let is_same = |made: &&Made| made.scheduler == scheduler && made.budget == budget;
        if let Some(made) = self.made.borrow().iter().find(is_same) {
            return (made.choice.clone(), made.limited);
        }
        let follow = |preference| {
            let followed = self.followed.get_or_init(|| Followed::new(region, &self.choice.order));
            followed.schedule(region, budget, preference)
        };
        let (order, limited) = match scheduler {
            Scheduler::Longest => follow(Preference::Longest),
            Scheduler::First => follow(Preference::First),
            Scheduler::BottomUp => (bottom_up::order(region, budget), true),
        };
        let choice = Choice::new(region, order);
        let limited = limited && choice.peak[0] + LOOSE > budget[0];
        self.made.borrow_mut().push(Made { scheduler, budget, choice: choice.clone(), limited });
        (choice, limited)
    }
}

impl Prepared {
    /// The data of a region, with the schedules that need no budget.
    pub fn new(region: Region) -> Prepared {
        let source = Choice::new(&region, (0..region.len() as u32).collect());
        let low = Choice::new(&region, bottom_up::order(&region, [0, PREDICATES, UNIFORM]));
        let low = fewer(low, source.clone());
        let bound = region.least_time();
        let mut quick = source.clone();
        if quick.time > bound {
            let order = top_down::order(&region, low.budget(u32::MAX));
            quick = quicker(Choice::new(&region, order), quick);
        }
        Prepared {
            region,
            bound,
            source,
            low: Low::new(low),
            lower: OnceCell::new(),
            quick,
            loads: OnceCell::new(),
        }
    }

    /// Loads from global memory in flight at once where registers do not matter.
    pub fn loads(&self) -> u32 {
        *self.loads.get_or_init(|| self.region.flight(&self.quick.order))
    }

    /// The one with fewer registers of two schedules.
    fn lower(&self) -> &Rc<Low> {
        self.lower.get_or_init(|| {
            let order = top_down::order(&self.region, [0, PREDICATES, UNIFORM]);
            let other = Choice::new(&self.region, order);
            if other.registers() < self.low.choice.registers() { Low::new(other) } else { self.low.clone() }
        })
    }
}

impl Candidate {
    /// A block that is scheduled, with no schedules for budgets yet.
    pub fn new(block: BlockId, weight: u64, prepared: Rc<Prepared>) -> Candidate {
        let low = prepared.low.clone();
        Candidate { block, weight, prepared, low, made: Vec::new(), schedulers: SCHEDULERS.into() }
    }

    /// Searches another schedule with few registers.
    pub fn seek_lower(&mut self) {
        self.low = self.prepared.lower().clone();
    }

    /// The fastest known schedule within this many general registers, those of spilled predicates included, or within
    /// its minimum.
    pub fn within(&mut self, general: u32) -> Choice {
        let Candidate { prepared, low, .. } = self;
        let (prepared, low) = (prepared.clone(), low.clone());
        let Prepared { region, bound, quick, .. } = &*prepared;
        let needed = low.choice.registers();
        // A block that lacks many registers spills: fewer live values at each point mean fewer spills.
        if needed > general.saturating_add(general / LACKING) {
            return low.choice.clone();
        }
        let general = general.max(needed);
        if quick.fits(general, u32::MAX) {
            return quick.clone();
        }
        let budget = low.choice.budget(general - low.choice.spilled());
        for scheduler in std::mem::take(&mut self.schedulers) {
            let time = self.best_within(general).time;
            let near = quick.time + quick.time / NEAR;
            let mut remains = time == *bound || scheduler != Scheduler::Longest && time <= near;
            if !remains {
                let (choice, limited) = low.make(region, scheduler, budget);
                self.made.push(choice);
                remains = limited;
            }
            if remains {
                self.schedulers.push(scheduler);
            }
        }
        self.best_within(general).clone()
    }

    /// The fastest known schedule within this many general registers.
    fn best_within(&self, general: u32) -> &Choice {
        let low = &self.low.choice;
        let uniform = low.peak[2].max(UNIFORM);
        let known = [low, &self.prepared.source].into_iter().chain(&self.made);
        let fits = known.filter(|choice| choice.fits(general, uniform));
        fits.min_by_key(|choice| choice.time).unwrap_or(low)
    }
}
