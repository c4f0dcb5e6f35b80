//! The locations of an MMA's block scale factors.
//!
//! A row of `a` and a column of `b` have one, two or four of them, each a byte, side by side in the register of one
//! lane. Of the four lanes of a group two have those of `a`, one for each of its two rows: the first pair or the second
//! one. One lane has those of `b`. The selectors of the lanes, and of the first byte in the register, are the same in
//! all lanes.
//!
//! Source: PTX ISA, "Block scaling for mma".

use super::Registers;
use super::sum::{Finite, Layout, Number};

/// The scale factor of a block of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// A power of two, by its exponent.
    UE8M0,
    /// An unsigned FP8 value.
    UE4M3,
}

/// The block scaling of an MMA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scaling {
    /// Factors of a row or column.
    pub factors: usize,
    /// Their type.
    pub scale: Scale,
}

impl Scale {
    fn number(self, bits: u64) -> Number {
        match self {
            Scale::UE4M3 => Layout::E4M3.number(bits & 0x7f),
            Scale::UE8M0 if bits == 0xff => Number::NaN,
            Scale::UE8M0 => Number::Finite(Finite {
                negative: false,
                significand: 1,
                exponent: bits as i32 - 127,
                fraction: 0,
            }),
        }
    }
}

impl Scaling {
    /// The factors of a row of `a` and of a column of `b`, block by block.
    pub(super) fn blocks(
        self,
        [a, places_a, b, places_b]: [&Registers; 4],
        row: usize,
        column: usize,
    ) -> Vec<[Number; 2]> {
        let place = |places: &Registers| {
            let named = |at: usize| places[0].get(at).map_or(0, |&number| number as usize);
            (named(0), named(1))
        };
        let ((byte_a, pair), (byte_b, lane)) = (place(places_a), place(places_b));
        let word = |registers: &Registers, lane: usize| registers[lane].first().copied().unwrap_or(0);
        let left = word(a, row % 8 * 4 + pair % 2 * 2 + row / 8);
        let right = word(b, column * 4 + lane % 4);
        // The first byte is a multiple of the number of factors.
        let factor = |word: u64, first: usize, block: usize| {
            let first = first % 4 / self.factors * self.factors;
            self.scale.number(word >> (8 * (first + block)) & 0xff)
        };
        (0..self.factors).map(|block| [factor(left, byte_a, block), factor(right, byte_b, block)]).collect()
    }
}
