//! The register files as operands name them, and the neutral register of each: the one that reads as zero or true,
//! and ignores writes.
//!
//! An operand names a neutral register by the same index on every chip. In a word it is the index with all bits of
//! the field set, so only encoder and decoder know the width of the field, which differs from chip to chip. The other
//! registers of a chip, and the field widths, are a row of the table of chips.

use oriole_chip::RegisterFiles;

/// Index of the general register that is always zero.
pub const RZ: u8 = 0xff;
/// Index of the uniform register that is always zero.
pub const URZ: u8 = 0xff;
/// Index of the predicate that is always true, in both files.
pub const PT: u8 = 7;

/// A register file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RegisterFile {
    /// `R0`, `R1` and so on.
    General,
    /// `UR0` and so on.
    Uniform,
    /// `P0..P6`.
    Predicate,
    /// `UP0..UP6`.
    UniformPredicate,
    /// `B0..B15`.
    Barrier,
}

impl RegisterFile {
    /// The index of the neutral register, `None` for a file without one.
    pub const fn neutral(self) -> Option<u8> {
        match self {
            RegisterFile::General => Some(RZ),
            RegisterFile::Uniform => Some(URZ),
            RegisterFile::Predicate | RegisterFile::UniformPredicate => Some(PT),
            RegisterFile::Barrier => None,
        }
    }

    /// Properties of the file on a chip.
    pub fn of(self, files: &RegisterFiles) -> oriole_chip::RegisterFile {
        match self {
            RegisterFile::General => files.general,
            RegisterFile::Uniform => files.uniform,
            RegisterFile::Predicate => files.predicate,
            RegisterFile::UniformPredicate => files.uniform_predicate,
            RegisterFile::Barrier => files.barrier,
        }
    }
}
