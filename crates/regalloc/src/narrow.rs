//! Other allocations of the general registers than the first one, where they cost next to nothing.
//!
//! * Fewer registers: the scan takes whatever is free, and aligned tuples leave holes. With a limit it packs more closely,
//!   at the price of moves, and makes constants anew instead of keeping them. Registers are handed out by eights, so
//!   that only whole steps are tried.
//! * Rested registers: with the number settled, registers that nobody touched for long are taken first. Instructions
//!   that have nothing to do with each other then do not wait for each other's registers, and the order after
//!   allocation has more to choose from.

use crate::place::general;
use crate::scan::{Facts, Patience, weight};
use crate::work::Work;
use oriole_ori::BlockId;

/// Fewer registers than this are not asked for.
const FEWEST: u16 = 16;

/// Registers are handed out in units of so many.
const UNIT: u16 = 8;

/// Fewer registers are worth so many thousandths more instructions, loops counted eightfold.
const WORTH_FEWER: u64 = 20;

/// Rested registers are worth so many thousandths.
const WORTH_RESTED: u64 = 5;

/// What an allocation costs.
struct Cost {
    /// Moves and other instructions that the allocator put in, loops counted eightfold.
    moves: u64,
    /// All instructions, counted likewise.
    all: u64,
    /// Accesses to the frame that it put in.
    memory: u32,
}

impl Cost {
    fn of(work: &Work, facts: &Facts) -> Cost {
        let mut cost = Cost { moves: 0, all: 0, memory: work.stores + work.loads };
        let depths = depths(work, facts);
        for (marks, depth) in work.inserted.iter().zip(depths) {
            cost.moves += weight(depth) * marks.iter().filter(|mark| **mark).count() as u64;
            cost.all += weight(depth) * marks.len() as u64;
        }
        cost
    }

    /// What another one may cost to be hardly more.
    fn and(&self, thousandths: u64) -> Patience {
        Patience { moves: self.moves + self.all * thousandths / 1000, memory: self.memory }
    }
}

/// How many loops each block lies in: a block on an edge in those that both ends lie in.
fn depths(work: &Work, facts: &Facts) -> Vec<u32> {
    let innermost = |block: BlockId| facts.loops.innermost(block);
    let mut depths: Vec<u32> = vec![0; work.function.blocks.len()];
    for &block in facts.cfg.order() {
        depths[block.0 as usize] = facts.loops.depth(block);
        for &successor in &work.function.block(block).successors {
            if (successor.0 as usize) < facts.pressure.len() {
                continue;
            }
            let [behind] = work.function.block(successor).successors[..] else { continue };
            let mut common = innermost(block);
            while let Some(index) = common.filter(|&index| !facts.loops.contains(index, behind)) {
                common = facts.loops.loops[index].parent;
            }
            depths[successor.0 as usize] = common.map_or(0, |index| facts.loops.loops[index].depth);
        }
    }
    depths
}

/// Allocates again, with fewer registers but at least `floor`, then with rested ones. `before` is the function without
/// general registers, which the facts are about; `work` holds the first allocation, and then the best one.
pub fn improve(work: &mut Work, before: Work, facts: &Facts, floor: u16) {
    let first = Cost::of(work, facts).and(WORTH_FEWER);
    let mut highest = work.highest();
    while highest > FEWEST.max(floor) {
        let limit = (highest - 1) / UNIT * UNIT;
        let trial = start(&before, facts);
        let Some(trial) = attempt(trial, Some(&before), facts, limit.max(floor), false, first) else { break };
        highest = trial.highest();
        *work = trial;
    }
    let best = Cost::of(work, facts).and(WORTH_RESTED);
    if let Some(trial) = attempt(before, None, facts, highest, true, best) {
        *work = trial;
    }
}

/// Another start from the same function. Instructions are copied block by block as the scan comes to them: one that is
/// given up early copies no more than it has seen.
pub fn start(before: &Work, facts: &Facts) -> Work {
    before.without(|block| facts.cfg.is_reachable(block))
}

/// An allocation within a limit and a cost, if there is one.
fn attempt(
    mut trial: Work,
    before: Option<&Work>,
    facts: &Facts,
    limit: u16,
    spread: bool,
    patience: Patience,
) -> Option<Work> {
    general(&mut trial, before, facts, limit, spread, Some(patience)).ok()?;
    let cost = Cost::of(&trial, facts);
    (cost.memory <= patience.memory && cost.moves <= patience.moves).then_some(trial)
}
