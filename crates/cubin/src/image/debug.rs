//! Debug sections, with the addresses in them, and what frames of a debug build describe.

use super::variable::SymbolRef;

/// A debug section: no memory of the chip holds it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct DebugSection {
    /// Its name, with the dot.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Addresses that linkers and loaders fill in.
    pub addresses: Vec<DebugAddress>,
}

/// An address in a debug section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DebugAddress {
    /// Offset in the section.
    pub offset: u64,
    /// Its target.
    pub target: DebugTarget,
    /// Bytes added to the address.
    pub addend: i64,
}

/// Targets of references in a debug section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DebugTarget {
    /// Code or a variable, by an address of eight bytes.
    Memory(SymbolRef),
    /// The start of `Module::debug[i]`, which a linker moves, by four bytes.
    Section(usize),
    /// `Module::shared[i]`, which a linker places, by an address of eight bytes from the end of the system's part.
    Shared(usize),
    /// `KernelImage::own_shared[i]` of `Module::kernels[code]`, likewise.
    OwnShared {
        /// The owner of the variable.
        code: usize,
        /// Its index there.
        index: usize,
    },
}

/// Callee-saved registers of functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CalleeSaved {
    /// General registers but the stack pointer, bit n of word k for register `64 k + n`.
    pub general: [u64; 4],
    /// The first callee-saved uniform register.
    pub first_uniform: u8,
}

impl CalleeSaved {
    /// True if the general register is callee-saved.
    pub fn has_general(&self, number: u8) -> bool {
        self.general[usize::from(number / 64)] >> (number % 64) & 1 != 0
    }
}
