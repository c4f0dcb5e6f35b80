//! `HMMA.884`: four f16 MMAs of shape 8x8x4, one in each quarter of the warp, done in steps. Each step computes a pair
//! of registers of the accumulator.
//!
//! A quarter is lanes `4q..4q + 4` and `4q + 16..4q + 20`. The layout of elements in registers is that of `mma.m8n8k4`
//! in the PTX manual.

use super::context::Context;
use super::matrix::{Steps, Term};
use crate::launch::Fault;
use crate::number::{F16, F32, Format, Round};
use crate::warp::Lanes;
use oriole_sass::register::RZ;
use oriole_sass::{Mod, OperandKind};

const DEPTH: usize = 4;
const SIDE: usize = 8;

/// The place of an element: its lane, the pair of registers, which of the two, and its lowest bit.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    lane: usize,
    pair: usize,
    word: usize,
    shift: usize,
}

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    let steps = [Mod::STEP0, Mod::STEP1, Mod::STEP2, Mod::STEP3];
    let step = steps.iter().position(|&step| context.has(step)).ok_or_else(|| context.refuse())?;
    let format = |is_single: bool| if is_single { F32 } else { F16 };
    let (to, from) = (format(context.has(Mod::F32)), format(context.has(Mod::F32_2)));
    let [left, right, sum] = [1, 2, 3].map(|index| pair(context, index));
    let (left, right, sum) = (left?, right?, sum?);
    let by_columns = [1, 2].map(|index| context.instruction.operands[index].has(Mod::COL));
    let negated = (1..3).filter(|&index| context.instruction.operands[index].negate).count() == 1;
    let unit = context.launch_context.matrix_unit;
    let unit = Steps::new(&unit, F16.bits(), false).ok_or_else(|| context.refuse())?;
    let half = |words: &[Lanes; 2], (lane, at): (usize, usize)| {
        Term::of(F16, u64::from(words[at / 2][lane] >> (16 * (at % 2)) & 0xffff))
    };
    let mut result = [[0; 32]; 2];
    for (quarter, row, column) in elements() {
        let place = in_sum(to, quarter, row, column);
        if place.pair != step {
            continue;
        }
        let terms: Vec<Term> = (0..DEPTH)
            .map(|at| {
                let a = half(&left, in_factor(by_columns[0], quarter, row, at));
                // A column of the right factor is stored like a row of the left one.
                let b = half(&right, in_factor(!by_columns[1], quarter, column, at));
                let value = a.value * b.value;
                Term { value: if negated { -value } else { value }, exponent: a.exponent + b.exponent }
            })
            .collect();
        let own = in_sum(from, quarter, row, column);
        let mask = if from == F32 { u64::from(u32::MAX) } else { 0xffff };
        let c = u64::from(sum[own.word][own.lane] >> own.shift) & mask;
        let c = if from == to { c } else { to.of_f64(from.to_f64(c), Round::Nearest) };
        let value = terms.chunks(unit.depth).fold(c, |c, terms| unit.add(to, terms, c));
        result[place.word][place.lane] |= (value as u32) << place.shift;
    }
    context.write_tuple(0, &result)
}

/// Quarter, row and column of every element of the four accumulators.
fn elements() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..4 * SIDE * SIDE).map(|n| (n / (SIDE * SIDE), n / SIDE % SIDE, n % SIDE))
}

/// The registers of an operand.
fn pair(context: &Context, index: usize) -> Result<[Lanes; 2], Fault> {
    match context.kind(index)? {
        OperandKind::Reg(RZ) => Ok([[0; 32]; 2]),
        OperandKind::Reg(first) => Ok([0, 1].map(|at| context.warp().read(first.saturating_add(at)))),
        _ => Err(context.refuse()),
    }
}

/// Lane and index of element `at` of a line: each lane has a line; or, transposed, each lane has that element of four
/// lines.
fn in_factor(transposed: bool, quarter: usize, line: usize, at: usize) -> (usize, usize) {
    let lane = 4 * quarter + line / 4 * 16;
    if transposed { (lane + at, line % 4) } else { (lane + line % 4, at) }
}

/// The place of an accumulator element: f32 values are spread over the lanes of a quarter; of f16 values a lane has a
/// row.
fn in_sum(format: Format, quarter: usize, row: usize, column: usize) -> Place {
    let lane = 4 * quarter + row / 4 * 16;
    if format == F32 {
        let number = (row & 2) + (column & 4) + column % 2;
        Place { lane: lane + row % 2 + (column & 2), pair: number / 2, word: number % 2, shift: 0 }
    } else {
        Place { lane: lane + row % 4, pair: column / 4, word: column / 2 % 2, shift: 16 * (column % 2) }
    }
}
