//! The profile of a launch: each instruction with its figures, and the faults, most costly first. Costs are found here, by
//! replays; where a fault is looked for is the matter of other files.

use crate::candidate::{Candidate, Cost, Question};
use crate::code::{By, Code, Place};
use crate::kinds::Kind;
use crate::machine::NextStep;
use crate::{access, machine, waits};
use oriole_chip::{Limiter, Usage};
use oriole_timing::{Bound, Estimate, Recording, Remedy, Shape};

/// Most candidates whose cost is found by a replay, and most of them where a replay takes long.
const REPLAYS: usize = 16;
const FEW_REPLAYS: usize = 6;
/// Recorded warp instructions from which on a replay takes long.
const LONG: usize = 400_000;

/// A fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// The share of the time that it costs.
    pub share: f64,
    /// The same in cycles.
    pub cycles: f64,
    /// Where it is, if it is somewhere.
    pub place: Option<Place>,
    /// Further places.
    pub further: Vec<Place>,
    /// Offsets of its instructions.
    pub offsets: Vec<u32>,
    /// In words, without the place.
    pub words: String,
}

/// An instruction with its figures.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Index in the code.
    pub index: usize,
    /// How it accessed memory.
    pub shape: Shape,
    /// Its place in the chosen text.
    pub place: Place,
}

/// A profile.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// The time, and the waits of each instruction.
    pub estimate: Estimate,
    /// The instructions that ran.
    pub rows: Vec<Row>,
    /// The faults, most costly first.
    pub findings: Vec<Finding>,
    /// By which text places are named.
    pub by: By,
    /// Resources of the kernel.
    pub usage: Usage,
    /// Warps of an SM, and most of them.
    pub warps: (u32, u32),
    /// Their limit.
    pub limiter: Limiter,
    /// How to have a block more.
    pub next_step: Option<NextStep>,
}

impl Finding {
    /// Advice.
    pub fn advice(&self) -> &'static str {
        self.kind.row().advice
    }
}

/// Profiles a launch that has run.
pub fn profile(recording: &Recording, code: &Code, by: By) -> Profile {
    profile_with(recording, code, by, &|| false).0
}

/// The same, unless `stop` becomes true, and stays so, before it is done: then there is no profile.
pub fn profile_until(recording: &Recording, code: &Code, by: By, stop: &dyn Fn() -> bool) -> Option<Profile> {
    if stop() {
        return None;
    }
    let (profile, whole) = profile_with(recording, code, by, stop);
    whole.then_some(profile)
}

/// The profile, and whether all candidates were asked about.
fn profile_with(recording: &Recording, code: &Code, by: By, stop: &dyn Fn() -> bool) -> (Profile, bool) {
    let estimate = recording.with_until(&Remedy::default(), stop);
    let question = Question { code, recording, estimate: &estimate };
    let mut candidates = access::candidates(&question);
    candidates.extend(machine::candidates(&question));
    candidates.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let (_, size) = recording.size();
    candidates.truncate(if size > LONG { FEW_REPLAYS } else { REPLAYS });
    let mut found: Vec<(Candidate, f64)> = Vec::new();
    let mut cured = Remedy::default();
    let mut whole = true;
    for candidate in candidates {
        whole = whole && !stop();
        if !whole {
            break;
        }
        let share = match &candidate.cost {
            Cost::Share(share) => *share,
            Cost::Without(remedy) => {
                1.0 - recording.with_until(remedy, stop).cycles / estimate.cycles.max(1.0)
            }
        };
        if share >= candidate.kind.row().least {
            if let Cost::Without(remedy) = &candidate.cost {
                cured = cured.and(remedy);
            }
            found.push((candidate, share));
        }
    }
    let waits = if whole { remaining(&question, &cured, stop) } else { None };
    whole = waits.is_some();
    found.extend(waits.unwrap_or_default());
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.kind.cmp(&b.0.kind)));
    let findings =
        found.into_iter().map(|(candidate, share)| finding(&question, candidate, share, by)).collect();
    let next_step = machine::next_step(&question);
    let rows = rows(&question, by);
    let profile = Profile {
        rows,
        findings,
        by,
        usage: recording.usage,
        warps: (recording.occupancy.warps, recording.limits.warps_per_sm),
        limiter: recording.occupancy.limiter,
        next_step,
        estimate,
    };
    (profile, whole && !stop())
}

/// Waits that are left when all else is put right, with what they cost then; `None` if it was stopped.
fn remaining(question: &Question, cured: &Remedy, stop: &dyn Fn() -> bool) -> Option<Vec<(Candidate, f64)>> {
    let recording = question.recording;
    let better = recording.with_until(cured, stop);
    if better.bound != Bound::Latency {
        return Some(Vec::new());
    }
    let after = Question { estimate: &better, ..*question };
    let mut found = Vec::new();
    for candidate in waits::candidates(&after) {
        if stop() {
            return None;
        }
        let Cost::Without(remedy) = &candidate.cost else { continue };
        let best = recording.with_until(&cured.and(remedy), stop).cycles;
        let share = (better.cycles - best) / question.estimate.cycles.max(1.0);
        if share >= candidate.kind.row().least {
            found.push((candidate, share));
        }
    }
    Some(found)
}

fn finding(question: &Question, candidate: Candidate, share: f64, by: By) -> Finding {
    let Candidate { kind, mut at, words, .. } = candidate;
    let lines = &question.estimate.lines;
    let offset = |index: u32| lines.get(index as usize).map_or(0, |line| line.address);
    // The first is the one that costs most, where the fault has no order of its own.
    if !matches!(kind, Kind::Divergence | Kind::Latency | Kind::Dependence | Kind::Vector | Kind::Division) {
        let cost = |index: &u32| question.time(*index as usize) + lines[*index as usize].caused;
        if let Some(worst) = at.iter().copied().max_by_key(cost) {
            at.retain(|&index| index != worst);
            at.insert(0, worst);
        }
    }
    let mut places: Vec<Place> = Vec::new();
    let mut offsets = Vec::new();
    for &index in &at {
        let place = question.code.place(index as usize, offset(index), by);
        if places.len() < 64 && !places.contains(&place) {
            places.push(place);
        }
        offsets.push(offset(index));
    }
    let mut places = places.into_iter();
    let place = places.next();
    let cycles = share * question.estimate.cycles;
    Finding { kind, share, cycles, place, further: places.collect(), offsets, words }
}

fn rows(question: &Question, by: By) -> Vec<Row> {
    let lines = question.estimate.lines.iter().enumerate().filter(|(_, line)| line.issued > 0);
    let row = |(index, line): (usize, &oriole_timing::Line)| Row {
        index,
        shape: question.recording.shapes()[index].clone(),
        place: question.code.place(index, line.address, by),
    };
    lines.map(row).collect()
}
