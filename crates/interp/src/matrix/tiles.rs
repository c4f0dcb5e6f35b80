//! The fragments of `wmma`, which the language leaves open: here they are those of the MMAs of sixteen or eight rows by
//! eight columns that a `wmma.mma` consists of, one after the other. For eight rows and 32 columns the transposed MMA
//! is used.

use super::fragment::{Fragment, Role};
use super::{Element, Registers, Sum};
use crate::value::soft::{self, Format};
use oriole_chip::MatrixUnit;
use rustc_apfloat::Round;

/// A fragment: the matrix and the MMA that it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Which matrix.
    pub role: Role,
    /// Bits of an element.
    pub bits: u32,
    /// Rows, columns and depth of the MMA.
    pub shape: [u32; 3],
}

impl Share {
    /// Rows and columns of the matrix.
    pub fn extent(self) -> [u32; 2] {
        let [rows, columns, depth] = self.shape;
        match self.role {
            Role::A => [rows, depth],
            Role::B => [depth, columns],
            Role::C => [rows, columns],
        }
    }

    /// Elements in a register.
    pub fn packed(self) -> u32 {
        (32 / self.bits).max(1)
    }

    /// Registers of a lane that hold its part of the matrix. A form may have more; they repeat the others.
    pub fn registers(self) -> u32 {
        let [rows, columns] = self.extent();
        rows * columns / 32 / self.packed()
    }

    /// Row and column of part `part` of a register of a lane.
    pub fn place(self, lane: u32, register: u32, part: u32) -> [u32; 2] {
        let [rows, columns, depth] = self.shape;
        if rows == 8 && columns > 8 {
            let role = match self.role {
                Role::A => Role::B,
                Role::B => Role::A,
                Role::C => Role::C,
            };
            let turned = Share { role, shape: [columns, rows, depth], ..self };
            let [row, column] = turned.place(lane, register, part);
            return [column, row];
        }
        let tall = rows.min(16);
        let (lines, length) = match self.role {
            Role::A => (tall, depth),
            Role::B => (8, depth),
            Role::C => (tall, 8),
        };
        let fragment = Fragment { role: self.role, bits: self.bits };
        let each = fragment.registers(lines * length);
        let tile = register / each;
        let (line, at) = fragment.place(lines, lane, register % each, part);
        match self.role {
            Role::A => [tile * tall + line, at],
            Role::B => [at, tile * 8 + line],
            Role::C if rows > 16 => [tile * tall + line, at],
            Role::C => [line, tile * 8 + at],
        }
    }

    /// The elements of the matrix, row by row.
    fn gather(self, registers: &Registers) -> Vec<u64> {
        let [rows, columns] = self.extent();
        let mut elements = vec![0; (rows * columns) as usize];
        let mask = u64::MAX >> (64 - self.bits);
        for (lane, registers) in registers.iter().enumerate() {
            for (register, word) in registers.iter().enumerate().take(self.registers() as usize) {
                for part in 0..self.packed() {
                    let [row, column] = self.place(lane as u32, register as u32, part);
                    elements[(row * columns + column) as usize] = word >> (part * self.bits) & mask;
                }
            }
        }
        elements
    }

    /// The registers that hold these elements.
    fn scatter(self, elements: &[u64]) -> Registers {
        let [_, columns] = self.extent();
        std::array::from_fn(|lane| {
            let word = |register: u32| {
                let parts = (0..self.packed()).map(|part| {
                    let [row, column] = self.place(lane as u32, register, part);
                    elements[(row * columns + column) as usize] << (part * self.bits)
                });
                parts.fold(0, |word, part| word | part)
            };
            (0..self.registers()).map(word).collect()
        })
    }
}

/// `wmma.mma`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tiled {
    /// Rows, columns and depth.
    pub shape: [u32; 3],
    /// Element type of `a` and `b`.
    pub element: Element,
    /// Type of `c`.
    pub old: Sum,
    /// Type of `d`.
    pub sum: Sum,
}

impl Tiled {
    fn share(&self, role: Role, bits: u32) -> Share {
        Share { role, bits, shape: self.shape }
    }

    /// The registers of `d`.
    pub fn evaluate(&self, unit: &MatrixUnit, a: &Registers, b: &Registers, c: &Registers) -> Registers {
        let [rows, columns, depth] = self.shape.map(|length| length as usize);
        let a = self.share(Role::A, self.element.bits()).gather(a);
        let b = self.share(Role::B, self.element.bits()).gather(b);
        let c = self.share(Role::C, self.old.bits()).gather(c);
        let mut d = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let terms = &a[row * depth..][..depth];
                let factors: Vec<u64> = (0..depth).map(|at| b[at * columns + column]).collect();
                d.push(self.element_of_sum(unit, terms, &factors, c[row * columns + column]));
            }
        }
        self.share(Role::C, self.sum.bits()).scatter(&d)
    }

    fn element_of_sum(&self, unit: &MatrixUnit, terms: &[u64], factors: &[u64], old: u64) -> u64 {
        let (half, single) = (Sum::Float(true), Sum::Float(false));
        // A mix of f16 and f32 accumulators is accumulated in f32.
        let mixed = self.old != self.sum;
        let through = if mixed { single } else { self.sum };
        let mut sum = match self.old {
            old_sum if mixed && old_sum == half => {
                soft::convert(Format::F16, Format::F32, old, Round::NearestTiesToEven)
            }
            _ => old,
        };
        // Four `.tf32` terms are a step of their own.
        let step = if self.element == Element::TF32 { 4 } else { terms.len() };
        for (terms, factors) in terms.chunks(step).zip(factors.chunks(step)) {
            sum = through.evaluate(unit, [self.element; 2], terms, factors, sum);
        }
        if mixed && self.sum == half {
            return soft::convert(Format::F32, Format::F16, sum, Round::NearestTiesToEven);
        }
        sum
    }
}
