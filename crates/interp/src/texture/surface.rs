//! Accesses to surfaces: raw bytes, or components in the format of the surface.

use oriole_machine_model::texture::{Element, Texture};

use super::sample::nearest_half;
use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::step::{Bounds, Combination, SurfaceAccess, SurfaceOperation};

impl SurfaceAccess {
    /// Executes it.
    pub fn execute(&self, at: &mut LaneContext) -> Result<(), Fault> {
        let handle = self.surface.read(at)?;
        let mut coordinates: Vec<i64> =
            self.coordinates.iter().map(|&source| i64::from(at.read(source) as i32)).collect();
        let layer = if self.space.layered { coordinates.remove(0) } else { 0 };
        coordinates.resize(3, 0);
        let values: Vec<u64> = match &self.operation {
            SurfaceOperation::Load(_) => Vec::new(),
            SurfaceOperation::Store(sources) => sources.iter().map(|&source| at.read(source)).collect(),
            SurfaceOperation::Reduce(.., source) => vec![at.read(*source)],
        };
        let surface = at.machine.objects.surface(handle)?;
        let length = match &self.operation {
            SurfaceOperation::Load(list) => self.bytes * list.len(),
            _ if self.formatted => surface.texel_bytes(),
            _ => self.bytes * values.len(),
        };
        let start = self.start(surface, &coordinates, layer, length)?;
        match &self.operation {
            SurfaceOperation::Load(destinations) => {
                let bytes = start.map(|start| surface.bytes[start..start + length].to_vec());
                let bytes = bytes.unwrap_or_else(|| vec![0; length]);
                for (destination, part) in destinations.iter().zip(bytes.chunks(self.bytes)) {
                    at.write(*destination, number(part));
                }
            }
            SurfaceOperation::Store(_) => {
                let Some(start) = start else { return Ok(()) };
                let element = surface.element;
                let each = if self.formatted { element.bytes() } else { self.bytes };
                let target = &mut surface.bytes[start..start + length];
                for (part, value) in target.chunks_mut(each).zip(values) {
                    let value = if self.formatted { converted(element, value as u32) } else { value };
                    part.copy_from_slice(&value.to_le_bytes()[..each]);
                }
            }
            SurfaceOperation::Reduce(combination, signed, _) => {
                let Some(start) = start else { return Ok(()) };
                let own = matches!(surface.element, Element::S8 | Element::S16 | Element::S32);
                let target = &mut surface.bytes[start..start + self.bytes];
                let combined =
                    combine(*combination, signed.unwrap_or(own), self.bytes, number(target), values[0]);
                target.copy_from_slice(&combined.to_le_bytes()[..self.bytes]);
            }
        }
        Ok(())
    }

    /// The offset of the access; `None` if it is outside and has no effect.
    fn start(
        &self,
        surface: &Texture,
        coordinates: &[i64],
        layer: i64,
        length: usize,
    ) -> Result<Option<usize>, Fault> {
        let texel = surface.texel_bytes() as i64;
        let [width, height, depth] = surface.size.map(i64::from);
        let x = if self.formatted { coordinates[0] * texel } else { coordinates[0] };
        let mut place = [x, coordinates[1], coordinates[2], layer];
        let limits = [width * texel - length as i64, height - 1, depth - 1, i64::from(surface.layers) - 1];
        for (part, limit) in place.iter_mut().zip(limits) {
            if (0..=limit).contains(part) {
                continue;
            }
            match self.bounds {
                Bounds::Trap => {
                    let message = format!("an access outside of a surface, at {coordinates:?}");
                    return Err(Fault::new(FaultKind::OutOfBounds, message));
                }
                Bounds::Zero => return Ok(None),
                Bounds::Clamp => *part = (*part).min(limit).max(0),
            }
        }
        let [x, y, z, layer] = place;
        if !self.formatted && x % length as i64 != 0 {
            let message = format!("byte {x} of a surface is no multiple of {length}");
            return Err(Fault::new(FaultKind::Misaligned, message));
        }
        Ok(Some((((layer * depth + z) * height + y) * width * texel + x) as usize))
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A word as a component of the surface.
fn converted(element: Element, word: u32) -> u64 {
    let signed = word as i32;
    match element {
        Element::U8 => u64::from(word.min(u32::from(u8::MAX))),
        Element::U16 => u64::from(word.min(u32::from(u16::MAX))),
        Element::S8 => signed.clamp(i8::MIN.into(), i8::MAX.into()) as u64,
        Element::S16 => signed.clamp(i16::MIN.into(), i16::MAX.into()) as u64,
        Element::F16 => nearest_half(word),
        Element::U32 | Element::S32 | Element::F32 => u64::from(word),
    }
}

fn combine(combination: Combination, signed: bool, bytes: usize, old: u64, operand: u64) -> u64 {
    let wide = |value: u64| {
        let value = if bytes == 8 { value } else { value & 0xffff_ffff };
        match (signed, bytes) {
            (true, 8) => i128::from(value as i64),
            (true, _) => i128::from(value as u32 as i32),
            (false, _) => i128::from(value),
        }
    };
    let (a, b) = (wide(old), wide(operand));
    match combination {
        Combination::Add => a.wrapping_add(b) as u64,
        Combination::Min => a.min(b) as u64,
        Combination::Max => a.max(b) as u64,
        Combination::And => old & operand,
        Combination::Or => old | operand,
    }
}
