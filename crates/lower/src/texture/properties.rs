//! Queries of textures, samplers and surfaces: `txq`, `suq`. The hardware knows sizes; the driver keeps the rest in
//! tables, with a descriptor for each handle.

use super::handle;
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::{address_word, bank_0};
use oriole_chip::texture::DescriptorTable;
use oriole_hir::{Instruction, Operand};
use oriole_ori::{Address, AddressPart, MemoryInfo, Source, SourceKind, Space, SymbolKind, Value};
use oriole_ptx::word::OpaqueProperty;
use oriole_ptx::{Opcode, Type};
use oriole_sass::{Mod, Op, Symbol};

/// Offsets in the descriptor of a texture, which holds its sampler.
const TEXTURE: [(OpaqueProperty, i32); 10] = [
    (OpaqueProperty::AddrMode0, 0x0c),
    (OpaqueProperty::AddrMode1, 0x10),
    (OpaqueProperty::AddrMode2, 0x14),
    (OpaqueProperty::FilterMode, 0x18),
    (OpaqueProperty::NormalizedCoords, 0x1c),
    (OpaqueProperty::ChannelDataType, 0x20),
    (OpaqueProperty::ChannelOrder, 0x24),
    (OpaqueProperty::ArraySize, 0x28),
    (OpaqueProperty::NumMipmapLevels, 0x2c),
    (OpaqueProperty::NumSamples, 0x30),
];

/// Offsets in the descriptor of a texture with a separate sampler.
const TEXTURE_ALONE: [(OpaqueProperty, i32); 6] = [
    (OpaqueProperty::NormalizedCoords, 0x0c),
    (OpaqueProperty::ChannelDataType, 0x10),
    (OpaqueProperty::ChannelOrder, 0x14),
    (OpaqueProperty::ArraySize, 0x18),
    (OpaqueProperty::NumMipmapLevels, 0x1c),
    (OpaqueProperty::NumSamples, 0x20),
];

/// Offsets in the descriptor of a sampler.
const SAMPLER: [(OpaqueProperty, i32); 5] = [
    (OpaqueProperty::AddrMode0, 0),
    (OpaqueProperty::AddrMode1, 4),
    (OpaqueProperty::AddrMode2, 8),
    (OpaqueProperty::FilterMode, 0x0c),
    (OpaqueProperty::ForceUnnormalizedCoords, 0x10),
];

/// Offsets in the descriptor of a surface.
const SURFACE: [(OpaqueProperty, i32); 4] = [
    (OpaqueProperty::ChannelDataType, 0x0c),
    (OpaqueProperty::ChannelOrder, 0x10),
    (OpaqueProperty::MemoryLayout, 0x14),
    (OpaqueProperty::ArraySize, 0x1c),
];

/// The bits of a handle that index a descriptor, on chips that put a texture and its sampler into one word; and those
/// that index a sampler with a handle of its own.
const DESCRIPTOR_NUMBER: u32 = 0xf_ffff;
const SAMPLER_NUMBER: u32 = 0xfff;

/// `txq` and `suq`.
pub(crate) fn query(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let property: OpaqueProperty = i.modifiers.at().ok_or_else(|| cx.unsupported_form(i))?;
    let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
    let Operand::List(parts) = cx.operand(i, 1)? else { return Err(cx.unsupported_form(i)) };
    let [named] = parts.as_slice() else { return Err(cx.unsupported_form(i)) };
    let handle = handle::opaque(cx, named)?;
    if matches!(property, OpaqueProperty::Width | OpaqueProperty::Height | OpaqueProperty::Depth) {
        let level = match i.operands.get(2) {
            Some(level) => cx.word(level, Type::B32)?,
            None => Source::rz(),
        };
        size_of(cx, handle, property, level, d);
        return Ok(());
    }
    let (table, offset) = place_of_property(cx, i, property)?;
    load_property(cx, table, handle, offset, d);
    Ok(())
}

/// The size of a level in one direction.
pub(super) fn size_of(cx: &mut Lower<'_>, handle: Source, axis: OpaqueProperty, level: Source, d: Value) {
    let mask = match axis {
        OpaqueProperty::Height => 2,
        OpaqueProperty::Depth => 4,
        _ => 1,
    };
    ask_header(cx, handle, mask, level, d);
}

/// The count of mip levels of a texture.
pub(super) fn levels_of(cx: &mut Lower<'_>, handle: Source, d: Value) {
    ask_header(cx, handle, 8, Source::rz(), d);
}

/// A word of the header of a texture: the size of a level in three directions, and the count of levels.
fn ask_header(cx: &mut Lower<'_>, handle: Source, mask: i64, level: Source, d: Value) {
    let sources = handle::values(cx, vec![handle, level]);
    cx.b.op(Op::TXQ)
        .m(Mod::B)
        .drop_result(oriole_ori::File::R)
        .to(d)
        .from(sources)
        .from(Source::plain(SourceKind::Symbol(Symbol::TEX_HEADER_DIMENSION)))
        .from(Source::literal(mask))
        .emit();
}

/// The table and the descriptor offset that hold a property.
fn place_of_property(
    cx: &Lower<'_>,
    i: &Instruction,
    property: OpaqueProperty,
) -> Result<(DescriptorTable, i32), LowerError> {
    let of_sampler = SAMPLER.iter().any(|row| row.0 == property);
    let (table, rows): (_, &[_]) = match i.opcode {
        Opcode::Suq => (DescriptorTable::Surfaces, &SURFACE),
        _ if !cx.body.independent_samplers => (DescriptorTable::Textures, &TEXTURE),
        _ if of_sampler => (DescriptorTable::Samplers, &SAMPLER),
        _ => (DescriptorTable::TexturesAlone, &TEXTURE_ALONE),
    };
    let row = rows.iter().find(|row| row.0 == property);
    row.map(|row| (table, row.1)).ok_or_else(|| cx.unsupported_form(i))
}

/// Loads a word of the descriptor that a handle indexes.
fn load_property(cx: &mut Lower<'_>, table: DescriptorTable, handle: Source, offset: i32, d: Value) {
    let mut number = cx.in_register(handle);
    if !cx.chip.uniform_handles() {
        let kept = cx.b.r();
        let is_sampler = table == DescriptorTable::Samplers;
        cx.b.and(kept, number, if is_sampler { SAMPLER_NUMBER } else { DESCRIPTOR_NUMBER });
        number = kept.into();
    }
    let symbol = cx.symbol(SymbolKind::DescriptorSize, table.size_symbol());
    let (size, start, place) = (cx.b.r(), cx.b.pair(), cx.b.pair());
    cx.b.mov(size, address_word(symbol, AddressPart::Low, 0));
    cx.b.ldc(start, bank_0(cx.bank.descriptor_table(table)));
    cx.b.imad_wide(place, true, number, size, start);
    let descriptor = cx.descriptor();
    let mut address = Source::plain(SourceKind::Address(Box::new(Address {
        descriptor: descriptor.map(|pair| pair.into_iter().collect()),
        base: place.into_iter().collect(),
        offset,
        ..Address::default()
    })));
    if descriptor.is_some() {
        address.suffixes.insert(Mod::_64);
    }
    let memory =
        MemoryInfo { space: Space::Global, reads: true, writes: false, ordered: false, object: None };
    let load = cx.b.op(Op::LDG).mods(&[Mod::E, Mod::CONSTANT]).to(d);
    load.from(address).memory(memory).emit();
}
