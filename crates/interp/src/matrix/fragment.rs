//! The mapping of matrix elements to registers of lanes.
//!
//! Lanes come in eight groups of four. A group has a row of `a` (and, of sixteen rows, the one eight further down), a
//! column of `b`, a row of `c` and `d`; its four lanes share the elements of it. Elements narrower than a register are
//! packed, the first in the lowest bits.
//!
//! Source: PTX ISA, "Matrix Fragments for mma", which has a figure for each shape; this is the rule of those figures.

/// Registers of one operand in every lane of the warp.
pub type Registers = [Vec<u64>; 32];

/// A matrix of an MMA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    A,
    B,
    /// The accumulator, input and output.
    C,
}

/// The layout of a matrix in the registers of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Fragment {
    /// Which matrix it is.
    pub role: Role,
    /// Bits of an element.
    pub bits: u32,
}

impl Fragment {
    /// Bits of a register: those of PTX that hold a fragment have 32, or 64 for f64.
    fn register_bits(self) -> u32 {
        self.bits.max(32)
    }

    /// Elements in a register.
    fn packed(self) -> u32 {
        self.register_bits() / self.bits
    }

    /// Registers of a lane that hold its share of this many elements.
    pub fn registers(self, elements: u32) -> u32 {
        elements / 32 / self.packed()
    }

    /// Line and place in the line of part `part` of register `register` of a lane, of a matrix of `lines` lines. The
    /// lines of `b` are its columns, those of the others rows.
    pub fn place(self, lines: u32, lane: u32, register: u32, part: u32) -> (u32, u32) {
        let (group, member) = (lane / 4, lane % 4);
        match self.role {
            // A pair of neighbours in each line, whether they share a register or not.
            Role::C => {
                let element = register * self.packed() + part;
                (group + 8 * (element / 2), 2 * member + element % 2)
            }
            Role::A | Role::B => {
                let eighths = lines / 8;
                let line = group + 8 * (register % eighths);
                (line, ((register / eighths) * 4 + member) * self.packed() + part)
            }
        }
    }

    /// The elements in the order of lines; `shape` is the number of lines and the length of one.
    pub fn gather(self, registers: &Registers, shape: [u32; 2]) -> Vec<u64> {
        let mut elements = vec![0; (shape[0] * shape[1]) as usize];
        let mask = u64::MAX >> (64 - self.bits);
        self.each(shape, |lane, register, shift, at| {
            elements[at] = registers[lane].get(register).map_or(0, |word| word >> shift & mask);
        });
        elements
    }

    /// The registers that hold these elements.
    pub fn scatter(self, elements: &[u64], shape: [u32; 2]) -> Registers {
        let count = self.registers(shape[0] * shape[1]) as usize;
        let mut registers: Registers = std::array::from_fn(|_| vec![0; count]);
        self.each(shape, |lane, register, shift, at| registers[lane][register] |= elements[at] << shift);
        registers
    }

    /// Visits every element: lane, register, its lowest bit there, its index in the order of lines.
    fn each(self, [lines, length]: [u32; 2], mut visit: impl FnMut(usize, usize, u32, usize)) {
        for lane in 0..32 {
            for register in 0..self.registers(lines * length) {
                for part in 0..self.packed() {
                    let (line, at) = self.place(lines, lane, register, part);
                    visit(lane as usize, register as usize, part * self.bits, (line * length + at) as usize);
                }
            }
        }
    }
}
