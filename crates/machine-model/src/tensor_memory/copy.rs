//! Copies from shared to tensor memory.

use super::memory::{Address, Fault, HALF, TensorMemory, Touched};
use super::shared_matrix::{PIECE, Piece, SharedMatrix};

/// The shape of a copy, and its target lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyShape {
    /// `.128x256b`
    Lanes128Bits256,
    /// `.128x128b`
    Lanes128Bits128,
    /// `.4x256b`: a lane of each warp.
    Lanes4Bits256,
    /// `.64x128b.warpx2::02_13`
    Lanes64Warps02And13,
    /// `.64x128b.warpx2::01_23`
    Lanes64Warps01And23,
    /// `.32x128b.warpx4`
    Lanes32EachWarp,
}

/// Elements that are packed in shared memory: of each sixteen bytes the first ones hold sixteen elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Four bits: the middle of a byte (not confirmed).
    Four,
    /// Six bits: the lowest of a byte.
    Six,
}

/// A copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copy {
    /// Its shape.
    pub shape: CopyShape,
    /// The unpacking of elements to bytes.
    pub spread: Option<Spread>,
}

impl CopyShape {
    /// Lines in shared memory, pieces of a line, and the lanes that get a line.
    fn lines(self) -> (u32, u32, fn(u32) -> Vec<u32>) {
        match self {
            CopyShape::Lanes128Bits256 => (128, 2, |line| vec![line]),
            CopyShape::Lanes128Bits128 => (128, 1, |line| vec![line]),
            CopyShape::Lanes4Bits256 => (4, 2, |line| vec![32 * line]),
            CopyShape::Lanes64Warps02And13 => (64, 1, |line| vec![line, line + 64]),
            CopyShape::Lanes64Warps01And23 => {
                (64, 1, |line| [0, 32].map(|next| line / 32 * 64 + line % 32 + next).to_vec())
            }
            CopyShape::Lanes32EachWarp => (32, 1, |line| (0..4).map(|warp| line + 32 * warp).collect()),
        }
    }
}

impl Spread {
    fn apply(self, piece: u128) -> u128 {
        let (bits, place) = match self {
            Spread::Four => (4, 2),
            Spread::Six => (6, 0),
        };
        let element = |at: u32| piece >> (bits * at) & ((1 << bits) - 1);
        (0..PIECE as u32).fold(0, |whole, at| whole | element(at) << (8 * at + place))
    }
}

impl Copy {
    /// Copies for one block. Returns the pieces that were read, and the cells that were written.
    ///
    /// # Errors
    /// Cells or pieces that do not exist.
    pub fn execute(
        &self,
        memory: &mut TensorMemory,
        shared: &[Vec<u8>],
        rank: u32,
        address: Address,
        descriptor: u64,
    ) -> Result<(Vec<Piece>, Touched), Fault> {
        let source = SharedMatrix::of_one_part(descriptor)?;
        let (lines, width, lanes) = self.shape.lines();
        let (mut pieces, mut touched) = (Vec::new(), Touched::new());
        for (line, at) in (0..lines).flat_map(|line| (0..width).map(move |at| (line, at))) {
            let place = [line.into(), u64::from(at) * PIECE as u64];
            let piece = source.load(shared, rank, place, false, &mut pieces)?;
            let piece = self.spread.map_or(piece, |spread| spread.apply(piece));
            for lane in lanes(line) {
                for word in 0..4 {
                    let (lane, column) = (address.lane + lane, address.column + 4 * at + word);
                    memory.write(lane, column, (piece >> (32 * word)) as u32)?;
                    touched.insert((lane / HALF, column));
                }
            }
        }
        Ok((pieces, touched))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(copy: Copy) -> TensorMemory {
        let mut memory = TensorMemory::default();
        memory.allocate(32).unwrap();
        // Each line has its index in its first byte; distances of 128 and 2048 bytes, no swizzling.
        let mut shared = vec![0; 0x2000];
        (0..128).for_each(|line| shared[line * 16] = line as u8 + 1);
        shared[0x800] = 0xff;
        let descriptor = (0x80 >> 4) << 32 | (0x1000 >> 4) << 16;
        copy.execute(&mut memory, &[shared], 0, Address { lane: 0, column: 4 }, descriptor).unwrap();
        memory
    }

    #[test]
    fn lines_go_to_their_lanes() {
        let lanes = |shape, lanes: [u32; 4]| {
            let memory = copied(Copy { shape, spread: None });
            lanes.map(|lane| memory.read(lane, 4).unwrap())
        };
        assert_eq!(lanes(CopyShape::Lanes128Bits128, [0, 1, 64, 127]), [1, 2, 65, 128]);
        assert_eq!(lanes(CopyShape::Lanes4Bits256, [0, 1, 32, 96]), [1, 0, 2, 4]);
        assert_eq!(lanes(CopyShape::Lanes64Warps02And13, [5, 37, 69, 101]), [6, 38, 6, 38]);
        assert_eq!(lanes(CopyShape::Lanes64Warps01And23, [5, 37, 69, 101]), [6, 6, 38, 38]);
        assert_eq!(lanes(CopyShape::Lanes32EachWarp, [5, 37, 69, 101]), [6, 6, 6, 6]);
    }

    #[test]
    fn elements_become_bytes() {
        assert_eq!(Spread::Four.apply(0xf1), 0x3c04);
        assert_eq!(Spread::Six.apply(0b111111_000001_100000), 0x3f_01_20);
    }
}
