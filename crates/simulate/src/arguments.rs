//! Arguments of a launch in the simulated memory, and what of them is returned at the end.

use crate::launch::{Argument, Fault, Launch};
use crate::memory::{Global, load_words};
use oriole_cubin::ParameterSpace;
use oriole_cubin::read::Kernel;
use oriole_machine_model::texture::Opaque;
use std::collections::BTreeMap;

/// An argument that is returned after the launch.
#[derive(Clone, Copy)]
pub(crate) enum Kept {
    /// A range of global memory.
    Range(usize),
    /// The texels of an object.
    Object(usize),
}

/// The arguments of a launch in the simulated memory.
pub(crate) struct Arguments {
    /// The bytes of the parameters in bank 0.
    pub parameters: Vec<u8>,
    /// Data to return at the end.
    pub kept: Vec<Kept>,
    /// The handles of textures, samplers and surfaces among them, by the symbols of the parameters.
    pub handles: BTreeMap<usize, u64>,
}

/// Puts the arguments of a launch into memory.
pub(crate) fn place_arguments(
    launch: &Launch,
    kernel: &Kernel,
    global: &mut Global,
) -> Result<Arguments, Fault> {
    let mut parameters = vec![0; kernel.parameter_size as usize];
    let mut kept = Vec::new();
    let mut handles = BTreeMap::new();
    let mut addresses: Vec<Option<u64>> = Vec::new();
    let mut places = launch.options.places.iter().copied();
    for (number, (argument, parameter)) in launch.arguments.iter().zip(&kernel.parameters).enumerate() {
        if let ParameterSpace::Opaque(kind) = parameter.space {
            let object = match argument {
                Argument::Object(object) if object.kind() == kind => object,
                _ => return Err(Fault::Launch(format!("argument {number} is to be a {kind}"))),
            };
            addresses.push(None);
            if matches!(object, Opaque::Surface(_)) {
                kept.push(Kept::Object(global.objects.len()));
            }
            let handle = global.add_object(object.clone());
            let symbols = kernel.opaque_parameters.iter().filter(|parameter| parameter.0 == number);
            handles.extend(symbols.map(|&(_, symbol)| (symbol, handle)));
            continue;
        }
        let bytes = match argument {
            Argument::Buffer(bytes) => {
                kept.push(Kept::Range(global.ranges.len()));
                let address = global.add_at(places.next(), bytes.clone());
                addresses.push(Some(address));
                address.to_le_bytes().to_vec()
            }
            Argument::Value(bytes) => {
                addresses.push(None);
                bytes.clone()
            }
            Argument::Alias(of) | Argument::Map(of, _) => {
                let address = addresses.get(*of).copied().flatten();
                let address = address.ok_or_else(|| Fault::Launch(format!("alias {of} names no buffer")))?;
                addresses.push(None);
                match argument {
                    Argument::Map(_, map) => {
                        let mut bytes = map.clone();
                        let offset = load_words(&bytes[..8]);
                        let offset = u64::from(offset[0]) | u64::from(offset[1]) << 32;
                        bytes[..8].copy_from_slice(&address.wrapping_add(offset).to_le_bytes());
                        bytes
                    }
                    _ => address.to_le_bytes().to_vec(),
                }
            }
            Argument::Object(object) => {
                addresses.push(None);
                if matches!(object, Opaque::Surface(_)) {
                    kept.push(Kept::Object(global.objects.len()));
                }
                global.add_object(object.clone()).to_le_bytes().to_vec()
            }
        };
        let start = parameter.offset as usize;
        let place = parameters.get_mut(start..start + parameter.size as usize);
        let place = place.ok_or_else(|| Fault::Launch("a parameter is outside its bank".into()))?;
        if bytes.len() != place.len() {
            let (given, wanted) = (bytes.len(), place.len());
            return Err(Fault::Launch(format!("an argument of {given} bytes for a parameter of {wanted}")));
        }
        place.copy_from_slice(&bytes);
    }
    for bytes in &launch.options.extra {
        kept.push(Kept::Range(global.ranges.len()));
        global.add_at(places.next(), bytes.clone());
    }
    Ok(Arguments { parameters, kept, handles })
}
