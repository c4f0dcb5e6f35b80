//! What the lanes of a warp do together with matrices: products, and the moves of small matrices between registers and
//! shared memory.
//!
//! It is here because these instructions take a list of registers from every lane, and which element of a matrix each of
//! them holds is a rule of the language. Memory and the flow of lanes are somebody else's.

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

/// A product of two matrices and a sum with a third: `d = a * b + c`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    /// Rows of `a` and `d`.
    pub rows: u32,
    /// Columns of `b` and `d`.
    pub columns: u32,
    /// Columns of `a` and rows of `b`.
    pub depth: u32,
    /// What `a` is made of.
    pub a: Element,
    /// What `b` is made of.
    pub b: Element,
    /// How products are added up; what `c` and `d` are made of.
    pub sum: Sum,
    /// Set if `a` has only half of its elements, which metadata names.
    pub sparsity: Option<Sparsity>,
    /// Each element of `a` and `b` has a byte, whatever its bits.
    pub bytes: bool,
    /// Set if blocks of `a` and `b` are multiplied by factors.
    pub scaling: Option<Scaling>,
}

impl Product {
    /// The registers of `d` in every lane, out of those of `a`, `b` and `c`, of the metadata of a sparse product, and of the
    /// scale factors of `a` and `b`, each before what says where they are.
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

    /// The elements without the bits below them that mean nothing: numbers of four bits are in the middle of their byte.
    fn unpadded(&self, element: Element, mut elements: Vec<u64>) -> Vec<u64> {
        if self.bytes && element == Element::E2M1 {
            elements.iter_mut().for_each(|bits| *bits >>= 2);
        }
        elements
    }

    /// Elements of a row of `a` that are there.
    fn kept(&self) -> u32 {
        if self.sparsity.is_some() { self.depth / 2 } else { self.depth }
    }

    /// How many registers of a lane hold an operand.
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

/// Bytes of a row of a small matrix: eight halves.
pub const ROW_BYTES: usize = 16;

/// A row of a small matrix.
pub type Row = [u8; ROW_BYTES];

/// The registers of matrices whose rows are given, eight for each. Lane `4 r + q` gets the elements `2 q` and `2 q + 1` of
/// row `r`; transposed, those of column `r`.
pub fn spread(rows: &[Row], transposed: bool) -> Registers {
    std::array::from_fn(|lane| {
        let (line, first) = (lane / 4, lane % 4 * 2);
        let matrices = rows.chunks_exact(8);
        matrices
            .map(|matrix| {
                let element = |at: usize| {
                    let (row, column) = if transposed { (at, line) } else { (line, at) };
                    u64::from(u16::from_le_bytes([matrix[row][2 * column], matrix[row][2 * column + 1]]))
                };
                element(first) | element(first + 1) << 16
            })
            .collect()
    })
}

/// The rows of matrices whose registers are given: the inverse of [`spread`].
pub fn collect(registers: &Registers, transposed: bool) -> Vec<Row> {
    let matrices = registers.iter().map(Vec::len).max().unwrap_or(0);
    let mut rows = vec![[0; ROW_BYTES]; 8 * matrices];
    for (lane, values) in registers.iter().enumerate() {
        for (matrix, value) in values.iter().enumerate() {
            for part in 0..2 {
                let (line, at) = (lane / 4, lane % 4 * 2 + part);
                let (row, column) = if transposed { (at, line) } else { (line, at) };
                let half = (value >> (16 * part)) as u16;
                rows[8 * matrix + row][2 * column..][..2].copy_from_slice(&half.to_le_bytes());
            }
        }
    }
    rows
}

/// A matrix of halves transposed.
pub fn transpose(registers: &Registers) -> Registers {
    spread(&collect(registers, false), true)
}
