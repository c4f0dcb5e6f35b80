//! Instructions on textures, samplers and surfaces.

use super::operand::{Destination, Source};
use oriole_chip::texture::OpaqueKind;
use oriole_ptx::word::OpaqueProperty;

/// The name of an object.
#[derive(Clone, Debug)]
pub enum Handle {
    /// A variable of the module.
    Variable(String),
    /// A parameter of the kernel, by its index.
    Parameter(usize),
    /// A value.
    Value(Source),
}

/// The coordinate space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Space {
    /// Coordinates within a layer.
    pub dimensions: usize,
    /// They are a direction from the centre of a cube.
    pub cube: bool,
    /// A layer precedes them.
    pub layered: bool,
    /// A sample precedes all.
    pub sampled: bool,
}

/// The level to read.
#[derive(Clone, Debug)]
pub enum Level {
    /// The finest.
    Base,
    /// This one.
    Given(Source),
    /// From these derivatives.
    Gradients(Vec<Source>, Vec<Source>),
}

/// The results of a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Results {
    /// A word for each component.
    Words,
    /// An f16 for each component.
    Halves,
    /// Two f16 in each word.
    HalfPairs,
}

/// A fetch.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The texture.
    pub texture: Handle,
    /// Its sampler, if it is separate.
    pub sampler: Option<Handle>,
    /// The coordinate space.
    pub space: Space,
    /// Coordinates are integers.
    pub integers: bool,
    /// Whether a sampler is used; otherwise the coordinates are texel indices.
    pub by_sampler: bool,
    /// The operand with the coordinates.
    pub coordinates: Vec<Source>,
    /// The level.
    pub level: Level,
    /// Added to the coordinates, in texels.
    pub offsets: Vec<Source>,
    /// Instead of a texel, this component of the four around the point.
    pub gathered: Option<usize>,
    /// The contents of the destinations.
    pub results: Results,
    /// The destinations.
    pub destinations: Vec<Destination>,
    /// Whether the texels are in memory.
    pub resident: Option<Destination>,
}

/// An instruction on textures, samplers and surfaces.
#[derive(Clone, Debug)]
pub enum TextureStep {
    /// `tex`, `tld4`.
    Fetch(Fetch),
    /// The size in one dimension.
    Size {
        /// Texture or surface.
        object: Handle,
        /// The object is a surface.
        surface: bool,
        /// Which dimension.
        axis: usize,
        /// Of which level.
        level: Option<Source>,
        /// The destination.
        destination: Destination,
    },
    /// Another property.
    Property {
        /// Texture, sampler or surface.
        object: Handle,
        /// Which property.
        property: Property,
        /// The destination.
        destination: Destination,
    },
    /// The handle of a variable or a parameter as a value, which includes the kind of object.
    Handle {
        /// The object.
        handle: Handle,
        /// Its kind.
        kind: OpaqueKind,
        /// The destination.
        destination: Destination,
    },
    /// `istypep`: a bit of the handle.
    IsKind {
        /// The handle.
        handle: Source,
        /// The tested kind.
        kind: OpaqueKind,
        /// The destination.
        destination: Destination,
    },
    /// `suld`, `sust`, `sured`.
    Surface(SurfaceAccess),
}

/// A queried property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Property {
    /// Its name.
    pub name: OpaqueProperty,
    /// It is one of a surface.
    pub surface: bool,
}

/// The behaviour of an access outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bounds {
    /// The program faults.
    Trap,
    /// The coordinates are clamped.
    Clamp,
    /// Zero is read, and nothing is written.
    Zero,
}

/// The operation that combines an element and an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combination {
    /// Add.
    Add,
    /// Min.
    Min,
    /// Max.
    Max,
    /// Bits of both.
    And,
    /// Bits of either.
    Or,
}

/// The operation of an access.
#[derive(Clone, Debug)]
pub enum SurfaceOperation {
    /// `suld`.
    Load(Vec<Destination>),
    /// `sust`.
    Store(Vec<Source>),
    /// `sured`; the flag is the signedness, `None` for that of the surface.
    Reduce(Combination, Option<bool>, Source),
}

/// An access.
#[derive(Clone, Debug)]
pub struct SurfaceAccess {
    /// The surface.
    pub surface: Handle,
    /// The coordinate space.
    pub space: Space,
    /// Whether the first coordinate counts elements in the format of the surface; else bytes.
    pub formatted: bool,
    /// The behaviour of an access outside.
    pub bounds: Bounds,
    /// The coordinates, the layer first.
    pub coordinates: Vec<Source>,
    /// Bytes of an element of the operands.
    pub bytes: usize,
    /// The operation.
    pub operation: SurfaceOperation,
}
