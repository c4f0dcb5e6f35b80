//! Textures, samplers and surfaces of a launch record.

use super::error::RecordError;
use super::hex::decode;
use oriole_machine_model::texture::{AddressMode, Element, Layout, Sampler, Texture};
use serde::Deserialize;

/// A texture or surface as written.
#[derive(Deserialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Image {
    /// Texels in each direction, one to three numbers.
    size: Vec<u32>,
    /// `array`, `cube` or `linear`.
    layout: Option<String>,
    layers: Option<u32>,
    samples: Option<u32>,
    levels: Option<u32>,
    /// The type of a component.
    element: String,
    channels: u8,
    /// Integers read as fractions.
    #[serde(default)]
    fractions: bool,
    #[serde(default)]
    sampler: Sampling,
    bytes_hex: String,
}

/// A sampler as written.
#[derive(Deserialize, Debug, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Sampling {
    #[serde(default)]
    linear: bool,
    #[serde(default)]
    normalized: bool,
    /// One mode for all directions, or one for each.
    #[serde(default)]
    address: Vec<String>,
}

/// The sampler of a record.
pub(super) fn sampler(sampling: &Sampling) -> Result<Sampler, RecordError> {
    let mode = |name: &String| {
        let found = AddressMode::ALL.iter().find(|row| row.0 == name).map(|row| row.1);
        found.ok_or_else(|| RecordError::NoMode(name.clone()))
    };
    let modes = sampling.address.iter().map(mode).collect::<Result<Vec<_>, RecordError>>()?;
    let address = match modes.as_slice() {
        [] => [AddressMode::default(); 3],
        &[one] => [one; 3],
        &[x, y] => [x, y, AddressMode::default()],
        &[x, y, z] => [x, y, z],
        _ => return Err(RecordError::Rule("more than three address modes")),
    };
    Ok(Sampler { linear: sampling.linear, normalized: sampling.normalized, address })
}

/// The texture or surface of a record.
pub(super) fn texture(image: Image) -> Result<Texture, RecordError> {
    let element = Element::ALL.iter().find(|row| row.0 == image.element).map(|row| row.1);
    let element = element.ok_or_else(|| RecordError::NoComponent(image.element.clone()))?;
    if !(1..=3).contains(&image.size.len()) {
        return Err(RecordError::Rule("a texture has one to three directions"));
    }
    let mut size = [1; 3];
    size[..image.size.len()].copy_from_slice(&image.size);
    let counts = [image.layers, image.samples, image.levels].map(|count| count.unwrap_or(1));
    if size.iter().chain(&counts).any(|&count| count == 0) || !matches!(image.channels, 1 | 2 | 4) {
        return Err(RecordError::Rule(
            "a texture without texels, or with a number of channels other than 1, 2 and 4",
        ));
    }
    let [layers, samples, levels] = counts;
    // Each is bounded, so that their product is.
    const MOST: u32 = 1 << 17;
    if size.iter().any(|&size| size > MOST) || layers > 1 << 12 || samples > 32 || levels > 18 {
        return Err(RecordError::Rule("a texture that no chip holds"));
    }
    let layout = match &image.layout {
        None => Layout::default(),
        Some(name) => {
            let found = Layout::ALL.iter().find(|row| row.0 == name).map(|row| row.1);
            found.ok_or_else(|| RecordError::NoLayout(name.clone()))?
        }
    };
    let fits = match layout {
        Layout::Array => true,
        Layout::Cube => layers % 6 == 0 && size[0] == size[1] && size[2] == 1 && samples == 1,
        Layout::Linear => image.size.len() == 1 && counts == [1; 3],
    };
    if !fits {
        return Err(RecordError::Rule("a texture whose size does not fit its layout"));
    }
    let bytes = decode(&image.bytes_hex)?;
    let texture = Texture {
        size,
        layout,
        layers,
        samples,
        levels,
        channels: image.channels,
        element,
        fractions: image.fractions,
        sampler: sampler(&image.sampler)?,
        bytes,
    };
    let wanted = texture.total_bytes();
    if wanted != texture.bytes.len() {
        return Err(RecordError::Texels { wanted, given: texture.bytes.len() });
    }
    Ok(texture)
}
