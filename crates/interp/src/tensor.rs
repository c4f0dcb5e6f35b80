//! Tensor maps: their 128 bytes, and the elements of memory in a TMA tile.
//!
//! The fields up to byte 0x3b are where `tensormap.replace` puts them. No instruction writes the im2col fields; here
//! they are after those, where launch records put them.

use smallvec::SmallVec;

use crate::step::{AtomicOperation, Walk};
use crate::value::float::{FloatOperation, Mode, OUT_OF_BOUNDS};
use crate::value::integer::Kind;
use crate::value::soft::Format;

/// Bytes of a tensor map.
pub const MAP_BYTES: usize = 128;
/// Most dimensions of a tensor.
const MOST: usize = 5;
/// Bytes of a line, which copies move whole.
const LINE: i64 = 16;

/// A tensor map.
#[derive(Debug)]
pub struct TensorMap {
    address: u64,
    element: Element,
    rank: usize,
    sizes: [u64; MOST],
    /// Bytes from an element to the next one of each dimension.
    strides: [u64; MOST],
    /// Extents of a tile, before the element strides are applied.
    extents: [u64; MOST],
    steps: [u64; MOST],
    swizzle: u32,
    fills_nan: bool,
    image: Option<Image>,
}

/// Why a tensor map, or a copy by it, is illegal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TensorError {
    /// The map asks for an interleaved layout.
    #[error("interleaved tensors are not supported")]
    Interleaved,
    /// The map asks for a swizzle with another atom than 16 bytes.
    #[error("this way to swizzle is not supported")]
    Swizzle,
    /// No element type has this code.
    #[error("the tensor map has the unknown element type {0}")]
    Element(u32),
    /// The map has more dimensions than a tensor.
    #[error("the tensor map has {0} dimensions")]
    Dimensions(usize),
    /// The copy starts between lines of global memory.
    #[error("the first coordinate is {0} bytes from the tensor's begin, no multiple of 16")]
    Start(i64),
    /// No GPU has this reduction of these elements.
    #[error("a tensor has no such reduction of {name}", name = .0.name())]
    Reduction(Element),
    /// A bound of an image that is stored to is negative.
    #[error("a store of a box into an image with a negative lower bound")]
    Bound,
    /// The instruction names another number of coordinates than the tensor has.
    #[error("{named} coordinates for a tensor of {rank} dimensions")]
    Coordinates {
        /// Coordinates of the instruction.
        named: usize,
        /// Dimensions of the tensor.
        rank: usize,
    },
    /// The box must be one row.
    #[error("the box has more than a row")]
    Rows,
    /// The instruction copies pixels.
    #[error("the tensor map is none of an image")]
    NoImage,
    /// The instruction copies a tile.
    #[error("the tensor map is that of an image")]
    Image,
    /// Rows do not fit the pattern that swizzling works on.
    #[error("rows of {bytes} bytes are wider than a swizzle of {most}")]
    Wide {
        /// Bytes of a row.
        bytes: u64,
        /// Bytes of the pattern.
        most: u64,
    },
    /// Rows do not fill lines.
    #[error("rows of {0} bytes are no multiple of 16")]
    Row(u64),
}

/// The im2col fields: traversal of pixels.
#[derive(Debug)]
struct Image {
    lower: [i64; 3],
    upper: [i64; 3],
    channels: u64,
    pixels: u64,
}

/// Pixels of a part, and number of parts.
const PART: u64 = 32;
const PARTS: u64 = 4;

/// The type of the elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// An integer.
    Integer(Kind),
    /// A floating-point number.
    Float(Format),
}

impl Element {
    fn bytes(self) -> u64 {
        match self {
            Element::Integer(kind) => u64::from(kind.bits / 8),
            Element::Float(Format::F16 | Format::BF16) => 2,
            Element::Float(Format::F64) => 8,
            Element::Float(_) => 4,
        }
    }

    /// As launch records and the driver name it.
    fn name(self) -> String {
        match self {
            Element::Integer(kind) => format!("{}{}", if kind.signed { 's' } else { 'u' }, kind.bits),
            Element::Float(format) => format!("{format:?}").to_lowercase(),
        }
    }

    fn of_code(code: u32) -> Result<Element, TensorError> {
        let integer = |bits, signed| Element::Integer(Kind { bits, signed });
        Ok(match code {
            0 => integer(8, false),
            1 => integer(16, false),
            2 => integer(32, false),
            3 => integer(32, true),
            4 => integer(64, false),
            5 => integer(64, true),
            6 => Element::Float(Format::F16),
            7 | 8 => Element::Float(Format::F32),
            9 => Element::Float(Format::F64),
            10 => Element::Float(Format::BF16),
            _ => return Err(TensorError::Element(code)),
        })
    }
}

/// One element of a tile.
pub struct Cell {
    /// Its address in global memory; `None` outside of the tensor.
    pub global: Option<u64>,
    /// Its offset in the tile in shared memory, before swizzling.
    pub offset: u64,
    /// One of its coordinates is negative.
    pub before: bool,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 4].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn signed_half(bytes: &[u8], at: usize) -> i64 {
    i64::from(i16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

impl TensorMap {
    /// Reads a map.
    pub fn new(bytes: &[u8]) -> Result<TensorMap, TensorError> {
        let kinds = word(bytes, 8) as u32;
        if kinds >> 11 & 3 != 0 {
            return Err(TensorError::Interleaved);
        }
        if kinds >> 19 & 0xf != 0 {
            return Err(TensorError::Swizzle);
        }
        let element = Element::of_code(kinds >> 7 & 0xf)?;
        let rank = (kinds >> 4 & 7) as usize + 1;
        if rank > MOST {
            return Err(TensorError::Dimensions(rank));
        }
        let mut map = TensorMap {
            address: word(bytes, 0) | word(bytes, 4) << 32,
            element,
            rank,
            sizes: std::array::from_fn(|at| word(bytes, 0x20 + 4 * at) + 1),
            strides: [element.bytes(); MOST],
            extents: [1; MOST],
            steps: std::array::from_fn(|at| (word(bytes, 0x34) >> (3 * at) & 7) + 1),
            swizzle: kinds >> 13 & 3,
            fills_nan: kinds >> 15 & 1 == 1,
            image: None,
        };
        // There is no element stride along the rows.
        map.steps[0] = 1;
        for at in 1..MOST {
            let high = word(bytes, 0x1c) >> (4 * (at - 1)) & 0xf;
            map.strides[at] = word(bytes, 0x0c + 4 * (at - 1)) << 4 | high << 36;
            map.extents[at] = (word(bytes, 0x38) >> (8 * (at - 1)) & 0xff) + 1;
        }
        map.extents[0] = (word(bytes, 0x34) >> 24) + 1;
        if word(bytes, 0x40) == 1 {
            map.image = Some(Image {
                channels: word(bytes, 0x44),
                pixels: word(bytes, 0x48),
                lower: std::array::from_fn(|at| signed_half(bytes, 0x4c + 2 * at)),
                upper: std::array::from_fn(|at| signed_half(bytes, 0x52 + 2 * at)),
            });
        }
        Ok(map)
    }

    /// Bytes of an element.
    pub fn element_bytes(&self) -> usize {
        self.element.bytes() as usize
    }

    /// A copy begins at a line of global memory, inside of the tensor or not.
    pub fn check_start(&self, coordinates: &[i64]) -> Result<(), TensorError> {
        let bytes = coordinates[0] * self.element.bytes() as i64;
        match bytes % LINE {
            0 => Ok(()),
            _ => Err(TensorError::Start(bytes)),
        }
    }

    /// Whether such a reduction is valid for the element type: a GPU supports the combinations of the PTX manual.
    pub fn check_combination(&self, named: AtomicOperation) -> Result<(), TensorError> {
        let listed = match (named, self.element) {
            (AtomicOperation::Add(_), Element::Float(_)) => true,
            (AtomicOperation::Add(_), Element::Integer(kind)) => {
                kind.bits == 32 || (kind.bits == 64 && !kind.signed)
            }
            (AtomicOperation::Minimum(_) | AtomicOperation::Maximum(_), Element::Float(format)) => {
                matches!(format, Format::F16 | Format::BF16)
            }
            (AtomicOperation::Increment | AtomicOperation::Decrement, Element::Integer(kind)) => {
                kind.bits == 32 && !kind.signed
            }
            (_, Element::Integer(kind)) => kind.bits >= 32,
            (_, Element::Float(_)) => false,
        };
        if listed { Ok(()) } else { Err(TensorError::Reduction(self.element)) }
    }

    /// Whether tiles can be stored into the image: not if a bound is negative, wherever they are.
    pub fn check_bounds(&self) -> Result<(), TensorError> {
        match &self.image {
            Some(image) if image.lower.iter().any(|&bound| bound < 0) => Err(TensorError::Bound),
            _ => Ok(()),
        }
    }

    /// The fill value outside of the tensor, of the size of an element. Wide types repeat the f16 value.
    pub fn filling(&self) -> u64 {
        match self.element {
            Element::Float(_) if self.fills_nan => OUT_OF_BOUNDS * 0x0001_0001_0001_0001,
            _ => 0,
        }
    }

    /// The operation of a reduction on elements of this type.
    pub fn combination(&self, named: AtomicOperation) -> AtomicOperation {
        let float = |operation, format| AtomicOperation::Float(operation, format, Mode::default(), false);
        match (named, self.element) {
            (AtomicOperation::Add(_), Element::Integer(kind)) => AtomicOperation::Add(kind),
            (AtomicOperation::Minimum(_), Element::Integer(kind)) => AtomicOperation::Minimum(kind),
            (AtomicOperation::Maximum(_), Element::Integer(kind)) => AtomicOperation::Maximum(kind),
            (AtomicOperation::Add(_), Element::Float(format)) => float(FloatOperation::Add, format),
            (AtomicOperation::Minimum(_), Element::Float(format)) => float(FloatOperation::Minimum, format),
            (AtomicOperation::Maximum(_), Element::Float(format)) => float(FloatOperation::Maximum, format),
            (other, _) => other,
        }
    }

    /// The elements of the tile at these coordinates, in the order of shared memory. `offsets` are im2col offsets, in
    /// pixels.
    pub fn cells(&self, coordinates: &[i64], offsets: &[u64], walk: Walk) -> Result<Vec<Cell>, TensorError> {
        let wanted = if walk == Walk::Rows { 5 } else { self.rank };
        if coordinates.len() != wanted || (walk == Walk::Rows && self.rank != 2) {
            return Err(TensorError::Coordinates { named: coordinates.len(), rank: self.rank });
        }
        let mut cells = self.walk(coordinates, offsets, walk)?;
        // Rows that are narrower than the swizzle pattern have its pitch.
        let row = self.image.as_ref().map_or(self.extents[0], |image| image.channels) * self.element.bytes();
        let apart = if self.swizzle == 0 { row } else { self.pattern() };
        for cell in &mut cells {
            cell.offset = cell.offset / row * apart + cell.offset % row;
        }
        Ok(cells)
    }

    /// The elements without swizzle pitch, one after the other.
    fn walk(&self, coordinates: &[i64], offsets: &[u64], walk: Walk) -> Result<Vec<Cell>, TensorError> {
        match (&self.image, walk) {
            (None, Walk::Tile) => self.check_rows(self.extents[0]).map(|()| self.tile(coordinates)),
            (None, Walk::Rows) if self.extents[1] == 1 => {
                self.check_rows(self.extents[0]).map(|()| self.rows(coordinates))
            }
            (None, Walk::Rows) => Err(TensorError::Rows),
            (None, _) => Err(TensorError::NoImage),
            (Some(_), Walk::Tile | Walk::Rows) => Err(TensorError::Image),
            (Some(image), Walk::Image) => {
                self.check_rows(image.channels).map(|()| self.column(image, coordinates, offsets))
            }
            (Some(image), _) => {
                let (parts, pixels) = if walk == Walk::Parts { (PARTS, PART) } else { (1, image.pixels) };
                self.check_rows(image.channels)?;
                Ok(self.lines(image, coordinates, offsets, [parts, pixels]))
            }
        }
    }

    /// Four rows of the tensor, each by its index.
    fn rows(&self, coordinates: &[i64]) -> Vec<Cell> {
        let length = self.extents[0];
        let places =
            coordinates[1..].iter().flat_map(|row| (0..length).map(|at| [coordinates[0] + at as i64, *row]));
        places.zip(0..).map(|(place, number)| self.cell(&place, number)).collect()
    }

    /// `parts` parts of `pixels` pixels along the first dimension of the image, from image to image. After each part
    /// come the pixels that follow its last one, within the bounds or not.
    fn lines(
        &self,
        image: &Image,
        coordinates: &[i64],
        offsets: &[u64],
        [parts, pixels]: [u64; 2],
    ) -> Vec<Cell> {
        let named = |at: usize| offsets.get(at).map_or(0, |&number| number as i64);
        let (halo, offset) = (named(0), named(1));
        let step = self.steps[1] as i64;
        let (first, last) = (image.lower[0] + offset, self.sizes[1] as i64 - 1 + image.upper[0] + offset);
        let (mut at, mut number) = (coordinates[1] + offset, coordinates[self.rank - 1]);
        let mut pixel_places = Vec::new();
        for _ in 0..parts {
            let mut behind = (at, number);
            for _ in 0..pixels {
                pixel_places.push((at, number));
                behind = (at, number);
                at += step;
                if at > last {
                    (at, number) = (first, number + 1);
                }
            }
            pixel_places.extend((1..=halo).map(|more| (behind.0 + more * step, behind.1)));
        }
        let mut cells = Vec::new();
        for (count, (at, number)) in (0..).zip(pixel_places) {
            let mut place: SmallVec<[i64; MOST]> = SmallVec::from_slice(coordinates);
            (place[1], place[self.rank - 1]) = (at, number);
            for channel in 0..image.channels {
                place[0] = coordinates[0] + channel as i64;
                cells.push(self.cell(&place, count * image.channels + channel));
            }
        }
        cells
    }

    /// Bytes of a row of the pattern that swizzling works on.
    fn pattern(&self) -> u64 {
        16 << self.swizzle
    }

    /// Rows must fill lines of 16 bytes, and with swizzling not more than those of the pattern.
    fn check_rows(&self, elements: u64) -> Result<(), TensorError> {
        let bytes = elements * self.element.bytes();
        let most = self.pattern();
        if self.swizzle != 0 && bytes > most {
            return Err(TensorError::Wide { bytes, most });
        }
        if !bytes.is_multiple_of(16) {
            return Err(TensorError::Row(bytes));
        }
        Ok(())
    }

    fn cell(&self, coordinates: &[i64], number: u64) -> Cell {
        let inside = coordinates.iter().zip(self.sizes).all(|(&at, size)| at >= 0 && (at as u64) < size);
        let distance = |(&at, stride): (&i64, u64)| (at as u64).wrapping_mul(stride);
        let global = self
            .address
            .wrapping_add(coordinates.iter().zip(self.strides).map(distance).fold(0, u64::wrapping_add));
        let before = coordinates.iter().any(|&at| at < 0);
        Cell { global: inside.then_some(global), offset: number * self.element.bytes(), before }
    }

    fn tile(&self, coordinates: &[i64]) -> Vec<Cell> {
        let counts: SmallVec<[u64; MOST]> =
            (0..self.rank).map(|at| self.extents[at].div_ceil(self.steps[at])).collect();
        (0..counts.iter().product())
            .map(|number| {
                let mut rest = number;
                let place: SmallVec<[i64; MOST]> = (0..self.rank)
                    .map(|at| {
                        let index = rest % counts[at];
                        rest /= counts[at];
                        coordinates[at] + (index * self.steps[at]) as i64
                    })
                    .collect();
                self.cell(&place, number)
            })
            .collect()
    }

    /// Pixels one after the other, from the corner on: along the first dimension within the bounds, then the next, then
    /// the next image.
    fn column(&self, image: &Image, coordinates: &[i64], offsets: &[u64]) -> Vec<Cell> {
        let spatial = self.rank - 2;
        let mut counts = [1i64; 3];
        let mut first = 0;
        for at in (0..spatial).rev() {
            let step = self.steps[at + 1] as i64;
            let last = self.sizes[at + 1] as i64 - 1 + image.upper[at];
            counts[at] = ((last - image.lower[at]) / step + 1).max(1);
            first = first * counts[at] + (coordinates[at + 1] - image.lower[at]) / step;
        }
        let mut cells = Vec::new();
        for pixel in 0..image.pixels {
            let mut rest = first + pixel as i64;
            let mut place: SmallVec<[i64; MOST]> = SmallVec::from_slice(coordinates);
            for at in 0..spatial {
                let offset = offsets.get(at).copied().unwrap_or(0) as i64;
                place[at + 1] = image.lower[at] + rest % counts[at] * self.steps[at + 1] as i64 + offset;
                rest /= counts[at];
            }
            place[self.rank - 1] += rest;
            for channel in 0..image.channels {
                place[0] = coordinates[0] + channel as i64;
                cells.push(self.cell(&place, pixel * image.channels + channel));
            }
        }
        cells
    }

    /// The swizzled address in shared memory.
    pub fn swizzled(&self, address: u64) -> u64 {
        // Lines of 16 bytes within a row of the pattern are permuted by the index of the row.
        let lines = (1u64 << self.swizzle) - 1;
        address ^ (address >> 7 & lines) << 4
    }
}
