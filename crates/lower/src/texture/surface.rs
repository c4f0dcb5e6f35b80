//! Surfaces: `suld`, `sust`, `sured`.

use super::handle;
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::{Words, address_of};
use oriole_hir::{Instruction, Operand};
use oriole_ori::{MemoryInfo, Source, Space};
use oriole_ptx::word::{CacheOperator, Geometry, Operation, SurfaceBounds};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// Address of a surface access.
struct Place {
    coordinates: Source,
    handle: Source,
    /// The geometry and the out-of-bounds mode.
    mods: Vec<Mod>,
}

fn memory(reads: bool, writes: bool) -> MemoryInfo {
    MemoryInfo { space: Space::Global, reads, writes, ordered: false, object: None }
}

/// Cache modifiers of an access.
fn caching(i: &Instruction) -> &'static [Mod] {
    match i.modifiers.at() {
        Some(CacheOperator::Cg | CacheOperator::Cv | CacheOperator::Wt) => &[Mod::STRONG, Mod::SYS],
        Some(CacheOperator::Cs) => &[Mod::EF, Mod::STRONG, Mod::SM],
        Some(CacheOperator::Ca | CacheOperator::Wb | CacheOperator::Lu) | None => &[Mod::STRONG, Mod::SM],
    }
}

/// The size modifier for this many bytes.
fn size(bytes: u32) -> Option<Option<Mod>> {
    Some(match bytes {
        1 => Some(Mod::U8),
        2 => Some(Mod::U16),
        4 => None,
        8 => Some(Mod::_64),
        16 => Some(Mod::_128),
        _ => return None,
    })
}

/// The surface and the coordinates: those within a layer first, the layer last.
fn place_on_surface(cx: &mut Lower<'_>, i: &Instruction, index: usize) -> Result<Place, LowerError> {
    let Operand::List(parts) = cx.operand(i, index)? else { return Err(cx.unsupported_form(i)) };
    let [surface, coordinates] = parts.as_slice() else { return Err(cx.unsupported_form(i)) };
    let handle = handle::opaque(cx, surface)?;
    let handle = Source::value(cx.value_of(handle));
    let (geometry, count, layered) = match i.modifiers.at() {
        Some(Geometry::_1d) => (Mod::_1D, 1, false),
        Some(Geometry::_2d) => (Mod::_2D, 2, false),
        Some(Geometry::_3d) => (Mod::_3D, 3, false),
        Some(Geometry::A1d) => (Mod::_1D_ARRAY, 2, true),
        Some(Geometry::A2d) => (Mod::_2D_ARRAY, 3, true),
        Some(Geometry::Cube | Geometry::Acube | Geometry::_2dms | Geometry::A2dms) | None => {
            return Err(cx.unsupported_form(i));
        }
    };
    let mut values = Words::new();
    for component in coordinates.components().iter().take(count) {
        let word = cx.word(component, Type::S32)?;
        values.push(cx.value_of(word));
    }
    if values.len() != count {
        return Err(cx.unsupported_form(i));
    }
    if layered {
        values.rotate_left(1);
    }
    let outside = match i.modifiers.at() {
        Some(SurfaceBounds::Trap) => Some(Mod::TRAP),
        Some(SurfaceBounds::Zero) => Some(Mod::IGN),
        Some(SurfaceBounds::Clamp) | None => None,
    };
    let mods = std::iter::once(geometry).chain(outside).collect();
    let coordinates = address_of(Source::values(values), 0);
    Ok(Place { coordinates, handle, mods })
}

/// `suld`.
pub(crate) fn load_surface(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let place = place_on_surface(cx, i, 1)?;
    let bytes = ty.bytes() * u32::from(i.vector.max(1));
    let Some(size) = size(bytes) else { return Err(cx.unsupported_form(i)) };
    let elements = cx.elements(cx.operand(i, 0)?);
    let direct = if ty.bits() < 32 { None } else { cx.direct_words(&elements, ty) };
    let d = match &direct {
        Some(words) => words.clone(),
        None => (0..bytes.div_ceil(4)).map(|_| cx.b.r()).collect(),
    };
    cx.b.op(Op::SULD)
        .mods(&[Mod::D, Mod::BA])
        .mods(&place.mods)
        .mods(caching(i))
        .mods(&size.into_iter().collect::<Vec<_>>())
        .drop_result(oriole_ori::File::P)
        .to_tuple(d.clone())
        .from(place.coordinates)
        .from(place.handle)
        .memory(memory(true, false))
        .emit();
    if direct.is_some() {
        return Ok(());
    }
    let whole = if ty.bits() < 32 { Type::U32 } else { ty };
    let mut parts = Vec::new();
    for index in 0..elements.len() as u64 {
        parts.push(cx.extract(&d, index * u64::from(ty.bytes()), ty)?.into_iter().collect());
    }
    cx.write_all(&elements, whole, parts)
}

/// `sust`.
pub(crate) fn store_surface(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let place = place_on_surface(cx, i, 0)?;
    let elements = cx.elements(cx.operand(i, 1)?);
    let by_texel = i.modifiers.has(Word::P);
    let mut mods = if by_texel { vec![Mod::P] } else { vec![Mod::D, Mod::BA] };
    if by_texel {
        match elements.len() {
            1 => mods.push(Mod::R),
            2 => mods.push(Mod::RG),
            _ => {}
        }
    } else {
        let Some(size) = size(ty.bytes() * elements.len() as u32) else {
            return Err(cx.unsupported_form(i));
        };
        mods.extend(size);
    }
    let data = stored_words(cx, &elements, ty)?;
    cx.b.op(Op::SUST)
        .mods(&mods)
        .mods(&place.mods)
        .mods(caching(i))
        .from(place.coordinates)
        .from(data)
        .from(place.handle)
        .memory(memory(false, true))
        .emit();
    Ok(())
}

/// `sured`.
pub(crate) fn reduce_surface(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let place = place_on_surface(cx, i, 0)?;
    let by_texel = i.modifiers.has(Word::P);
    let operation = match i.modifiers.at() {
        Some(Operation::Add) => Mod::ADD,
        Some(Operation::Min) => Mod::MIN,
        Some(Operation::Max) => Mod::MAX,
        Some(Operation::And) => Mod::AND,
        Some(Operation::Or) => Mod::OR,
        _ => return Err(cx.unsupported_form(i)),
    };
    let ordered = matches!(operation, Mod::MIN | Mod::MAX);
    // The format says whether texels are signed.
    let kind = match ty {
        Type::B64 => Some(Mod::SD64),
        Type::B32 if by_texel && ordered => Some(Mod::SD32),
        Type::S32 => Some(Mod::S32),
        Type::U64 => Some(Mod::U64),
        Type::S64 => Some(Mod::S64),
        _ => None,
    };
    let words = cx.words(cx.operand(i, 1)?, ty)?;
    let data = surface_tuple(cx, words);
    cx.b.op(Op::SURED)
        .m(Mod::D)
        .m_if(!by_texel, Mod::BA)
        .m(operation)
        .mods(&kind.into_iter().collect::<Vec<_>>())
        .mods(&place.mods)
        .mods(&[Mod::STRONG, Mod::SYS])
        .from(place.coordinates)
        .from(data)
        .from(place.handle)
        .memory(memory(true, true))
        .emit();
    Ok(())
}

/// The words of elements that are stored side by side.
fn stored_words(cx: &mut Lower<'_>, elements: &[Operand], ty: Type) -> Result<Source, LowerError> {
    let mut words = Vec::new();
    if ty.bits() >= 32 {
        for element in elements {
            words.extend(cx.words(element, ty)?);
        }
    } else {
        let each = (32 / ty.bits()) as usize;
        for group in elements.chunks(each) {
            let parts = group.iter().map(|e| cx.word(e, ty)).collect::<Result<Vec<_>, _>>()?;
            words.push(cx.join(parts, ty.bits()));
        }
    }
    Ok(surface_tuple(cx, words))
}

fn surface_tuple(cx: &mut Lower<'_>, words: impl IntoIterator<Item = Source>) -> Source {
    let values: Words = words.into_iter().map(|word| cx.value_of(word)).collect();
    Source::values(values)
}
