//! Matrix operations of a warp: MMAs, and the moves of small matrices between registers and shared memory.
//!
//! These instructions take a list of registers from every lane, and the language defines the mapping of matrix elements
//! to them. Memory and control flow are handled elsewhere.

mod fragment;
mod group;
mod quarters;
mod scaling;
mod sparse;
mod sum;
mod tensor;
mod tiles;

use fragment::Fragment;
pub use fragment::Role;
pub use group::{GroupProduct, Layout, Piece};
use oriole_chip::MatrixUnit;
pub use quarters::Quarters;
pub use scaling::{Scale, Scaling};
pub use sparse::Sparsity;
pub use sum::{Element, Sum};
pub use tensor::TensorSum;
pub use tiles::{Share, Tiled};

/// Registers of one operand in every lane of the warp.
pub type Registers = [Vec<u64>; 32];

/// An MMA: `d = a * b + c`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    /// Rows of `a` and `d`.
    pub rows: u32,
    /// Columns of `b` and `d`.
    pub columns: u32,
    /// Columns of `a` and rows of `b`.
    pub depth: u32,
    /// Element type of `a`.
    pub a: Element,
    /// Element type of `b`.
    pub b: Element,
    /// The accumulation, and with it the type of `c` and `d`.
    pub sum: Sum,
    /// Set if `a` has only half of its elements, which metadata names.
    pub sparsity: Option<Sparsity>,
    /// Each element of `a` and `b` has a byte, whatever its bits.
    pub bytes: bool,
    /// Set if blocks of `a` and `b` are multiplied by factors.
    pub scaling: Option<Scaling>,
}

impl Product {
    /// The registers of `d` in every lane, from those of `a`, `b` and `c`, of the metadata of a sparse MMA, and of the
    /// scale factors of `a` and `b`, each before its selector.
    pub fn evaluate(
        &self,
        unit: &MatrixUnit,
        [a, b, c, metadata]: [&Registers; 4],
        scales: [&Registers; 4],
    ) -> Registers {
        let [left, right, old] = [self.fragment(Role::A), self.fragment(Role::B), self.fragment(Role::C)];
        let a = self.unpadded(self.a, left.gather(a, [self.rows, self.kept()]));
        let b = self.unpadded(self.b, right.gather(b, [self.columns, self.depth]));
        let c = old.gather(c, [self.rows, self.columns]);
        let [columns, depth, kept] = [self.columns, self.depth, self.kept()].map(|length| length as usize);
        let mut d = Vec::with_capacity(c.len());
        for row in 0..self.rows as usize {
            let terms = &a[row * kept..][..kept];
            let chosen = self.sparsity.map(|sparsity| sparsity.columns(metadata, row));
            for column in 0..columns {
                let whole = &b[column * depth..][..depth];
                let factors = match &chosen {
                    Some(chosen) => chosen.iter().map(|at| whole[*at]).collect(),
                    None => whole.to_vec(),
                };
                let old = c[row * columns + column];
                let of = [self.a, self.b];
                d.push(if self.bytes || self.scaling.is_some() {
                    let scaling = self.scaling.as_ref();
                    let blocks = scaling.map_or_else(Vec::new, |scaling| scaling.blocks(scales, row, column));
                    let bits = left.bits;
                    self.sum.evaluate_blocks(unit, of, bits, [terms, &factors], old, &blocks)
                } else {
                    self.sum.evaluate(unit, of, terms, &factors, old)
                });
            }
        }
        old.scatter(&d, [self.rows, self.columns])
    }

    /// The elements without their padding below: FP4 values are in the middle of their byte.
    fn unpadded(&self, element: Element, mut elements: Vec<u64>) -> Vec<u64> {
        if self.bytes && element == Element::E2M1 {
            elements.iter_mut().for_each(|bits| *bits >>= 2);
        }
        elements
    }

    /// Stored elements of a row of `a`.
    fn kept(&self) -> u32 {
        if self.sparsity.is_some() { self.depth / 2 } else { self.depth }
    }

    /// Number of registers of an operand in a lane.
    pub fn registers(&self, role: Role) -> u32 {
        let [rows, columns] = match role {
            Role::A => [self.rows, self.kept()],
            Role::B => [self.columns, self.depth],
            Role::C => [self.rows, self.columns],
        };
        self.fragment(role).registers(rows * columns)
    }

    fn fragment(&self, role: Role) -> Fragment {
        let bits = match role {
            Role::A | Role::B if self.bytes => 8,
            Role::A => self.a.bits(),
            Role::B => self.b.bits(),
            Role::C => self.sum.bits(),
        };
        Fragment { role, bits }
    }
}

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
