//! Matrix descriptors: where the lines of a factor are in shared memory, and how they are swizzled.

use super::memory::Fault;

/// Sixteen bytes of shared memory: swizzling moves no smaller unit.
pub const PIECE: usize = 16;

/// A piece of the shared memory of a block: its rank, and the address.
pub type Piece = (u32, u64);

/// Lowest bits of the fields of a shared memory descriptor.
const LEADING_BIT: u32 = 16;
const STRIDE_BIT: u32 = 32;
const BASE_BIT: u32 = 49;
const ABSOLUTE_BIT: u32 = 52;
const SWIZZLE_BIT: u32 = 61;
/// Bits of an address or a distance, in units of sixteen bytes.
const DISTANCE_BITS: u64 = 0x3fff;

/// Bytes of a row of the widest pattern; the rows of narrower ones share it.
const PATTERN_ROW: u64 = 128;

/// A matrix in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct SharedMatrix {
    start: u64,
    leading: u64,
    stride: u64,
    base: u64,
    /// Bytes of a row of a pattern: 16 without swizzling.
    width: u64,
    /// Bytes that swizzling does not split.
    atom: u64,
    /// The leading distance is the address of the data after the first 128 bytes.
    absolute: bool,
}

impl SharedMatrix {
    /// From a descriptor.
    ///
    /// # Errors
    /// An unknown swizzle mode, or one that does not allow a separate second part.
    pub fn new(descriptor: u64) -> Result<SharedMatrix, Fault> {
        let distance = |bit: u32| (descriptor >> bit & DISTANCE_BITS) << 4;
        let (width, atom) = match descriptor >> SWIZZLE_BIT {
            0 => (16, 16),
            1 => (PATTERN_ROW, 32),
            2 => (PATTERN_ROW, 16),
            4 => (64, 16),
            6 => (32, 16),
            other => {
                return Err(Fault::Operands(format!(
                    "no descriptor of shared memory swizzles in mode {other}"
                )));
            }
        };
        let base = descriptor >> BASE_BIT & 7;
        let absolute = descriptor >> ABSOLUTE_BIT & 1 == 1;
        if absolute && (width, atom, base) != (PATTERN_ROW, PIECE as u64, 0) {
            return Err(Fault::Operands(
                "a descriptor of shared memory names the address of a second part, and swizzles otherwise than \
                 16 of 128 bytes from the start of a pattern on"
                    .into(),
            ));
        }
        Ok(SharedMatrix {
            start: distance(0),
            leading: distance(LEADING_BIT),
            stride: distance(STRIDE_BIT),
            base,
            width,
            atom,
            absolute,
        })
    }

    /// As [`SharedMatrix::new`], for all MMAs but those of a depth of 96, which alone read a second part.
    ///
    /// # Errors
    /// As [`SharedMatrix::new`], or the descriptor names a second part.
    pub fn of_one_part(descriptor: u64) -> Result<SharedMatrix, Fault> {
        let matrix = SharedMatrix::new(descriptor)?;
        if matrix.absolute {
            Err(Fault::Operands(
                "a descriptor of shared memory names the address of a second part, which only products of a depth of 96 \
                 have"
                    .into(),
            ))
        } else {
            Ok(matrix)
        }
    }

    /// Address of the piece with these bytes of a line. A line of a transposed matrix runs across the depth, and the
    /// bytes along the other side.
    fn piece(&self, line: u64, byte: u64, transposed: bool) -> u64 {
        let byte = byte / PIECE as u64 * PIECE as u64;
        let plain = self.width == 16;
        // With 32-byte atoms a transposed pattern has four lines.
        let lines = if transposed && self.atom == 32 { 4 } else { 8 };
        let (beside, behind) = match (transposed, plain) {
            (false, true) => (byte / 16 * self.leading, self.stride),
            // A line continues in the second part where the 128 bytes that the matrix starts in end.
            (false, false) if self.absolute && self.start % PATTERN_ROW + byte >= PATTERN_ROW => {
                let over = self.start % PATTERN_ROW + byte - PATTERN_ROW;
                (self.leading.wrapping_sub(self.start).wrapping_add(over), self.stride)
            }
            (false, false) => (byte, self.stride),
            (true, true) => (byte / 16 * self.stride, self.leading),
            (true, false) => (byte / self.width * self.leading + byte % self.width, self.stride),
        };
        let place = line % lines * self.width + line / lines * behind;
        let address = self.start.wrapping_add(place).wrapping_add(beside);
        // The row within a pattern determines the place of an atom.
        let row = (address / PATTERN_ROW).wrapping_sub(self.base) % (self.width / self.atom);
        address ^ (row * self.atom)
    }

    /// The sixteen bytes of a line that contain a byte, in the shared memory of the block of a rank.
    pub(super) fn load(
        &self,
        shared: &[Vec<u8>],
        rank: u32,
        [line, byte]: [u64; 2],
        transposed: bool,
        pieces: &mut Vec<Piece>,
    ) -> Result<u128, Fault> {
        let address = self.piece(line, byte, transposed);
        let memory = shared.get(rank as usize).map_or(&[][..], Vec::as_slice);
        let start = usize::try_from(address).unwrap_or(usize::MAX);
        let bytes = start.checked_add(PIECE).and_then(|end| memory.get(start..end));
        let bytes: [u8; PIECE] =
            bytes.and_then(|bytes| bytes.try_into().ok()).ok_or(Fault::Shared(address))?;
        if pieces.last() != Some(&(rank, address)) {
            pieces.push((rank, address));
        }
        Ok(u128::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A descriptor with these distances and this swizzle mode.
    fn matrix(leading: u64, stride: u64, swizzle: u64) -> SharedMatrix {
        let bits =
            1 << 46 | swizzle << SWIZZLE_BIT | (stride >> 4) << STRIDE_BIT | (leading >> 4) << LEADING_BIT;
        SharedMatrix::new(bits | 0x400 >> 4).unwrap()
    }

    #[test]
    fn pieces_lie_as_the_canonical_layouts_say() {
        // ((8,m),(T,2k)):((1T,SBO),(1,LBO)) in pieces.
        let plain = matrix(0x800, 0x100, 0);
        assert_eq!(plain.piece(3, 0, false), 0x400 + 0x30);
        assert_eq!(plain.piece(9, 17, false), 0x400 + 0x110 + 0x800);
        // ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
        assert_eq!(plain.piece(9, 32, true), 0x400 + 0x10 + 0x800 + 0x200);
        // Swizzle<3,4,3>: row 2 of the pattern, pieces 5 and 7 are swapped.
        let whole = matrix(0x10, 0x400, 2);
        assert_eq!(whole.piece(2, 0x50, false), 0x400 + 0x100 + 0x70);
        assert_eq!(whole.piece(10, 0, false), 0x400 + 0x400 + 0x100 + 0x20);
        // Swizzle<1,4,3>
        assert_eq!(matrix(0x10, 0x100, 6).piece(5, 0, false), 0x400 + 0xa0 + 0x10);
        // Swizzle<2,5,2> over four lines.
        let wide = matrix(0x1000, 0x200, 1);
        assert_eq!(wide.piece(5, 0x30, true), 0x400 + 0x200 + 0x80 + 0x10);
        assert!(SharedMatrix::new(3 << SWIZZLE_BIT).is_err());
    }

    /// A line of 48 bytes that starts 32 bytes before the end of its 128 continues at the address of the second part.
    #[test]
    fn lines_go_on_in_a_second_part() {
        let bits = 1 << ABSOLUTE_BIT
            | 2 << SWIZZLE_BIT
            | (0x400 >> 4) << STRIDE_BIT
            | (0x8000 >> 4) << LEADING_BIT
            | (0x400 + 96) >> 4;
        let parts = SharedMatrix::new(bits).unwrap();
        assert_eq!(parts.piece(0, 16, false), 0x400 + 112);
        assert_eq!(parts.piece(0, 32, false), 0x8000);
        // Row 3 of the second group: both parts are swizzled by their addresses.
        assert_eq!(parts.piece(11, 16, false), 0x400 + 0x400 + 3 * 128 + (112 ^ 48));
        assert_eq!(parts.piece(11, 32, false), 0x8000 + 0x400 + 3 * 128 + 48);
        assert!(SharedMatrix::of_one_part(bits).is_err());
        assert!(SharedMatrix::new(bits ^ 6 << SWIZZLE_BIT).is_err());
        assert!(SharedMatrix::new(bits | 1 << BASE_BIT).is_err());
    }
}
