//! TMA tiles, row by row: each row is a line of global memory and a line of shared memory.
//!
//! The layout of a tensor map is that of `tensormap.replace`; the fields of im2col tiles are in the second half, where
//! launches put them.

use super::context::Context;
use super::load_store::{Space, load};
use crate::launch::Fault;

/// Size and alignment of a tensor map, in bytes.
const MAP_BYTES: usize = 128;
const MAP_ALIGNMENT: u64 = 64;
/// Lines that swizzling moves, in bytes.
pub(super) const LINE: usize = 16;

/// The kind of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Unsigned,
    Signed,
    Half,
    BrainHalf,
    Single,
    Double,
}

/// By the type code in the map: kind and bytes.
const TYPES: [(Kind, u64); 11] = [
    (Kind::Unsigned, 1),
    (Kind::Unsigned, 2),
    (Kind::Unsigned, 4),
    (Kind::Signed, 4),
    (Kind::Unsigned, 8),
    (Kind::Signed, 8),
    (Kind::Half, 2),
    (Kind::Single, 4),
    (Kind::Single, 4),
    (Kind::Double, 8),
    (Kind::BrainHalf, 2),
];

/// One dimension of a tensor and of its tiles.
#[derive(Clone, Copy, Default)]
struct Dimension {
    size: i64,
    stride: u64,
    extent: i64,
    step: i64,
}

/// The bounds of an image in a dimension that has pixels.
#[derive(Clone, Copy, Default)]
struct Bounds {
    first: i64,
    last: i64,
}

/// Bytes at a generic address.
fn generic_bytes(context: &mut Context, address: u64, count: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::with_capacity(count);
    for at in (0..count as u64).step_by(4) {
        let words = load(context, 0, Space::Generic, address.wrapping_add(at), 4)?;
        bytes.extend(words[0].to_le_bytes());
    }
    Ok(bytes)
}

pub(super) struct Map {
    base: u64,
    pub kind: Kind,
    pub element: u64,
    /// Elements outside of the tensor are NaN.
    pub nan: bool,
    mode: u32,
    dimensions: Vec<Dimension>,
    image: Option<ImageBox>,
}

struct ImageBox {
    channels: i64,
    pixels: i64,
    bounds: [Bounds; 3],
}

/// A row of a TMA tile.
pub(super) struct Row {
    /// Its first byte in the tile, before swizzling.
    pub offset: u64,
    /// Address of its first element, were it inside.
    pub address: u64,
    /// The elements that are inside of the tensor.
    pub inside: std::ops::Range<i64>,
    /// All elements.
    pub count: i64,
    /// One of its coordinates is negative.
    pub before: bool,
}

fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1u64 << count) - 1) as u32
}

impl Map {
    /// Reads the map at a generic address.
    pub(super) fn at(context: &mut Context, address: u64) -> Result<Map, Fault> {
        if !address.is_multiple_of(MAP_ALIGNMENT) {
            let size = MAP_ALIGNMENT as u32;
            return Err(Fault::Misaligned { space: "generic", address, size });
        }
        let bytes = generic_bytes(context, address, MAP_BYTES)?;
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|part| u32::from_le_bytes([part[0], part[1], part[2], part[3]]))
            .collect();
        let half = |at: usize| i64::from(i16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let Some(&(kind, element)) = TYPES.get(bits(words[2], 7, 4) as usize) else {
            return Err(Fault::Tensor("its element type is unknown".into()));
        };
        if bits(words[2], 11, 2) != 0 {
            return Err(Fault::Tensor("it is interleaved".into()));
        }
        if bits(words[2], 19, 4) != 0 {
            return Err(Fault::Tensor("its swizzle is not simulated".into()));
        }
        let rank = bits(words[2], 4, 3) as usize + 1;
        let mut dimensions = vec![Dimension::default(); rank.min(5)];
        for (at, dimension) in dimensions.iter_mut().enumerate() {
            dimension.size = i64::from(words[8 + at]) + 1;
            if at == 0 {
                *dimension = Dimension {
                    stride: element,
                    extent: i64::from(bits(words[13], 24, 8)) + 1,
                    step: 1,
                    ..*dimension
                };
                continue;
            }
            let below = at as u32 - 1;
            let stride =
                u64::from(words[3 + below as usize]) + (u64::from(bits(words[7], 4 * below, 4)) << 32);
            dimension.stride = stride * LINE as u64;
            dimension.extent = i64::from(bits(words[14], 8 * below, 8)) + 1;
            dimension.step = i64::from(bits(words[13], 3 * at as u32, 3)) + 1;
        }
        let image = (words[16] == 1).then(|| {
            let mut bounds = [Bounds::default(); 3];
            for (at, bounds) in bounds.iter_mut().enumerate() {
                let size = dimensions.get(at + 1).map_or(1, |dimension| dimension.size);
                bounds.first = half(0x4c + 2 * at);
                bounds.last = size - 1 + half(0x52 + 2 * at);
            }
            ImageBox { channels: i64::from(words[17]), pixels: i64::from(words[18]), bounds }
        });
        Ok(Map {
            base: u64::from(words[0]) | u64::from(words[1]) << 32,
            kind,
            element,
            nan: bits(words[2], 15, 1) == 1,
            mode: bits(words[2], 13, 2),
            dimensions,
            image,
        })
    }

    /// The type of its elements, as launch records name it.
    pub(super) fn element_name(&self) -> &'static str {
        match (self.kind, self.element) {
            (Kind::Unsigned, 1) => "u8",
            (Kind::Unsigned, 2) => "u16",
            (Kind::Unsigned, 4) => "u32",
            (Kind::Unsigned, _) => "u64",
            (Kind::Signed, 4) => "s32",
            (Kind::Signed, _) => "s64",
            (Kind::Half, _) => "f16",
            (Kind::BrainHalf, _) => "bf16",
            (Kind::Single, _) => "f32",
            (Kind::Double, _) => "f64",
        }
    }

    /// im2col tiles begin before the pixels of the image.
    pub(super) fn has_border(&self) -> bool {
        self.image.as_ref().is_some_and(|image| image.bounds.iter().any(|bounds| bounds.first < 0))
    }

    /// The TMA moves lines of global memory, so that a tile begins at one.
    pub(super) fn begins_at_line(&self, start: &[i64]) -> Result<(), Fault> {
        let distance = start.first().map_or(0, |first| first * self.element as i64);
        if distance % LINE as i64 == 0 {
            return Ok(());
        }
        Err(Fault::Tensor(format!("its box begins {distance} bytes along the row, no multiple of {LINE}")))
    }

    /// The rows of the tile at some coordinates; `pixels` are the im2col offsets of the instruction, if it has them.
    pub(super) fn rows(&self, start: &[i64], pixels: Option<[i64; 3]>) -> Result<Vec<Row>, Fault> {
        if start.len() != self.dimensions.len() {
            let (named, real) = (start.len(), self.dimensions.len());
            return Err(Fault::Tensor(format!("it has {real} dimensions and not {named}")));
        }
        let rows = match (&self.image, pixels) {
            (None, None) => self.tile_rows(start),
            (Some(image), Some(pixels)) => self.image_rows(image, start, pixels),
            (Some(_), None) => return Err(Fault::Tensor("it is that of an image".into())),
            (None, Some(_)) => return Err(Fault::Tensor("it is not that of an image".into())),
        };
        self.fitting(rows)
    }

    /// Rows must fill lines, and not more than the lines of a swizzle, which has room for each.
    fn fitting(&self, mut rows: Vec<Row>) -> Result<Vec<Row>, Fault> {
        let length = rows.first().map_or(0, |row| row.count as u64 * self.element);
        let room = if self.mode == 0 { length } else { 16 << self.mode };
        if length > room || !length.is_multiple_of(LINE as u64) {
            return Err(Fault::Tensor(format!("its boxes have rows of {length} bytes")));
        }
        for (row, number) in rows.iter_mut().zip(0..) {
            row.offset = number * room;
        }
        Ok(rows)
    }

    /// Four rows of a plane: the first column, then the index of each.
    pub(super) fn numbered_rows(&self, start: &[i64]) -> Result<Vec<Row>, Fault> {
        let ([width, height], None) = (self.dimensions.as_slice(), &self.image) else {
            return Err(Fault::Tensor("it is that of no plane".into()));
        };
        if height.extent != 1 {
            return Err(Fault::Tensor("its boxes have more than a row".into()));
        }
        let rows = start[1..].iter().map(|&row| self.row(&[start[0], row], width.extent));
        self.fitting(rows.collect())
    }

    /// Pixels along a line of an image, then along that of the next image; `halo` more follow the last of them in its
    /// own line, and the last of each 32 where `parted`.
    pub(super) fn line_rows(
        &self,
        start: &[i64],
        halo: i64,
        offset: i64,
        parted: bool,
    ) -> Result<Vec<Row>, Fault> {
        let (Some(image), true) = (&self.image, start.len() == self.dimensions.len()) else {
            return Err(Fault::Tensor("it is not that of an image, or has other dimensions".into()));
        };
        let (last, bounds, step) = (start.len() - 1, image.bounds[0], self.dimensions[1].step);
        let (parts, pixels) = if parted { (4, 32) } else { (1, image.pixels) };
        let mut place = start.to_vec();
        place[1] += offset;
        let mut rows: Vec<Row> = Vec::new();
        for _ in 0..parts {
            let mut behind = place.clone();
            for _ in 0..pixels {
                rows.push(self.row(&place, image.channels));
                behind.clone_from(&place);
                place[1] += step;
                if place[1] > bounds.last + offset {
                    place[1] = bounds.first + offset;
                    place[last] += 1;
                }
            }
            for _ in 0..halo {
                behind[1] += step;
                rows.push(self.row(&behind, image.channels));
            }
        }
        self.fitting(rows)
    }

    /// The row at a place, which may be outside.
    fn row(&self, place: &[i64], count: i64) -> Row {
        let within = |(at, dimension): (&i64, &Dimension)| (0..dimension.size).contains(at);
        let outer = place[1..].iter().zip(&self.dimensions[1..]).all(within);
        let (first, size) = (place[0], self.dimensions[0].size);
        let inside = if outer { (-first).clamp(0, count)..(size - first).clamp(0, count) } else { 0..0 };
        let mut address = self.base;
        for (at, dimension) in place.iter().zip(&self.dimensions) {
            address = address.wrapping_add((*at as u64).wrapping_mul(dimension.stride));
        }
        Row { offset: 0, address, inside, count, before: place.iter().any(|at| *at < 0) }
    }

    fn tile_rows(&self, start: &[i64]) -> Vec<Row> {
        let count = self.dimensions[0].extent;
        let mut rows = Vec::new();
        let mut place = start.to_vec();
        loop {
            rows.push(self.row(&place, count));
            // The next place: the first dimension that is not at its end advances, those before restart.
            let mut at = 1;
            loop {
                let Some(dimension) = self.dimensions.get(at) else { return rows };
                place[at] += dimension.step;
                if place[at] < start[at] + dimension.extent {
                    break;
                }
                place[at] = start[at];
                at += 1;
            }
        }
    }

    fn image_rows(&self, image: &ImageBox, start: &[i64], pixels: [i64; 3]) -> Vec<Row> {
        let last = start.len() - 1;
        let mut corner = start.to_vec();
        let mut rows = Vec::new();
        for _ in 0..image.pixels {
            let mut place = corner.clone();
            for (at, offset) in pixels.into_iter().enumerate().take(last - 1) {
                place[at + 1] += offset;
            }
            rows.push(self.row(&place, image.channels));
            let mut at = 1;
            while at < last {
                corner[at] += self.dimensions[at].step;
                if corner[at] <= image.bounds[at - 1].last {
                    break;
                }
                corner[at] = image.bounds[at - 1].first;
                at += 1;
            }
            if at == last {
                corner[last] += 1;
            }
        }
        rows
    }

    /// The address of a line of shared memory after swizzling.
    pub(super) fn swizzle(&self, address: u64) -> u64 {
        let moved = match self.mode {
            0 => 0,
            1 => address >> 7 & 1,
            2 => address >> 7 & 3,
            _ => address >> 7 & 7,
        };
        address ^ (moved * LINE as u64)
    }
}
