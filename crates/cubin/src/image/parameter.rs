//! Parameters of a kernel, and the headers of textures, samplers and surfaces.

use oriole_chip::texture::OpaqueKind;

/// Offset of a parameter that has no memory.
pub const NO_OFFSET: u32 = 0xffff;

/// A kernel parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Parameter {
    /// Offset from the parameter base in bytes; of an opaque type [`NO_OFFSET`].
    pub offset: u32,
    /// Size in bytes; of an opaque type 0.
    pub size: u32,
    /// Declared alignment of the pointee of a `.ptr` parameter, in bytes; 0 or 1 for none.
    pub pointee_alignment: u32,
    /// Stated space of a `.ptr` parameter.
    pub space: ParameterSpace,
}

/// A texture, sampler or surface parameter: it has no memory, and has a symbol of its kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OpaqueParameter {
    /// Its index in `KernelImage::parameters`, which holds its kind.
    pub number: usize,
    /// Name.
    pub name: String,
}

/// Four bytes of constant bank 0 with the index of a header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HeaderSlot {
    /// Offset in the bank, in bytes.
    pub offset: u32,
    /// The owner of the header.
    pub header: Header,
}

/// Objects with a header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Header {
    /// `Module::opaque[i]`.
    Module(usize),
    /// `KernelImage::parameters[i]` of the current kernel.
    Parameter(usize),
}

/// Kind of a parameter: the state space that a `.ptr` parameter names, or an opaque type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ParameterSpace {
    /// No `.ptr`.
    #[default]
    None,
    /// `.local`.
    Local,
    /// `.shared`.
    Shared,
    /// `.const`.
    Const,
    /// `.global`.
    Global,
    /// `.ptr` without a space.
    Generic,
    /// A texture, sampler or surface.
    Opaque(OpaqueKind),
}
