//! `mma.m8n8k4` of f16: four MMAs of eight rows by eight columns, one for each quarter of a warp. Lanes `4 p` to
//! `4 p + 3` and those sixteen further on make quarter `p`.
//!
//! Today's chips have no such instruction. This computes the replacement sequence: a chain of f32 FMAs, to which `c` is
//! added. For an f16 accumulator the products of the last two terms are added before those of the first two, and the
//! sum is rounded once at the end.

use super::Registers;
use crate::value::soft::{self, Format};
use rustc_apfloat::Round;

/// Types and layouts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quarters {
    /// `a` is column by column.
    pub a_columns: bool,
    /// `b` is column by column.
    pub b_columns: bool,
    /// `c` is f16.
    pub half_in: bool,
    /// `d` is f16.
    pub half_out: bool,
}

const NEAREST: Round = Round::NearestTiesToEven;

impl Quarters {
    /// The registers of `d`.
    pub fn evaluate(&self, a: &Registers, b: &Registers, c: &Registers) -> Registers {
        let mut d: Registers = std::array::from_fn(|_| vec![0; if self.half_out { 4 } else { 8 }]);
        for quarter in 0..4 {
            for row in 0..8 {
                for column in 0..8 {
                    let terms: [u64; 4] = std::array::from_fn(|k| factor(a, self.a_columns, quarter, row, k));
                    let factors: [u64; 4] =
                        std::array::from_fn(|k| factor(b, !self.b_columns, quarter, column, k));
                    let (lane, number) = place(self.half_in, quarter, row, column);
                    let old = if self.half_in {
                        let half = c[lane].get(number / 2).map_or(0, |word| word >> (16 * (number % 2)));
                        soft::convert(Format::F16, Format::F32, half & 0xffff, NEAREST)
                    } else {
                        c[lane].get(number).copied().unwrap_or(0)
                    };
                    let sum = self.sum(terms, factors, old);
                    let (lane, number) = place(self.half_out, quarter, row, column);
                    if self.half_out {
                        let half = soft::convert(Format::F32, Format::F16, sum, NEAREST);
                        d[lane][number / 2] |= half << (16 * (number % 2));
                    } else {
                        d[lane][number] = sum;
                    }
                }
            }
        }
        d
    }

    fn sum(&self, a: [u64; 4], b: [u64; 4], c: u64) -> u64 {
        let f32 = Format::F32;
        let fused = |at: usize, sum: u64| soft::multiply_add(f32, a[at], b[at], sum, NEAREST);
        let plus = |x: u64, y: u64| soft::add(f32, x, y, NEAREST);
        let result = if self.half_out {
            let [first, last] = [0, 2].map(|at| fused(at + 1, soft::multiply(f32, a[at], b[at], NEAREST)));
            plus(plus(c, last), first)
        } else {
            plus(c, (0..4).fold(0, |sum, at| fused(at, sum)))
        };
        if f32.is_nan(result) { f32.canonical_nan() } else { result }
    }
}

/// Term `k` of line `line` (a row of `a`, a column of `b`) of a quarter, as an f32. A lane has a line, or, `across`,
/// four lines' elements of one `k`.
fn factor(registers: &Registers, across: bool, quarter: usize, line: usize, k: usize) -> u64 {
    let upper = if line >= 4 { 16 } else { 0 };
    let (lane, at) = if across { (k, line % 4) } else { (line % 4, k) };
    let word = registers[4 * quarter + upper + lane].get(at / 2).copied().unwrap_or(0);
    soft::convert(Format::F16, Format::F32, word >> (16 * (at % 2)) & 0xffff, NEAREST)
}

/// Lane and index of an element of the accumulator.
fn place(half: bool, quarter: usize, row: usize, column: usize) -> (usize, usize) {
    let first = 4 * quarter + if row >= 4 { 16 } else { 0 };
    if half {
        return (first + row % 4, column);
    }
    (first + row % 2 + (column & 2), (row & 2) | (column & 4) | (column % 2))
}
