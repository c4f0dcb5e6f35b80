//! Zero columns: the right factor of an MMA may leave columns out, as a descriptor says.

use super::memory::LANES;

/// The zero columns of the right factor.
pub(super) struct ZeroColumns {
    bits: u64,
    /// Columns of a part of the mask.
    part: u32,
    /// Columns that the others are moved by.
    pub(super) shift: u32,
}

impl ZeroColumns {
    /// From a zero-column mask descriptor, for a result with this number of rows and columns.
    pub(super) fn new(bits: u64, rows: u32, columns: u32) -> ZeroColumns {
        let parts = (LANES / rows.min(LANES)).max(1);
        ZeroColumns { bits, part: columns / parts, shift: (bits >> 56 & 0x3f) as u32 }
    }

    /// Whether a column is zero.
    pub(super) fn has(&self, column: u32) -> bool {
        let field = |bit: u32, width: u32| (self.bits >> bit & ((1 << width) - 1)) as u32;
        if field(39, 1) == 0 {
            return false;
        }
        let (part, at) = (column / self.part, column % self.part);
        let [zeros, used] = [40, 48].map(|bit| field(bit, 8) + 1);
        let begins_zero = field(32 + part, 1) == 1;
        let place = (field(8 * part, 8) + at) % (zeros + used);
        if begins_zero { place < zeros } else { place >= used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_columns_are_those_of_the_manual() {
        let mask = |starts: u64, first: u64, rows, part: u32| {
            let bits = starts | first << 32 | 1 << 39 | 2 << 40 | 3 << 48;
            let zeros = ZeroColumns::new(bits, rows, 64);
            (0..7).fold(0, |mask, at| mask | u32::from(zeros.has(part * zeros.part + at)) << at)
        };
        assert_eq!(mask(0, 0, 128, 0), 0b111_0000);
        assert_eq!([0, 1].map(|part| mask(0, 1, 64, part)), [0b000_0111, 0b111_0000]);
        let fourth = [0, 1, 2, 3].map(|part| mask(0x01_02_01_00, 0b0011, 32, part));
        assert_eq!(fourth, [0b000_0111, 0b100_0011, 0b001_1100, 0b011_1000]);
    }
}
