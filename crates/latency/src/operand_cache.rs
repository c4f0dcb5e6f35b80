//! The operand cache: sources of an instruction that may be reused by the next one, and their cache entries.
//!
//! All of it is inferred from the flags in 87 ptxas cubins, sm_90. Of 13,299 sources where a rule without the third
//! point below allows a flag, 13,237 carry one; of more than 200,000 others 37 do, nearly all next to 64-bit
//! floating-point instructions. Nothing was measured on a chip.
//!
//! * An instruction has three slots, A, B and C, which the form names; a slot reads through two banks, that of even
//!   registers and that of odd ones. A flag keeps the register in its slot and bank.
//! * The next instruction that reads the same slot and bank takes the kept register if it names the same one; in any
//!   case the entry is free again, unless it is flagged in its turn.
//! * 64-bit floating-point units have a cache of their own. The wide addend of `IMAD.WIDE` is in both banks.
//! * An entry is lost where the warp is switched out: where an instruction yields, and at branches.
//! * The cache is not invalidated when a register is overwritten.

use crate::Class;

/// Slots of an instruction that have a cache.
pub const CACHE_SLOTS: usize = 3;

/// The cache of a source, and the registers in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cached {
    /// The cache of the 64-bit floating-point unit; otherwise that of all others.
    pub double: bool,
    /// Registers in the entry, one or two.
    pub registers: u8,
}

/// Cache entry of an instruction of the class for the source in a slot (0 to 2 for A to C), `None` if flags on it
/// have no known meaning.
pub fn operand_cache(class: Class, slot: usize) -> Option<Cached> {
    match class {
        Class::Double => Some(Cached { double: true, registers: 2 }),
        Class::Wide if slot == 2 => Some(Cached { double: false, registers: 2 }),
        Class::Long => Some(Cached { double: false, registers: 2 }),
        Class::Alu | Class::Mask | Class::Fma | Class::Dual | Class::Wide => {
            Some(Cached { double: false, registers: 1 })
        }
        Class::Half | Class::HalfToSingle | Class::HalfAlu | Class::ToUniform => {
            Some(Cached { double: false, registers: 1 })
        }
        _ => None,
    }
}

/// The banks of registers: bit 0 for even, bit 1 for odd ones.
pub fn banks(first: u8, registers: u8) -> u8 {
    match registers {
        0 => 0,
        1 => 1 << (first % 2),
        _ => 3,
    }
}
