//! One machine instruction with physical registers, as the disassembler would print it: output of the decoder, input
//! of the encoder and the simulator.

use crate::register::PT;
use crate::{Mod, Mods, Op, Symbol};
use smallvec::SmallVec;

/// A machine instruction with its control word.
///
/// As decoded, `operands` holds every slot of the form in its order, also those that the printer leaves out
/// (a `PT` carry output, a full write mask). The encoder also takes lists in which such slots are missing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Instruction {
    /// Guard predicate; `PT` for always.
    pub guard: Guard,
    /// Mnemonic.
    pub op: Op,
    /// Dot-suffixes of the mnemonic.
    pub mods: Mods,
    /// Operands, destinations first, in the disassembler's order.
    pub operands: SmallVec<[Operand; 6]>,
    /// Scheduling control.
    pub control: Control,
}

/// The predicate that decides whether an instruction acts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Guard {
    /// Guarded by a uniform predicate (uniform-datapath instructions).
    pub uniform: bool,
    /// Register index; `PT` is always true.
    pub register: u8,
    /// Acts when the predicate is false.
    pub negated: bool,
}

impl Guard {
    /// The guard that always holds.
    pub const ALWAYS: Guard = Guard { uniform: false, register: PT, negated: false };
}

/// An operand: register, immediate or address, with its signs and suffixes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Operand {
    /// The register, immediate or address.
    pub kind: OperandKind,
    /// Arithmetic negation, `-x`.
    pub negate: bool,
    /// Absolute value, `|x|`.
    pub absolute: bool,
    /// Bitwise complement `~x` of an integer, or `!p` of a predicate.
    pub invert: bool,
    /// The value is kept in the operand cache for the next instruction, `.reuse`.
    pub reuse: bool,
    /// Dot-suffixes of the operand (`.H0_H0`, `.B1`, `.X4`, `.U32`).
    pub suffixes: Mods,
}

impl Operand {
    /// The operand with no sign and no suffix.
    pub fn plain(kind: OperandKind) -> Operand {
        Operand { kind, negate: false, absolute: false, invert: false, reuse: false, suffixes: Mods::none() }
    }

    /// True if the operand carries this suffix.
    pub fn has(&self, suffix: Mod) -> bool {
        self.suffixes.has(suffix)
    }
}

/// Kinds of operands. Registers are given by index, the neutral ones by `RZ`, `URZ` and `PT` of
/// [`register`](crate::register). A tuple is given by its lowest register; its width follows from opcode and
/// modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs, reason = "each variant's text names its parts")]
pub enum OperandKind {
    /// General register.
    Reg(u8),
    /// Uniform register.
    UReg(u8),
    /// Predicate.
    Pred(u8),
    /// Uniform predicate.
    UPred(u8),
    /// Convergence barrier `B0..B15`.
    Barrier(u8),
    /// Scoreboard `SB0..SB5`.
    Scoreboard(u8),
    /// Integer immediate, as printed (sign-extended where the form is signed).
    Imm(i64),
    /// Floating-point immediate: the raw bits of the field (f32; the high half of an f64; an f16 in the low 16 bits).
    Float(u32),
    /// `c[bank][offset]`, offset in bytes.
    Const { bank: u8, offset: i32 },
    /// `c[bank][Rindex+offset]`.
    ConstIndexed { bank: u8, index: u8, offset: i32 },
    /// `c[bank][URindex+offset]`.
    ConstUniformIndexed { bank: u8, index: u8, offset: i32 },
    /// `cx[URhandle][offset]`, the handle a pair of uniform registers.
    ConstBindless { handle: u8, offset: i32 },
    /// `cx[URhandle][Rindex+offset]`.
    ConstBindlessIndexed { handle: u8, index: u8, offset: i32 },
    /// A memory address `desc[UR][R.64+UR+offset]`; parts that the form lacks are `None`. Whether the base spans
    /// two registers follows from the suffixes.
    Memory { descriptor: Option<u8>, base: Option<u8>, uniform: Option<u8>, offset: i32 },
    /// `gdesc[UR]`: a matrix descriptor.
    MatrixDescriptor(u8),
    /// `tmem[UR+offset]`: an address in tensor memory.
    TensorMemory { address: u8, offset: i32 },
    /// `tmem[URn], idesc[URn+1]`: two operands of the text that share one field of the word, the address of the
    /// metadata of a sparse matrix and, in the next register, the instruction descriptor.
    InstructionDescriptor(u8),
    /// `a[..]`: an attribute address.
    Attribute { base: Option<u8>, uniform: Option<u8>, offset: i32 },
    /// A branch target: distance in bytes from the end of this instruction.
    Target(i64),
    /// A special register or another named operand.
    Symbol(Symbol),
    /// A named operand whose field value has no name in the table.
    SymbolNumber(u16),
    /// A set of scoreboards `{3,1,0}`, bit n for SBn.
    ScoreboardSet(u8),
}

/// Scheduling control, bits 105..=127 of the word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Control {
    /// Cycles until the next instruction of the warp may issue, 0..=15.
    pub stall: u8,
    /// The printed `Y` flag: the warp yields (bit 109 is clear).
    pub yields: bool,
    /// Scoreboard 0..=5 released when the results are written.
    pub write_barrier: Option<u8>,
    /// Scoreboard 0..=5 released when the sources are read.
    pub read_barrier: Option<u8>,
    /// Scoreboards waited for before issue, bit n for SBn.
    pub wait_mask: u8,
    /// Batch index of a texture access, 0..=5: seen are 1 on the first access of several and 4 on the last. The bits
    /// are reuse flags where the operands use the register cache; the disassembler does not print it.
    pub batch: u8,
}

impl Control {
    /// Stall one cycle, wait for nothing, set nothing.
    pub const NEUTRAL: Control =
        Control { stall: 1, yields: false, write_barrier: None, read_barrier: None, wait_mask: 0, batch: 0 };
}
