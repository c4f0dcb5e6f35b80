//! Operands of Ori: destinations and sources, with the signs and suffixes that SASS writes around them.

use crate::{BlockId, Suffixes, SymbolId, Value, Values};
use oriole_sass::{Operand, OperandKind, Symbol};

/// A memory address. `base` is one (32-bit spaces) or two components (64-bit), none for an absolute address.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Address {
    /// Descriptor: a pair of uniform registers, `desc[UR]`.
    pub descriptor: Option<Values>,
    /// Register part.
    pub base: Values,
    /// Uniform register part, one or two components.
    pub uniform: Values,
    /// Variable whose address is part of the offset (shared or local layout comes later).
    pub symbol: Option<SymbolId>,
    /// Byte offset.
    pub offset: i32,
}

/// The predicate that decides whether an instruction acts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// A value of file P or UP.
    pub value: Value,
    /// Acts when the predicate is false.
    pub negated: bool,
}

/// Something an instruction writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Destination {
    /// Written components, all of one file. Empty: the result is dropped (`RZ`, `PT`).
    pub values: Values,
    /// The file, known even without components.
    pub file: crate::File,
    /// How many components the operand spans (equals `values.len()` unless that is 0).
    pub width: u8,
    /// The lowest physical register, where a convention fixes it.
    pub fixed: Option<u8>,
}

/// Something an instruction reads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Source {
    /// The register, constant or address that is read.
    pub kind: SourceKind,
    /// Arithmetic negation, `-x`.
    pub negate: bool,
    /// Absolute value, `|x|`.
    pub absolute: bool,
    /// Bitwise complement `~x`, or `!p` of a predicate.
    pub invert: bool,
    /// Dot-suffixes of the operand (`H0_H0`, `H1_H1`, `B1`, `X4` ...).
    pub suffixes: Suffixes,
    /// The lowest physical register, where a convention fixes it.
    pub fixed: Option<u8>,
}

/// Kinds of sources.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SourceKind {
    /// Registers of one file: one, or an aligned tuple.
    Values(Values),
    /// `RZ` or `URZ`, in a slot that takes a register of this file.
    Zero(crate::File),
    /// `PT` or `UPT` (`!PT` with `invert`).
    True(crate::File),
    /// A 32-bit immediate as raw bits. For f64 forms it is the high half, the low half being zero; for f16x2 forms it
    /// holds both halves.
    Imm(u32),
    /// A small integer that is part of the instruction and no 32-bit immediate (a LUT, a shift count of LEA, a
    /// barrier index, a lane mask of SHFL).
    Literal(i64),
    /// `c[bank][base+offset]`, offset in bytes, one or two words wide, depending on the form.
    Const { bank: u8, base: ConstBase, offset: i32 },
    /// `c[bank][base+Rindex+offset]`, only in LDC.
    ConstIndexed(Box<IndexedConst>),
    /// A memory address.
    Address(Box<Address>),
    /// One word of the address of a variable or function, filled in by the layout of the kernel. That of a function
    /// is the offset of its entry in a table of functions, see [`crate::Table::Functions`].
    Address32 { symbol: SymbolId, part: AddressPart, offset: i32 },
    /// A branch target.
    Block(BlockId),
    /// The entry of a function or helper, the target of a direct call.
    Callee(SymbolId),
    /// The start of the kernel's code, from which return and function addresses count: the target of a return and
    /// of an indirect call.
    KernelStart,
    /// One word of the address of the instruction after the next call of the block; in `LEPC`, the distance to it.
    ReturnAddress(AddressPart),
    /// Bytes from the last `LEPC` before to the instruction after the next call, both in this block.
    ReturnDistance,
    /// A special register or another named operand.
    Symbol(Symbol),
    /// A scoreboard that the instruction itself names, `SB0` to `SB5`.
    Scoreboard(u8),
}

/// A constant-bank location indexed by a register. It is rare, and boxed, so that sources are small.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IndexedConst {
    /// The bank.
    pub bank: u8,
    /// The base of the offset.
    pub base: ConstBase,
    /// Bytes to be added.
    pub index: Value,
    /// Byte offset.
    pub offset: i32,
}

/// Base of a constant operand's offset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum ConstBase {
    /// From the start of the bank.
    Bank,
    /// From a module-level `.const` variable (bank 3).
    Variable(SymbolId),
    /// From this function's slot holding the 64-bit address of a global variable or function (bank 4).
    AddressSlot(SymbolId),
    /// From this kernel's slot, after the parameters, with the header index of a texture, sampler or surface (bank 0).
    HeaderSlot(SymbolId),
    /// From this function's literal pool or jump tables (bank 2); the index is that in
    /// [`crate::Function::tables`].
    Table(u32),
}

/// The part of an address that a 32-bit operand holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum AddressPart {
    /// The low or only word (shared and local offsets are 32 bits).
    Low,
    /// The high word.
    High,
}

impl SourceKind {
    /// The base of a constant's offset, indexed or not.
    pub fn const_base(&self) -> Option<&ConstBase> {
        match self {
            SourceKind::Const { base, .. } => Some(base),
            SourceKind::ConstIndexed(place) => Some(&place.base),
            _ => None,
        }
    }

    /// Mutable [`SourceKind::const_base`].
    pub fn const_base_mut(&mut self) -> Option<&mut ConstBase> {
        match self {
            SourceKind::Const { base, .. } => Some(base),
            SourceKind::ConstIndexed(place) => Some(&mut place.base),
            _ => None,
        }
    }
}

impl Destination {
    /// A destination of these components.
    pub fn new(file: crate::File, values: impl IntoIterator<Item = Value>) -> Destination {
        let values: Values = values.into_iter().collect();
        Destination { width: values.len() as u8, values, file, fixed: None }
    }

    /// A result that is dropped.
    pub fn dropped(file: crate::File, width: u8) -> Destination {
        Destination { values: Values::new(), file, width, fixed: None }
    }
}

impl Source {
    /// A source with no sign and no suffix.
    #[inline]
    pub fn plain(kind: SourceKind) -> Source {
        Source {
            kind,
            negate: false,
            absolute: false,
            invert: false,
            suffixes: Suffixes::none(),
            fixed: None,
        }
    }

    /// One register.
    #[inline]
    pub fn value(value: Value) -> Source {
        Source::plain(SourceKind::Values(Values::from_slice(&[value])))
    }

    /// A tuple of registers.
    pub fn values(values: impl IntoIterator<Item = Value>) -> Source {
        Source::plain(SourceKind::Values(values.into_iter().collect()))
    }

    /// A 32-bit immediate.
    pub fn imm(bits: u32) -> Source {
        Source::plain(SourceKind::Imm(bits))
    }

    /// `RZ`.
    pub fn rz() -> Source {
        Source::plain(SourceKind::Zero(crate::File::R))
    }

    /// `PT`.
    pub fn pt() -> Source {
        Source::plain(SourceKind::True(crate::File::P))
    }

    /// `!PT`.
    pub fn not_pt() -> Source {
        Source::pt().inverted()
    }

    /// A literal of the instruction.
    pub fn literal(number: i64) -> Source {
        Source::plain(SourceKind::Literal(number))
    }

    /// `c[bank][offset]`, offset in bytes.
    pub fn constant(bank: u8, offset: i32) -> Source {
        Source::plain(SourceKind::Const { bank, base: ConstBase::Bank, offset })
    }

    /// The machine operand of this kind, with the modifiers of the source.
    pub fn operand(&self, kind: OperandKind) -> Operand {
        Operand {
            kind,
            negate: self.negate,
            absolute: self.absolute,
            invert: self.invert,
            reuse: false,
            suffixes: (&self.suffixes).into(),
        }
    }

    /// The source with the arithmetic sign flipped.
    pub fn negated(mut self) -> Source {
        self.negate = !self.negate;
        self
    }

    /// The source with bits complemented or the predicate negated.
    pub fn inverted(mut self) -> Source {
        self.invert = !self.invert;
        self
    }

    /// Absolute value of it; a sign it had is taken away.
    pub fn magnitude(mut self) -> Source {
        self.absolute = true;
        self.negate = false;
        self
    }

    /// The source with a dot-suffix.
    pub fn suffixed(mut self, suffix: oriole_sass::Mod) -> Source {
        self.suffixes.insert(suffix);
        self
    }

    /// The single register that the source is, without any sign, suffix or convention.
    #[inline]
    pub fn as_plain_value(&self) -> Option<Value> {
        match &self.kind {
            SourceKind::Values(values)
                if values.len() == 1
                    && !(self.negate || self.absolute || self.invert)
                    && self.suffixes.is_empty()
                    && self.fixed.is_none() =>
            {
                Some(values[0])
            }
            _ => None,
        }
    }

    /// The components that the source reads, in operand order (a memory address reads descriptor, base, uniform).
    #[inline]
    pub fn for_each_value(&self, mut visit: impl FnMut(Value)) {
        match &self.kind {
            SourceKind::Values(values) => values.iter().for_each(|&v| visit(v)),
            SourceKind::ConstIndexed(place) => visit(place.index),
            SourceKind::Address(address) => {
                let Address { descriptor, base, uniform, .. } = &**address;
                descriptor.iter().flatten().for_each(|&v| visit(v));
                base.iter().for_each(|&v| visit(v));
                uniform.iter().for_each(|&v| visit(v));
            }
            _ => {}
        }
    }

    /// Visits each component for replacement.
    #[inline]
    pub fn for_each_value_mut(&mut self, mut visit: impl FnMut(&mut Value)) {
        match &mut self.kind {
            SourceKind::Values(values) => values.iter_mut().for_each(visit),
            SourceKind::ConstIndexed(place) => visit(&mut place.index),
            SourceKind::Address(address) => {
                let Address { descriptor, base, uniform, .. } = &mut **address;
                descriptor.iter_mut().flatten().for_each(&mut visit);
                base.iter_mut().for_each(&mut visit);
                uniform.iter_mut().for_each(&mut visit);
            }
            _ => {}
        }
    }
}

impl From<Value> for Source {
    fn from(value: Value) -> Source {
        Source::value(value)
    }
}

impl From<[Value; 2]> for Source {
    fn from(values: [Value; 2]) -> Source {
        Source::values(values)
    }
}

/// A 32-bit immediate.
impl From<u32> for Source {
    fn from(bits: u32) -> Source {
        Source::imm(bits)
    }
}

impl From<SourceKind> for Source {
    fn from(kind: SourceKind) -> Source {
        Source::plain(kind)
    }
}

impl From<Guard> for Source {
    fn from(guard: Guard) -> Source {
        let source = Source::value(guard.value);
        if guard.negated { source.inverted() } else { source }
    }
}
