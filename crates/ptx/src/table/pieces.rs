//! The words that rows are made of: common slots, operands and a short way to write a row.
//!
//! It is here so that a row fits on one line and says nothing twice. No row may enter.

use super::{Chips, Kind, Need, OperandRow, OperandType, Presence, Row, Slot};
use crate::{Opcode, Space, Type};

use Slot::{May, MaySpace, MayVector, Must};
use Type::*;

/// A row with the usual defaults: every chip, first PTX version, code is made for it.
pub(super) const fn row(
    opcode: Opcode,
    slots: &'static [Slot],
    operands: &'static [OperandRow],
    doc: &'static str,
) -> Row {
    Row { opcode, slots, operands, ptx: (1, 0), chips: Chips::From(10), needs: &[], doc, supported: true }
}

impl Row {
    /// Since which chip and which PTX version the form exists.
    pub(super) const fn since(mut self, chip: u8, major: u8, minor: u8) -> Row {
        self.chips = Chips::From(chip);
        self.ptx = (major, minor);
        self
    }

    /// Chips with a feature set of their own, and the first PTX version.
    pub(super) const fn only(mut self, chips: Chips, major: u8, minor: u8) -> Row {
        self.chips = chips;
        self.ptx = (major, minor);
        self
    }

    /// Needs of single modifiers.
    pub(super) const fn needs(mut self, needs: &'static [Need]) -> Row {
        self.needs = needs;
        self
    }

    /// The back end makes no code for it yet.
    pub(super) const fn later(mut self) -> Row {
        self.supported = false;
        self
    }
}

const fn operand(name: &'static str, kind: Kind, ty: OperandType) -> OperandRow {
    OperandRow { name, kind, ty, presence: Presence::Always }
}

impl OperandRow {
    /// The operand may be left out.
    pub(super) const fn optional(mut self) -> OperandRow {
        self.presence = Presence::Optional;
        self
    }

    /// The operand stands exactly when the modifier does.
    pub(super) const fn with(mut self, token: &'static str) -> OperandRow {
        self.presence = Presence::With(token);
        self
    }
}

/// A destination register.
pub(super) const fn dst(ty: OperandType) -> OperandRow {
    operand("d", Kind::Destination, ty)
}

/// A source: register or constant.
pub(super) const fn src(name: &'static str, ty: OperandType) -> OperandRow {
    operand(name, Kind::Source, ty)
}

/// An operand of any kind.
pub(super) const fn any(name: &'static str, kind: Kind, ty: OperandType) -> OperandRow {
    operand(name, kind, ty)
}

/// Of the type at the first type position.
pub(super) const T: OperandType = OperandType::Of(0);
/// Of the type at the second type position.
pub(super) const T1: OperandType = OperandType::Of(1);
/// Of the type at the third type position.
pub(super) const T2: OperandType = OperandType::Of(2);
/// Any 32-bit integer or bits.
pub(super) const W: OperandType = OperandType::Word;
/// A predicate.
pub(super) const P: OperandType = OperandType::Fixed(Pred);

/// `d` of the first type.
pub(super) const D: OperandRow = dst(T);
/// `d` of 32 bits.
pub(super) const DW: OperandRow = dst(W);
/// `a` of the first type.
pub(super) const A: OperandRow = src("a", T);
/// `b` of the first type.
pub(super) const B: OperandRow = src("b", T);
/// `c` of the first type.
pub(super) const C: OperandRow = src("c", T);
/// `[a]`
pub(super) const ADDRESS: OperandRow = operand("a", Kind::Address, OperandType::AnyInteger);
/// The policy operand that `.L2::cache_hint` asks for.
pub(super) const POLICY: OperandRow = src("cache_policy", OperandType::Fixed(U64)).with("L2::cache_hint");
/// A predicate that is read.
pub(super) const PREDICATE: OperandRow = operand("c", Kind::Predicate, P);
/// The lanes that take part.
pub(super) const MEMBERS: OperandRow = src("membermask", W);
/// Anything, any number of times.
pub(super) const REST: OperandRow = operand("...", Kind::Anything, OperandType::None);

/// Rounding of a result, may be left out.
pub(super) const ROUND: Slot = May(&["rn", "rz", "rm", "rp"]);
/// Rounding of a result, must be there.
pub(super) const ROUNDED: Slot = Must(&["rn", "rz", "rm", "rp"]);
/// Rounding to nearest, may be left out.
pub(super) const NEAREST: Slot = May(&["rn"]);
/// Subnormals to zero.
pub(super) const FTZ: Slot = May(&["ftz"]);
/// Clamp to the range.
pub(super) const SAT: Slot = May(&["sat"]);
/// Negative results become zero.
pub(super) const RELU: Slot = May(&["relu"]);
/// Approximation.
pub(super) const APPROX: Slot = Must(&["approx"]);
/// The two directions of carry chains and products.
pub(super) const LOHI: Slot = Slot::Head(&["lo", "hi"]);
/// A memory scope, must be there.
pub(super) const SCOPE: Slot = Must(&["cta", "cluster", "gpu", "sys"]);
/// A memory scope, may be left out.
pub(super) const MAY_SCOPE: Slot = May(&["cta", "cluster", "gpu", "sys"]);
/// A cache policy operand follows.
pub(super) const HINT: Slot = May(&["L2::cache_hint"]);
/// `.sync`
pub(super) const SYNC: Slot = Must(&["sync"]);
/// `.aligned`
pub(super) const ALIGNED: Slot = Must(&["aligned"]);
/// `.v2`, `.v4`, `.v8`
pub(super) const VECTOR: Slot = MayVector(&[2, 4, 8]);

/// Every space that an ordinary store reaches.
pub(super) const STORE_SPACES: Slot = MaySpace(&[
    Space::Global,
    Space::Local,
    Space::Shared,
    Space::SharedCluster,
    Space::KernelParameter,
    Space::FunctionParameter,
]);
/// Every space that an ordinary load reaches.
pub(super) const LOAD_SPACES: Slot = MaySpace(&[
    Space::Global,
    Space::Local,
    Space::Shared,
    Space::SharedCluster,
    Space::Constant,
    Space::KernelParameter,
    Space::FunctionParameter,
]);
/// Memory that several threads see.
pub(super) const MEMORY_SPACES: Slot = MaySpace(&[Space::Global, Space::Shared, Space::SharedCluster]);

/// 16, 32 and 64-bit integers.
pub(super) const INTEGERS: &[Type] = &[U16, U32, U64, S16, S32, S64];
/// 32 and 64-bit integers.
pub(super) const LONG_INTEGERS: &[Type] = &[U32, U64, S32, S64];
/// Every integer.
pub(super) const ALL_INTEGERS: &[Type] = &[U8, U16, U32, U64, S8, S16, S32, S64];
/// Bits that logic works on.
pub(super) const BITS: &[Type] = &[B16, B32, B64];
/// Everything that loads and stores move.
pub(super) const MEMORY_TYPES: &[Type] =
    &[B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64, F32, F64];
