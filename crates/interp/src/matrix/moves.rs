//! Small matrices in shared memory, of rows of sixteen bytes, and their elements in the registers of a warp.

use super::fragment::Registers;

/// Bytes of a row of a small matrix: eight b16 elements.
pub const ROW_BYTES: usize = 16;

/// A row of a small matrix.
pub type Row = [u8; ROW_BYTES];

/// The register layout of small matrices, of rows of sixteen bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// Eight rows of b16: lane `4 r + q` has the elements `2 q` and `2 q + 1` of row `r`.
    Halves,
    /// As `Halves`, with column `r`.
    HalvesTransposed,
    /// Sixteen rows of bytes: lane `4 c + q` has the elements `4 q` to `4 q + 3` of column `c`, and after them of column
    /// `c + 8`.
    Bytes,
    /// Eight rows of bytes: lane `4 c + q` has the elements `2 q` and `2 q + 1` of column `c`, and after them of column `c + 8`.
    BytesInPairs,
    /// Eight rows, of which lane `4 r + q` has the bytes `4 q` to `4 q + 3` of row `r`.
    Words,
}

/// The layout of the elements of a row in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packed {
    /// Unpacked.
    Whole,
    /// Sixteen of six bits, and four ignored bytes.
    Six,
    /// Sixteen of four bits, and eight ignored bytes.
    Four,
}

impl Packed {
    /// The row with a byte for each element, whose upper bits are zero.
    pub fn spread(self, row: Row) -> Row {
        let bits = match self {
            Packed::Whole => return row,
            Packed::Six => 6,
            Packed::Four => 4,
        };
        let all = u128::from_le_bytes(row);
        std::array::from_fn(|at| (all >> (bits * at)) as u8 & ((1 << bits) - 1))
    }
}

impl Move {
    /// Rows of a matrix.
    pub fn rows(self) -> usize {
        if self == Move::Bytes { 16 } else { 8 }
    }

    /// Registers of a lane that a matrix fills.
    pub fn registers(self) -> usize {
        if self == Move::Bytes { 2 } else { 1 }
    }

    /// Row and byte in it of byte `part` of register `register` of a lane.
    fn place(self, lane: usize, register: usize, part: usize) -> (usize, usize) {
        let (line, member) = (lane / 4, lane % 4);
        let (half, byte) = (part / 2, part % 2);
        match self {
            Move::Halves | Move::Words => (line, 4 * member + part),
            Move::HalvesTransposed => (2 * member + half, 2 * line + byte),
            Move::Bytes => (4 * member + part, line + 8 * register),
            Move::BytesInPairs => (2 * member + byte, line + 8 * half),
        }
    }
}

/// The registers of matrices whose rows are given.
pub fn spread(rows: &[Row], way: Move) -> Registers {
    std::array::from_fn(|lane| {
        let registers = |matrix: &[Row]| -> Vec<u64> {
            let byte = |register, part| {
                let (row, at) = way.place(lane, register, part);
                u64::from(matrix[row][at]) << (8 * part)
            };
            (0..way.registers()).map(|register| (0..4).map(|part| byte(register, part)).sum()).collect()
        };
        rows.chunks_exact(way.rows()).flat_map(registers).collect()
    })
}

/// The rows of matrices whose registers are given: the inverse of [`spread`].
pub fn collect(registers: &Registers, way: Move) -> Vec<Row> {
    let count = registers.iter().map(Vec::len).max().unwrap_or(0);
    let mut rows = vec![[0; ROW_BYTES]; count / way.registers() * way.rows()];
    for (lane, values) in registers.iter().enumerate() {
        for (number, value) in values.iter().enumerate() {
            let (matrix, register) = (number / way.registers(), number % way.registers());
            for (part, byte) in value.to_le_bytes().into_iter().enumerate().take(4) {
                let (row, at) = way.place(lane, register, part);
                rows[matrix * way.rows() + row][at] = byte;
            }
        }
    }
    rows
}

/// A transposed b16 matrix.
pub fn transpose(registers: &Registers) -> Registers {
    spread(&collect(registers, Move::Halves), Move::HalvesTransposed)
}
