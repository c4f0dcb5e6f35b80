//! The register files of a chip as data: the count of registers, the first usable one, and the width of the field
//! that names one. One row for a family; chips whose files are alike share it.

/// General registers of each thread that the hardware reserves on every chip since Volta: a launch allocates this
/// many more than code may name. Code that names a reserved or missing register is an illegal instruction. The counts
/// of `.maxnreg`, `setmaxnreg` and cubins are of allocated registers.
const RESERVED: u16 = 2;

/// General registers that code may name, given the allocated count.
pub const fn nameable(allocated: u16) -> u16 {
    allocated.saturating_sub(RESERVED)
}

/// General registers allocated to a thread whose code names this many: the highest one, and those below it.
pub const fn allocated(named: u16) -> u16 {
    named + RESERVED
}

/// One register file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterFile {
    /// Registers that a field can name, and of general registers the most that a thread is allocated; the neutral one
    /// (`RZ`, `URZ`, `PT`) does not count.
    pub count: u8,
    /// The first register that allocation may hand out; those below it have fixed uses.
    pub first_usable: u8,
    /// One past the last register that allocation may use.
    pub end_usable: u8,
    /// Bits of a field that names a register.
    pub field_bits: u8,
    /// True if the register with all field bits set reads as zero or true, and ignores writes.
    pub neutral: bool,
}

/// The register files of a thread or warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterFiles {
    /// `R`, 32 bits each, one for each thread.
    pub general: RegisterFile,
    /// `UR`, 32 bits each, one for a warp.
    pub uniform: RegisterFile,
    /// `P`, one for each thread.
    pub predicate: RegisterFile,
    /// `UP`, one for a warp.
    pub uniform_predicate: RegisterFile,
    /// `B`, the convergence barriers of a warp.
    pub barrier: RegisterFile,
}

impl RegisterFile {
    /// The index of the neutral register in a field: all bits set.
    pub const fn neutral_number(&self) -> u8 {
        ((1u16 << self.field_bits) - 1) as u8
    }
}

impl RegisterFiles {
    /// All predicates that a program can name, bit n for `Pn`.
    pub const fn all_predicates(&self) -> u8 {
        ((1u16 << self.predicate.count) - 1) as u8
    }
}

/// A file with a neutral register, all others usable from `first_usable` on.
const fn with_neutral(count: u8, first_usable: u8, field_bits: u8) -> RegisterFile {
    RegisterFile { count, first_usable, end_usable: count, field_bits, neutral: true }
}

/// A file that the chip lacks.
const ABSENT: RegisterFile =
    RegisterFile { count: 0, first_usable: 0, end_usable: 0, field_bits: 0, neutral: false };

/// Turing to Hopper.
pub(crate) static SIX_BIT_UNIFORM: RegisterFiles = RegisterFiles {
    general: RegisterFile { end_usable: nameable(255) as u8, ..with_neutral(255, 0, 8) },
    uniform: with_neutral(63, 4, 6),
    predicate: with_neutral(7, 0, 3),
    uniform_predicate: with_neutral(7, 0, 3),
    barrier: RegisterFile { count: 16, first_usable: 0, end_usable: 16, field_bits: 4, neutral: false },
};

/// Volta: the general datapath only.
pub(crate) static NO_UNIFORM: RegisterFiles =
    RegisterFiles { uniform: ABSENT, uniform_predicate: ABSENT, ..SIX_BIT_UNIFORM };

/// Blackwell: wider fields of uniform registers. The hardware's count of them is not published; ptxas uses at most
/// 80.
pub(crate) static EIGHT_BIT_UNIFORM: RegisterFiles =
    RegisterFiles { uniform: RegisterFile { end_usable: 80, ..with_neutral(255, 4, 8) }, ..SIX_BIT_UNIFORM };
