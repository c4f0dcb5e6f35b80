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

/// A source that an instruction reads through the operand cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CachedRead {
    /// Its slot, 0 to 2 for A to C.
    pub slot: usize,
    /// The cache of the 64-bit floating-point unit.
    pub double: bool,
    /// Its first register, and their number.
    pub first: u8,
    /// One or two.
    pub registers: u8,
    /// It is kept for the next instruction.
    pub keep: bool,
}

/// An entry: its first register and their number.
type Entry = Option<(u8, u8)>;

/// The entries of the operand caches of a quarter of an SM: by unit (64-bit floating-point or not), slot and bank.
#[derive(Clone, Default, Debug)]
pub struct OperandCache([[[Entry; 2]; CACHE_SLOTS]; 2]);

impl OperandCache {
    /// Registers that an instruction reads from each bank: those that are not kept. A register in several slots is read
    /// once.
    pub fn reads(&self, sources: impl Iterator<Item = CachedRead> + Clone) -> [u64; 2] {
        let mut reads = [0; 2];
        for (at, source) in sources.clone().enumerate() {
            let again = sources.clone().take(at).any(|other| other.first == source.first);
            let kept = &self.0[usize::from(source.double)][source.slot.min(CACHE_SLOTS - 1)];
            for bank in 0..2 {
                let wanted = banks(source.first, source.registers) >> bank & 1 == 1;
                let there = kept[bank] == Some((source.first, source.registers));
                reads[bank] += u64::from(wanted && !there && !again);
            }
        }
        reads
    }

    /// Keeps what an instruction flags, and frees the other entries that it reads.
    pub fn keep(&mut self, sources: impl Iterator<Item = CachedRead>) {
        for source in sources {
            let kept = &mut self.0[usize::from(source.double)][source.slot.min(CACHE_SLOTS - 1)];
            for (bank, entry) in kept.iter_mut().enumerate() {
                if banks(source.first, source.registers) >> bank & 1 == 1 {
                    *entry = source.keep.then_some((source.first, source.registers));
                }
            }
        }
    }
}
