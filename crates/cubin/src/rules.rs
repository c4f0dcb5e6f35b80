//! Cubin rules by chip: one row for a family, and the deviations of its members. The layout of the constant bank and
//! the limits of the chip come from the list of chips, the padding words after the code from the table of its
//! instructions.

use crate::RelocationKind;
use oriole_chip::{Chip, ConstantBank, Limits, RegisterFiles, WordShape};
use oriole_sass::{Control, Guard, Instruction, InstructionWord, Mods, Op, Operand, OperandKind};

/// The rules of one chip.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Layout of constant bank 0.
    pub bank: &'static ConstantBank,
    /// Register files of the chip.
    pub registers: &'static RegisterFiles,
    /// The shape of its instruction words.
    pub words: WordShape,
    /// Resource limits of the chip.
    pub limits: Limits,
    /// `BRA .`: it follows the last instruction of a kernel, so that execution past the end stays there.
    pub self_branch: InstructionWord,
    /// `NOP` as padding: the instruction prefetcher reads ahead over the end of the code.
    pub padding: InstructionWord,
    /// Entry sequence before a kernel's own first instruction, where the hardware requires one.
    pub entry: &'static [InstructionWord],
    pub(crate) family: &'static Family,
    pub(crate) sw_war: Option<u32>,
    pub(crate) sw_2861232_war: bool,
    pub(crate) compat_mask: u32,
}

/// The version of the cubin format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Abi {
    /// Written up to this toolkit release, the last that supports these chips: no notes, and the barriers of a kernel
    /// are in the flags of its section.
    V7 { toolkit: u16 },
    /// Written today.
    V8,
}

/// Structure of the files of a chip family.
#[derive(Debug)]
pub(crate) struct Family {
    /// The format.
    pub abi: Abi,
    /// The low byte of the flags of the file: 4 for machine code only.
    pub flags: u8,
    /// There is a compatibility section.
    pub compat: bool,
    /// Relocations without addend are in sections of their own, and the file explains one kind of relocation.
    pub plain_relocations: bool,
    /// Addresses of functions may be places in a table that the loader knows, and weak symbols name its parts.
    pub function_table: bool,
    /// The system's part of shared memory has a declared end, where code has addresses after it.
    pub shared_cap: Option<u64>,
    /// Relocation of a sampler's header slot.
    pub sampler_header: RelocationKind,
    /// A kernel with a texture or a surface names the banks of both.
    pub both_header_banks: bool,
    /// The section of a kernel's code records its registers.
    pub registers_in_section: bool,
    /// Constant bank 0 precedes the code, and the segment loaded with it starts there.
    pub constants_before_code: bool,
    /// Local symbols come first.
    pub local_symbols_first: bool,
    /// The end of the uniform registers that a function preserves, and of all those that debug frames describe.
    pub unwound_uniforms: (u8, u8),
    /// Part of shared memory is reserved for the system, and has symbols.
    pub reserves_shared: bool,
    /// Parameter attributes come first instead of last.
    pub parameters_first: bool,
    /// Version of the instruction set, for `MERCURY_ISA_VERSION`.
    pub isa_version: u16,
    /// `SPARSE_MMA_MASK` is there.
    pub sparse_mask: bool,
    /// `VRC_CTA_INIT_COUNT` is there.
    pub init_count: bool,
    /// Bytes of shared memory reserved for the system beyond those before the first variable.
    pub reserved_bytes: u32,
    /// Name and size of a variable after those, which every kernel declares as used.
    pub reserved_variable: Option<(&'static str, u32)>,
}

/// The release 12.4 in the toolkit's own numbering.
const LAST_WITH_VOLTA: u16 = 0x7c;

static VOLTA: Family =
    Family { abi: Abi::V7 { toolkit: LAST_WITH_VOLTA }, unwound_uniforms: (0, 0), ..AMPERE_FAMILY };

static AMPERE: Family = AMPERE_FAMILY;

const AMPERE_FAMILY: Family = Family {
    abi: Abi::V8,
    flags: 4,
    compat: false,
    plain_relocations: true,
    function_table: false,
    shared_cap: None,
    sampler_header: RelocationKind::SamplerIndex,
    both_header_banks: false,
    registers_in_section: true,
    constants_before_code: true,
    local_symbols_first: true,
    unwound_uniforms: (62, 62),
    reserves_shared: false,
    parameters_first: true,
    isa_version: 0,
    sparse_mask: false,
    init_count: false,
    reserved_bytes: 0,
    reserved_variable: None,
};

static HOPPER: Family = Family {
    abi: Abi::V8,
    flags: 4,
    compat: true,
    plain_relocations: false,
    function_table: true,
    shared_cap: None,
    sampler_header: RelocationKind::SamplerIndexAlone,
    both_header_banks: true,
    registers_in_section: false,
    constants_before_code: false,
    local_symbols_first: false,
    unwound_uniforms: (62, 62),
    reserves_shared: true,
    parameters_first: false,
    isa_version: 0x0101,
    sparse_mask: true,
    init_count: false,
    reserved_bytes: 0,
    reserved_variable: None,
};

/// Hopper's rules, and attributes of its own. The form that drivers translate for other chips is not written.
static BLACKWELL: Family = Family {
    init_count: true,
    reserved_bytes: 0x40,
    shared_cap: Some(0x400),
    unwound_uniforms: (64, 78),
    ..HOPPER
};

/// Blackwell's rules, with a variable of the system in the reserved shared memory of every kernel.
static THOR: Family =
    Family { reserved_variable: Some(("__nv_reservedSMEM_gb10b_war_var", 0x80)), ..BLACKWELL };

/// Deviations of the files of one chip.
struct Row {
    number: u8,
    family: &'static Family,
    /// The mask of `SW_WAR`, where the attribute is there.
    sw_war: Option<u32>,
    /// `SW2861232_WAR` is there.
    sw_2861232_war: bool,
    /// The compatibility mask.
    compat_mask: u32,
    /// Words at the entry of a kernel.
    entry: &'static [InstructionWord],
}

const fn row(number: u8, family: &'static Family) -> Row {
    Row { number, family, sw_war: None, sw_2861232_war: false, compat_mask: 0, entry: &[] }
}

const CHIPS: &[Row] = &[
    Row { sw_war: Some(1), ..row(70, &VOLTA) },
    Row { sw_war: Some(1), ..row(72, &VOLTA) },
    Row { sw_war: Some(1), ..row(75, &AMPERE) },
    Row { sw_2861232_war: true, ..row(80, &AMPERE) },
    Row { sw_2861232_war: true, ..row(86, &AMPERE) },
    Row { sw_war: Some(2), sw_2861232_war: true, entry: &BARRIERS_ONCE, ..row(87, &AMPERE) },
    Row { sw_2861232_war: true, ..row(88, &AMPERE) },
    row(89, &AMPERE),
    Row { sw_war: Some(8), ..row(90, &HOPPER) },
    Row { sw_war: Some(8), compat_mask: 9, ..row(100, &BLACKWELL) },
    Row { sw_war: Some(8), ..row(103, &BLACKWELL) },
    Row { sw_war: Some(8), ..row(110, &THOR) },
    Row { sw_war: Some(0), compat_mask: 0x50, ..row(120, &BLACKWELL) },
    Row { sw_war: Some(0), ..row(121, &BLACKWELL) },
];

/// The kernel entry on sm_87: on the first execution by a warp, as `UR2` says, it writes each of its convergence
/// barriers. The unit test has the instructions.
const BARRIERS_ONCE: [InstructionWord; 20] = [
    0x000fda000bf0507000000002ff007c0c,
    0x000fea00038000000000012000000947,
    0x000fe80000000000ffffffff00007956,
    0x000fe800001000000000000000017f55,
    0x000fe800001000000000000001027f55,
    0x000fe800001000000000000002037f55,
    0x000fe800001000000000000003047f55,
    0x000fe800001000000000000004057f55,
    0x000fe800001000000000000005067f55,
    0x000fe800001000000000000006077f55,
    0x000fe800001000000000000007087f55,
    0x000fe800001000000000000008097f55,
    0x000fe8000010000000000000090a7f55,
    0x000fe80000100000000000000a0b7f55,
    0x000fe80000100000000000000b0c7f55,
    0x000fe80000100000000000000c0d7f55,
    0x000fe80000100000000000000d0e7f55,
    0x000fe80000100000000000000e0f7f55,
    0x000fe80000000000000000000f007956,
    0x000fe400000000000000000100027882,
];

impl Rules {
    /// True if function addresses may be indices in a table of the loader.
    pub fn calls_by_table(&self) -> bool {
        self.family.function_table
    }
}

/// The rules of an SM number, `None` for a chip without cubin output.
pub fn rules(sm: u16) -> Option<Rules> {
    let &Row { number, family, sw_war, sw_2861232_war, compat_mask, entry } =
        CHIPS.iter().find(|row| u16::from(row.number) == sm)?;
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
        entry,
        family,
        sw_war,
        sw_2861232_war,
        compat_mask,
    })
}
