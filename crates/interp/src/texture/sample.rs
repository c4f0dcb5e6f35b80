//! Texture reads at coordinates, following the programming guide's appendix on fetches and the PTX manual: coordinates
//! are first wrapped or clamped into the texture, then the nearest texel is taken, or texels are interpolated dimension
//! by dimension with weights of 8 bits.

use oriole_machine_model::texture::{AddressMode, Element, Sampler, Texture};
use rustc_apfloat::ieee::{Half, Single};
use rustc_apfloat::{Float, FloatConvert};

/// The parameters of a read, apart from the coordinates.
pub struct Place<'a> {
    /// The layer.
    pub layer: u32,
    /// The level.
    pub level: u32,
    /// Added to coordinates, in texels.
    pub offsets: &'a [i32],
    /// The coordinates are a direction from the centre of a cube.
    pub cube: bool,
}

/// A texel: its components, as floating-point values if it has such, else as words. Missing components are 0, the
/// fourth one too.
#[derive(Clone, Copy)]
enum Texel {
    Numbers([f64; 4]),
    Words([u32; 4]),
}

const NOTHING: [f64; 4] = [0.0; 4];

fn has_numbers(texture: &Texture) -> bool {
    match texture.element {
        Element::F16 | Element::F32 => true,
        Element::U8 | Element::S8 | Element::U16 | Element::S16 => texture.fractions,
        Element::U32 | Element::S32 => false,
    }
}

/// The texel at integer coordinates within the texture.
fn texel(texture: &Texture, place: &Place, at: [usize; 3], sample: u32) -> Texel {
    let size = texture.size_of(place.level).map(|size| size as usize);
    let layer = (place.layer as usize).min(texture.layers as usize - 1);
    let samples = texture.samples as usize;
    let sample = (sample as usize).min(samples - 1);
    let number = (((layer * size[2] + at[2]) * size[1] + at[1]) * size[0] + at[0]) * samples + sample;
    let width = texture.element.bytes();
    let start = texture.level_offset(place.level) + number * texture.texel_bytes();
    let raw = |channel: usize| {
        let from = start + channel * width;
        let bytes = texture.bytes.get(from..from + width).unwrap_or(&[]);
        bytes.iter().rev().fold(0u32, |word, byte| word << 8 | u32::from(*byte))
    };
    let signed = |word: u32| match width {
        1 => i32::from(word as u8 as i8),
        2 => i32::from(word as u16 as i16),
        _ => word as i32,
    };
    let channels = usize::from(texture.channels);
    if has_numbers(texture) {
        let mut numbers = NOTHING;
        for (channel, number) in numbers.iter_mut().enumerate().take(channels) {
            let word = raw(channel);
            *number = match texture.element {
                Element::F32 => f64::from(f32::from_bits(word)),
                Element::F16 => half(word),
                Element::U8 => f64::from(word) / 255.0,
                Element::U16 => f64::from(word) / 65535.0,
                Element::S8 => f64::from(signed(word).max(-127)) / 127.0,
                Element::S16 => f64::from(signed(word).max(-32767)) / 32767.0,
                Element::U32 | Element::S32 => f64::from(word),
            };
        }
        return Texel::Numbers(numbers);
    }
    let mut words = [0; 4];
    for (channel, word) in words.iter_mut().enumerate().take(channels) {
        let unsigned = matches!(texture.element, Element::U8 | Element::U16 | Element::U32);
        *word = if unsigned { raw(channel) } else { signed(raw(channel)) as u32 };
    }
    Texel::Words(words)
}

fn half(word: u32) -> f64 {
    let half = Half::from_bits(u128::from(word));
    if half.is_nan() {
        return f64::NAN;
    }
    if half.is_infinite() {
        return if half.is_negative() { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let fraction = f64::from(word & 0x3ff);
    let exponent = (word >> 10 & 0x1f) as i32;
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if half.is_negative() { -magnitude } else { magnitude }
}

fn bits(texel: Texel) -> [u32; 4] {
    match texel {
        Texel::Numbers(numbers) => numbers.map(|number| (number as f32).to_bits()),
        Texel::Words(words) => words,
    }
}

/// The result of a fetch with integer coordinates outside of the texture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// Zeros, beyond the last layer too.
    Nothing,
    /// The texel at the edge, and the last layer.
    Edge,
}

/// Fetches at integer coordinates.
pub fn integer(
    texture: &Texture,
    coordinates: &[i64],
    place: &Place,
    sample: u32,
    outside: Outside,
) -> [u32; 4] {
    let size = texture.size_of(place.level);
    let mut at = [0; 3];
    let mut is_inside = place.layer < texture.layers;
    for (axis, &coordinate) in coordinates.iter().enumerate() {
        let coordinate = coordinate + i64::from(place.offsets.get(axis).copied().unwrap_or(0));
        let nearest = coordinate.clamp(0, i64::from(size[axis]) - 1);
        is_inside &= coordinate == nearest;
        at[axis] = nearest as usize;
    }
    if outside == Outside::Nothing && !is_inside {
        return [0; 4];
    }
    bits(texel(texture, place, at, sample))
}

/// One dimension of a fetch: number of texels, coordinate, and address mode.
#[derive(Clone, Copy)]
struct Axis {
    count: i64,
    at: f64,
    mode: AddressMode,
}

impl Axis {
    /// The texel for an index that may be outside.
    fn inside(self, index: i64) -> Option<usize> {
        let count = self.count;
        let index = match self.mode {
            AddressMode::Border => {
                return (index >= 0 && index < count).then_some(index as usize);
            }
            AddressMode::Clamp => index.max(0).min(count - 1),
            AddressMode::Wrap => (index % count + count) % count,
            AddressMode::Mirror => {
                let period = (index % (2 * count) + 2 * count) % (2 * count);
                if period < count { period } else { 2 * count - 1 - period }
            }
        };
        Some(index as usize)
    }

    /// The texel below the point between its centre and the next one's, and the weight of the next.
    fn corner(self) -> (i64, f64) {
        let shifted = self.at - 0.5;
        let below = shifted.floor();
        ((below as i64), ((shifted - below) * 256.0).round() / 256.0)
    }
}

/// The dimensions of a fetch; those of a cube are the two of its face, and the face is part of the layer.
fn axes(texture: &Texture, sampler: &Sampler, coordinates: &[f32], place: &Place) -> (Vec<Axis>, u32) {
    let size = texture.size_of(place.level);
    let (face, coordinates, normalized) = if place.cube {
        let (face, on_face) = on_cube(coordinates);
        (face, on_face.to_vec(), true)
    } else {
        (0, coordinates.iter().map(|&c| f64::from(c)).collect(), sampler.normalized)
    };
    let axes = coordinates.iter().enumerate().map(|(axis, &coordinate)| {
        let count = i64::from(size[axis]);
        let mode = match sampler.address[axis] {
            _ if place.cube => AddressMode::Clamp,
            // Repetition needs coordinates from 0 to 1.
            AddressMode::Wrap | AddressMode::Mirror if !normalized => AddressMode::Clamp,
            mode => mode,
        };
        let texels = if normalized { coordinate * count as f64 } else { coordinate };
        let at = texels + f64::from(place.offsets.get(axis).copied().unwrap_or(0));
        Axis { count, at: if at.is_nan() { 0.0 } else { at.clamp(-1e9, 1e9) }, mode }
    });
    (axes.collect(), face)
}

/// Face and place on it, from 0 to 1, of a direction from the centre of a cube.
fn on_cube(direction: &[f32]) -> (u32, [f64; 2]) {
    let [s, t, r] = [0, 1, 2].map(|axis| f64::from(direction.get(axis).copied().unwrap_or(0.0)));
    let largest = s.abs().max(t.abs()).max(r.abs());
    // Face, the coordinate to the right, the coordinate down.
    let (face, right, down) = if s.abs() == largest {
        if s >= 0.0 { (0, -r, -t) } else { (1, r, -t) }
    } else if t.abs() == largest {
        if t >= 0.0 { (2, s, r) } else { (3, s, -r) }
    } else if r >= 0.0 {
        (4, s, -t)
    } else {
        (5, -s, -t)
    };
    (face, [right, down].map(|part| (part / largest + 1.0) / 2.0))
}

/// Reads at fractional coordinates.
pub fn read(texture: &Texture, sampler: &Sampler, coordinates: &[f32], place: &Place) -> [u32; 4] {
    let (axes, face) = axes(texture, sampler, coordinates, place);
    let place = on_face(texture, place, face);
    if sampler.linear && has_numbers(texture) {
        return weigh(texture, &place, &axes, &mut Vec::new()).map(|number| (number as f32).to_bits());
    }
    let mut at = [0; 3];
    for (index, axis) in axes.iter().enumerate() {
        match axis.inside(axis.at.floor() as i64) {
            Some(inside) => at[index] = inside,
            None => return [0; 4],
        }
    }
    bits(texel(texture, &place, at, 0))
}

fn on_face<'a>(texture: &Texture, place: &Place<'a>, face: u32) -> Place<'a> {
    // A cube index beyond the last one is clamped.
    let cube = || place.layer.min((texture.layers / 6).saturating_sub(1));
    let layer = if place.cube { 6 * cube() + face } else { place.layer };
    Place { layer, ..*place }
}

/// The weighted sum over the texels around a point; the dimensions of `chosen` are fixed.
fn weigh(texture: &Texture, place: &Place, axes: &[Axis], chosen: &mut Vec<Option<usize>>) -> [f64; 4] {
    let Some(axis) = axes.get(chosen.len()) else {
        let mut at = [0; 3];
        for (index, inside) in chosen.iter().enumerate() {
            match inside {
                Some(inside) => at[index] = *inside,
                None => return NOTHING,
            }
        }
        return match texel(texture, place, at, 0) {
            Texel::Numbers(numbers) => numbers,
            Texel::Words(words) => words.map(f64::from),
        };
    };
    let (below, weight) = axis.corner();
    let mut part = |index: i64| {
        chosen.push(axis.inside(index));
        let sum = weigh(texture, place, axes, chosen);
        chosen.pop();
        sum
    };
    // A texel with zero weight is ignored, even if it is infinite.
    let low = if weight < 1.0 { part(below) } else { NOTHING };
    let high = if weight > 0.0 { part(below + 1) } else { NOTHING };
    std::array::from_fn(|channel| low[channel] * (1.0 - weight) + high[channel] * weight)
}

/// One component of the four texels around a point, counterclockwise from the lower left one on.
pub fn gather(
    texture: &Texture,
    sampler: &Sampler,
    coordinates: &[f32],
    place: &Place,
    channel: usize,
) -> [u32; 4] {
    let place = Place { level: 0, ..*place };
    let (axes, face) = axes(texture, sampler, coordinates, &place);
    let place = on_face(texture, &place, face);
    let corners: Vec<i64> = axes
        .iter()
        .map(|axis| {
            let (below, weight) = axis.corner();
            below + i64::from(weight == 1.0)
        })
        .collect();
    let [x, y] = [corners[0], corners[1]];
    [(x, y + 1), (x + 1, y + 1), (x + 1, y), (x, y)].map(|(x, y)| {
        match (axes[0].inside(x), axes[1].inside(y)) {
            (Some(x), Some(y)) => bits(texel(texture, &place, [x, y, 0], 0))[channel],
            _ => 0,
        }
    })
}

/// The nearest level.
pub fn nearest_level(texture: &Texture, level: f64) -> u32 {
    let last = f64::from(texture.levels - 1);
    (level + 0.5).floor().clamp(0.0, last) as u32
}

/// The level at which neighbouring points are a texel apart: the logarithm of the larger distance.
pub fn level_of(texture: &Texture, normalized: bool, gradients: &[Vec<f32>; 2]) -> f64 {
    let size = texture.size_of(0);
    let distance = |list: &Vec<f32>| {
        let squares = list.iter().zip(size).map(|(&part, size)| {
            let texels = if normalized { f64::from(part) * f64::from(size) } else { f64::from(part) };
            texels * texels
        });
        squares.sum::<f64>().sqrt()
    };
    libm::log2(distance(&gradients[0]).max(distance(&gradients[1])))
}

/// The level for a direction from the centre of a cube. The places on the face are quotients by the coordinate that
/// selects the face; their derivatives follow by the quotient rule.
pub fn level_on_cube(texture: &Texture, direction: &[f32], gradients: &[Vec<f32>; 2]) -> f64 {
    let parts: Vec<f64> = direction.iter().map(|&part| f64::from(part)).collect();
    let largest = parts.iter().fold(0.0f64, |most, part| most.max(part.abs()));
    let Some(major) = parts.iter().position(|part| part.abs() == largest) else { return 0.0 };
    let texels = f64::from(texture.size_of(0)[0]) / 2.0;
    let distance = |list: &Vec<f32>| {
        let outward = f64::from(list[major]) * parts[major].signum();
        let squares = list.iter().zip(&parts).enumerate().filter(|(axis, _)| *axis != major).map(
            |(_, (&change, part))| {
                let along = (f64::from(change) * largest - part * outward) / (largest * largest);
                (along * texels).powi(2)
            },
        );
        squares.sum::<f64>().sqrt()
    };
    libm::log2(distance(&gradients[0]).max(distance(&gradients[1])))
}

/// The f16 nearest to an f32.
pub fn nearest_half(word: u32) -> u64 {
    let single = Single::from_bits(u128::from(word));
    let converted: Half = single.convert(&mut false).value;
    converted.to_bits() as u64
}
