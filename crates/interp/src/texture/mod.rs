//! Textures, samplers and surfaces: the objects of a launch, and the instructions on them.

mod property;
mod sample;
mod surface;

use std::collections::BTreeMap;

use oriole_chip::texture::OpaqueKind;
use oriole_machine_model::texture::{Layout, Opaque, Sampler, Texture};
use rustc_apfloat::Float;
use rustc_apfloat::FloatConvert;
use rustc_apfloat::ieee::{Half, Single};

use crate::context::LaneContext;
use crate::launch::{Fault, FaultKind};
use crate::step::{Destination, Source};
pub use property::Property;
pub use sample::{Outside, Place};
pub use surface::{Bounds, Combination, SurfaceAccess, SurfaceOperation};

/// The objects of a launch.
#[derive(Default)]
pub struct Objects {
    objects: Vec<Opaque>,
    /// Handles of the module's objects.
    named: BTreeMap<String, u64>,
    /// Handles of the kernel's opaque parameters, by their indices.
    parameters: BTreeMap<usize, u64>,
}

impl Objects {
    /// Those that are bound by name.
    pub fn new(bindings: &[(String, Opaque)]) -> Objects {
        let mut objects = Objects::default();
        for (name, object) in bindings {
            let (_, handle) = objects.add(object.clone());
            objects.named.insert(name.clone(), handle);
        }
        objects
    }

    /// Adds one: returns its index among the objects and the handle that a driver gives.
    pub fn add(&mut self, object: Opaque) -> (usize, u64) {
        let number = self.objects.len();
        self.objects.push(object);
        (number, Opaque::handle(number))
    }

    /// Adds the object of the parameter with this index: returns its index among the objects.
    pub fn add_parameter(&mut self, parameter: usize, object: Opaque) -> usize {
        let (number, handle) = self.add(object);
        self.parameters.insert(parameter, handle);
        number
    }

    /// The texels of a surface at the end.
    pub fn take(&mut self, number: usize) -> Option<Vec<u8>> {
        match self.objects.get_mut(number)? {
            Opaque::Surface(surface) => Some(std::mem::take(&mut surface.bytes)),
            Opaque::Texture(_) | Opaque::Sampler(_) => None,
        }
    }

    fn find(&mut self, handle: u64) -> Option<&mut Opaque> {
        let number = (handle as u32 as usize).checked_sub(1)?;
        self.objects.get_mut(number)
    }

    fn texture(&mut self, handle: u64) -> Result<&mut Texture, Fault> {
        match self.find(handle) {
            Some(Opaque::Texture(texture)) => Ok(texture),
            _ => Err(Fault::new(FaultKind::Illegal, format!("{handle:#x} is no handle of a texture"))),
        }
    }

    fn surface(&mut self, handle: u64) -> Result<&mut Texture, Fault> {
        match self.find(handle) {
            Some(Opaque::Surface(surface)) => Ok(surface),
            _ => Err(Fault::new(FaultKind::Illegal, format!("{handle:#x} is no handle of a surface"))),
        }
    }

    fn sampler(&mut self, handle: u64) -> Result<Sampler, Fault> {
        match self.find(handle) {
            Some(Opaque::Sampler(sampler)) => Ok(*sampler),
            _ => Err(Fault::new(FaultKind::Illegal, format!("{handle:#x} is no handle of a sampler"))),
        }
    }
}

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

impl Handle {
    fn read(&self, at: &LaneContext) -> Result<u64, Fault> {
        match self {
            Handle::Value(source) => Ok(at.read(*source)),
            Handle::Parameter(number) => {
                at.machine.objects.parameters.get(number).copied().ok_or_else(|| {
                    Fault::new(
                        FaultKind::BadLaunch,
                        format!("the launch binds nothing to parameter {number}"),
                    )
                })
            }
            Handle::Variable(name) => at.machine.objects.named.get(name).copied().ok_or_else(|| {
                Fault::new(FaultKind::BadLaunch, format!("the launch binds nothing to `{name}`"))
            }),
        }
    }
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

impl Fetch {
    fn execute(&self, at: &mut LaneContext) -> Result<(), Fault> {
        let handle = self.texture.read(at)?;
        let sampler = match &self.sampler {
            Some(sampler) => {
                let handle = sampler.read(at)?;
                Some(at.machine.objects.sampler(handle)?)
            }
            None => None,
        };
        let words: Vec<u32> = self.coordinates.iter().map(|&source| at.read(source) as u32).collect();
        let offsets: Vec<i32> = self.offsets.iter().map(|&source| nibble(at.read(source))).collect();
        let single = |at: &LaneContext, source: Source| f32::from_bits(at.read(source) as u32);
        let mut leading = words.iter().copied();
        let sample = if self.space.sampled { leading.next().unwrap_or(0) } else { 0 };
        // Only the lower half of a layer index counts, and larger ones are clamped.
        let layer = if self.space.layered { leading.next().unwrap_or(0).min(0xffff) } else { 0 };
        let words: Vec<u32> = leading.take(self.space.dimensions).collect();
        let level = match &self.level {
            Level::Base => f64::NEG_INFINITY,
            Level::Given(source) if self.integers => f64::from(at.read(*source) as i32),
            Level::Given(source) => f64::from(single(at, *source)),
            Level::Gradients(x, y) => {
                let lists = [x, y].map(|list| list.iter().map(|&source| single(at, source)).collect());
                let texture = at.machine.objects.texture(handle)?;
                let normalized = !self.integers && sampler.unwrap_or(texture.sampler).normalized;
                let direction: Option<Vec<f32>> =
                    self.space.cube.then(|| words.iter().map(|&w| f32::from_bits(w)).collect());
                match direction {
                    Some(direction) => sample::level_on_cube(texture, &direction, &lists),
                    None => sample::level_of(texture, normalized, &lists),
                }
            }
        };
        let texture = at.machine.objects.texture(handle)?;
        let place = Place {
            layer,
            level: sample::nearest_level(texture, level),
            offsets: &offsets,
            cube: self.space.cube,
        };
        // A layout that does not fit the instruction reads as zeros.
        let layout = match self.space {
            Space { cube: true, .. } => Some(Layout::Cube),
            Space { dimensions: 1, layered: false, .. } if !self.by_sampler => Some(Layout::Linear),
            _ => None,
        };
        let found = if layout.is_some_and(|layout| texture.layout != layout) {
            [0; 4]
        } else if !self.by_sampler {
            let coordinates: Vec<i64> = words.iter().map(|&word| i64::from(word as i32)).collect();
            let outside = if matches!(self.level, Level::Base) { Outside::Nothing } else { Outside::Edge };
            // A missing level reads as zeros; one from derivatives is clamped.
            let is_there = match self.level {
                Level::Given(_) => (0.0..f64::from(texture.levels)).contains(&level),
                Level::Base | Level::Gradients(..) => true,
            };
            if is_there { sample::integer(texture, &coordinates, &place, sample, outside) } else { [0; 4] }
        } else {
            let number = |&word: &u32| if self.integers { word as i32 as f32 } else { f32::from_bits(word) };
            let coordinates: Vec<f32> = words.iter().map(number).collect();
            let sampler = sampler.unwrap_or(texture.sampler);
            match self.gathered {
                Some(channel) => sample::gather(texture, &sampler, &coordinates, &place, channel),
                None => sample::read(texture, &sampler, &coordinates, &place),
            }
        };
        self.write(at, found);
        Ok(())
    }

    fn write(&self, at: &mut LaneContext, found: [u32; 4]) {
        let halves = found.map(half);
        for (index, destination) in self.destinations.iter().enumerate() {
            let value = match self.results {
                Results::Words => u64::from(found[index]),
                Results::Halves => halves[index],
                Results::HalfPairs => halves[2 * index] | halves[2 * index + 1] << 16,
            };
            at.write(*destination, value);
        }
        if let Some(resident) = self.resident {
            at.write(resident, 1);
        }
    }
}

/// A sign-extended 4-bit offset.
fn nibble(value: u64) -> i32 {
    (value as i32) << 28 >> 28
}

/// The f16 nearest to an f32.
fn half(word: u32) -> u64 {
    let single = Single::from_bits(u128::from(word));
    let converted: Half = single.convert(&mut false).value;
    converted.to_bits() as u64
}
