//! Tensor maps of launch records: the fields of a record as the 128 bytes that interpreter and simulator read.
//!
//! The fields are where `tensormap.replace` puts them. The format in which the driver writes the fields of images is not known;
//! here they come after, for interpreter and simulator only. On a GPU the driver makes the map (`tools/gpu/run.py`).

use serde::Deserialize;

/// Bytes of a tensor map.
const BYTES: usize = 128;
/// Most dimensions.
const MOST: usize = 5;

/// A tensor map as a record says it.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TensorMap {
    /// The buffer with the tensor: number of an earlier argument.
    pub alias: usize,
    /// Where in the buffer it begins.
    #[serde(default)]
    offset: u64,
    #[serde(rename = "type")]
    ty: String,
    /// Elements, the fastest dimension first.
    dims: Vec<u64>,
    /// Bytes from one to the next of the second dimension and those after it.
    strides: Vec<u64>,
    #[serde(default, rename = "box")]
    extents: Vec<u64>,
    #[serde(default)]
    element_strides: Vec<u64>,
    #[serde(default)]
    swizzle: u32,
    #[serde(default)]
    fill: Fill,
    image: Option<Image>,
}

#[derive(Deserialize, Debug, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, schemars(rename = "Outside"))]
enum Fill {
    #[default]
    Zero,
    Nan,
}

/// The fields of an image.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schemars(rename = "Lines"))]
struct Image {
    lower: Vec<i16>,
    upper: Vec<i16>,
    channels: u32,
    pixels: u32,
}

/// Names of element types, by their number, and their bytes.
const TYPES: [(&str, u64); 11] = [
    ("u8", 1),
    ("u16", 2),
    ("u32", 4),
    ("s32", 4),
    ("u64", 8),
    ("s64", 8),
    ("f16", 2),
    ("f32", 4),
    ("f32.ftz", 4),
    ("f64", 8),
    ("bf16", 2),
];

/// Why there is no map for a record.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MapError {
    /// No tensor has as many dimensions.
    #[error("a tensor map has 1 to {MOST} dimensions and not {0}")]
    Dimensions(usize),
    /// A list that is not as long as the dimensions ask for.
    #[error("{rank} dimensions need {needed}")]
    Length {
        /// Dimensions.
        rank: usize,
        /// The list that they need, in words.
        needed: String,
    },
    /// The pixels of an image replace the box.
    #[error("an `image` takes no `box`")]
    ImageWithBox,
    /// No tensor has elements of this type.
    #[error("`{0}` is no type of a tensor")]
    Type(String),
    /// No swizzle has this width.
    #[error("there is no swizzle of {0} bytes")]
    Swizzle(u32),
    /// The field of a stride cannot hold it.
    #[error("a stride of {0} bytes is not an allowed multiple of 16 below 2^40")]
    Stride(u64),
    /// A field of a dimension cannot hold its number.
    #[error("dimension {0} of a tensor map is out of range")]
    Range(usize),
    /// Bounds that do not fit the dimensions.
    #[error("an `image` has 3 to 5 dimensions, and bounds in all but the first and the last")]
    Bounds,
}

impl TensorMap {
    /// The bytes of the map; the number in the first eight counts from the buffer.
    ///
    /// # Errors
    /// The record breaks a rule of tensor maps.
    pub fn encode(&self) -> Result<Vec<u8>, MapError> {
        let rank = self.dims.len();
        if !(1..=MOST).contains(&rank) {
            return Err(MapError::Dimensions(rank));
        }
        let need = |needed: String| MapError::Length { rank, needed };
        if self.strides.len() != rank - 1 {
            return Err(need(format!("{} strides", rank - 1)));
        }
        let extents = match (&self.image, self.extents.as_slice()) {
            (None, given) if given.len() == rank => given.to_vec(),
            (Some(_), []) => vec![1; rank],
            (None, _) => return Err(need(format!("a `box` of {rank}"))),
            (Some(_), _) => return Err(MapError::ImageWithBox),
        };
        let steps = match self.element_strides.as_slice() {
            [] => vec![1; rank],
            given if given.len() == rank => given.to_vec(),
            _ => return Err(need(format!("{rank} element strides"))),
        };
        let ty = TYPES.iter().position(|row| row.0 == self.ty);
        let ty = ty.ok_or_else(|| MapError::Type(self.ty.clone()))?;
        let swizzle = [0, 32, 64, 128].iter().position(|&bytes| bytes == self.swizzle);
        let swizzle = swizzle.ok_or(MapError::Swizzle(self.swizzle))?;
        let mut words = [0u32; BYTES / 4];
        words[0] = self.offset as u32;
        words[1] = (self.offset >> 32) as u32;
        let fill = u32::from(self.fill == Fill::Nan);
        words[2] = (rank as u32 - 1) << 4 | (ty as u32) << 7 | (swizzle as u32) << 13 | fill << 15;
        for (at, stride) in self.strides.iter().enumerate() {
            if !stride.is_multiple_of(16) || stride >> 40 != 0 {
                return Err(MapError::Stride(*stride));
            }
            words[3 + at] = (stride >> 4) as u32;
            words[7] |= ((stride >> 36) as u32) << (4 * at);
        }
        for at in 0..rank {
            let (size, extent, step) = (self.dims[at], extents[at], steps[at]);
            if !(1..=1 << 32).contains(&size) || !(1..=256).contains(&extent) || !(1..=8).contains(&step) {
                return Err(MapError::Range(at));
            }
            words[8 + at] = (size - 1) as u32;
            words[13] |= (step as u32 - 1) << (3 * at);
            match at {
                0 => words[13] |= (extent as u32 - 1) << 24,
                _ => words[14] |= (extent as u32 - 1) << (8 * (at - 1)),
            }
        }
        if let Some(image) = &self.image {
            image.encode(rank, &mut words)?;
        }
        Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }
}

impl Image {
    fn encode(&self, rank: usize, words: &mut [u32]) -> Result<(), MapError> {
        if rank < 3 || self.lower.len() != rank - 2 || self.upper.len() != rank - 2 {
            return Err(MapError::Bounds);
        }
        words[16] = 1;
        words[17] = self.channels;
        words[18] = self.pixels;
        let mut put = |half: usize, value: i16| {
            words[half / 2] |= u32::from(value as u16) << (16 * (half % 2));
        };
        for at in 0..rank - 2 {
            put(38 + at, self.lower[at]);
            put(41 + at, self.upper[at]);
        }
        Ok(())
    }
}
