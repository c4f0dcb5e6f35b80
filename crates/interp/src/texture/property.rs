//! Properties of textures, samplers and surfaces, with the codes of the PTX manual.

use oriole_machine_model::texture::{AddressMode, Element, Opaque, Sampler, Texture};
use oriole_ptx::word::OpaqueProperty;

use crate::step::Property;

/// The property, if the object has it.
pub fn of(object: Option<&mut Opaque>, property: Property) -> Option<u32> {
    match object? {
        Opaque::Texture(texture) if !property.surface => {
            of_texture(texture, property.name).or_else(|| of_sampler(&texture.sampler, property.name))
        }
        Opaque::Surface(surface) if property.surface => of_texture(surface, property.name),
        Opaque::Sampler(sampler) => of_sampler(sampler, property.name),
        _ => None,
    }
}

fn of_texture(texture: &Texture, name: OpaqueProperty) -> Option<u32> {
    Some(match name {
        OpaqueProperty::ChannelDataType => data_type(texture),
        OpaqueProperty::ChannelOrder => match texture.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
        OpaqueProperty::NormalizedCoords => u32::from(texture.sampler.normalized),
        OpaqueProperty::ArraySize => texture.layers,
        OpaqueProperty::NumMipmapLevels => texture.levels,
        OpaqueProperty::NumSamples => texture.samples,
        // Texels are not stored row by row.
        OpaqueProperty::MemoryLayout => 0,
        _ => return None,
    })
}

/// The OpenCL code of a component type.
fn data_type(texture: &Texture) -> u32 {
    match (texture.element, texture.fractions) {
        (Element::S8, true) => 0x10d0,
        (Element::S16, true) => 0x10d1,
        (Element::U8, true) => 0x10d2,
        (Element::U16, true) => 0x10d3,
        (Element::S8, false) => 0x10d7,
        (Element::S16, false) => 0x10d8,
        (Element::S32, _) => 0x10d9,
        (Element::U8, false) => 0x10da,
        (Element::U16, false) => 0x10db,
        (Element::U32, _) => 0x10dc,
        (Element::F16, _) => 0x10dd,
        (Element::F32, _) => 0x10de,
    }
}

fn of_sampler(sampler: &Sampler, name: OpaqueProperty) -> Option<u32> {
    let axis = match name {
        OpaqueProperty::AddrMode0 => 0,
        OpaqueProperty::AddrMode1 => 1,
        OpaqueProperty::AddrMode2 => 2,
        OpaqueProperty::FilterMode => return Some(u32::from(sampler.linear)),
        OpaqueProperty::ForceUnnormalizedCoords => return Some(u32::from(!sampler.normalized)),
        _ => return None,
    };
    // Between the second and the third of these is a graphics-only one.
    Some(match sampler.address[axis] {
        AddressMode::Wrap => 0,
        AddressMode::Mirror => 1,
        AddressMode::Clamp => 3,
        AddressMode::Border => 4,
    })
}
