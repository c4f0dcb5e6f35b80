//! The operands of a fetch: its coordinates in brackets, and the arguments after them.

use super::handle::{self, Handle};
use crate::context::Lower;
use crate::source::{imm, magnitude};
use crate::{LowerError, arithmetic};
use oriole_hir::{Instruction, Operand};
use oriole_ori::Source;
use oriole_ptx::word::Geometry;
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// The largest layer index; higher ones mean the last layer, whatever their upper bits.
const LAST_LAYER: u32 = 0xffff;

/// The coordinates of a fetch, as in PTX.
pub(super) struct Place {
    pub geometry: Geometry,
    /// The coordinates are floating-point values.
    pub is_float: bool,
    /// For a cube: the factor that scaled the coordinates so that the largest is one.
    pub factor: Option<Source>,
    pub layer: Option<Source>,
    pub sample: Option<Source>,
    pub coordinates: Vec<Source>,
}

/// The arguments after the brackets.
#[derive(Default)]
pub(super) struct Arguments {
    pub level: Option<Source>,
    pub gradients: Option<[Vec<Source>; 2]>,
    pub offsets: Option<Vec<Source>>,
    pub compared: Option<Source>,
}

/// The operands in brackets: the handle and the coordinates.
pub(super) fn place_of_fetch(
    cx: &mut Lower<'_>,
    i: &Instruction,
    geometry: Geometry,
    is_float: bool,
) -> Result<(Handle, Place), LowerError> {
    let Operand::List(parts) = cx.operand(i, 1)? else { return Err(cx.unsupported_form(i)) };
    let (texture, sampler, coordinates) = match parts.as_slice() {
        [texture, coordinates] => (texture, None, coordinates),
        [texture, sampler, coordinates] => (texture, Some(sampler), coordinates),
        _ => return Err(cx.unsupported_form(i)),
    };
    let texture = handle::opaque(cx, texture)?;
    let sampler = sampler.map(|sampler| handle::opaque(cx, sampler)).transpose()?;
    let ty = if is_float { Type::F32 } else { Type::S32 };
    let (has_sample, has_layer, count) = dimensions(geometry);
    let mut components = coordinates.components().iter();
    let mut leading = |there: bool, cx: &mut Lower<'_>| match components.next().filter(|_| there) {
        Some(component) => cx.word(component, Type::U32).map(Some),
        None => Ok(None),
    };
    let sample = if has_sample { leading(true, cx)? } else { None };
    let layer = if has_layer { leading(true, cx)? } else { None };
    let coordinates: Result<Vec<Source>, LowerError> =
        components.take(count).map(|component| cx.word(component, ty)).collect();
    let coordinates = coordinates?;
    if coordinates.len() != count {
        return Err(cx.unsupported_form(i));
    }
    let (coordinates, factor) = match geometry {
        Geometry::Cube | Geometry::Acube => {
            let (coordinates, factor) = on_the_cube(cx, coordinates);
            (coordinates, Some(factor))
        }
        _ => (coordinates, None),
    };
    let layer = layer.map(|layer| clamp_layer(cx, layer));
    Ok((Handle { texture, sampler }, Place { geometry, is_float, factor, layer, sample, coordinates }))
}

/// Converts integer coordinates to floating point, which a sampler reads.
pub(super) fn as_numbers(cx: &mut Lower<'_>, place: Place) -> Place {
    let numbers = place.coordinates.into_iter().map(|coordinate| {
        let number = cx.b.r();
        let coordinate = cx.in_register(coordinate);
        arithmetic::integer_to_single(cx, number, true, coordinate);
        Source::from(number)
    });
    let coordinates = numbers.collect();
    Place { is_float: true, coordinates, ..place }
}

fn clamp_layer(cx: &mut Lower<'_>, layer: Source) -> Source {
    let layer = cx.in_register(layer);
    let d = cx.b.r();
    arithmetic::min_max(cx, &[Mod::U32], d, layer, imm(LAST_LAYER), Source::pt());
    d.into()
}

/// Coordinates divided by the largest of them, so that they are on the cube, and that factor.
fn on_the_cube(cx: &mut Lower<'_>, coordinates: Vec<Source>) -> (Vec<Source>, Source) {
    let sign = 1 << 31;
    let coordinates: Vec<Source> = coordinates.into_iter().map(|c| cx.in_register(c)).collect();
    let [two, all, factor] = [cx.b.r(), cx.b.r(), cx.b.r()];
    let sizes: Vec<Source> = coordinates.iter().map(|c| magnitude(c.clone(), sign)).collect();
    cx.op(Op::FMNMX, &[], two, [sizes[0].clone(), sizes[1].clone(), Source::not_pt()]);
    cx.op(Op::FMNMX, &[], all, [sizes[2].clone(), two.into(), Source::not_pt()]);
    cx.op(Op::MUFU, &[Mod::RCP], factor, [all.into()]);
    let scaled = coordinates.into_iter().map(|coordinate| {
        let d = cx.b.r();
        cx.op(Op::FMUL, &[], d, [coordinate, factor.into()]);
        Source::from(d)
    });
    (scaled.collect(), factor.into())
}

/// The arguments after the brackets. A vector there holds offsets; a scalar is the comparison value, where the
/// form allows one.
pub(super) fn arguments(cx: &mut Lower<'_>, i: &Instruction, place: &Place) -> Result<Arguments, LowerError> {
    let mut found = Arguments::default();
    let mut rest = i.operands.iter().skip(2);
    let ty = if place.is_float { Type::F32 } else { Type::S32 };
    if i.opcode == Opcode::Tex && i.modifiers.has(Word::Level) {
        let level = rest.next().ok_or_else(|| cx.unsupported_form(i))?;
        found.level = Some(cx.word(level, ty)?);
    }
    if i.opcode == Opcode::Tex && i.modifiers.has(Word::Grad) {
        let (Some(x), Some(y)) = (rest.next(), rest.next()) else {
            return Err(cx.unsupported_form(i));
        };
        let mut words = |operand: &Operand| -> Result<Vec<Source>, LowerError> {
            operand.components().iter().map(|component| cx.word(component, Type::F32)).collect()
        };
        found.gradients = Some([words(x)?, words(y)?]);
    }
    for argument in rest {
        let compares = place.is_float && place.geometry != Geometry::_3d;
        match argument {
            Operand::Vector(elements) if found.offsets.is_none() => {
                let words: Result<Vec<Source>, LowerError> =
                    elements.iter().map(|element| cx.word(element, Type::S32)).collect();
                found.offsets = Some(words?);
            }
            number if compares => found.compared = Some(cx.word(number, Type::F32)?),
            // ptxas ignores it.
            _ => return Err(cx.unsupported("a number without braces as an offset")),
        }
    }
    let count = place.coordinates.len();
    if let Some(offsets) = &mut found.offsets {
        offsets.truncate(count);
    }
    Ok(found)
}

/// Packs offsets into one word, `bits` bits each. The upper bits of each but the last belong to the next one.
pub(super) fn pack_offsets(cx: &mut Lower<'_>, offsets: &[Source], bits: u32, mask: u32) -> Source {
    let mut packed = offsets.first().cloned().unwrap_or_else(Source::rz);
    for (index, offset) in (1..).zip(&offsets[1..]) {
        let amount: u32 = bits * index;
        let [moved, both] = [cx.b.r(), cx.b.r()];
        let offset = cx.in_register(offset.clone());
        let low = cx.in_register(packed);
        cx.b.shl(moved, offset, amount);
        // The field of the shifted one, the other bits of the packed word.
        cx.b.lop3(both, moved, imm(mask << amount), low, 0xe2);
        packed = both.into();
    }
    packed
}

/// True if a separate sampler reads integer coordinates, so that its border mode applies: not 1D, not multisample,
/// and not where the form names a level.
pub(super) fn samples_integers(handle: &Handle, place: &Place, arguments: &Arguments) -> bool {
    let has_sampler = handle.sampler.is_some() && place.geometry != Geometry::_1d && place.sample.is_none();
    has_sampler && !place.is_float && arguments.level.is_none() && arguments.gradients.is_none()
}

/// The sample and layer coordinates of this geometry, and the count of others.
fn dimensions(geometry: Geometry) -> (bool, bool, usize) {
    match geometry {
        Geometry::_1d => (false, false, 1),
        Geometry::_2d => (false, false, 2),
        Geometry::_3d | Geometry::Cube => (false, false, 3),
        Geometry::A1d => (false, true, 1),
        Geometry::A2d => (false, true, 2),
        Geometry::Acube => (false, true, 3),
        Geometry::_2dms => (true, false, 2),
        Geometry::A2dms => (true, true, 2),
    }
}
