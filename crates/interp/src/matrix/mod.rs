//! Matrix operations of a warp: MMAs, and the moves of small matrices between registers and shared memory.
//!
//! These instructions take a list of registers from every lane, and the language defines the mapping of matrix elements
//! to them. Memory and control flow are handled elsewhere.

mod fragment;
mod group;
mod moves;
mod quarters;
mod scaling;
mod sparse;
mod sum;
mod tensor;
mod tiles;

use fragment::Fragment;
pub use fragment::{Registers, Role};
pub use group::{GroupProduct, Layout, Piece};
pub use moves::{Move, Packed, ROW_BYTES, Row, collect, spread, transpose};
use oriole_chip::MatrixUnit;
pub use quarters::Quarters;
pub use scaling::{Scale, Scaling};
pub use sparse::Sparsity;
pub use sum::{Element, Sum};
pub use tensor::TensorSum;
pub use tiles::{Share, Tiled};

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
