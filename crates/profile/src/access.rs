//! Faults of accesses to memory: distances between lanes, banks, atomic operations at one address, accesses that could be
//! one, spills and local variables. The shapes are those that `timing` has recorded.

use crate::candidate::{Candidate, Cost, Question, mean};
use crate::kinds::Kind;
use oriole_simulate::{AccessKind, Memory};
use oriole_timing::{Change, Neighbours, Remedy, Shape};
use std::collections::BTreeMap;

/// From how many times the least on an access takes too many sectors or wavefronts.
const TOO_MANY: f64 = 1.4;
/// From how many lanes or operations on an address is contended.
const CROWD: f64 = 2.0;
/// Operations of the grid at one address that a GPU does not notice.
const FEW_OPERATIONS: u64 = 256;
/// Bytes of the widest access of a lane.
const WIDEST: u32 = 16;

/// Instructions with the same words are one fault.
type Groups = BTreeMap<(Kind, String), (Vec<u32>, f64)>;

/// All candidates.
pub(crate) fn candidates(question: &Question) -> Vec<Candidate> {
    let mut found = Vec::new();
    let vectors = vectors(question, &mut found);
    let mut groups = Groups::new();
    for (index, shape) in question.recording.shapes().iter().enumerate() {
        if shape.requests == 0 {
            continue;
        }
        let index = index as u32;
        match shape.access {
            Some((Memory::Global, AccessKind::Load | AccessKind::Store)) => {
                let in_vector =
                    vectors.get(&index).is_some_and(|width| shape.distance() == Some(i64::from(*width)));
                if !in_vector {
                    sectors(question, index, shape, &mut groups);
                }
            }
            Some((Memory::Shared, _)) => banks(question, index, shape, &mut groups),
            _ => {}
        }
    }
    for ((kind, words), (at, weight)) in groups {
        let change = match kind {
            Kind::Conflicts => Change::ConflictFree,
            Kind::SharedAtomics => Change::Apart,
            _ => Change::Coalesced,
        };
        let cost = Cost::Without(Remedy::of(change, at.iter().copied()));
        found.push(Candidate { kind, at, cost, weight, words });
    }
    found.extend(atomics(question));
    found.extend(local(question));
    found
}

fn is(shape: &Shape, memory: Memory, kind: AccessKind) -> bool {
    shape.access == Some((memory, kind)) && shape.requests > 0
}

fn add(groups: &mut Groups, kind: Kind, words: String, index: u32, weight: u64) {
    let group = groups.entry((kind, words)).or_default();
    group.0.push(index);
    group.1 += weight as f64;
}

/// Sectors of an access to global memory.
fn sectors(question: &Question, index: u32, shape: &Shape, groups: &mut Groups) {
    let excess = shape.sectors - shape.least_sectors.min(shape.sectors);
    if excess == 0 {
        return;
    }
    let loads = shape.access.is_some_and(|access| access.1 == AccessKind::Load);
    let operation = question.operation(index);
    let (took, least) = (mean(shape.sectors, shape.requests), mean(shape.least_sectors, shape.requests));
    let verb = if loads { "loads" } else { "stores" };
    let base = format!("{operation} {verb} {took} sectors of 32 bytes where {least} would do");
    if (shape.sectors as f64) < TOO_MANY * shape.least_sectors as f64 {
        if excess <= shape.requests {
            let words = format!("{base}: the accesses of a warp do not begin at a sector");
            add(groups, Kind::Misaligned, words, index, excess);
        }
        return;
    }
    let access = if loads { "read" } else { "write" };
    match shape.distance() {
        Some(distance) if distance.unsigned_abs() > u64::from(shape.bytes) => {
            let words =
                format!("{base}: neighbouring threads {access} {} bytes apart", distance.unsigned_abs());
            add(groups, Kind::Strided, words, index, excess);
        }
        _ => {
            let words = format!("{base}: neighbouring threads {access} at unrelated places");
            add(groups, Kind::Scattered, words, index, excess);
        }
    }
}

/// Passes of an access to shared memory.
fn banks(question: &Question, index: u32, shape: &Shape, groups: &mut Groups) {
    let excess = shape.wavefronts - shape.least_wavefronts.min(shape.wavefronts);
    if (shape.wavefronts as f64) < TOO_MANY * shape.least_wavefronts as f64 {
        return;
    }
    let operation = question.operation(index);
    let crowd = shape.crowd as f64 / shape.requests as f64;
    if is(shape, Memory::Shared, AccessKind::Atomic) && crowd >= CROWD {
        let lanes = mean(shape.crowd, shape.requests);
        let words = format!("{operation}: {lanes} lanes of a warp at one address of shared memory");
        add(groups, Kind::SharedAtomics, words, index, excess);
        return;
    }
    let ways = mean(shape.wavefronts, shape.least_wavefronts);
    let (took, least) =
        (mean(shape.wavefronts, shape.requests), mean(shape.least_wavefronts, shape.requests));
    let apart = match shape.distance() {
        Some(distance) => format!(": neighbouring threads are {} bytes apart", distance.unsigned_abs()),
        None => String::new(),
    };
    let words =
        format!("{operation} has a {ways}-way bank conflict, {took} passes where {least} would do{apart}");
    add(groups, Kind::Conflicts, words, index, excess);
}

/// Contended atomic operations on global memory.
fn atomics(question: &Question) -> Option<Candidate> {
    let shapes = question.recording.shapes();
    let atomic = |index: &u32| is(&shapes[*index as usize], Memory::Global, AccessKind::Atomic);
    let at: Vec<u32> = (0..shapes.len() as u32).filter(atomic).collect();
    let sum = |of: fn(&Shape) -> u64| at.iter().map(|index| of(&shapes[*index as usize])).sum::<u64>();
    let (crowd, requests) = (sum(|shape| shape.crowd), sum(|shape| shape.requests));
    let operations = question.recording.crowd();
    if at.is_empty() || operations < FEW_OPERATIONS && (crowd as f64) < CROWD * requests as f64 {
        return None;
    }
    let first = at.iter().copied().max_by_key(|index| shapes[*index as usize].crowd)?;
    let words = format!(
        "{}: {operations} operations of the grid at one address, {} lanes of a warp at a time",
        question.operation(first),
        mean(crowd, requests)
    );
    let cost = Cost::Without(Remedy::of(Change::Apart, at.iter().copied()));
    Some(Candidate { kind: Kind::Atomics, at, cost, weight: f64::MAX, words })
}

/// Spills, and variables in local memory.
fn local(question: &Question) -> Vec<Candidate> {
    let spill = |index: u32| question.code.rows.get(index as usize).is_some_and(|row| row.spill);
    let mut groups: [(Vec<u32>, u64, u64); 2] = Default::default();
    for (index, shape) in question.recording.shapes().iter().enumerate() {
        if let Some((Memory::Local, kind)) = shape.access
            && shape.requests > 0
        {
            let group = &mut groups[usize::from(!spill(index as u32))];
            group.0.push(index as u32);
            *(if kind == AccessKind::Load { &mut group.2 } else { &mut group.1 }) += shape.requests;
        }
    }
    let mut found = Vec::new();
    for (kind, (at, stores, loads)) in [Kind::Spills, Kind::Local].into_iter().zip(groups) {
        if at.is_empty() {
            continue;
        }
        let words = if kind == Kind::Spills {
            let mut names = question.code.spilled.clone();
            let more = names.len().saturating_sub(4);
            names.truncate(4);
            let whose = if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) };
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("registers are spilled{whose}{more}: warps did {stores} spill stores and {loads} reloads")
        } else {
            format!(
                "{}: a local array is indexed at run time, so it is in memory: {stores} stores and {loads} loads of warps",
                question.operation(at[0])
            )
        };
        let cost = Cost::Without(Remedy::of(Change::Absent, at.iter().copied()));
        found.push(Candidate { kind, at, cost, weight: (stores + loads) as f64, words });
    }
    found
}

/// Neighbouring accesses of a thread that could be one. Returns the bytes of the whole for each instruction.
fn vectors(question: &Question, found: &mut Vec<Candidate>) -> BTreeMap<u32, u32> {
    let shapes = question.recording.shapes();
    // Each instruction has one that follows, at most.
    let mut next: BTreeMap<u32, u32> = BTreeMap::new();
    let mut has_one_before: BTreeMap<u32, u32> = BTreeMap::new();
    for (&Neighbours { low, high }, &count) in question.recording.neighbours() {
        let (first, second) = (&shapes[low as usize], &shapes[high as usize]);
        let always = count * 10 >= first.requests * 9 && first.requests == second.requests;
        if always && !next.contains_key(&low) && !has_one_before.contains_key(&high) {
            next.insert(low, high);
            has_one_before.insert(high, low);
        }
    }
    let mut widths = BTreeMap::new();
    let mut groups: BTreeMap<String, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
    for &head in next.keys().filter(|low| !has_one_before.contains_key(low)) {
        let chain: Vec<u32> = std::iter::successors(Some(head), |at| next.get(at).copied()).collect();
        let mut rest = &chain[..];
        while let [first, ..] = rest {
            let shape = &shapes[*first as usize];
            let most = (WIDEST.min(shape.alignment) / shape.bytes.max(1)).min(rest.len() as u32);
            let count = if most == 0 { 1 } else { 1 << most.ilog2() };
            let (group, behind) = rest.split_at(count as usize);
            rest = behind;
            if count < 2 {
                continue;
            }
            let width = count * shape.bytes;
            widths.extend(group.iter().map(|index| (*index, width)));
            let operation = question.operation(*first);
            let words = format!(
                "{count} times {operation} of a thread at neighbouring addresses, aligned to {width} bytes: one access of \
                 {width} bytes would do"
            );
            let of = groups.entry(words).or_default();
            of.0.extend(group);
            of.1.extend(&group[1..]);
        }
    }
    for (words, (at, further)) in groups {
        let weight = at.iter().map(|index| shapes[*index as usize].sectors).sum::<u64>() as f64;
        let cost = Cost::Without(Remedy::of(Change::Absent, further));
        found.push(Candidate { kind: Kind::Vector, at, cost, weight, words });
    }
    widths
}
