//! The texture unit: the texels that a fetch reads, and their weights.
//!
//! Places have 8 fractional bits, as in the published description of the unit; sums are exact.

use crate::number::F16;
use oriole_machine_model::texture::{AddressMode, Element, Sampler, Texture};

/// Fractional bits of a place.
const FRACTION: u32 = 8;
const ONE: i64 = 1 << FRACTION;

/// The point of a fetch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Point {
    /// In texels, with fractions, or normalized to the size.
    pub at: [f32; 3],
    /// Number of valid coordinates.
    pub dimensions: usize,
    pub layer: u32,
    pub offset: [i32; 3],
    pub level: f32,
}

/// A component of a texel.
#[derive(Clone, Copy, Debug)]
enum Component {
    Whole(u32),
    Number(f64),
}

/// The value of stored bits.
fn component(texture: &Texture, at: usize) -> Component {
    let width = texture.element.bytes();
    let mut raw = [0; 4];
    if let Some(bytes) = texture.bytes.get(at..at + width) {
        raw[..width].copy_from_slice(bytes);
    }
    let bits = u32::from_le_bytes(raw);
    let signed = i64::from((bits << (32 - 8 * width)) as i32 >> (32 - 8 * width));
    let part = |most: i64, value: i64| (value as f64 / most as f64).max(-1.0);
    match (texture.element, texture.fractions) {
        (Element::F32, _) => Component::Number(f64::from(f32::from_bits(bits))),
        (Element::F16, _) => Component::Number(F16.to_f64(u64::from(bits))),
        (Element::U8, true) => Component::Number(part(0xff, i64::from(bits))),
        (Element::U16, true) => Component::Number(part(0xffff, i64::from(bits))),
        (Element::S8, true) => Component::Number(part(0x7f, signed)),
        (Element::S16, true) => Component::Number(part(0x7fff, signed)),
        (Element::S8 | Element::S16 | Element::S32, _) => Component::Whole(signed as u32),
        (Element::U8 | Element::U16 | Element::U32, _) => Component::Whole(bits),
    }
}

impl Component {
    fn word(self) -> u32 {
        match self {
            Component::Whole(word) => word,
            Component::Number(number) => (number as f32).to_bits(),
        }
    }
}

/// True if components read as fractional values.
fn reads_numbers(texture: &Texture) -> bool {
    texture.element.is_float() || (texture.fractions && texture.element.bytes() < 4)
}

/// The texel at an index; `None` is the border.
fn fold(index: i64, size: u32, mode: AddressMode) -> Option<u32> {
    let size = i64::from(size);
    let within = match mode {
        AddressMode::Clamp => index.clamp(0, size - 1),
        AddressMode::Border if !(0..size).contains(&index) => return None,
        AddressMode::Border => index,
        AddressMode::Wrap => index.rem_euclid(size),
        AddressMode::Mirror => {
            let twice = index.rem_euclid(2 * size);
            twice.min(2 * size - 1 - twice)
        }
    };
    Some(within as u32)
}

/// Components of one texel; `None` for missing components, and for all of them outside of the texture.
fn texel(
    texture: &Texture,
    level: u32,
    layer: u32,
    index: [Option<u32>; 3],
    sample: u32,
) -> [Option<Component>; 4] {
    let [Some(x), Some(y), Some(z)] = index else { return [None; 4] };
    let size = texture.size_of(level);
    let number = (u64::from(z) * u64::from(size[1]) + u64::from(y)) * u64::from(size[0]) + u64::from(x);
    let number = (number * u64::from(texture.samples) + u64::from(sample)) as usize;
    let start = texture.level_offset(level)
        + layer.min(texture.layers.saturating_sub(1)) as usize * texture.layer_bytes(level)
        + number * texture.texel_bytes();
    std::array::from_fn(|channel| {
        let there = channel < usize::from(texture.channels);
        there.then(|| component(texture, start + channel * texture.element.bytes()))
    })
}

/// The words that a fetch gives: zeros outside of the texture and for missing components, the fourth one included.
fn words(found: [Option<Component>; 4]) -> [u32; 4] {
    found.map(|component| component.map_or(0, Component::word))
}

/// Reads the texel at integer coordinates. A missing level reads as zeros; a place or a layer outside does so too, or
/// is clamped to the nearest one.
pub(crate) fn load(
    texture: &Texture,
    at: [i64; 3],
    layer: u32,
    level: u32,
    sample: u32,
    to_the_edge: bool,
) -> [u32; 4] {
    if level >= texture.levels || !to_the_edge && layer >= texture.layers {
        return [0; 4];
    }
    let size = texture.size_of(level);
    let mode = if to_the_edge { AddressMode::Clamp } else { AddressMode::Border };
    let index = [0, 1, 2].map(|axis| fold(at[axis], size[axis], mode));
    words(texel(texture, level, layer, index, sample.min(texture.samples.saturating_sub(1))))
}

/// The place of a coordinate in texels, in units of 1/256; a place beyond all texels is not rounded.
fn place(point: &Point, sampler: &Sampler, axis: usize, size: u32) -> f64 {
    let scale = if sampler.normalized { f64::from(size) } else { 1.0 };
    let place = f64::from(point.at[axis]) * scale + f64::from(point.offset[axis]);
    if place.is_nan() { 0.0 } else { place.clamp(-1e9, 1e9) }
}

/// The address mode for outside indices: repetition is for coordinates from 0 to 1 only.
fn mode(sampler: &Sampler, axis: usize) -> AddressMode {
    match sampler.address[axis] {
        AddressMode::Wrap | AddressMode::Mirror if !sampler.normalized => AddressMode::Clamp,
        mode => mode,
    }
}

fn level_of(texture: &Texture, level: f32) -> u32 {
    let last = texture.levels.saturating_sub(1);
    // The nearest level; the bound is for very large floats.
    let nearest = (level + 0.5).floor();
    if nearest > 0.0 { (nearest as u32).min(last) } else { 0 }
}

/// Reads at a point.
pub(crate) fn sample(texture: &Texture, sampler: &Sampler, point: &Point) -> [u32; 4] {
    let level = level_of(texture, point.level);
    let size = texture.size_of(level);
    if !(sampler.linear && reads_numbers(texture)) {
        let index = [0, 1, 2].map(|axis| {
            if axis < point.dimensions {
                fold(place(point, sampler, axis, size[axis]).floor() as i64, size[axis], mode(sampler, axis))
            } else {
                Some(0)
            }
        });
        return words(texel(texture, level, point.layer, index, 0));
    }
    // The texel below each place, and the weight of the one above it.
    let corner: [(i64, i64); 3] = [0, 1, 2].map(|axis| {
        if axis < point.dimensions {
            let fixed =
                (place(point, sampler, axis, size[axis]) * ONE as f64).round_ties_even() as i64 - ONE / 2;
            (fixed >> FRACTION, fixed & (ONE - 1))
        } else {
            (0, 0)
        }
    });
    let mut sums = [0.0f64; 4];
    for choice in 0..1 << point.dimensions {
        let mut weight = 1;
        let mut index = [Some(0); 3];
        for axis in 0..point.dimensions {
            let above = choice >> axis & 1;
            let (below, part) = corner[axis];
            weight *= if above == 1 { part } else { ONE - part };
            index[axis] = fold(below + above, size[axis], mode(sampler, axis));
        }
        if weight == 0 {
            continue;
        }
        let weight = weight as f64 / (ONE as f64).powi(point.dimensions as i32);
        let found = texel(texture, level, point.layer, index, 0);
        for (sum, component) in sums.iter_mut().zip(found) {
            if let Some(Component::Number(number)) = component {
                *sum += weight * number;
            }
        }
    }
    sums.map(|sum| (sum as f32).to_bits())
}

/// One component of the four texels around a point: counterclockwise, from the one at the lower left on.
pub(crate) fn gather(texture: &Texture, sampler: &Sampler, point: &Point, channel: usize) -> [u32; 4] {
    let size = texture.size_of(0);
    let corner = [0, 1].map(|axis| {
        let fixed = (place(point, sampler, axis, size[axis]) * ONE as f64).round_ties_even() as i64;
        (fixed - ONE / 2) >> FRACTION
    });
    [(0, 1), (1, 1), (1, 0), (0, 0)].map(|(right, down)| {
        let index = [
            fold(corner[0] + right, size[0], mode(sampler, 0)),
            fold(corner[1] + down, size[1], mode(sampler, 1)),
            Some(0),
        ];
        words(texel(texture, 0, point.layer, index, 0))[channel]
    })
}

/// The face of a cube that a direction points to, and the point on the face, from 0 to 1.
pub(crate) fn face(direction: [f32; 3]) -> (u32, [f32; 2]) {
    let [x, y, z] = direction.map(f64::from);
    let (face, major, across, down) = if x.abs() >= y.abs() && x.abs() >= z.abs() {
        if x >= 0.0 { (0, x, -z, -y) } else { (1, -x, z, -y) }
    } else if y.abs() >= z.abs() {
        if y >= 0.0 { (2, y, x, z) } else { (3, -y, x, -z) }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    (face, [across, down].map(|part| ((part / major + 1.0) / 2.0) as f32))
}
