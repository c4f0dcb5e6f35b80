//! The objects of a launch, and the handles that name them.

use std::collections::BTreeMap;

use oriole_machine_model::texture::{Opaque, Sampler, Texture};

use crate::fault::{Fault, FaultKind};

/// The objects of a launch.
#[derive(Default)]
pub struct Objects {
    objects: Vec<Opaque>,
    /// Handles of the module's objects.
    pub(super) named: BTreeMap<String, u64>,
    /// Handles of the kernel's opaque parameters, by their indices.
    pub(super) parameters: BTreeMap<usize, u64>,
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

    /// The object of a handle.
    pub(super) fn find(&mut self, handle: u64) -> Option<&mut Opaque> {
        let number = (handle as u32 as usize).checked_sub(1)?;
        self.objects.get_mut(number)
    }

    /// The texture of a handle.
    pub(super) fn texture(&mut self, handle: u64) -> Result<&mut Texture, Fault> {
        match self.find(handle) {
            Some(Opaque::Texture(texture)) => Ok(texture),
            _ => Err(Fault::new(FaultKind::Illegal, format!("{handle:#x} is no handle of a texture"))),
        }
    }

    /// The surface of a handle.
    pub(super) fn surface(&mut self, handle: u64) -> Result<&mut Texture, Fault> {
        match self.find(handle) {
            Some(Opaque::Surface(surface)) => Ok(surface),
            _ => Err(Fault::new(FaultKind::Illegal, format!("{handle:#x} is no handle of a surface"))),
        }
    }

    /// The sampler of a handle.
    pub(super) fn sampler(&mut self, handle: u64) -> Result<Sampler, Fault> {
        match self.find(handle) {
            Some(Opaque::Sampler(sampler)) => Ok(*sampler),
            _ => Err(Fault::new(FaultKind::Illegal, format!("{handle:#x} is no handle of a sampler"))),
        }
    }
}
