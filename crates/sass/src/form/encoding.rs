//! One encoding of an instruction as data: the fields of a word, the operands, the modifier fields and their meaning, and
//! how a field holds a value.
//!
//! No table and no chip may enter; encoder, decoder, printer and parser are other files.

use crate::info::Unit;
use crate::{Mod, Op, RegisterFile, Symbol};

/// The bits of the word that hold a value: up to two runs of bits, the lower part first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// First bit and width in bits of the lower part.
    pub low: (u8, u8),
    /// First bit and width of the upper part; width 0 if there is none.
    pub high: (u8, u8),
    /// Two's complement.
    pub signed: bool,
    /// Stored as the complement, so that zero bits mean the always-true predicate.
    pub complement: bool,
    /// Scale of the field: the value is `field * scale`.
    pub scale: u8,
    /// Added to the field to give the register index.
    pub bias: u8,
    /// When the text leaves it out.
    pub elided: Elided,
}

/// When the text leaves a field out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elided {
    /// It is always printed.
    Never,
    /// Omitted when it names `RZ`, `PT` and the like.
    Neutral,
    /// Always printed; an instruction without the operand means `PT` here.
    Written,
    /// Left out when it is zero.
    Zero,
    /// Left out when all its bits are set.
    Ones,
    /// Omitted when it is 0xff, all predicates of a byte.
    Byte,
    /// Never printed: a text means an instruction with this register here.
    Hidden(u8),
}

/// Formats of a floating-point immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatKind {
    /// f32.
    F32,
    /// The upper 32 bits of an f64; the lower ones are zero.
    F64High,
    /// f16; bf16 if the instruction says `.BF16_V2`.
    F16,
    /// bf16: the upper 16 bits of an f32.
    Bf16,
}

/// Operand kinds of slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotKind {
    /// General register.
    Reg,
    /// Uniform register.
    UReg,
    /// Predicate.
    Pred,
    /// Uniform predicate.
    UPred,
    /// Convergence barrier.
    Barrier,
    /// Scoreboard.
    Scoreboard,
    /// Integer immediate.
    Imm,
    /// Floating immediate.
    Float(FloatKind),
    /// `c[bank][offset]`.
    Const,
    /// `c[bank][R+offset]`.
    ConstIndexed,
    /// `c[bank][UR+offset]`.
    ConstUniformIndexed,
    /// `cx[UR][offset]`.
    ConstBindless,
    /// `cx[UR][R+offset]`.
    ConstBindlessIndexed,
    /// A memory address with these parts.
    Memory {
        /// `desc[UR]` in front.
        descriptor: bool,
        /// A general register as base.
        base: bool,
        /// A uniform register as base or in addition to it.
        uniform: bool,
        /// A constant offset.
        offset: bool,
    },
    /// `gdesc[UR]`.
    MatrixDescriptor,
    /// `tmem[UR]` or `tmem[UR+offset]`.
    TensorMemory {
        /// A constant offset.
        offset: bool,
    },
    /// `tmem[UR], idesc[UR+1]`, one field.
    InstructionDescriptor,
    /// `a[..]` with these parts.
    Attribute {
        /// A general register.
        base: bool,
        /// A uniform register.
        uniform: bool,
        /// A constant offset.
        offset: bool,
    },
    /// A branch target.
    Target,
    /// A name selected by one of the form's sets.
    Symbol,
    /// This name and no other; it takes no bits.
    FixedSymbol(Symbol),
    /// A set of scoreboards.
    ScoreboardSet,
}

/// Direction of an operand access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Access {
    /// Written.
    Def,
    /// Read.
    Use,
    /// Read and written.
    DefUse,
}

/// Rule for the count of consecutive registers of an operand, evaluated with the modifiers of the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the head of the form table explains each")]
pub enum Width {
    One,
    Two,
    Four,
    UpperTwo,
    Size,
    Wide,
    Long,
    Float64,
    FromFloat64,
    Integer64,
    Count,
    PairUnless32,
    MatrixA,
    MatrixB,
    MatrixC,
    MatrixD,
    GroupD,
    Address,
    Bulk,
    Tensor,
    /// Coordinates of a texture.
    Coordinates,
    /// Arguments of a fetch besides coordinates.
    Extras,
    /// The first two texels of those that the mask selects.
    TexelsLow,
    /// The others.
    TexelsHigh,
    /// Words that the mask selects, of the lower half of a 256-bit load.
    WordsLow,
    /// Of the upper half.
    WordsHigh,
    /// The level of a query.
    Level,
    /// Coordinates of a surface.
    Surface,
    /// Data of a surface.
    SurfaceData,
    /// An f32x2 pair, or one f32 for both with `.F32`.
    Packed,
    /// Data of a load from or a store to tensor memory.
    TensorData,
    /// Masks of an MMA in tensor memory.
    Lanes,
    Unknown,
}

/// No bit: the slot cannot carry this sign.
pub const NO_BIT: u8 = u8::MAX;

/// One operand of a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Written or read.
    pub access: Access,
    /// Its operand kind.
    pub kind: SlotKind,
    /// The fields, in the order of the text: descriptor, base, uniform register, offset; bank before offset.
    pub fields: &'static [Field],
    /// Its register count.
    pub width: Width,
    /// The bit that negates it, or `NO_BIT`. A slot may also carry signs through a set.
    pub negate: u8,
    /// The bit that takes the absolute value.
    pub absolute: u8,
    /// The bit that inverts it.
    pub invert: u8,
}

/// Meaning of a set row or a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// A modifier of the instruction.
    Mod(Mod),
    /// Operand `0` is negated. The index is `SELF` in a set that belongs to one slot.
    Negate(u8),
    /// The operand's absolute value is taken.
    Absolute(u8),
    /// The operand is inverted.
    Invert(u8),
    /// The operand has a suffix, written at this place.
    Suffix(u8, Place, Mod),
    /// The operand is this name.
    Symbol(u8, Symbol),
}

/// Instead of an operand index: the slot of the set.
pub const SELF: u8 = u8::MAX;

/// Text position of a suffix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// After the n-th register or value inside the operand.
    Part(u8),
    /// After the whole operand.
    End,
    /// It is not printed: the form differs from another one only by its text.
    Nowhere,
}

/// One value of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The value of the bits.
    pub value: u16,
    /// Its meaning.
    pub tokens: &'static [Token],
}

/// A modifier field: bits of the word and the meaning of their values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Set {
    /// The bits, lowest first.
    pub bits: &'static [u8],
    /// The slot of its tokens, or `SELF` if they name their slots themselves.
    pub slot: u8,
    /// The rows, by ascending value.
    pub rows: &'static [Row],
}

/// One encoding of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// The mnemonic.
    pub op: Op,
    /// The guard is a uniform predicate.
    pub uniform_guard: bool,
    /// The bits that identify the form, the opcode among them.
    pub mask: u128,
    /// Their values.
    pub value: u128,
    /// The unused bits of this form.
    pub unused: u128,
    /// Their written value.
    pub unused_value: u128,
    /// The meaning of the form itself.
    pub always: &'static [Token],
    /// The operands.
    pub slots: &'static [Slot],
    /// The modifier fields.
    pub sets: &'static [Set],
    /// Which constraints follow from `always` and `sets`.
    pub(super) says: u16,
    /// For each reuse bit (122, 123, 124) the operand it names, or `NO_BIT`.
    pub reuse: [u8; 3],
    /// It may release a scoreboard when its results are written.
    pub write_barrier: bool,
    /// It may release a scoreboard when its sources are read.
    pub read_barrier: bool,
}

/// First bit of the scheduling control.
pub const CONTROL_SHIFT: u32 = 105;

impl Form {
    /// The twelve bits of the opcode.
    pub fn opcode(&self) -> u16 {
        (self.value & 0xfff) as u16
    }

    /// True if the word has a batch index instead of reuse flags. The disassembler accepts one on every
    /// variable-latency instruction; only texture accesses were seen with one.
    pub fn has_batch(&self) -> bool {
        self.op.info().units == [Unit::Texture]
    }
}

impl Slot {
    /// The register of a descriptor that the text never shows; `None` if the slot has no such field.
    pub fn hidden_descriptor(&self) -> Option<u8> {
        match (self.kind, self.fields.first()) {
            (
                SlotKind::Memory { descriptor: true, .. },
                Some(Field { elided: Elided::Hidden(register), .. }),
            ) => Some(*register),
            _ => None,
        }
    }
}

impl Field {
    /// Width in bits.
    pub fn width(&self) -> u32 {
        self.low.1 as u32 + self.high.1 as u32
    }

    /// The bits of the word that it covers.
    pub const fn mask(&self) -> u128 {
        let low = run_mask(self.low);
        if self.high.1 == 0 { low } else { low | run_mask(self.high) }
    }

    /// The raw bits.
    pub fn extract(&self, word: u128) -> u64 {
        let low = (word >> self.low.0) as u64 & ones(self.low.1 as u32);
        if self.high.1 == 0 {
            return low;
        }
        low | (((word >> self.high.0) as u64 & ones(self.high.1 as u32)) << self.low.1)
    }

    /// The word with these raw bits added; bits beyond the width are ignored by the caller's promise.
    pub fn place(&self, bits: u64) -> u128 {
        let low = ((bits & ones(self.low.1 as u32)) as u128) << self.low.0;
        if self.high.1 == 0 {
            return low;
        }
        low | ((((bits >> self.low.1) & ones(self.high.1 as u32)) as u128) << self.high.0)
    }

    /// The signed and scaled value of raw bits.
    pub fn number(&self, bits: u64) -> i64 {
        let width = self.width();
        let plain = if self.signed && width < 64 && bits >> (width - 1) & 1 == 1 {
            bits as i64 - (1i64 << width)
        } else {
            bits as i64
        };
        plain * self.scale as i64
    }

    /// The raw bits of a value, or `None` if it does not fit.
    pub fn number_bits(&self, value: i64) -> Option<u64> {
        let scale = self.scale as i64;
        if value % scale != 0 {
            return None;
        }
        let (steps, width) = (value / scale, self.width());
        let fits = if self.signed {
            steps >= -(1i64 << (width - 1)) && steps < 1i64 << (width - 1)
        } else {
            steps >= 0 && (steps as u64) <= ones(width)
        };
        fits.then_some(steps as u64 & ones(width))
    }

    /// The smallest and the largest value of the field.
    pub fn range(&self) -> (i64, i64) {
        let (width, scale) = (self.width(), self.scale as i64);
        if self.signed {
            (-(1i64 << (width - 1)) * scale, ((1i64 << (width - 1)) - 1) * scale)
        } else {
            (0, ones(width) as i64 * scale)
        }
    }

    /// The register or predicate index of raw bits.
    pub fn register(&self, bits: u64) -> u8 {
        let bits = if self.complement { !bits & ones(self.width()) } else { bits };
        (bits as u8).wrapping_add(self.bias)
    }

    /// The raw bits of a register or predicate index, or `None` if it does not fit.
    pub fn register_bits(&self, register: u8) -> Option<u64> {
        let bits = register.checked_sub(self.bias)? as u64;
        if bits > ones(self.width()) {
            return None;
        }
        Some(if self.complement { !bits & ones(self.width()) } else { bits })
    }

    /// The operand index of a register of a file: that of the neutral register for all ones.
    pub fn named(&self, file: RegisterFile, bits: u64) -> u8 {
        let register = self.register(bits);
        match file.neutral() {
            Some(neutral) if u64::from(register) == ones(self.width()) => neutral,
            _ => register,
        }
    }

    /// The raw bits of an operand's register index, or `None` if the field cannot hold it.
    pub fn named_bits(&self, file: RegisterFile, register: u8) -> Option<u64> {
        let Some(neutral) = file.neutral() else { return self.register_bits(register) };
        let all = ones(self.width());
        if register == neutral {
            return self.register_bits(all as u8);
        }
        if u64::from(register) < all { self.register_bits(register) } else { None }
    }

    /// The raw bits that the text leaves out, if it ever does.
    pub fn elided_bits(&self) -> Option<u64> {
        match self.elided {
            Elided::Never => None,
            Elided::Zero => Some(0),
            Elided::Ones => Some(ones(self.width())),
            Elided::Byte => Some(0xff),
            Elided::Hidden(register) => Some(register as u64),
            Elided::Neutral | Elided::Written => Some(if self.complement { 0 } else { ones(self.width()) }),
        }
    }
}

impl Set {
    /// The raw value of the set in a word.
    pub fn extract(&self, word: u128) -> u16 {
        self.bits.iter().enumerate().fold(0, |value, (n, &bit)| value | (((word >> bit) as u16 & 1) << n))
    }

    /// The word with this value in place.
    pub fn place(&self, value: u16) -> u128 {
        // Most sets mean nothing, by the value zero.
        let (mut left, mut word) = (value, 0);
        while left != 0 {
            word |= 1 << self.bits[left.trailing_zeros() as usize];
            left &= left - 1;
        }
        word
    }

    /// The row of a value.
    pub fn row(&self, value: u16) -> Option<&'static Row> {
        // Most tables are dense from zero, so that the first guess is right.
        if let Some(row) = self.rows.get(value as usize)
            && row.value == value
        {
            return Some(row);
        }
        self.rows.binary_search_by_key(&value, |row| row.value).ok().map(|at| &self.rows[at])
    }
}

const fn ones(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1u64 << width) - 1 }
}

const fn run_mask((low, width): (u8, u8)) -> u128 {
    (ones(width as u32) as u128) << low
}

/// A field, for the generated tables.
pub(super) const fn field(
    low: (u8, u8),
    high: (u8, u8),
    scale: u8,
    bias: u8,
    signed: bool,
    complement: bool,
    elided: Elided,
) -> Field {
    Field { low, high, signed, complement, scale, bias, elided }
}

/// A slot, for the generated tables.
pub(super) const fn slot(
    access: Access,
    kind: SlotKind,
    fields: &'static [Field],
    width: Width,
    signs: [u8; 3],
) -> Slot {
    Slot { access, kind, fields, width, negate: signs[0], absolute: signs[1], invert: signs[2] }
}

/// A row, for the generated tables.
pub(super) const fn row(value: u16, tokens: &'static [Token]) -> Row {
    Row { value, tokens }
}

/// A set, for the generated tables.
pub(super) const fn set(bits: &'static [u8], slot: u8, rows: &'static [Row]) -> Set {
    Set { bits, slot, rows }
}
