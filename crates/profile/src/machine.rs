//! Faults of the use of an SM and of control flow: occupancy, the grid, slow units, barriers, divergence, divisions.

use crate::candidate::{Candidate, Cost, Question};
use crate::kinds::{Kind, counted};
use oriole_chip::{Limiter, Usage};
use oriole_latency::Unit;
use oriole_timing::{Bound, Change, Reason, Remedy};
use std::collections::BTreeMap;

/// Below this part of its lanes a warp has gone several ways.
const FEW_LANES: f64 = 0.8;
/// From how many times the average on the warp with most instructions holds up a barrier.
const UNEQUAL: f64 = 1.3;
/// Busy share from which special functions are asked about.
const BUSY: f64 = 0.5;
/// Instructions of a division, at least: what is shorter was something else.
const DIVISION: usize = 5;

/// All candidates.
pub(crate) fn candidates(question: &Question) -> Vec<Candidate> {
    let one = [
        occupancy(question),
        grid(question),
        tail(question),
        double(question),
        special(question),
        barrier(question),
        divergence(question),
        partial_warp(question),
        division(question),
    ];
    one.into_iter().flatten().collect()
}

fn candidate(kind: Kind, at: Vec<u32>, cost: Cost, words: String) -> Candidate {
    Candidate { kind, at, cost, weight: f64::MAX, words }
}

/// The next step of the occupancy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextStep {
    /// Registers of a thread, or bytes of shared memory, to give up.
    pub fewer: u32,
    /// The rest.
    pub left: u32,
    /// Blocks of an SM then.
    pub blocks: u32,
}

/// The next step of the occupancy.
pub(crate) fn next_step(question: &Question) -> Option<NextStep> {
    let recording = question.recording;
    let (usage, now) = (recording.usage, recording.occupancy);
    let of = |usage: Usage| recording.limits.occupancy(recording.chip.register_files(), usage).blocks;
    let found = |left: u32, fewer: u32, blocks: u32| Some(NextStep { fewer, left, blocks });
    match now.limiter {
        Limiter::Registers => (1..usage.registers.saturating_sub(15)).find_map(|fewer| {
            let left = usage.registers - fewer;
            let blocks = of(Usage { registers: left, ..usage });
            (blocks > now.blocks).then_some(())?;
            found(left, fewer, blocks)
        }),
        Limiter::SharedMemory => {
            let piece = recording.limits.shared_granularity.max(1);
            (1..=usage.shared / piece).find_map(|pieces| {
                let left = usage.shared - pieces * piece;
                let blocks = of(Usage { shared: left, ..usage });
                (blocks > now.blocks).then_some(())?;
                found(left, pieces * piece, blocks)
            })
        }
        Limiter::Warps | Limiter::Blocks => None,
    }
}

/// Few warps because of registers, shared memory or small blocks.
fn occupancy(question: &Question) -> Option<Candidate> {
    let recording = question.recording;
    let (usage, now) = (recording.usage, recording.occupancy);
    let (per_sm, _) = recording.size();
    if per_sm <= u64::from(now.blocks) || now.blocks == 0 {
        return None;
    }
    let warps = usage.threads.div_ceil(recording.limits.warp_threads).max(1);
    let by_warps = recording.limits.warps_per_sm / warps;
    let (kind, free) = match now.limiter {
        Limiter::Warps => return None,
        Limiter::Registers => (Kind::Registers, Usage { registers: 16, ..usage }),
        Limiter::SharedMemory => (Kind::SharedMemory, Usage { shared: 0, ..usage }),
        Limiter::Blocks => (Kind::SmallBlocks, usage),
    };
    let free = recording.limits.occupancy(recording.chip.register_files(), free).blocks;
    let most = if kind == Kind::SmallBlocks { by_warps } else { free };
    if most <= now.blocks {
        return None;
    }
    let of = format!("{} of {} warps of an SM", now.warps, recording.limits.warps_per_sm);
    let blocks = counted(u64::from(now.blocks), "block");
    let step = next_step(question);
    let words = match kind {
        Kind::Registers => {
            let next = step.map_or(String::new(), |step| {
                let registers = counted(u64::from(step.fewer), "register");
                format!("; {registers} fewer: {} blocks", step.blocks)
            });
            format!(
                "occupancy: {} registers of a thread leave room for {blocks}, {of}{next}",
                usage.registers
            )
        }
        Kind::SharedMemory => {
            let next = step.map_or(String::new(), |step| {
                format!("; {} bytes fewer: {} blocks", step.fewer, step.blocks)
            });
            format!("occupancy: {} bytes of shared memory leave room for {blocks}, {of}{next}", usage.shared)
        }
        _ => format!(
            "occupancy: an SM holds {blocks} at most, and those of {} threads are {of}; blocks of {} threads fill it",
            usage.threads,
            recording.limits.warps_per_sm / now.blocks * recording.limits.warp_threads
        ),
    };
    let remedy = Remedy::with_resident(most);
    Some(candidate(kind, Vec::new(), Cost::Without(remedy), words))
}

/// SMs without work.
fn grid(question: &Question) -> Option<Candidate> {
    let (sms, blocks) = (question.recording.chip_sms(), question.estimate.blocks);
    if blocks >= sms {
        return None;
    }
    let words =
        format!("the grid has {blocks} blocks and the chip {sms} SMs: {} of them have no work", sms - blocks);
    Some(candidate(Kind::SmallGrid, Vec::new(), Cost::Share(1.0 - blocks as f64 / sms as f64), words))
}

/// SMs without work at the end. Where memory is the bound, the others go faster then.
fn tail(question: &Question) -> Option<Candidate> {
    let estimate = question.estimate;
    let (per_sm, _) = question.recording.size();
    let resident = u64::from(estimate.resident.max(1));
    let slots = estimate.sms * resident;
    if estimate.blocks <= slots || matches!(estimate.bound, Bound::L2 | Bound::Memory | Bound::Atomics) {
        return None;
    }
    // Blocks that an SM holds at a time share it: only the blocks that it lacks count, unless they wait for themselves.
    let idle = match estimate.bound {
        Bound::Latency => {
            let waves = estimate.blocks.div_ceil(slots);
            1.0 - estimate.blocks as f64 / (waves * slots) as f64
        }
        _ => 1.0 - estimate.blocks as f64 / (estimate.sms * per_sm) as f64,
    };
    let words = format!(
        "tail: {} blocks, of which {slots} run at a time: the last ones leave {:.0} % of the SMs' time without work",
        estimate.blocks,
        100.0 * idle
    );
    Some(candidate(Kind::Tail, Vec::new(), Cost::Share(idle), words))
}

fn issued(question: &Question, wanted: impl Fn(u32) -> bool) -> (Vec<u32>, u64) {
    let lines = question.estimate.lines.iter().enumerate();
    let found: Vec<(u32, u64)> = lines
        .map(|(index, line)| (index as u32, line.issued))
        .filter(|&(index, issued)| issued > 0 && wanted(index))
        .collect();
    (found.iter().map(|found| found.0).collect(), found.iter().map(|found| found.1).sum())
}

/// f64 arithmetic where an SM has few units for it.
fn double(question: &Question) -> Option<Candidate> {
    if !question.recording.shares_double_unit() {
        return None;
    }
    let (at, count) = issued(question, |index| question.recording.is_slow(index).0);
    let first = at.first()?;
    let words = format!(
        "{}: {count} instructions of warps for 64-bit floating-point numbers, of which an SM of this chip computes two lanes in \
         a cycle",
        question.operation(*first)
    );
    let remedy = Remedy::of(Change::Quick, at.iter().copied());
    Some(candidate(Kind::Double, at, Cost::Without(remedy), words))
}

/// Special functions, if their unit is busy.
fn special(question: &Question) -> Option<Candidate> {
    let share = question.estimate.busy.iter().find(|part| part.0 == Bound::Unit(Unit::Special))?.1;
    let (at, count) = issued(question, |index| question.recording.is_slow(index).1);
    let first = at.iter().copied().max_by_key(|&index| question.estimate.lines[index as usize].issued)?;
    if share < BUSY {
        return None;
    }
    let words = format!(
        "{}: {count} special functions of warps keep their unit busy for {:.0} % of the time",
        question.operation(first),
        100.0 * share
    );
    let remedy = Remedy::of(Change::Quick, at.iter().copied());
    Some(candidate(Kind::Special, at, Cost::Without(remedy), words))
}

/// Warps that wait at a barrier for one that has more to do.
fn barrier(question: &Question) -> Option<Candidate> {
    let found = question.recording.imbalance();
    let (most, average) = found.values().fold((0.0, 0.0), |sum, of| (sum.0 + of.most, sum.1 + of.average));
    if average == 0.0 || most < UNEQUAL * average {
        return None;
    }
    let difference = |of: &oriole_timing::Imbalance| of.most - of.average;
    let worst = found.iter().max_by(|a, b| difference(a.1).total_cmp(&difference(b.1)))?;
    let waited = question.estimate.waited[Reason::Barrier as usize] as f64 / question.total() as f64;
    let words = format!(
        "barrier: before it the warp with most work has {:.1} times the instructions of the average one, and warps wait for {:.0} % \
         of their time",
        worst.1.most / worst.1.average.max(1.0),
        100.0 * waited
    );
    let cost = Cost::Share(waited * (1.0 - average / most));
    Some(candidate(Kind::Barrier, vec![*worst.0], cost, words))
}

/// Lanes of a whole warp: those of its first instructions.
fn whole(question: &Question) -> f64 {
    let first = question.estimate.lines.iter().find(|line| line.issued > 0);
    first.map_or(32.0, |line| line.lanes as f64 / line.issued as f64)
}

/// Code in which warps have few lanes.
fn divergence(question: &Question) -> Option<Candidate> {
    let (whole, total) = (whole(question), question.total() as f64);
    let (mut lost, mut at, mut lanes, mut count) = (0.0, Vec::new(), 0, 0);
    for (index, line) in question.estimate.lines.iter().enumerate().filter(|(_, line)| line.issued > 0) {
        let share = line.lanes as f64 / line.issued as f64 / whole;
        if share >= FEW_LANES {
            continue;
        }
        let barrier = line.waited[Reason::Barrier as usize];
        lost += (question.time(index) - barrier) as f64 * (1.0 - share);
        at.push(index as u32);
        (lanes, count) = (lanes + line.lanes, count + line.issued);
    }
    let worst = at.iter().copied().max_by_key(|&index| question.time(index as usize))?;
    at.retain(|&index| index != worst);
    at.insert(0, worst);
    let words = format!(
        "divergence: {count} instructions of warps have {:.1} of {whole:.0} lanes on average",
        lanes as f64 / count as f64
    );
    Some(candidate(Kind::Divergence, at, Cost::Share(lost / total), words))
}

/// Blocks that do not fill their last warp.
fn partial_warp(question: &Question) -> Option<Candidate> {
    let (threads, lanes) = (question.recording.usage.threads, question.recording.limits.warp_threads);
    let filled = threads.next_multiple_of(lanes);
    if filled == threads {
        return None;
    }
    let words = format!(
        "blocks of {threads} threads leave {} lanes of their last warp without work",
        filled - threads
    );
    let cost = Cost::Share(1.0 - f64::from(threads) / f64::from(filled));
    Some(candidate(Kind::PartialWarp, Vec::new(), cost, words))
}

/// True for a statement that divides integers by a register.
fn divides(statement: &str) -> bool {
    let Some(at) = ["div.u", "div.s", "rem.u", "rem.s"].iter().find_map(|name| statement.find(name)) else {
        return false;
    };
    let operands = statement[at..].split(',').collect::<Vec<_>>();
    operands.len() == 3 && operands[2].trim_start().starts_with('%')
}

/// Divisions of integers by divisors that are known at run time only.
fn division(question: &Question) -> Option<Candidate> {
    let mut lines: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut shared: Vec<u32> = Vec::new();
    for (index, row) in question.code.rows.iter().enumerate() {
        let ran = question.estimate.lines.get(index).is_some_and(|line| line.issued > 0);
        if ran && row.function.as_ref().is_some_and(|name| name.contains("div") || name.contains("rem")) {
            shared.push(index as u32);
        }
        if ran
            && let (Some(line), Some(statement)) = (row.ptx, question.code.statement(index))
            && divides(statement)
        {
            lines.entry(line).or_default().push(index as u32);
        }
    }
    lines.retain(|_, at| at.len() >= DIVISION || !shared.is_empty());
    let count = lines.len();
    let first = *lines.values().next()?.first()?;
    let mut at: Vec<u32> = lines.into_values().flatten().collect();
    let times = if count == 1 { String::new() } else { format!(" (and {} more)", count - 1) };
    at.extend(shared);
    let words = format!(
        "{}{times} divides by a value of run time, which takes {} instructions",
        question.operation(first),
        at.len() / count.max(1)
    );
    let remedy = Remedy::of(Change::Absent, at.iter().copied());
    Some(candidate(Kind::Division, at, Cost::Without(remedy), words))
}
