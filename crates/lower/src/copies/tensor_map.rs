//! `tensormap`: modifies fields of a tensor map, 128 bytes in memory, and its copy for the TMA.
//!
//! A field is modified by an ordinary load and a store; there is no instruction for it.

use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::memory::{self, Place, scope_mod};
use crate::source::imm;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{File, Source, Value, Values};
use oriole_ptx::word::{AllocationClass, TensorMapField};
use oriole_ptx::{Space, Type, Word};
use oriole_sass::{Mod, Op, Symbol};

/// Byte offsets of the words of a tensor map.
const ADDRESS: i32 = 0x00;
const KINDS: i32 = 0x08;
const STRIDES: i32 = 0x0c;
const HIGH_STRIDES: i32 = 0x1c;
const SIZES: i32 = 0x20;
const STEPS: i32 = 0x34;
const BOX: i32 = 0x38;

/// Strides are in units of 2^STRIDE_UNIT bytes.
const STRIDE_UNIT: u32 = 4;

/// Position of the element type.
const TYPE: u32 = 0x780;

/// Marks the type that is rounded on reads: f32, and types that come four after a counterpart in the list of types.
const TYPE_MARK: u32 = 1 << 16;

/// Marks memory that was allocated in large pages.
const LARGE: u32 = 1 << 21;

/// Bits of a word.
struct Field {
    word: i32,
    mask: u32,
    shift: u32,
}

/// `tensormap.replace`, `tensormap.query` and `tensormap.cp_fenceproxy`.
pub(crate) fn change_map(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if i.modifiers.has(Word::Query) {
        return query_map(cx, i);
    }
    if let Some(class) = i.modifiers.at::<AllocationClass>() {
        return replace_class(cx, i, class);
    }
    let Some(field) = i.modifiers.at::<TensorMapField>() else { return publish_map(cx, i) };
    let space = i.space.unwrap_or(Space::Generic);
    let place = memory::place_of(cx, cx.operand(i, 0)?, space)?;
    let value = cx.operand(i, i.operands.len().saturating_sub(1))?;
    let ordinal = match (i.operands.len(), i.operands.get(1)) {
        (3, Some(&Operand::Immediate(Immediate::Integer(ordinal @ 0..=4)))) => ordinal as u32,
        (2, _) => 0,
        _ => return Err(cx.unsupported_form(i)),
    };
    let kinds = |mask: u32| Field { word: KINDS, mask, shift: mask.trailing_zeros() };
    let (field, less) = match field {
        TensorMapField::GlobalAddress => {
            let words = cx.words(value, Type::B64)?.to_vec();
            let words = cx.tuple(words);
            return store_in_map(cx, &place, ADDRESS, words);
        }
        TensorMapField::GlobalStride => return replace_stride(cx, &place, ordinal, value),
        TensorMapField::GlobalDim => {
            let size = less_one(cx, value)?;
            return store_in_map(cx, &place, SIZES + 4 * ordinal as i32, size);
        }
        TensorMapField::Elemtype => return replace_type(cx, i, &place, value),
        TensorMapField::Rank => (kinds(0x70), false),
        TensorMapField::InterleaveLayout => (kinds(0x1800), false),
        TensorMapField::SwizzleMode if matches!(value, Operand::Immediate(Immediate::Integer(0..=3))) => {
            (kinds(0x40_6000), false)
        }
        TensorMapField::FillMode => (kinds(0x8000), false),
        TensorMapField::SwizzleMode if matches!(value, Operand::Immediate(Immediate::Integer(4))) => {
            // The 96-byte mode is a mark next to the others.
            let cleared = imm(0);
            replace_bits(cx, &place, &kinds(0x6000), cleared)?;
            return replace_bits(cx, &place, &kinds(0x40_0000), imm(1));
        }
        TensorMapField::SwizzleAtomicity => (kinds(0x38_0000), false),
        TensorMapField::SwizzleMode => return Err(cx.unsupported_form(i)),
        TensorMapField::ElementStride => {
            (Field { word: STEPS, mask: 7 << (3 * ordinal), shift: 3 * ordinal }, true)
        }
        TensorMapField::BoxDim if ordinal == 0 => (Field { word: STEPS, mask: 0xff00_0000, shift: 24 }, true),
        TensorMapField::BoxDim => {
            let shift = 8 * (ordinal - 1);
            (Field { word: BOX, mask: 0xff << shift, shift }, true)
        }
    };
    let value = if less { less_one(cx, value)? } else { cx.word(value, Type::B32)? };
    replace_bits(cx, &place, &field, value)
}

/// The address, if there is one, and how its memory was taken.
fn replace_class(cx: &mut Lower<'_>, i: &Instruction, class: AllocationClass) -> Lowered {
    let place = memory::place_of(cx, cx.operand(i, 0)?, i.space.unwrap_or(Space::Generic))?;
    if let Some(address) = i.operands.get(1) {
        let words = cx.words(address, Type::B64)?.to_vec();
        let words = cx.tuple(words);
        store_in_map(cx, &place, ADDRESS, words)?;
    }
    let large = match class {
        AllocationClass::AllocLarge => imm(1),
        AllocationClass::AllocSmall => Source::rz(),
        AllocationClass::AllocSame => return Ok(()),
    };
    replace_bits(cx, &place, &Field { word: KINDS, mask: LARGE, shift: LARGE.trailing_zeros() }, large)
}

/// `tensormap.query`: how the memory was taken.
fn query_map(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let place = memory::place_of(cx, cx.operand(i, 1)?, i.space.unwrap_or(Space::Generic))?;
    let Some(d) = cx.result_predicate(cx.operand(i, 0)?)? else { return Ok(()) };
    let [kinds, large] = [cx.b.r(), cx.b.r()];
    let address = word_in_map(cx, &place, KINDS);
    let (load, _, extended) = memory::access_ops(cx, place.space)?;
    let memory = memory::memory_info(place.space, true, false, false);
    cx.b.op(load).m_if(extended, Mod::E).to(kinds).from(address).memory(memory).emit();
    cx.b.and(large, kinds, LARGE);
    cx.b.isetp(d, Mod::NE, true, large, Source::rz());
    Ok(())
}

/// Sizes and steps are stored less one.
fn less_one(cx: &mut Lower<'_>, value: &Operand) -> Result<Source, LowerError> {
    let value = cx.word(value, Type::B32)?;
    let less = cx.b.r();
    cx.add(less, value, imm(!0));
    Ok(less.into())
}

/// Bits 4 to 35 of a stride are a word; bits 36 to 39 of four strides share one. The fifth stride, which no
/// tensor has, overlaps that word itself, as in ptxas code.
fn replace_stride(cx: &mut Lower<'_>, place: &Place, ordinal: u32, value: &Operand) -> Lowered {
    let words = cx.words(value, Type::B64)?;
    let low = cx.in_register(words[0].clone());
    let high = cx.in_register(words[1].clone());
    let [units, rest] = [cx.b.r(), cx.b.r()];
    cx.b.shf(units, &[Mod::R, Mod::U64], low, imm(STRIDE_UNIT), high.clone());
    cx.b.shr(rest, high, STRIDE_UNIT);
    if ordinal == 4 {
        let [moved, joined] = [cx.b.r(), cx.b.r()];
        cx.b.shl(moved, rest, 16);
        cx.b.lop3(joined, units, imm(0xf_0000), moved, 0xb8);
        return store_in_map(cx, place, HIGH_STRIDES, joined.into());
    }
    store_in_map(cx, place, STRIDES + 4 * ordinal as i32, units.into())?;
    let field = Field { word: HIGH_STRIDES, mask: 0xf << (4 * ordinal), shift: 4 * ordinal };
    replace_bits(cx, place, &field, rest.into())
}

fn replace_type(cx: &mut Lower<'_>, i: &Instruction, place: &Place, value: &Operand) -> Lowered {
    let &Operand::Immediate(Immediate::Integer(ty @ 0..=15)) = value else {
        return Err(cx.unsupported_form(i));
    };
    let ty = ty as u32;
    let (mask, bits) = match ty {
        0..=10 => (TYPE, ty << TYPE.trailing_zeros()),
        11 | 12 => (TYPE | TYPE_MARK, (ty - 4) << TYPE.trailing_zeros() | TYPE_MARK),
        // Elements of fewer bits than a byte.
        _ => (TYPE, (ty - 2) << TYPE.trailing_zeros()),
    };
    replace_bits(cx, place, &Field { word: KINDS, mask, shift: 0 }, imm(bits))
}

fn replace_bits(cx: &mut Lower<'_>, place: &Place, field: &Field, value: Source) -> Lowered {
    let zero = matches!(value.kind, oriole_ori::SourceKind::Zero(_));
    let mut value = cx.in_register(value);
    if field.shift != 0 && !zero {
        let shifted = cx.b.r();
        cx.b.shl(shifted, value, field.shift);
        value = shifted.into();
    }
    let old = cx.b.r();
    let address = word_in_map(cx, place, field.word);
    let (load, _, extended) = memory::access_ops(cx, place.space)?;
    let memory = memory::memory_info(place.space, true, false, false);
    cx.b.op(load).m_if(extended, Mod::E).to(old).from(address).memory(memory).emit();
    let new = cx.b.r();
    cx.b.lop3(new, old, imm(field.mask), value, 0xb8);
    store_in_map(cx, place, field.word, new.into())
}

fn store_in_map(cx: &mut Lower<'_>, place: &Place, offset: i32, value: Source) -> Lowered {
    let value = cx.in_register(value);
    let wide = matches!(&value.kind, oriole_ori::SourceKind::Values(values) if values.len() == 2);
    let address = word_in_map(cx, place, offset);
    let (_, store, extended) = memory::access_ops(cx, place.space)?;
    let memory = memory::memory_info(place.space, false, true, false);
    cx.b.op(store)
        .m_if(extended, Mod::E)
        .m_if(wide, Mod::_64)
        .from(address)
        .from(value)
        .memory(memory)
        .emit();
    Ok(())
}

fn word_in_map(cx: &mut Lower<'_>, place: &Place, offset: i32) -> Source {
    let word = Place {
        space: place.space,
        base: place.base.clone(),
        symbol: place.symbol,
        offset: place.offset + offset,
    };
    memory::memory_operand(cx, &word, true)
}

/// `tensormap.cp_fenceproxy`: every lane copies a word from shared to global memory.
fn publish_map(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Some((_, scope)) = scope_mod(i) else { return Err(cx.unsupported_form(i)) };
    let scope = if scope == Mod::CTA { Mod::GPU } else { scope };
    let target = memory::place_of(cx, cx.operand(i, 0)?, Space::Global)?;
    let source = memory::shared_address(cx, cx.operand(i, 1)?)?;
    let [lane, offset, at, word] = [cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r()];
    cx.b.s2r(lane, Symbol::SR_LANEID);
    cx.b.shl(offset, lane, 2);
    cx.add(at, source, offset.into());
    let to: [Value; 2] = cx.b.pair();
    let distance = cx.tuple([offset.into(), Source::rz()]);
    cx.pseudo(oriole_ori::Pseudo::Add64, &[], to, [Source::values(target.base.clone()), distance]);
    let from = Place { space: Space::Shared, base: Values::from_slice(&[at]), symbol: None, offset: 0 };
    let from = memory::memory_operand(cx, &from, false);
    let memory = memory::memory_info(Space::Shared, true, false, true);
    cx.b.op(Op::LDS).to(word).from(from).memory(memory).emit();
    let to = Place { base: Values::from_slice(&to), ..target };
    let to = memory::memory_operand(cx, &to, true);
    cx.b.op(Op::ATOMG)
        .mods(&[Mod::E, Mod::EXCH, Mod::STRONG, scope])
        .drop_result(File::P)
        .drop_result(File::R)
        .from(to)
        .from(Source::value(word))
        .memory(memory::memory_info(Space::Global, true, true, true))
        .emit();
    Ok(())
}
