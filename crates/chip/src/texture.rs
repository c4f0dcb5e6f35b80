//! Kinds of textures, samplers and surfaces, and the tables in which a driver describes them: what front end, container
//! and loader agree on. The objects themselves, with their texels, are in `machine-model`.

/// Kinds of opaque PTX types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OpaqueKind {
    /// `.texref`
    Texture,
    /// `.samplerref`
    Sampler,
    /// `.surfref`
    Surface,
}

impl OpaqueKind {
    /// The bit of the upper word that marks a handle of such an object. A program sets it in the handles of its
    /// variables and parameters; handles from a driver do not have it.
    pub const fn handle_bit(self) -> u32 {
        match self {
            OpaqueKind::Texture => 0x2000_0000,
            OpaqueKind::Sampler => 0x4000_0000,
            OpaqueKind::Surface => 0x8000_0000,
        }
    }
}

impl std::fmt::Display for OpaqueKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            OpaqueKind::Texture => "texture",
            OpaqueKind::Sampler => "sampler",
            OpaqueKind::Surface => "surface",
        })
    }
}

/// A driver table with a descriptor for each handle: the queryable properties of the object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DescriptorTable {
    /// For textures with their samplers.
    Textures,
    /// For samplers.
    Samplers,
    /// For surfaces.
    Surfaces,
    /// For textures with separate samplers. It replaces the table of the others.
    TexturesAlone,
}

impl DescriptorTable {
    /// All.
    pub const ALL: [DescriptorTable; 4] = [
        DescriptorTable::Textures,
        DescriptorTable::Samplers,
        DescriptorTable::Surfaces,
        DescriptorTable::TexturesAlone,
    ];

    /// The symbol whose value is the size of a descriptor, which the loader resolves.
    pub const fn size_symbol(self) -> &'static str {
        match self {
            DescriptorTable::Textures => ".nv.unified.texrefDescSize",
            DescriptorTable::Samplers => ".nv.independent.samplerrefDescSize",
            DescriptorTable::Surfaces => ".nv.surfrefDescSize",
            DescriptorTable::TexturesAlone => ".nv.independent.texrefDescSize",
        }
    }
}
