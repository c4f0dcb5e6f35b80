//! The two notes and the compatibility section. They give the driver and NVIDIA's tools the toolkit release, the chip
//! and the tool of the file.

use crate::attribute::Attributes;
use crate::elf::Bytes;
use crate::image::Tool;

/// The release of the cubin format that is written, 13.0, in the toolkit's own numbering.
pub(crate) const TOOLKIT: u16 = 0x82;

const OWNER: &[u8; 12] = b"NVIDIA Corp\0";
const NOTE_CUDA: u32 = 1000;
const NOTE_TOOLKIT: u32 = 2000;

fn note(kind: u32, description: &[u8]) -> Vec<u8> {
    let mut out = Bytes::default();
    out.u32(OWNER.len() as u32).u32(description.len() as u32).u32(kind).raw(OWNER).raw(description);
    out.0
}

/// `.note.nv.cuinfo`.
pub(crate) fn cuda_note(virtual_sm: u16) -> Vec<u8> {
    let mut description = Bytes::default();
    description.u16(2).u16(virtual_sm).u16(TOOLKIT).u16(0);
    note(NOTE_CUDA, &description.0)
}

/// `.note.nv.tkinfo`: four strings in one block that starts with an empty one.
pub(crate) fn toolkit_note(tool: &Tool) -> Vec<u8> {
    let mut strings = Bytes::default();
    strings.u8(0);
    let mut offsets = Vec::with_capacity(4);
    for text in [&tool.name, &tool.version, &tool.build, &tool.arguments] {
        offsets.push(strings.len() as u32);
        strings.raw(text.as_bytes()).u8(0);
    }
    let mut description = Bytes::default();
    description.u32(2).u32(0);
    for offset in offsets {
        description.u32(offset);
    }
    description.raw(&strings.0).align(4);
    note(NOTE_TOOLKIT, &description.0)
}

/// `.nv.compat` of Hopper and later, with the mask that the first chip of a family has.
pub(crate) fn compat(accelerated: bool, mask: u32) -> Vec<u8> {
    let mut rows = Attributes::default();
    rows.byte(0x09, u8::from(accelerated));
    rows.byte(0x02, 1);
    rows.byte(0x05, 5);
    rows.half(0x07, 0x0101);
    rows.byte(0x03, 0);
    rows.byte(0x06, 1);
    rows.words(0x0b, [mask, 0]);
    // The payloads are a few bytes long, so that no length can overflow its field.
    rows.finish().unwrap_or_default()
}
