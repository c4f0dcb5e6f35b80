//! Weighs time against registers for a function as a whole, and selects a schedule for each of its blocks.
//!
//! It is here because the registers of a function are those of its block with the highest pressure: a budget is that of
//! all blocks. How a block is scheduled within it is not known here.

use crate::budget::Steps;
use crate::candidate::Candidate;
use crate::choice::Choice;
use oriole_chip::{allocated, nameable};
use oriole_options::{OrderOptions, ScheduleMode};

/// Free registers for gathering loads in batches.
const BATCH_BUDGET: u32 = 64;
/// Registers between the first budgets that are tried.
const STEP: u32 = 4;
/// Cost of a register in thousandths of the time. It is tuned so that real kernels need about as many registers as
/// with ptxas.
const PRICE: u64 = 28;
/// Registers that allocation mostly needs besides those of values: the stack pointer, and one for an even count.
const BESIDE: u32 = 2;
/// Loads in flight for which a step of the budget is taken.
const LOADS: u32 = 4;
/// Further steps that are tried for less time.
const TRIED: u32 = 4;
/// The time of a block of threads is shared by all that an SM holds; it is counted in such parts.
const SHARES: u64 = 1 << 16;

/// Selects a schedule for each block, within its limit of general registers if possible. `resident` gives the thread
/// blocks that an SM holds with a register count.
pub fn choose(
    candidates: &mut [Candidate],
    options: &OrderOptions,
    resident: &dyn Fn(u16) -> u32,
    limit: &dyn Fn(&Candidate) -> u32,
) -> Vec<Choice> {
    let limits = candidates.iter().map(limit);
    let budget = limits.clone().max().unwrap_or(0);
    // The minimum that all schedules need.
    let low = candidates.iter().map(|candidate| candidate.low.choice.registers());
    let least = low.zip(limits).map(|(low, limit)| low.min(limit)).max().unwrap_or(0);
    let (most, price) = match options.mode {
        ScheduleMode::Pressure => (least, PRICE),
        ScheduleMode::Latency => (budget, PRICE),
        ScheduleMode::Batches => (least.max(BATCH_BUDGET.min(budget)), 0),
    };
    let cost = |time: u64, more: u32| {
        let named = u16::try_from(least + more + BESIDE).unwrap_or(u8::MAX.into());
        let blocks = if price == 0 { 1 } else { resident(allocated(named)) };
        u128::from(time) * u128::from((1000 + price * u64::from(more)) * SHARES) / u128::from(blocks)
    };
    weigh(candidates, limit, [least, most], &cost)
}

/// Selects the fastest schedule of each block within the budget. Where a block needs more, or has too few loads in
/// flight, the budget of all is the next step; and where more registers save more time than the warps that they cost.
pub fn fill(candidates: &mut [Candidate], steps: &Steps, limit: &dyn Fn(&Candidate) -> u32) -> Vec<Choice> {
    let least = candidates.iter().map(|candidate| candidate.low.choice.registers()).max().unwrap_or(0);
    let needed = u16::try_from(least + BESIDE).map_or(u16::MAX, |named| allocated(named.min(u8::MAX.into())));
    let wanted: Vec<u32> = candidates.iter().map(|candidate| candidate.prepared.loads().min(LOADS)).collect();
    let weights: Vec<u64> = candidates.iter().map(|candidate| candidate.weight).collect();
    let quick: Vec<u32> = candidates.iter().map(|candidate| candidate.prepared.quick.time).collect();
    let mut within = |step: u16| {
        let general = u32::from(nameable(step)).saturating_sub(BESIDE);
        let chosen: Vec<Choice> = candidates
            .iter_mut()
            .map(|candidate| {
                let general = general.min(limit(candidate)).max(least);
                candidate.within(general)
            })
            .collect();
        let missing = candidates.iter().zip(&chosen).zip(&wanted).map(|((candidate, choice), &wanted)| {
            if wanted < 2 {
                0
            } else {
                wanted.saturating_sub(candidate.prepared.region.flight(&choice.order))
            }
        });
        let missing: u32 = missing.sum();
        (chosen, missing)
    };
    let mut step = steps.reached(needed.into());
    let (mut best, mut missing) = within(step);
    while missing > 0
        && let Some(next) = steps.after(step)
    {
        let (chosen, still) = within(next);
        if still >= missing {
            break;
        }
        (best, missing, step) = (chosen, still, next);
    }
    // Fewer warps hide less of the time that each takes: more registers are worth it where they save more of it.
    let cost = |step: u16, times: &mut dyn Iterator<Item = u32>| -> u128 {
        let time: u64 = weights.iter().zip(times).map(|(weight, time)| weight * u64::from(time)).sum();
        u128::from(time) * u128::from(step)
    };
    let mut least = cost(step, &mut best.iter().map(|choice| choice.time));
    for _ in 0..TRIED {
        let Some(next) = steps.after(step) else { break };
        if cost(next, &mut quick.iter().copied()) >= least {
            break;
        }
        let (chosen, _) = within(next);
        let now = cost(next, &mut chosen.iter().map(|choice| choice.time));
        if now < least {
            (best, least) = (chosen, now);
        }
        step = next;
    }
    best
}

/// Tries budgets from the least up to the most registers; returns the schedules of the cheapest one, by their time
/// and the registers beyond the least.
fn weigh(
    candidates: &mut [Candidate],
    limit: &dyn Fn(&Candidate) -> u32,
    [least, most]: [u32; 2],
    cost: &dyn Fn(u64, u32) -> u128,
) -> Vec<Choice> {
    let weights: Vec<u64> = candidates.iter().map(|candidate| candidate.weight).collect();
    let total = |times: &mut dyn Iterator<Item = u32>| -> u64 {
        weights.iter().zip(times).map(|(weight, time)| weight * u64::from(time)).sum()
    };
    let quickest = total(&mut candidates.iter().map(|candidate| candidate.prepared.quick.time));
    let mut best: Option<(u128, Vec<Choice>)> = None;
    let mut more = 0;
    loop {
        let budget = least + more;
        let of = |candidate: &Candidate| budget.min(limit(candidate));
        let chosen: Vec<Choice> =
            candidates.iter_mut().map(|candidate| candidate.within(of(candidate))).collect();
        let now = cost(total(&mut chosen.iter().map(|choice| choice.time)), more);
        if best.as_ref().is_none_or(|(known, _)| now < *known) {
            best = Some((now, chosen));
        }
        let quick = candidates.iter().all(|candidate| candidate.prepared.quick.registers() <= of(candidate));
        // Steps become wider: the ratio matters.
        more = (more + STEP.max((more / 2).next_multiple_of(STEP))).min(most - least);
        let done = quick || budget >= most;
        match best {
            Some((known, orders)) if done || cost(quickest, more) >= known => return orders,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
