//! What differs in the container from chip to chip: one row for a family, and what its members say otherwise. The
//! layout of the constant bank and the limits of the chip come from the list of chips, the words behind the code from the
//! table of its instructions.

use oriole_chip::{Chip, ConstantBank, Limits, RegisterFiles, WordShape};
use oriole_sass::{Control, Guard, Instruction, InstructionWord, Mods, Op, Operand, OperandKind};

/// The rules of one chip.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Where the driver puts what a kernel needs.
    pub bank: &'static ConstantBank,
    /// What registers the chip has.
    pub registers: &'static RegisterFiles,
    /// The shape of its instruction words.
    pub words: WordShape,
    /// What the chip can hold.
    pub limits: Limits,
    /// `BRA .`: it follows the last instruction of a kernel, so that a run past the end stays put.
    pub self_branch: InstructionWord,
    /// `NOP` as padding: the instruction prefetcher reads ahead over the end of the code.
    pub padding: InstructionWord,
    pub(crate) family: &'static Family,
    pub(crate) sw_war: Option<u32>,
    pub(crate) sw_2861232_war: bool,
}

/// How the files of a family of chips are built.
#[derive(Debug)]
pub(crate) struct Family {
    /// The low byte of the flags of the file: 4 for machine code only.
    pub flags: u8,
    /// There is a section that says what the file is compatible with.
    pub compat: bool,
    /// Relocations without addend are in sections of their own, and the file explains one kind of relocation.
    pub plain_relocations: bool,
    /// A kernel with a texture or a surface names the banks of both.
    pub both_header_banks: bool,
    /// The section of a kernel's code tells its registers.
    pub registers_in_section: bool,
    /// Constant bank 0 comes before the code, and the range of memory that is loaded with it starts there.
    pub constants_before_code: bool,
    /// Local symbols come first.
    pub local_symbols_first: bool,
    /// Part of shared memory belongs to the system, and symbols name it.
    pub reserves_shared: bool,
    /// The attributes of parameters come first, and not last.
    pub parameters_first: bool,
    /// Version of the instruction set, for `MERCURY_ISA_VERSION`.
    pub isa_version: u16,
    /// `SPARSE_MMA_MASK` is there.
    pub sparse_mask: bool,
}

static AMPERE: Family = Family {
    flags: 4,
    compat: false,
    plain_relocations: true,
    both_header_banks: false,
    registers_in_section: true,
    constants_before_code: true,
    local_symbols_first: true,
    reserves_shared: false,
    parameters_first: true,
    isa_version: 0,
    sparse_mask: false,
};

static HOPPER: Family = Family {
    flags: 4,
    compat: true,
    plain_relocations: false,
    both_header_banks: true,
    registers_in_section: false,
    constants_before_code: false,
    local_symbols_first: false,
    reserves_shared: true,
    parameters_first: false,
    isa_version: 0x0101,
    sparse_mask: true,
};

/// Chip number, family, mask of `SW_WAR`, whether `SW2861232_WAR` is there.
const CHIPS: [(u8, &Family, Option<u32>, bool); 3] =
    [(80, &AMPERE, None, true), (89, &AMPERE, None, false), (90, &HOPPER, Some(8), false)];

/// The rules of an SM number, `None` for a chip whose files this crate cannot write.
pub fn rules(sm: u16) -> Option<Rules> {
    let &(number, family, sw_war, sw_2861232_war) = CHIPS.iter().find(|row| u16::from(row.0) == sm)?;
    let chip = Chip::of_number(number)?;
    let word = |op: Op, operands: &[Operand]| {
        let control = Control { stall: 0, yields: true, ..Control::NEUTRAL };
        let operands = operands.iter().cloned().collect();
        let instruction = Instruction { guard: Guard::ALWAYS, op, mods: Mods::none(), operands, control };
        oriole_sass::encode(chip, &instruction).ok()
    };
    Some(Rules {
        bank: chip.constant_bank()?,
        registers: chip.register_files(),
        words: chip.words(),
        limits: chip.limits()?,
        self_branch: word(Op::BRA, &[Operand::plain(OperandKind::Target(-chip.words().end(0)))])?,
        padding: word(Op::NOP, &[])?,
        family,
        sw_war,
        sw_2861232_war,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_behind_the_code_are_those_of_the_chip() {
        let words = |sm| rules(sm).map(|rules| (rules.self_branch, rules.padding));
        let padding = 0x000fc000000000000000000000007918;
        assert_eq!(words(80), Some((0x000fc0000383fffffffffff000007947, padding)));
        assert_eq!(words(89), words(80));
        assert_eq!(words(90), Some((0x000fc0000383fffffffffffc00fc7947, padding)));
        assert!(rules(75).is_none());
    }
}
