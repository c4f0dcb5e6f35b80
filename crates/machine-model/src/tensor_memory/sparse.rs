//! The elements of a row that a sparse left factor stores.
//!
//! Metadata are in tensor memory: a bit for each element of a row of 16 or 8 bits, two for a 32-bit one, half of one
//! for a 4-bit one.

use super::memory::{Address, Fault, HALF, TensorMemory, Touched};

/// Rows that share a half of the lanes of a warp, and are paired.
const PAIR: u32 = 8;

/// The positions of the stored elements in a row of `depth` elements of `bits` bits. `lane` is the one that computes
/// the row.
pub(super) fn positions(
    memory: &TensorMemory,
    metadata: Address,
    selector: u32,
    [lane, depth, bits]: [u32; 3],
    touched: &mut Touched,
) -> Result<Vec<usize>, Fault> {
    let mut word = |lane: u32, column: u32| {
        let column = metadata.column + column;
        touched.insert((lane / HALF, column));
        memory.read(lane, column)
    };
    // Wide elements: a lane has 16 bits of two rows, the lower lanes for the first half of the columns. Narrow ones: a
    // lane has its whole row.
    let said = if bits >= 16 {
        let (first, row) = (lane / HALF * HALF, lane % HALF);
        let mut half = |part: u32| {
            let word = word(first + row % PAIR + PAIR * part, selector);
            word.map(|word| u64::from(word >> (16 * (row / PAIR)) & 0xffff))
        };
        half(0)? | half(1)? << 16
    } else {
        u64::from(word(lane, 0)?) | u64::from(word(lane, 1)?) << 32
    };
    let stored = depth as usize / 2;
    Ok((0..stored)
        .map(|at| match bits {
            // One of two; four bits select it, for both halves of an f32.
            32 => 2 * at + (said >> (4 * at) & 0b11) as usize / 2,
            // Pairs, two of four.
            4 => 8 * (at / 4) + 2 * (said >> (2 * (at / 2)) & 0b11) as usize + at % 2,
            _ => 4 * (at / 2) + (said >> (2 * at) & 0b11) as usize,
        })
        .collect())
}
