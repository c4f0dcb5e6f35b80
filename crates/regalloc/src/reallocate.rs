//! Re-allocation of the general registers after the first allocation, where the result costs next to nothing.
//!
//! * At a lower register limit: the scan takes any free register, and aligned tuples leave holes. With a limit it
//!   packs more closely, at the cost of moves, and rematerializes constants. The hardware allocates registers in
//!   units of eight, so only whole units are tried.
//! * With the least recently used register first, once their count is fixed: reusing a register late leaves fewer
//!   false dependences, so scheduling after allocation has more freedom.

use crate::linear_scan::{CostBudget, ScanInputs};
use crate::one_file::{general, usable};
use crate::work::Work;
use oriole_chip::{allocated, nameable};
use oriole_ori::{BlockId, Loops};
use typed_index_collections::{TiVec, ti_vec};

/// Register counts below this are not tried.
const FEWEST: u16 = 16;

/// Allocation unit of registers.
const UNIT: u16 = 8;

/// How many permille more instructions a lower register count may cost; each loop level weighs eightfold.
const FEWER_BUDGET: u64 = 20;

/// The budget for least-recently-used assignment.
const LRU_BUDGET: u64 = 5;

/// Cost of an allocation.
struct Cost {
    /// Moves and other inserted instructions; each loop level weighs eightfold.
    moves: u64,
    /// All instructions, weighted likewise.
    all: u64,
    /// Inserted accesses to the frame.
    memory: u32,
}

impl Cost {
    fn of(work: &Work, inputs: &ScanInputs) -> Cost {
        let mut cost = Cost { moves: 0, all: 0, memory: work.stores + work.loads };
        let depths = depths(work, inputs);
        for (marks, depth) in work.inserted.iter().zip(depths) {
            cost.moves += Loops::weight_at(depth) * marks.iter().filter(|mark| **mark).count() as u64;
            cost.all += Loops::weight_at(depth) * marks.len() as u64;
        }
        cost
    }

    /// The budget of a re-allocation that may cost this many permille more.
    fn and(&self, permille: u64) -> CostBudget {
        CostBudget { moves: self.moves + self.all * permille / 1000, memory: self.memory }
    }
}

/// Loop depth of each block; a block on an edge is in the loops that contain both ends.
fn depths(work: &Work, inputs: &ScanInputs) -> TiVec<BlockId, u32> {
    let (cfg, loops) = (inputs.graph.cfg(), inputs.graph.loops());
    let innermost = |block: BlockId| loops.innermost(block);
    let mut depths: TiVec<BlockId, u32> = ti_vec![0; work.function.blocks.len()];
    for &block in cfg.order() {
        depths[block] = loops.depth(block);
        for &successor in &work.function.block(block).successors {
            if successor < inputs.pressure.next_key() {
                continue;
            }
            let [behind] = work.function.block(successor).successors[..] else { continue };
            let mut common = innermost(block);
            while let Some(index) = common.filter(|&index| !loops.contains(index, behind)) {
                common = loops.loops[index].parent;
            }
            depths[successor] = common.map_or(0, |index| loops.loops[index].depth);
        }
    }
    depths
}

/// Allocates again, with fewer registers but at least `floor`, then with LRU assignment. Fewer than `enough` are worth
/// nothing. `before` is the function without general registers that the inputs describe; `work` holds the first
/// allocation, and then the best one.
pub fn improve(work: &mut Work, before: Work, inputs: &ScanInputs, [floor, enough]: [u16; 2]) {
    let first = Cost::of(work, inputs).and(FEWER_BUDGET);
    let mut highest = work.highest();
    while highest > nameable(FEWEST).max(floor).max(enough) {
        let limit = nameable((allocated(highest) - 1) / UNIT * UNIT).max(floor);
        // Above the limit, values are spilled, which was not requested. A function that already spills in the parts
        // that released registers may need no more spills.
        let in_parts = first.memory > 0 && inputs.grants.is_some();
        if !in_parts && inputs.held > usable(&before, limit).len() {
            break;
        }
        let trial = start(&before, inputs);
        let Some(trial) = attempt(trial, Some(&before), inputs, limit, false, first) else {
            break;
        };
        highest = trial.highest();
        *work = trial;
    }
    let best = Cost::of(work, inputs).and(LRU_BUDGET);
    if let Some(trial) = attempt(before, None, inputs, highest, true, best) {
        *work = trial;
    }
}

/// A new start from the same function. Instructions are copied block by block as the scan reaches them: an attempt
/// that is given up early copies no more than it has visited.
pub fn start(before: &Work, inputs: &ScanInputs) -> Work {
    before.without(|block| inputs.graph.cfg().is_reachable(block))
}

/// An allocation within a limit and a cost, if there is one.
fn attempt(
    mut trial: Work,
    before: Option<&Work>,
    inputs: &ScanInputs,
    limit: u16,
    least_recently_used: bool,
    budget: CostBudget,
) -> Option<Work> {
    general(&mut trial, before, inputs, limit, least_recently_used, Some(budget)).ok()?;
    let cost = Cost::of(&trial, inputs);
    (cost.memory <= budget.memory && cost.moves <= budget.moves).then_some(trial)
}
