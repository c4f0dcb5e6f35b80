//! Collective instructions: shuffles, votes, matches and reductions over the participating lanes.

use crate::lane::members;
use crate::step::{CollectiveOperation, Reduction, Shuffle};
use crate::value::float::{self, FloatOperation, Mode};
use crate::value::soft::Format;

/// The two results of one lane; `mask` are the participating lanes, `operands` those of every lane.
pub fn evaluate(operation: CollectiveOperation, lane: u32, mask: u32, operands: &[[u64; 3]; 32]) -> [u64; 2] {
    let own = operands[lane as usize];
    let value = |lane: usize| operands[lane][0];
    let holds = |lane: &usize| operands[*lane][0] & 1 != 0;
    match operation {
        CollectiveOperation::Shuffle(shuffle) => {
            let (from, inside) = source_lane(shuffle, lane, own[1] as u32, own[2] as u32);
            // A lane that does not take part has no defined value; the reader keeps its own.
            let from = if mask >> from & 1 != 0 { from } else { lane };
            [value(from as usize), u64::from(inside)]
        }
        CollectiveOperation::VoteAll => [u64::from(members(mask).all(|lane| holds(&lane))), 0],
        CollectiveOperation::VoteAny => [u64::from(members(mask).any(|lane| holds(&lane))), 0],
        CollectiveOperation::VoteUniform => {
            let count = members(mask).filter(holds).count() as u32;
            [u64::from(count == 0 || count == mask.count_ones()), 0]
        }
        CollectiveOperation::Ballot => [members(mask).filter(holds).fold(0, |all, lane| all | 1 << lane), 0],
        CollectiveOperation::MatchAny(bits) => {
            let same = |other: &usize| cut(value(*other), bits) == cut(own[0], bits);
            [members(mask).filter(same).fold(0, |all, lane| all | 1 << lane), 0]
        }
        CollectiveOperation::MatchAll(bits) => {
            let all = members(mask).all(|other| cut(value(other), bits) == cut(own[0], bits));
            if all { [u64::from(mask), 1] } else { [0, 0] }
        }
        CollectiveOperation::Reduce(reduction) => {
            [u64::from(reduced(reduction, members(mask).map(|lane| value(lane) as u32))), 0]
        }
        CollectiveOperation::Synchronize => [0, 0],
        CollectiveOperation::Elect => {
            let leader = mask.trailing_zeros();
            [u64::from(leader), u64::from(leader == lane)]
        }
    }
}

/// The lane from which a lane with these operands gets the value of a shuffle.
pub fn shuffled_lane(shuffle: Shuffle, lane: u32, operands: &[u64; 3]) -> u32 {
    source_lane(shuffle, lane, operands[1] as u32, operands[2] as u32).0
}

fn cut(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

/// The result of a reduction.
pub fn reduced(reduction: Reduction, values: impl Iterator<Item = u32>) -> u32 {
    let mut values = values.map(|value| prepared(reduction, value));
    let first = values.next().unwrap_or(0);
    values.fold(first, |a, b| combine(reduction, a, b))
}

fn combine(reduction: Reduction, a: u32, b: u32) -> u32 {
    match reduction {
        Reduction::Add => a.wrapping_add(b),
        Reduction::MinimumSigned => (a as i32).min(b as i32) as u32,
        Reduction::MaximumSigned => (a as i32).max(b as i32) as u32,
        Reduction::MinimumUnsigned => a.min(b),
        Reduction::MaximumUnsigned => a.max(b),
        Reduction::And => a & b,
        Reduction::Or => a | b,
        Reduction::Xor => a ^ b,
        Reduction::Singles { minimum, propagate_nan, .. } => {
            let operation = if minimum { FloatOperation::Minimum } else { FloatOperation::Maximum };
            let mode = Mode { propagate_nan, ..Mode::default() };
            float::evaluate(operation, Format::F32, mode, a.into(), b.into(), 0) as u32
        }
    }
}

/// A value as the input of a reduction: if magnitudes of f32 values are compared, they lose their sign, and every NaN
/// becomes canonical.
fn prepared(reduction: Reduction, value: u32) -> u32 {
    let Reduction::Singles { magnitudes, .. } = reduction else { return value };
    let value = if magnitudes { value & !(Format::F32.sign() as u32) } else { value };
    if Format::F32.is_nan(value.into()) { Format::F32.canonical_nan() as u32 } else { value }
}

/// The lane that a shuffle reads, and whether it is inside the segment.
fn source_lane(shuffle: Shuffle, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let amount = b & 31;
    let segment = c >> 8 & 31;
    let clamp = c & 31;
    let lowest = lane & segment;
    let highest = lowest | (clamp & !segment);
    let (from, inside) = match shuffle {
        Shuffle::Up => {
            let from = i64::from(lane) - i64::from(amount);
            (from, from >= i64::from(highest))
        }
        Shuffle::Down => {
            let from = i64::from(lane + amount);
            (from, from <= i64::from(highest))
        }
        Shuffle::Butterfly => {
            let from = i64::from(lane ^ amount);
            (from, from <= i64::from(highest))
        }
        Shuffle::Index => {
            let from = i64::from(lowest | (amount & !segment));
            (from, from <= i64::from(highest))
        }
    };
    if inside { (from as u32 & 31, true) } else { (lane, false) }
}
