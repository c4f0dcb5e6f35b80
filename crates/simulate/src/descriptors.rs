//! The driver's tables of descriptors that handles index, in the format that compiled code reads.

use oriole_chip::texture::DescriptorTable;
use oriole_machine_model::texture::{AddressMode, Element, Opaque, Sampler, Texture};

/// Bytes of a descriptor, in every table. The value is ours: code asks the loader for it.
pub(crate) const DESCRIPTOR_BYTES: u32 = 0x40;

/// A table. Handles are indices of its descriptors, and index 0 is unused.
pub(crate) fn table(which: DescriptorTable, objects: &[Opaque]) -> Vec<u8> {
    let mut bytes = vec![0; (objects.len() + 1) * DESCRIPTOR_BYTES as usize];
    let descriptors = bytes.chunks_exact_mut(DESCRIPTOR_BYTES as usize).skip(1);
    for (object, descriptor) in objects.iter().zip(descriptors) {
        let words = match (which, object) {
            (DescriptorTable::Textures, Opaque::Texture(texture)) => of_texture(texture),
            (DescriptorTable::TexturesAlone, Opaque::Texture(texture)) => alone(texture),
            (DescriptorTable::Samplers, Opaque::Sampler(sampler)) => of_sampler(sampler),
            (DescriptorTable::Surfaces, Opaque::Surface(surface)) => of_surface(surface),
            _ => continue,
        };
        for (offset, word) in words {
            descriptor[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
        }
    }
    bytes
}

fn of_texture(texture: &Texture) -> Vec<(usize, u32)> {
    let sampler = of_sampler(&texture.sampler);
    let mut words: Vec<(usize, u32)> =
        sampler.into_iter().take(4).map(|(offset, word)| (0x0c + offset, word)).collect();
    words.extend([
        (0x1c, u32::from(texture.sampler.normalized)),
        (0x20, data_type(texture)),
        (0x24, order(texture)),
        (0x28, texture.layers),
        (0x2c, texture.levels),
        (0x30, texture.samples),
    ]);
    words
}

/// The descriptor without the sampler, which comes first.
fn alone(texture: &Texture) -> Vec<(usize, u32)> {
    of_texture(texture).into_iter().skip(4).map(|(offset, word)| (offset - 0x10, word)).collect()
}

fn of_surface(surface: &Texture) -> Vec<(usize, u32)> {
    vec![(0x0c, data_type(surface)), (0x10, order(surface)), (0x14, 0), (0x1c, surface.layers)]
}

fn of_sampler(sampler: &Sampler) -> Vec<(usize, u32)> {
    let mut words: Vec<(usize, u32)> = (0..).step_by(4).zip(sampler.address.map(outside)).collect();
    words.extend([(0x0c, u32::from(sampler.linear)), (0x10, u32::from(!sampler.normalized))]);
    words
}

/// wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border.
fn outside(mode: AddressMode) -> u32 {
    match mode {
        AddressMode::Wrap => 0,
        AddressMode::Mirror => 1,
        AddressMode::Clamp => 3,
        AddressMode::Border => 4,
    }
}

/// CL_R, CL_RG or CL_RGBA.
fn order(texture: &Texture) -> u32 {
    match texture.channels {
        1 => 0x10b0,
        2 => 0x10b2,
        _ => 0x10b5,
    }
}

/// CL_SNORM_INT8 and what follows it.
fn data_type(texture: &Texture) -> u32 {
    let row = match texture.element {
        Element::S8 => [7, 0],
        Element::S16 => [8, 1],
        Element::S32 => [9, 9],
        Element::U8 => [10, 2],
        Element::U16 => [11, 3],
        Element::U32 => [12, 12],
        Element::F16 => [13, 13],
        Element::F32 => [14, 14],
    };
    0x10d0 + row[usize::from(texture.fractions)]
}
