//! Textures, samplers and surfaces: the objects of a launch, and the instructions on them.

mod fetch;
mod handle;
pub mod objects;
mod property;
mod sample;
mod surface;

use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::step::TextureStep;

/// Executes one.
pub fn execute(at: &mut LaneContext, step: &TextureStep) -> Result<(), Fault> {
    match step {
        TextureStep::Fetch(fetch) => fetch.execute(at),
        TextureStep::Size { object, surface, axis, level, destination } => {
            let handle = object.read(at)?;
            let level = level.map_or(0, |level| at.read(level) as u32);
            let objects = &mut at.machine.objects;
            let texture = if *surface { objects.surface(handle)? } else { objects.texture(handle)? };
            let size = texture.size_of(level.min(texture.levels - 1))[*axis];
            at.write(*destination, u64::from(size));
            Ok(())
        }
        TextureStep::Property { object, property, destination } => {
            let handle = object.read(at)?;
            let found = property::of(at.machine.objects.find(handle), *property).ok_or_else(|| {
                let message = format!("{handle:#x} is no handle of what has this property");
                Fault::new(FaultKind::Illegal, message)
            })?;
            at.write(*destination, u64::from(found));
            Ok(())
        }
        TextureStep::Handle { handle, kind, destination } => {
            let handle = handle.read(at)? | u64::from(kind.handle_bit()) << 32;
            at.write(*destination, handle);
            Ok(())
        }
        TextureStep::IsKind { handle, kind, destination } => {
            let high = (at.read(*handle) >> 32) as u32;
            at.write(*destination, u64::from(high & kind.handle_bit() != 0));
            Ok(())
        }
        TextureStep::Surface(access) => access.execute(at),
    }
}
