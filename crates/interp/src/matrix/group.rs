//! The MMA of a warp group as one of its warps computes it: sixteen rows of the result.
//!
//! The layout of a factor in shared memory is given by a descriptor (PTX ISA, "Shared Memory Matrix Layout"): pieces of
//! sixteen bytes, of which eight rows make a pattern. Where patterns are wider than a piece, the row determines the
//! order of its pieces.

use super::fragment::{Fragment, Role};
use super::sum::{Element, Sum};
use super::{Registers, Row};
use oriole_chip::MatrixUnit;

/// Rows of a warp.
pub const ROWS: u32 = 16;

/// The lowest bit of the parts of a descriptor, and the bits that its addresses and distances have.
const LEADING_BIT: u32 = 16;
const STRIDE_BIT: u32 = 32;
const BASE_BIT: u32 = 49;
const SWIZZLE_BIT: u32 = 62;
const DISTANCE_BITS: u64 = 0x3fff;

/// Sixteen bytes of shared memory: address and contents.
pub type Piece = (u32, Row);

/// The parameters of an MMA of a warp group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupProduct {
    /// Columns of `b` and `d`.
    pub columns: u32,
    /// Columns of `a` and rows of `b`.
    pub depth: u32,
    /// Element type of `a`.
    pub a: Element,
    /// Element type of `b`.
    pub b: Element,
    /// The accumulation, and with it the type of `d`.
    pub sum: Sum,
    /// Whether products are subtracted.
    pub negated: bool,
    /// Neighbours in a column of `a`, or a row of `b`, are neighbours in memory.
    pub transposed: [bool; 2],
    /// For a sparse `a`: the pair of four lanes with the metadata.
    pub selector: Option<u32>,
    /// `a` is in registers.
    pub left_in_registers: bool,
}

/// The lines of a factor: rows of `a`, columns of `b`.
pub type Factor = Vec<Vec<u64>>;

impl GroupProduct {
    /// Stored elements of a row of `a`.
    pub fn stored(&self) -> u32 {
        if self.selector.is_some() { self.depth / 2 } else { self.depth }
    }

    fn fragment(&self, role: Role) -> Fragment {
        Fragment { role, bits: if role == Role::C { self.sum.bits() } else { self.a.bits() } }
    }

    /// The rows of `a` in registers.
    pub fn left(&self, registers: &Registers) -> Factor {
        let elements = self.fragment(Role::A).gather(registers, [ROWS, self.stored()]);
        elements.chunks(self.stored() as usize).map(<[u64]>::to_vec).collect()
    }

    /// The registers of the result, from both factors, the metadata of a sparse one, and the accumulator.
    pub fn evaluate(
        &self,
        unit: &MatrixUnit,
        [a, b]: [&Factor; 2],
        said: &Registers,
        old: &Registers,
    ) -> Registers {
        let tile = self.fragment(Role::C);
        let each = tile.registers(ROWS * 8) as usize;
        let mut result: Registers = std::array::from_fn(|_| Vec::new());
        let sign = 1u64 << (self.a.bits() - 1);
        let rows: Vec<(Vec<u64>, Vec<usize>)> = a
            .iter()
            .zip(0..)
            .map(|(row, number)| {
                let terms = row.iter().map(|term| if self.negated { term ^ sign } else { *term });
                (terms.collect(), self.columns_of(said, number))
            })
            .collect();
        for (first, columns) in b.chunks(8).enumerate().map(|(at, columns)| (at * each, columns)) {
            let part = std::array::from_fn(|lane| old[lane].iter().skip(first).take(each).copied().collect());
            let c = tile.gather(&part, [ROWS, 8]);
            let mut d = Vec::with_capacity(c.len());
            for (row, (terms, places)) in rows.iter().enumerate() {
                for (column, factors) in columns.iter().enumerate() {
                    let factors: Vec<u64> = places.iter().map(|&place| factors[place]).collect();
                    let c = c[8 * row + column];
                    d.push(self.sum.evaluate(unit, [self.a, self.b], terms, &factors, c));
                }
            }
            for (lane, registers) in tile.scatter(&d, [ROWS, 8]).into_iter().enumerate() {
                result[lane].extend(registers);
            }
        }
        result
    }

    /// For each stored element of a row of `a`, its column.
    fn columns_of(&self, said: &Registers, row: u32) -> Vec<usize> {
        let Some(selector) = self.selector else { return (0..self.depth as usize).collect() };
        let bits = self.said_of(said, row, selector);
        let position = |index: u32| match self.a {
            // Every pair of columns has one, given by four bits; those of its lower half suffice.
            Element::TF32 => 2 * index + u32::from(bits >> (4 * index) & 0b11 != 0),
            // Every four columns have two, each given by two bits.
            _ => 4 * (index / 2) + (bits >> (2 * index) & 0b11) as u32,
        };
        (0..self.stored()).map(|index| position(index) as usize).collect()
    }

    /// The metadata bits of a row. Lanes come in groups of four, one for a row and the row eight further down.
    fn said_of(&self, said: &Registers, row: u32, selector: u32) -> u64 {
        let lanes = &said[4 * (row as usize % 8)..][..4];
        let word = |lane: usize| lanes[lane].first().copied().unwrap_or(0) & u64::from(u32::MAX);
        let lower = row < 8;
        match self.a.bits() {
            // Lanes alternate between the two rows; two of them have the first half of the columns.
            8 if lower => word(0) | word(2) << 32,
            8 => word(1) | word(3) << 32,
            // A lane has half of the columns of both rows, in one half of its word each.
            _ => {
                let pair = [2 * selector as usize, 2 * selector as usize + 1].map(word);
                let [first, second] = pair.map(|word| if lower { word & 0xffff } else { word >> 16 });
                first | second << 16
            }
        }
    }
}

/// The layout of a matrix in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    start: u64,
    leading: u64,
    stride: u64,
    base: u64,
    /// Bytes of a row of a pattern: 16 without swizzling.
    width: u64,
    transposed: bool,
}

impl Layout {
    /// From a descriptor.
    pub fn new(descriptor: u64, transposed: bool) -> Layout {
        let distance = |bit: u32| (descriptor >> bit & DISTANCE_BITS) << 4;
        // No swizzling, 128, 64, 32 bytes.
        let width = [16, 128, 64, 32][(descriptor >> SWIZZLE_BIT) as usize & 3];
        Layout {
            start: distance(0),
            leading: distance(LEADING_BIT),
            stride: distance(STRIDE_BIT),
            base: descriptor >> BASE_BIT & 7,
            width,
            transposed,
        }
    }

    /// Address of the piece with these bytes of a line (of a column of the line's matrix, if it is transposed).
    fn piece(&self, line: u64, byte: u64) -> u64 {
        let plain = self.width == 16;
        // A pattern has eight lines; the distances give the positions of the next patterns in both directions.
        let (beside, behind) = match (self.transposed, plain) {
            (false, true) => (byte / 16 * self.leading, self.stride),
            (false, false) => (byte, self.stride),
            (true, true) => (byte / 16 * self.stride, self.leading),
            (true, false) => (byte / self.width * self.leading + byte % self.width, self.stride),
        };
        let address = self.start + line % 8 * self.width + line / 8 * behind + beside;
        let row = (address >> 7).wrapping_sub(self.base) % (self.width / 16);
        address ^ (row << 4)
    }

    /// `lines` lines of elements, and every piece that they were read from.
    pub fn read(
        &self,
        lines: std::ops::Range<u32>,
        length: u32,
        bits: u32,
        mut load: impl FnMut(u64) -> Option<Row>,
    ) -> Result<(Factor, Vec<Piece>), u64> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut factor = Vec::with_capacity(lines.len());
        for line in lines {
            let mut elements = Vec::with_capacity(length as usize);
            for at in 0..length {
                let (line, at) = if self.transposed { (at, line) } else { (line, at) };
                let bit = u64::from(at) * u64::from(bits);
                let address = self.piece(line.into(), (bit / 8) & !15);
                if pieces.last().is_none_or(|(last, _)| u64::from(*last) != address) {
                    pieces.push((address as u32, load(address).ok_or(address)?));
                }
                let (_, row) = pieces[pieces.len() - 1];
                let whole = u128::from_le_bytes(row) >> (bit % 128);
                elements.push(whole as u64 & (u64::MAX >> (64 - bits)));
            }
            factor.push(elements);
        }
        Ok((factor, pieces))
    }
}
