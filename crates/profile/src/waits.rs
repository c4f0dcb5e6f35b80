//! Waits that remain when all that was found is put right: for results of memory, and for results of arithmetic. They are
//! faults only where nothing is busy.

use crate::candidate::{Candidate, Cost, Question};
use crate::kinds::Kind;
use oriole_timing::{Change, Reason, Remedy};

/// Instructions count from this share of all cycles of warps on.
const SHARE: f64 = 0.04;
/// Most of them that are named as one fault.
const MOST: usize = 8;

/// Candidates, for a run in which all else is put right.
pub(crate) fn candidates(question: &Question) -> Vec<Candidate> {
    [latency(question), dependence(question)].into_iter().flatten().collect()
}

/// Warps of a scheduler, on average.
fn warps(question: &Question) -> f64 {
    let recording = question.recording;
    let (per_sm, _) = recording.size();
    let blocks = u64::from(question.estimate.resident).min(per_sm).max(1);
    let of_block = recording.usage.threads.div_ceil(recording.limits.warp_threads);
    blocks as f64 * f64::from(of_block) / 4.0
}

/// Loads and other results that come late.
fn latency(question: &Question) -> Option<Candidate> {
    let lines = &question.estimate.lines;
    let total = question.total() as f64;
    let mut at: Vec<u32> =
        (0..lines.len() as u32).filter(|&at| lines[at as usize].caused as f64 >= SHARE * total).collect();
    at.sort_by_key(|&index| std::cmp::Reverse(lines[index as usize].caused));
    at.truncate(MOST);
    let worst = &lines[*at.first()? as usize];
    let caused: u64 = at.iter().map(|&index| lines[index as usize].caused).sum();
    let words = format!(
        "latency: warps wait {:.0} cycles for each {}, {:.0} % of their time; {:.1} warps of a scheduler do not hide it",
        worst.caused as f64 / worst.issued.max(1) as f64,
        question.operation(at[0]),
        100.0 * caused as f64 / total,
        warps(question)
    );
    let cost = Cost::Without(Remedy::of(Change::Instant, at.iter().copied()));
    Some(Candidate { kind: Kind::Latency, at, cost, weight: caused as f64, words })
}

/// Chains of arithmetic.
fn dependence(question: &Question) -> Option<Candidate> {
    let lines = &question.estimate.lines;
    let stalled = |index: u32| lines[index as usize].waited[Reason::Stall as usize];
    let sum: u64 = (0..lines.len() as u32).map(stalled).sum();
    let share = sum as f64 / question.total() as f64;
    if share < SHARE {
        return None;
    }
    let mut at: Vec<u32> = (0..lines.len() as u32).filter(|&index| stalled(index) > 0).collect();
    at.sort_by_key(|&index| std::cmp::Reverse(stalled(index)));
    at.truncate(MOST);
    let words = format!(
        "each result of arithmetic is the operand of the next: warps wait for {:.0} % of their time, and {:.1} warps of a scheduler \
         do not hide it",
        100.0 * share,
        warps(question)
    );
    let remedy = Remedy::without_stalls();
    Some(Candidate { kind: Kind::Dependence, at, cost: Cost::Without(remedy), weight: sum as f64, words })
}
