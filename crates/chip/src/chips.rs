//! The chips: one row each, with its family and the deviations of the chip. Only this table, the names of targets,
//! and the tables of forms, latencies and cubin rules refer to a chip by its SM number.

use crate::layout::{AMPERE, BLACKWELL, ConstantBank, HOPPER, TURING};
use crate::limits::Limits;
use crate::matrix::{
    DEEP_PRODUCTS, HALF_STEPS, MatrixUnit, NARROW_PRODUCTS, QUARTER_STEPS, WHOLE_PRODUCTS, WHOLE_STEPS,
};
use crate::registers::{EIGHT_BIT_UNIFORM, NO_UNIFORM, RegisterFiles, SIX_BIT_UNIFORM};
use crate::words::{LONG_WORDS, WordShape};

/// A PTX version: major and minor number.
type Version = (u8, u8);

/// The first PTX versions that may name a chip, by variant. A variant without a version does not exist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    /// No letter.
    pub base: Version,
    /// The letter `a`.
    pub accelerated: Option<Version>,
    /// The letter `f`.
    pub family: Option<Version>,
}

impl Since {
    /// A chip without variants.
    const fn base(major: u8, minor: u8) -> Since {
        Since { base: (major, minor), accelerated: None, family: None }
    }

    /// The chip also has the variant `a`.
    const fn a(self, major: u8, minor: u8) -> Since {
        Since { accelerated: Some((major, minor)), ..self }
    }

    /// The chip also has the variant `f`.
    const fn f(self, major: u8, minor: u8) -> Since {
        Since { family: Some((major, minor)), ..self }
    }
}

/// Properties of one chip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// SM number, as in the name.
    pub number: u8,
    /// The variants that exist, and the first PTX version that may name each.
    pub since: Since,
    /// The back end makes code for it.
    pub supported: bool,
    /// It runs modules with 32-bit addresses.
    pub short_addresses: bool,
    /// The shape of its instruction words.
    pub words: WordShape,
    /// Its register files.
    pub registers: &'static RegisterFiles,
    /// How its tensor cores accumulate.
    pub matrix: MatrixUnit,
    /// Dummy loads from shared memory that ptxas emits before the first asynchronous copy of a block.
    pub loads_before_copies: u8,
    /// Dummy loads before each signal that the copies of a thread are complete.
    pub loads_before_signals: u8,
    /// Kernels and functions begin with a shuffle that no lane executes, as in ptxas code; the cubin records its
    /// position for the driver.
    pub marks_entries: bool,
    /// ptxas emits a dummy instruction before each barrier of the block.
    pub pauses_before_barriers: bool,
    /// A load from global memory has read its address before a later one writes its result.
    pub loads_read_in_order: bool,
    /// Wide multiply-adds read an addend pair from a constant bank; otherwise the pair is loaded first.
    pub adds_long_constants: bool,
    /// Loads from constant banks extend bytes by their sign as well. ptxas takes two instructions for that on other chips.
    pub loads_signed_constants: bool,
    /// f64 operations read pairs of words from a constant bank.
    pub reads_long_constants: bool,
    /// Lanes that add one to words of shared memory are counted by an instruction of its own.
    pub counts_in_shared_memory: bool,
    /// Driver functions preserve all general registers from R32 on; otherwise only the upper four of each eight.
    pub driver_keeps_from_32: bool,
    /// Handles of textures and surfaces are in uniform registers; otherwise each lane has its own.
    pub uniform_handles: bool,
    /// Offset in shared memory, before the first variable, of the record of allocated tensor memory; `None` if the
    /// chip has none.
    pub tensor_partition: Option<u32>,
    /// The layout of constant bank 0, where it is known.
    pub bank: Option<&'static ConstantBank>,
    /// Its limits, where they are known for certain.
    pub limits: Option<Limits>,
}

const fn supported(number: u8, family: Row, since: Since, limits: Limits) -> Row {
    Row { number, since, supported: true, limits: Some(limits), ..family }
}

/// Turing.
const TURING_FAMILY: Row = Row {
    number: 0,
    since: Since::base(0, 0),
    supported: false,
    short_addresses: true,
    words: LONG_WORDS,
    registers: &SIX_BIT_UNIFORM,
    matrix: HALF_STEPS,
    loads_before_copies: 0,
    loads_before_signals: 0,
    marks_entries: false,
    pauses_before_barriers: false,
    loads_read_in_order: false,
    adds_long_constants: true,
    loads_signed_constants: true,
    reads_long_constants: true,
    counts_in_shared_memory: false,
    driver_keeps_from_32: false,
    uniform_handles: false,
    tensor_partition: None,
    bank: Some(&TURING),
    limits: None,
};

/// Volta.
const VOLTA_FAMILY: Row = Row {
    registers: &NO_UNIFORM,
    matrix: QUARTER_STEPS,
    marks_entries: true,
    pauses_before_barriers: true,
    ..TURING_FAMILY
};

/// Ampere.
const AMPERE_FAMILY: Row = Row {
    bank: Some(&AMPERE),
    loads_before_signals: 4,
    counts_in_shared_memory: true,
    driver_keeps_from_32: true,
    ..TURING_FAMILY
};

/// Ada.
const ADA_FAMILY: Row = Row { matrix: NARROW_PRODUCTS, ..AMPERE_FAMILY };

/// Hopper.
const HOPPER_FAMILY: Row = Row {
    short_addresses: false,
    matrix: WHOLE_STEPS,
    loads_before_copies: 3,
    loads_read_in_order: true,
    adds_long_constants: false,
    loads_signed_constants: false,
    counts_in_shared_memory: true,
    driver_keeps_from_32: true,
    uniform_handles: true,
    bank: Some(&HOPPER),
    ..TURING_FAMILY
};

/// Blackwell.
const BLACKWELL_FAMILY: Row = Row {
    reads_long_constants: false,
    registers: &EIGHT_BIT_UNIFORM,
    tensor_partition: Some(0x40),
    bank: Some(&BLACKWELL),
    ..HOPPER_FAMILY
};

/// Blackwell Ultra.
const ULTRA_FAMILY: Row = Row { matrix: DEEP_PRODUCTS, ..BLACKWELL_FAMILY };

/// Thor, whose system reserves memory before that.
const THOR_FAMILY: Row = Row { tensor_partition: Some(0xc0), ..BLACKWELL_FAMILY };

/// Blackwell without tensor memory.
const SMALL_BLACKWELL_FAMILY: Row =
    Row { matrix: WHOLE_PRODUCTS, tensor_partition: None, ..BLACKWELL_FAMILY };

/// Every chip, in the order of numbers. Limits: warps and blocks of an SM, shared KiB of an SM and of a block.
pub(crate) const CHIPS: &[Row] = &[
    supported(70, VOLTA_FAMILY, Since::base(6, 0), Limits::turing(64, 32, 96, 96)),
    supported(72, VOLTA_FAMILY, Since::base(6, 1), Limits::turing(64, 32, 96, 48)),
    supported(75, TURING_FAMILY, Since::base(6, 3), Limits::turing(32, 16, 64, 64)),
    supported(80, AMPERE_FAMILY, Since::base(7, 0), Limits::ampere(64, 32, 164, 163)),
    supported(86, AMPERE_FAMILY, Since::base(7, 1), Limits::ampere(48, 16, 100, 99)),
    supported(87, AMPERE_FAMILY, Since::base(7, 4), Limits::ampere(48, 16, 164, 163)),
    // Warps and blocks are what ptxas accepts; its shared memory is not published, and is taken to be that of sm_86.
    supported(88, AMPERE_FAMILY, Since::base(7, 3), Limits::ampere(48, 16, 100, 99)),
    supported(89, ADA_FAMILY, Since::base(7, 8), Limits::ampere(48, 24, 100, 99)),
    supported(90, HOPPER_FAMILY, Since::base(7, 8).a(8, 0), Limits::hopper(64, 32, 228, 227)),
    supported(100, BLACKWELL_FAMILY, Since::base(8, 6).a(8, 6).f(8, 8), Limits::hopper(64, 32, 228, 227)),
    supported(103, ULTRA_FAMILY, Since::base(8, 8).a(8, 8).f(8, 8), Limits::hopper(64, 32, 228, 227)),
    // Warps and blocks are what ptxas accepts; its shared memory is taken to be that of sm_100.
    supported(110, THOR_FAMILY, Since::base(9, 0).a(9, 0).f(9, 0), Limits::hopper(48, 24, 228, 227)),
    supported(
        120,
        SMALL_BLACKWELL_FAMILY,
        Since::base(8, 7).a(8, 7).f(8, 8),
        Limits::hopper(48, 24, 100, 99),
    ),
    supported(
        121,
        SMALL_BLACKWELL_FAMILY,
        Since::base(8, 8).a(8, 8).f(8, 8),
        Limits::hopper(48, 24, 100, 99),
    ),
];

/// A name that modules may still carry, of a chip that has another number today.
pub(crate) struct Renumbered {
    /// The number in the name.
    pub number: u8,
    /// The number today.
    pub today: u8,
    /// The first PTX versions that may name it so.
    pub since: Since,
}

/// Every such name.
pub(crate) const RENUMBERED: &[Renumbered] =
    &[Renumbered { number: 101, today: 110, since: Since::base(8, 6).a(8, 6).f(8, 8) }];

/// Numbers that only a PTX `.target` may carry, since their code runs on a later chip, and the first PTX version of each.
pub(crate) const OLD: &[(u16, Version)] = &[
    (10, (1, 0)),
    (11, (1, 0)),
    (12, (1, 2)),
    (13, (1, 2)),
    (20, (2, 0)),
    (21, (3, 0)),
    (30, (3, 0)),
    (32, (4, 0)),
    (35, (3, 1)),
    (37, (4, 1)),
    (50, (4, 0)),
    (52, (4, 1)),
    (53, (4, 2)),
    (60, (5, 0)),
    (61, (5, 0)),
    (62, (5, 0)),
];

/// Chips without a row, with the first PTX version that may name them.
pub(crate) const WITHOUT_ROW: &[(u16, Version)] = &[(107, (9, 4))];

/// The version of every other chip without a row.
pub(crate) const UNKNOWN_SINCE: Version = (9, 0);

/// The row of an SM number.
pub(crate) const fn find(number: u8) -> Option<&'static Row> {
    let mut at = 0;
    while at < CHIPS.len() {
        if CHIPS[at].number == number {
            return Some(&CHIPS[at]);
        }
        at += 1;
    }
    None
}

/// The indices that uniform register fields can hold, over all chips with code generation: the size of a dense table
/// over the uniform registers of any chip.
pub const MOST_UNIFORM: usize = {
    let (mut most, mut at) = (0, 0);
    while at < CHIPS.len() {
        let numbers = 1 << CHIPS[at].registers.uniform.field_bits;
        if CHIPS[at].supported && numbers > most {
            most = numbers;
        }
        at += 1;
    }
    most
};
