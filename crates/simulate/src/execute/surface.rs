//! Surfaces: SULD, SUST, SURED. The first coordinate counts bytes with `.BA`, texels without.

use super::context::{Context, each_active};
use super::fetch;
use crate::launch::Fault;
use crate::memory::{load_words, store_words};
use crate::number::{F16, Round};
use oriole_machine_model::texture::{Element, Opaque, Texture};
use oriole_sass::register::RZ;
use oriole_sass::{Mod, Op, OperandKind};

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    let op = context.instruction.op;
    let all: Vec<OperandKind> = context.instruction.operands.iter().map(|operand| operand.kind).collect();
    let predicate = matches!(all.first(), Some(OperandKind::Pred(_)));
    let mut rest = all.iter().skip(usize::from(predicate)).copied();
    let mut register = |context: &Context| match rest.next() {
        Some(OperandKind::Reg(register)) => Ok(register),
        Some(OperandKind::Memory { base, .. }) => Ok(base.unwrap_or(RZ)),
        _ => Err(context.refuse()),
    };
    let (data, coordinates) = match op {
        Op::SULD => (register(context)?, register(context)?),
        _ => {
            let coordinates = register(context)?;
            (register(context)?, coordinates)
        }
    };
    let handle: Vec<OperandKind> = rest.collect();
    each_active(context, |context, lane| {
        let handle = match handle.as_slice() {
            [OperandKind::UReg(register), ..] => context.warp().read_uniform(*register),
            [OperandKind::Reg(register)] => context.warp().read(*register)[lane],
            [OperandKind::Imm(_), OperandKind::Imm(word)] => context.constant(0, 4 * *word, 4)?[0],
            _ => return Err(context.refuse()),
        };
        let Some(at) = place(context, handle, coordinates, lane)? else {
            if op == Op::SULD {
                write(context, data, lane, [0; 4], width(context).div_ceil(4));
            }
            return Ok(());
        };
        let size = width(context);
        let words: [u32; 4] =
            std::array::from_fn(|word| context.warp().read(data.saturating_add(word as u8))[lane]);
        match op {
            Op::SULD => {
                let found = load_words(bytes(context, handle, at, size)?);
                write(context, data, lane, found, size.div_ceil(4));
            }
            Op::SURED => reduce(context, handle, at, words)?,
            _ if context.has(Mod::P) => store_texel(context, handle, at, words)?,
            _ => store_words(bytes(context, handle, at, size)?, &words),
        }
        Ok(())
    })
}

fn write(context: &mut Context, first: u8, lane: usize, words: [u32; 4], count: usize) {
    for (at, word) in words.into_iter().take(count).enumerate() {
        if first != RZ {
            let mut values = [0; 32];
            values[lane] = word;
            context.warp_mut().write(first.saturating_add(at as u8), 1 << lane, &values);
        }
    }
}

/// Bytes that a lane accesses.
fn width(context: &Context) -> usize {
    let rows = [
        (Mod::U8, 1),
        (Mod::S8, 1),
        (Mod::U16, 2),
        (Mod::S16, 2),
        (Mod::_64, 8),
        (Mod::U64, 8),
        (Mod::S64, 8),
        (Mod::SD64, 8),
        (Mod::_128, 16),
    ];
    rows.iter().find(|row| context.has(row.0)).map_or(4, |row| row.1)
}

fn surface<'c>(context: &'c Context, handle: u32) -> Result<&'c Texture, Fault> {
    match fetch::object(context, handle)? {
        Opaque::Surface(surface) => Ok(surface),
        _ => Err(Fault::Launch(format!("handle {handle:#x} names no surface"))),
    }
}

/// The bytes of an access that is within the surface.
fn bytes<'c>(context: &'c mut Context, handle: u32, at: usize, size: usize) -> Result<&'c mut [u8], Fault> {
    let object = (handle as usize).checked_sub(1).and_then(|number| context.global.objects.get_mut(number));
    let Some(Opaque::Surface(surface)) = object else {
        return Err(Fault::Launch(format!("handle {handle:#x} names no surface")));
    };
    let out = Fault::OutOfBounds { space: "surface", address: at as u64, size: size as u32 };
    surface.bytes.get_mut(at..at + size).ok_or(out)
}

/// The offset of an access in the bytes of the surface; `None` if it is outside and has no effect.
fn place(context: &Context, handle: u32, first: u8, lane: usize) -> Result<Option<usize>, Fault> {
    let surface = surface(context, handle)?;
    let coordinate = |at: u8| i64::from(context.warp().read(first.saturating_add(at))[lane] as i32);
    let (inner, layered) = match () {
        () if context.has(Mod::_1D) => (1, false),
        () if context.has(Mod::_2D) => (2, false),
        () if context.has(Mod::_3D) => (3, false),
        () if context.has(Mod::_1D_ARRAY) => (1, true),
        () if context.has(Mod::_2D_ARRAY) => (2, true),
        () => return Err(context.refuse()),
    };
    let unit = if context.has(Mod::BA) { 1 } else { surface.texel_bytes() as i64 };
    let size = if context.has(Mod::BA) { width(context) as i64 } else { unit };
    let row = i64::from(surface.size[0]) * surface.texel_bytes() as i64;
    // The last place in each dimension.
    let ends = [row - size, i64::from(surface.size[1]) - 1, i64::from(surface.size[2]) - 1];
    let mut places = [coordinate(0) * unit, 0, 0];
    (1..inner).for_each(|axis| places[axis] = coordinate(axis as u8));
    let mut layer = if layered { coordinate(inner as u8) } else { 0 };
    let last_layer = i64::from(surface.layers) - 1;
    let inside = places.iter().zip(ends).all(|(place, end)| (0..=end).contains(place))
        && (0..=last_layer).contains(&layer);
    if !inside {
        if context.has(Mod::TRAP) {
            return Err(Fault::OutOfBounds {
                space: "surface",
                address: places[0] as u64,
                size: size as u32,
            });
        }
        if context.has(Mod::IGN) {
            return Ok(None);
        }
        for (place, end) in places.iter_mut().zip(ends) {
            *place = (*place).clamp(0, end.max(0));
        }
        layer = layer.clamp(0, last_layer);
    }
    if places[0] % size != 0 && context.has(Mod::BA) {
        return Err(Fault::Misaligned { space: "surface", address: places[0] as u64, size: size as u32 });
    }
    let line = places[2] * i64::from(surface.size[1]) + places[1];
    Ok(Some(layer as usize * surface.layer_bytes(0) + (line * row + places[0]) as usize))
}

/// Stores components in the format of the surface.
fn store_texel(context: &mut Context, handle: u32, at: usize, words: [u32; 4]) -> Result<(), Fault> {
    let given = match () {
        () if context.has(Mod::R) => 1,
        () if context.has(Mod::RG) => 2,
        () => 4,
    };
    let (element, channels) = {
        let surface = surface(context, handle)?;
        (surface.element, usize::from(surface.channels))
    };
    let each = element.bytes();
    let target = bytes(context, handle, at, each * channels)?;
    for (part, word) in target.chunks_exact_mut(each).zip(words).take(given) {
        let bits = match element {
            Element::F16 => F16.of_f64(f64::from(f32::from_bits(word)), Round::Nearest) as u32,
            Element::U8 => word.min(0xff),
            Element::U16 => word.min(0xffff),
            Element::S8 => (word as i32).clamp(-0x80, 0x7f) as u32,
            Element::S16 => (word as i32).clamp(-0x8000, 0x7fff) as u32,
            Element::U32 | Element::S32 | Element::F32 => word,
        };
        part.copy_from_slice(&bits.to_le_bytes()[..each]);
    }
    Ok(())
}

/// Combines an element with the operand.
fn reduce(context: &mut Context, handle: u32, at: usize, words: [u32; 4]) -> Result<(), Fault> {
    let size = width(context);
    let element = surface(context, handle)?.element;
    let signs = matches!(element, Element::S8 | Element::S16 | Element::S32);
    let signed = context.has(Mod::S32)
        || context.has(Mod::S64)
        || ((context.has(Mod::SD32) || context.has(Mod::SD64)) && signs);
    let operation = [Mod::ADD, Mod::MIN, Mod::MAX, Mod::AND, Mod::OR].into_iter().find(|&m| context.has(m));
    let operation = operation.ok_or_else(|| context.refuse())?;
    let shift = 64 - 8 * size as u32;
    let wide = |words: [u32; 4]| (u64::from(words[0]) | u64::from(words[1]) << 32) << shift;
    let target = bytes(context, handle, at, size)?;
    // Shifted to the upper end, elements compare as 64-bit integers, signed or not.
    let (old, new) = (wide(load_words(target)), wide(words));
    let least = if signed { (old as i64) < new as i64 } else { old < new };
    let result = match operation {
        Mod::ADD => old.wrapping_add(new),
        Mod::MIN => {
            if least {
                old
            } else {
                new
            }
        }
        Mod::MAX => {
            if least {
                new
            } else {
                old
            }
        }
        Mod::AND => old & new,
        _ => old | new,
    } >> shift;
    target.copy_from_slice(&result.to_le_bytes()[..size]);
    Ok(())
}
