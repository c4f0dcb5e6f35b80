//! The elements that rows of a sparse matrix keep, from the metadata of `mma.sp`.
//!
//! Source: PTX ISA, "Sparse matrix storage" and the figures of metadata; this is the rule of those figures. A row's
//! indices are a string of bits, two for each index, first one lowest. For elements of 16 bits or more a lane has
//! sixteen bits of the string of each of its two rows; for narrower ones 32 bits of one row's.

use super::Registers;

/// The selector, and the shape of the matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sparsity {
    /// The lanes of each group of four that have the metadata.
    pub selector: u32,
    /// Bits of an element.
    pub bits: u32,
    /// Columns of the whole matrix.
    pub depth: u32,
}

impl Sparsity {
    /// Columns of the elements that a row keeps, in their order.
    pub fn columns(self, metadata: &Registers, row: usize) -> Vec<usize> {
        let string = self.string(metadata, row);
        let index = |at: usize| (string >> (2 * at) & 3) as usize;
        let depth = self.depth as usize;
        match self.bits {
            // Of two elements one, which has two indices: those of its halves.
            32 => (0..depth / 2).map(|chunk| 2 * chunk + usize::from(index(2 * chunk) >= 2)).collect(),
            // Of eight elements two pairs.
            4 => {
                let pairs = (0..depth / 4).map(|pair| pair / 2 * 8 + 2 * index(pair));
                pairs.flat_map(|first| [first, first + 1]).collect()
            }
            // Of four elements two.
            _ => (0..depth / 2).map(|at| at / 2 * 4 + index(at)).collect(),
        }
    }

    /// The indices of a row.
    fn string(self, metadata: &Registers, row: usize) -> u64 {
        let group = &metadata[row % 8 * 4..][..4];
        let word = |lane: u32| group[lane as usize % 4].first().copied().unwrap_or(0) & u64::from(u32::MAX);
        let upper = row >= 8;
        // Two bits for each kept element; a pair of 4-bit ones counts once, a 32-bit one twice.
        let length = match self.bits {
            32 => 2 * self.depth,
            4 => self.depth / 2,
            _ => self.depth,
        };
        if self.bits >= 16 {
            let parts = length / 16;
            let part = |at: u32| word(self.selector * parts + at) >> if upper { 16 } else { 0 };
            return (0..parts).fold(0, |string, at| string | (part(at) & 0xffff) << (16 * at));
        }
        let part = |at: u32| word(2 * (self.selector + at) + u32::from(upper));
        (0..length / 32).fold(0, |string, at| string | part(at) << (32 * at))
    }
}
