//! `tex` and `tld4`.
//!
//! A fetch reads its coordinates in one operand, and its other arguments in the next one, after the handle.

use super::coordinates::{self, Arguments, Place, samples_integers};
use super::gradients;
use super::handle::{self, Handle};
use crate::arithmetic;
use crate::context::{Lower, Lowered};
use crate::source::{Words, imm};
use oriole_hir::{Instruction, Operand};
use oriole_ori::{Destination, File, Source, Value};
use oriole_ptx::Type;
use oriole_ptx::word::{Geometry, TexelComponent};
use oriole_sass::{Mod, Op, Symbol};

/// The level of a fetch without one: below the finest one.
const FINEST: f32 = -32.0;

/// A fetch under construction.
struct Fetch {
    pub op: Op,
    pub mods: Vec<Mod>,
    pub shape: Symbol,
    pub handle: Handle,
    pub coordinates: Vec<Source>,
    pub extras: Vec<Source>,
}

/// `tex`.
pub(crate) fn fetch(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Some(geometry) = i.modifiers.at() else { return Err(cx.unsupported_form(i)) };
    let is_float = cx.ty(i, 1)? == Type::F32;
    let (handle, place) = coordinates::place_of_fetch(cx, i, geometry, is_float)?;
    let arguments = coordinates::arguments(cx, i, &place)?;
    let place = if samples_integers(&handle, &place, &arguments) {
        coordinates::as_numbers(cx, place)
    } else {
        place
    };
    let widened = is_float && geometry == Geometry::_1d && handle.sampler.is_none();
    let mut fetch = Fetch {
        op: Op::TEX,
        mods: Vec::new(),
        shape: shape(geometry, widened),
        handle,
        coordinates: Vec::new(),
        extras: Vec::new(),
    };
    let place = if widened {
        Place { coordinates: vec![place.coordinates[0].clone(), Source::rz()], ..place }
    } else {
        place
    };
    match &arguments.gradients {
        Some(gradients) if reads_derivatives(&place, &arguments) => {
            by_derivatives(cx, &mut fetch, &place, gradients, &arguments, widened)
        }
        Some(gradients) => {
            let count = place.coordinates.len() - usize::from(widened);
            let level = gradients::level_of(cx, &fetch.handle.texture, &place, count, gradients);
            by_level(cx, &mut fetch, &place, Arguments { level: Some(level), ..arguments });
        }
        None => by_level(cx, &mut fetch, &place, arguments),
    }
    finish_fetch(cx, i, fetch)
}

/// `tld4`.
pub(crate) fn gather(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Some(geometry) = i.modifiers.at() else { return Err(cx.unsupported_form(i)) };
    let component = match i.modifiers.at() {
        Some(TexelComponent::R) => Mod::R,
        Some(TexelComponent::G) => Mod::G,
        Some(TexelComponent::B) => Mod::B,
        Some(TexelComponent::A) => Mod::A,
        None => return Err(cx.unsupported_form(i)),
    };
    let (handle, place) = coordinates::place_of_fetch(cx, i, geometry, true)?;
    let arguments = coordinates::arguments(cx, i, &place)?;
    let mut fetch = Fetch {
        op: Op::TLD4,
        mods: vec![component],
        shape: shape(geometry, false),
        handle,
        coordinates: place.layer.iter().cloned().chain(place.coordinates.iter().cloned()).collect(),
        extras: Vec::new(),
    };
    if let Some(offsets) = &arguments.offsets {
        fetch.mods.push(Mod::AOFFI);
        let packed = coordinates::pack_offsets(cx, offsets, 8, 0x3f);
        fetch.extras.push(packed);
    }
    if let Some(compared) = arguments.compared {
        fetch.mods.push(Mod::DC);
        fetch.extras.push(compared);
    }
    finish_fetch(cx, i, fetch)
}

/// The level is known, or the finest.
fn by_level(cx: &mut Lower<'_>, fetch: &mut Fetch, place: &Place, arguments: Arguments) {
    fetch.coordinates.extend(place.layer.clone());
    fetch.coordinates.extend(place.coordinates.iter().cloned());
    match (place.is_float, arguments.level) {
        (true, level) => {
            fetch.mods.push(Mod::LL);
            fetch.extras.push(level.unwrap_or_else(|| imm(FINEST.to_bits())));
        }
        (false, Some(level)) => {
            fetch.op = Op::TLD;
            fetch.mods.extend([Mod::LL, Mod::CL]);
            fetch.extras.push(level);
        }
        (false, None) => {
            fetch.op = Op::TLD;
            fetch.mods.push(Mod::LZ);
        }
    }
    if let Some(offsets) = &arguments.offsets {
        fetch.mods.push(Mod::AOFFI);
        let packed = coordinates::pack_offsets(cx, offsets, 4, 0xf);
        fetch.extras.push(packed);
    }
    if let Some(compared) = arguments.compared {
        fetch.mods.push(Mod::DC);
        fetch.extras.push(compared);
    }
    if let Some(sample) = &place.sample {
        fetch.mods.push(Mod::MS);
        fetch.extras.push(sample.clone());
    }
}

/// The hardware computes the level from derivatives. The layer comes last here, and offsets are in its upper
/// half.
fn by_derivatives(
    cx: &mut Lower<'_>,
    fetch: &mut Fetch,
    place: &Place,
    [x, y]: &[Vec<Source>; 2],
    arguments: &Arguments,
    widened: bool,
) {
    fetch.op = Op::TXD;
    fetch.coordinates.extend(place.coordinates.iter().cloned());
    let mut last = place.layer.clone();
    if let Some(offsets) = &arguments.offsets {
        fetch.mods.push(Mod::AOFFI);
        let packed = coordinates::pack_offsets(cx, offsets, 4, 0xf);
        let packed = cx.in_register(packed);
        let [moved, both] = [cx.b.r(), cx.b.r()];
        cx.b.shl(moved, packed, 16u32);
        let layer = last.take().unwrap_or_else(Source::rz);
        cx.b.lop3(both, moved, imm(0x0fff_0000), layer, 0xe2);
        last = Some(both.into());
    }
    fetch.coordinates.extend(last);
    let count = place.coordinates.len() - usize::from(widened);
    for (dx, dy) in x.iter().zip(y).take(count) {
        fetch.extras.extend([dx.clone(), dy.clone()]);
    }
    if widened {
        fetch.extras.extend([Source::rz(), Source::rz()]);
    }
}

/// Emits the fetch and writes its results.
fn finish_fetch(cx: &mut Lower<'_>, i: &Instruction, fetch: Fetch) -> Lowered {
    let (texels, resident) = match cx.operand(i, 0)? {
        Operand::Pair(texels, resident) => (&**texels, cx.result_predicate(resident)?),
        texels => (texels, None),
    };
    let ty = cx.ty(i, 0)?;
    let elements = cx.elements(texels);
    // With f16x2 each element has two texels.
    let each = if ty == Type::F16x2 { 2 } else { 1 };
    let wanted: Vec<bool> =
        elements.iter().flat_map(|e| std::iter::repeat_n(*e != Operand::Sink, each)).collect();
    let is_word = ty.bits() == 32 && each == 1;
    let direct = if is_word { cx.direct_words(&elements, Type::B32) } else { None };
    let results: Words = match &direct {
        Some(words) => words.clone(),
        None => wanted.iter().filter(|wanted| **wanted).map(|_| cx.b.r()).collect(),
    };
    let absent = resident.map(|_| cx.b.p());
    emit_fetch(cx, fetch, &wanted, &results, absent)?;
    if let (Some(resident), Some(absent)) = (resident, absent) {
        let present = Source::value(absent).inverted();
        cx.b.plop3(resident, present, Source::pt(), Source::pt(), 0x80);
    }
    if direct.is_some() {
        return Ok(());
    }
    if is_word {
        let kept: Vec<Operand> = elements.into_iter().filter(|e| *e != Operand::Sink).collect();
        let parts = results.iter().map(|&v| std::iter::once(Source::value(v)).collect()).collect();
        return cx.write_all(&kept, Type::B32, parts);
    }
    let kept = elements.iter().filter(|e| **e != Operand::Sink);
    for (element, words) in kept.zip(results.chunks(each)) {
        let high = words.get(1).map_or_else(Source::rz, |&v| v.into());
        let d = arithmetic::halves_of(cx, high, words[0].into());
        cx.write(element, ty, &[d.into()])?;
    }
    Ok(())
}

fn emit_fetch(
    cx: &mut Lower<'_>,
    fetch: Fetch,
    wanted: &[bool],
    results: &[Value],
    absent: Option<Value>,
) -> Lowered {
    let Fetch { op, mut mods, shape, handle, mut coordinates, mut extras } = fetch;
    let mut uniform = None;
    match handle.sampler {
        Some(sampler) if cx.chip.uniform_handles() && handle::names_whole_warp(cx) => {
            uniform = Some(handle::uniform_pair(cx, handle.texture, sampler));
        }
        sampler => {
            mods.push(if op == Op::TLD4 { Mod::B_2 } else { Mod::B });
            let handle = match sampler {
                Some(sampler) => handle::one_handle(cx, handle.texture, sampler),
                None => handle.texture,
            };
            if op == Op::TXD { coordinates.insert(0, handle) } else { extras.insert(0, handle) }
        }
    }
    let coordinates = handle::values(cx, coordinates);
    let extras = handle::values(cx, extras);
    let mask = wanted.iter().rev().fold(0, |mask, &wanted| mask << 1 | i64::from(wanted));
    let (low, high) = results.split_at(results.len().min(2));
    let part = |values: &[Value]| match values {
        [] => Destination::dropped(File::R, 1),
        values => Destination::new(File::R, values.iter().copied()),
    };
    let mut draft =
        cx.b.op(op)
            .mods(&mods)
            .to_or_drop(absent, File::P)
            .destination(part(high))
            .destination(part(low))
            .from(coordinates)
            .from(extras);
    if let Some(pair) = uniform {
        draft = draft.from(Source::values(pair));
        if oriole_ori::handle::names_header(cx.chip, op) {
            draft = draft.from(Source::literal(0));
        }
    }
    draft = draft.from(Source::plain(oriole_ori::SourceKind::Symbol(shape)));
    // A mask of all four is omitted.
    if mask != 0xf {
        draft = draft.from(Source::literal(mask));
    }
    draft.emit();
    Ok(())
}

/// True if the hardware has a fetch that takes the derivatives: 1D and 2D, without a comparison.
fn reads_derivatives(place: &Place, arguments: &Arguments) -> bool {
    let flat = matches!(place.geometry, Geometry::_1d | Geometry::_2d | Geometry::A1d | Geometry::A2d);
    place.is_float && flat && arguments.compared.is_none()
}

/// The SASS modifier of a geometry. 1D with a floating-point coordinate is 2D where the sampler is that of the
/// texture.
fn shape(geometry: Geometry, widened: bool) -> Symbol {
    match geometry {
        Geometry::_1d if widened => Symbol::_2D,
        Geometry::_1d => Symbol::_1D,
        Geometry::_2d | Geometry::_2dms => Symbol::_2D,
        Geometry::_3d => Symbol::_3D,
        Geometry::A1d => Symbol::ARRAY_1D,
        Geometry::A2d | Geometry::A2dms => Symbol::ARRAY_2D,
        Geometry::Cube => Symbol::CUBE,
        Geometry::Acube => Symbol::ARRAY_CUBE,
    }
}
