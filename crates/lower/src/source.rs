//! Sources of Ori instructions that need no lowering to be made: immediates, signs, addresses, words of constant bank 0,
//! and the selectors of `PRMT`. Nothing here emits an instruction or knows the chip.

use oriole_ori::{AddressPart, ConstBase, Source, SourceKind, SymbolId, Value};
use smallvec::SmallVec;

/// The components of a PTX register, lowest first.
pub(crate) type Words = SmallVec<[Value; 4]>;

/// Selector of `PRMT` that keeps the low half and clears the high one.
pub(crate) const ZERO_EXTEND_16: u32 = 0x7710;

/// Selector of `PRMT` that sign-extends the low half.
pub(crate) const SIGN_EXTEND_16: u32 = 0x9910;

/// Selector of `PRMT` that keeps the low byte and clears the others.
pub(crate) const ZERO_EXTEND_8: u32 = 0x7770;

/// Selector of `PRMT` that sign-extends the low byte.
pub(crate) const SIGN_EXTEND_8: u32 = 0x8880;

/// Selectors of `PRMT`: both lower halves, both upper halves.
pub(crate) const LOWER_HALVES: u32 = 0x5410;
pub(crate) const UPPER_HALVES: u32 = 0x7632;

/// A 32-bit immediate, or `RZ` for zero.
pub(crate) fn imm(bits: u32) -> Source {
    if bits == 0 { Source::rz() } else { Source::imm(bits) }
}

/// True if the source is a register or `RZ`, so that it may be in any slot.
pub(crate) fn is_register(source: &Source) -> bool {
    matches!(source.kind, SourceKind::Values(_) | SourceKind::Zero(_))
}

/// The integer source with its sign flipped; an immediate is computed.
pub(crate) fn minus(source: Source) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => imm(bits.wrapping_neg()),
        SourceKind::Zero(_) => source,
        _ => source.negated(),
    }
}

/// The integer source with its bits complemented; an immediate is computed.
pub(crate) fn complement(source: Source) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => imm(!bits),
        SourceKind::Zero(_) => imm(!0),
        _ => source.inverted(),
    }
}

/// The floating source with its sign flipped; `sign` is the sign bit, or bits, of an immediate.
pub(crate) fn minus_float(source: Source, sign: u32) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => imm(bits ^ sign),
        _ => source.negated(),
    }
}

/// The floating source without its sign; `sign` is the sign bit, or bits, of an immediate.
pub(crate) fn magnitude(source: Source, sign: u32) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => imm(bits & !sign),
        _ => source.magnitude(),
    }
}

/// One word of an address that the layout fills in.
pub fn address_word(symbol: SymbolId, part: AddressPart, offset: i32) -> Source {
    Source::plain(SourceKind::Address32 { symbol, part, offset })
}

/// A memory operand of these base registers and this offset, without descriptor.
pub(crate) fn address_of(base: Source, offset: i32) -> Source {
    let base = match base.kind {
        SourceKind::Values(values) => values,
        _ => oriole_ori::Values::new(),
    };
    Source::plain(SourceKind::Address(Box::new(oriole_ori::Address {
        descriptor: None,
        base,
        uniform: oriole_ori::Values::new(),
        symbol: None,
        offset,
    })))
}

/// A word of constant bank 0.
pub(crate) fn bank_0(offset: u32) -> SourceKind {
    SourceKind::Const { bank: 0, base: ConstBase::Bank, offset: offset as i32 }
}
