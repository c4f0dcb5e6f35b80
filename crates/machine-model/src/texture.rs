//! Textures, samplers and surfaces as plain data: inputs of the interpreter and the simulator, which implement the
//! fetches.

use oriole_chip::texture::OpaqueKind;

/// Storage format of a texel component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// 8 bits, unsigned.
    U8,
    /// 8 bits, signed.
    S8,
    /// 16 bits, unsigned.
    U16,
    /// 16 bits, signed.
    S16,
    /// 32 bits, unsigned.
    U32,
    /// 32 bits, signed.
    S32,
    /// f16.
    F16,
    /// f32.
    F32,
}

impl Element {
    /// All, by the names that PTX gives to such types.
    pub const ALL: [(&'static str, Element); 8] = [
        ("u8", Element::U8),
        ("s8", Element::S8),
        ("u16", Element::U16),
        ("s16", Element::S16),
        ("u32", Element::U32),
        ("s32", Element::S32),
        ("f16", Element::F16),
        ("f32", Element::F32),
    ];

    /// Bytes of one.
    pub const fn bytes(self) -> usize {
        match self {
            Element::U8 | Element::S8 => 1,
            Element::U16 | Element::S16 | Element::F16 => 2,
            Element::U32 | Element::S32 | Element::F32 => 4,
        }
    }

    /// True for floating-point formats.
    pub const fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::F32)
    }
}

/// Result of coordinates outside of the texture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressMode {
    /// The texture repeated.
    Wrap,
    /// The texture repeated, every other time backwards.
    Mirror,
    /// The texel at the edge.
    #[default]
    Clamp,
    /// Zero.
    Border,
}

impl AddressMode {
    /// All, by name.
    pub const ALL: [(&'static str, AddressMode); 4] = [
        ("wrap", AddressMode::Wrap),
        ("mirror", AddressMode::Mirror),
        ("clamp", AddressMode::Clamp),
        ("border", AddressMode::Border),
    ];
}

/// Fetch parameters with floating-point coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sampler {
    /// Weighs the texels around a point, instead of taking the nearest one.
    pub linear: bool,
    /// Coordinates run from 0 to 1.
    pub normalized: bool,
    /// Address mode of each direction.
    pub address: [AddressMode; 3],
}

/// Layout of texels, which decides the instructions that can read them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// An array. A linear fetch with integer coordinates reads zeros from it.
    #[default]
    Array,
    /// An array whose layers are cube faces. A cube fetch from another layout reads zeros.
    Cube,
    /// A line of texels in linear memory.
    Linear,
}

impl Layout {
    /// All, by name.
    pub const ALL: [(&'static str, Layout); 3] =
        [("array", Layout::Array), ("cube", Layout::Cube), ("linear", Layout::Linear)];
}

/// A texture with its sampler, or a surface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Texture {
    /// Texels in each direction; 1 in those that it does not have.
    pub size: [u32; 3],
    /// Layout of its texels.
    pub layout: Layout,
    /// Layers of an array, cube faces counted; 1 if it is not an array.
    pub layers: u32,
    /// Samples of each texel, as a rule 1.
    pub samples: u32,
    /// Levels, each half as large as the one before.
    pub levels: u32,
    /// Components of a texel: 1, 2 or 4.
    pub channels: u8,
    /// Storage format of the components.
    pub element: Element,
    /// Integers of 8 and 16 bits read as floats from 0 to 1, or from -1 to 1.
    pub fractions: bool,
    /// The sampler if the program names no other one.
    pub sampler: Sampler,
    /// The texels: level after level, of those layer after layer, plane, row, texel, sample, component.
    pub bytes: Vec<u8>,
}

/// The object of a handle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Opaque {
    /// A texture.
    Texture(Texture),
    /// A sampler.
    Sampler(Sampler),
    /// A surface.
    Surface(Texture),
}

impl Texture {
    /// Texels of a level in each direction.
    pub fn size_of(&self, level: u32) -> [u32; 3] {
        self.size.map(|size| (size >> level.min(31)).max(1))
    }

    /// Bytes of a texel, one sample.
    pub fn texel_bytes(&self) -> usize {
        usize::from(self.channels) * self.element.bytes()
    }

    /// Bytes of a layer of a level.
    pub fn layer_bytes(&self, level: u32) -> usize {
        let texels: usize = self.size_of(level).iter().map(|&size| size as usize).product();
        texels * self.samples as usize * self.texel_bytes()
    }

    /// Start of a level.
    pub fn level_offset(&self, level: u32) -> usize {
        (0..level).map(|before| self.layer_bytes(before) * self.layers as usize).sum()
    }

    /// Bytes of all levels.
    pub fn total_bytes(&self) -> usize {
        self.level_offset(self.levels)
    }
}

impl Opaque {
    /// The handle that a driver gives to the object with this index: the index plus one.
    pub const fn handle(number: usize) -> u64 {
        number as u64 + 1
    }

    /// Its kind.
    pub fn kind(&self) -> OpaqueKind {
        match self {
            Opaque::Texture(_) => OpaqueKind::Texture,
            Opaque::Sampler(_) => OpaqueKind::Sampler,
            Opaque::Surface(_) => OpaqueKind::Surface,
        }
    }
}
