//! `cp.async.bulk.tensor` and its reductions and prefetches: TMA tiles.

use super::engine::{self, Bulk, LOW_HALF, several_blocks};
use super::reduction;
use crate::context::{Lower, Lowered};
use crate::{LowerError, memory};
use oriole_hir::{Instruction, Operand};
use oriole_ori::Source;
use oriole_ptx::word::TensorDimensions;
use oriole_ptx::{Space, Type, Word};
use oriole_sass::{Mod, Op};

/// Bits of the pixel count past a part of a line; the offset is above them.
const HALO_BITS: u32 = 11;

/// Traversal of a TMA tile, if it is not dimension by dimension.
fn box_walk(i: &Instruction) -> Option<Mod> {
    let ways = [
        (Word::Im2col, Mod::IM2COL),
        (Word::Im2colNoOffs, Mod::IM2COL),
        (Word::Im2colW, Mod::W),
        (Word::Im2colW128, Mod::W128),
        (Word::TileGather4, Mod::GATHER4),
        (Word::TileScatter4, Mod::SCATTER4),
    ];
    ways.into_iter().find(|(word, _)| i.modifiers.has(*word)).map(|(_, walk)| walk)
}

/// A TMA tile: copied to or from shared memory, reduced into the tensor, or prefetched into L2.
pub(super) fn copy_box(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let has = |word| i.modifiers.has(word);
    let dimensions = match i.modifiers.at() {
        Some(TensorDimensions::_1d) => Mod::_1D,
        Some(TensorDimensions::_2d) => Mod::_2D,
        Some(TensorDimensions::_3d) => Mod::_3D,
        Some(TensorDimensions::_4d) => Mod::_4D,
        Some(TensorDimensions::_5d) => Mod::_5D,
        None => return Err(cx.unsupported_form(i)),
    };
    let policy = memory::policy(cx, i)?;
    let walk = box_walk(i);
    // Offsets in an image, or the halo of a line and the offset in it.
    let offsets = has(Word::Im2col) || matches!(walk, Some(Mod::W | Mod::W128));
    let prefetches = has(Word::Prefetch);
    let stores = i.space == Some(Space::Global) && !prefetches;
    // A load names its target first; the others name the tensor first.
    let (tensor, shared) = match (prefetches, stores) {
        (true, _) => (0, None),
        (_, true) => (0, Some(1)),
        _ => (1, Some(0)),
    };
    let Operand::List(parts) = cx.operand(i, tensor)? else { return Err(cx.unsupported_form(i)) };
    let [map, coordinates] = parts.as_slice() else { return Err(cx.unsupported_form(i)) };
    let map = cx.words(map, Type::B64)?.to_vec();
    let mut first: Vec<Source> = Vec::new();
    if let Some(at) = shared {
        first.push(memory::shared_address(cx, cx.operand(i, at)?)?);
    }
    let mut next = tensor + 1;
    if !prefetches && !stores {
        first.push(memory::shared_address(cx, cx.operand(i, 2)?)?);
        next = 3;
    }
    for coordinate in cx.elements(coordinates) {
        first.push(cx.word(&coordinate, Type::S32)?);
    }
    let window = match (offsets, walk) {
        (false, _) => None,
        (true, Some(Mod::IM2COL)) => Some(window_offsets(cx, cx.operand(i, next)?)?),
        (true, _) => Some(halo(cx, cx.operand(i, next)?)?),
    };
    let multicast = several_blocks(i);
    let mask = if multicast {
        Some(cx.extended(cx.operand(i, next + usize::from(offsets))?, Type::U16)?)
    } else {
        None
    };
    let count = match (window, mask) {
        (None, None) => None,
        (window, mask) => Some(engine::halves(cx, window.unwrap_or_else(Source::rz), mask)),
    };
    let mut mods: Vec<Mod> = vec![dimensions];
    mods.extend(walk);
    let op = if has(Word::Reduce) {
        mods.push(reduction::reduction_operation(cx, i)?);
        Op::UTMAREDG
    } else if prefetches {
        mods.insert(0, Mod::L2);
        Op::UTMAPF
    } else if stores {
        Op::UTMASTG
    } else {
        mods.extend(multicast.then_some(Mod::MULTICAST));
        mods.extend(has(Word::CtaGroup2).then_some(Mod::_2CTA));
        Op::UTMALDG
    };
    engine::emit_bulk(cx, Bulk { op, mods, brackets: vec![first, map], count, policy });
    Ok(())
}

/// Offsets in an image, packed: one fills the 16 bits, two take a byte each, three take five bits each.
fn window_offsets(cx: &mut Lower<'_>, operand: &Operand) -> Result<Source, LowerError> {
    let elements = cx.elements(operand);
    let (bits, mask) = match elements.len() {
        1 => (16, LOW_HALF),
        2 => (8, 0xff),
        _ => (5, 0x1f),
    };
    let mut packed = Source::rz();
    for (at, element) in (0..).zip(&elements) {
        let offset = cx.extended(element, Type::U16)?;
        let field = engine::field(cx, offset, 0, mask, at * bits);
        packed = engine::either(cx, packed, field);
    }
    Ok(packed)
}

/// Pixel count past a part of a line, with the offset in it above.
fn halo(cx: &mut Lower<'_>, operand: &Operand) -> Result<Source, LowerError> {
    let elements = cx.elements(operand);
    let [halo, offset] = elements.as_slice() else {
        return Err(cx.unsupported("a window without halo and offset"));
    };
    let halo = cx.extended(halo, Type::U16)?;
    let offset = cx.extended(offset, Type::U16)?;
    let offset = engine::field(cx, offset, 0, LOW_HALF, HALO_BITS);
    Ok(engine::either(cx, halo, offset))
}
