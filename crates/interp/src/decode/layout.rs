//! Memory layout: the module's variables, shared memory of a block, frames of functions, parameters.

use std::collections::BTreeMap;

use la_arena::ArenaMap;
use oriole_chip::texture::OpaqueKind;
use oriole_hir::{Body, VariableId, VariableKind};
use oriole_ptx::Space;

use crate::launch::{Arg, Launch};
use crate::memory::{Memory, Place, SHARED_START, function_address, span};
use crate::program::Program;
use crate::texture::objects::Objects;

/// Limit of constant memory in bytes: more than any chip has.
const CONSTANT_LIMIT: usize = 1 << 20;

/// The functions that a kernel reaches, itself first. Functions whose addresses are in initializers always count as
/// reached.
pub fn reachable(program: &Program, entry: &str) -> Vec<String> {
    let mut names = vec![entry.to_string()];
    let add = |names: &mut Vec<String>, name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_string());
        }
    };
    for variable in &program.variables {
        for address in &variable.addresses {
            if program.function(&address.symbol).is_some() {
                add(&mut names, &address.symbol);
            }
        }
    }
    let mut next = 0;
    while next < names.len() {
        if let Some(function) = program.function(&names[next]) {
            for reference in function.body.functions.values() {
                add(&mut names, &reference.name);
            }
        }
        next += 1;
    }
    names
}

/// Why a launch cannot be laid out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LayoutError {
    /// A variable that no memory holds.
    #[error("`{0}` is too large")]
    TooLarge(String),
    /// Constant memory is full.
    #[error("more constant memory than any chip has")]
    Constant,
    /// Shared memory has no address any more.
    #[error("too much shared memory")]
    SharedAddress,
    /// Shared memory is full.
    #[error("more shared memory than any chip has")]
    Shared,
    /// An initializer names a symbol that is in no memory.
    #[error("`{0}` has no address at launch")]
    NoAddress(String),
    /// An initializer writes after the end of its variable.
    #[error("initializer of `{0}` is longer than it")]
    Initializer(String),
    /// The launch gives more or fewer arguments than the kernel has parameters.
    #[error("kernel `{kernel}` has {parameters} parameters, the launch gives {arguments} arguments")]
    Count {
        /// The kernel.
        kernel: String,
        /// Its parameters.
        parameters: usize,
        /// Arguments of the launch.
        arguments: usize,
    },
    /// The parameter is a texture, a sampler or a surface.
    #[error("argument {index} is to be a {kind}")]
    Opaque {
        /// Index of the argument.
        index: usize,
        /// Kind of object that the parameter takes.
        kind: OpaqueKind,
    },
    /// An alias of an argument that is not a buffer, or that comes later.
    #[error("argument {index} is an alias of argument {of}, which is no buffer before it")]
    Alias {
        /// Index of the argument.
        index: usize,
        /// Index of the other argument.
        of: usize,
    },
    /// The argument is not as large as its parameter.
    #[error("argument {index} has {bytes} bytes, the parameter {size}")]
    Size {
        /// Index of the argument.
        index: usize,
        /// Its bytes.
        bytes: usize,
        /// Bytes of the parameter.
        size: usize,
    },
}

/// Addresses of variables.
pub struct Layout {
    module: BTreeMap<String, (Place, u64)>,
    /// Shared variables of bodies, by function and variable.
    local: BTreeMap<(usize, VariableId), (Place, u64)>,
    /// Bytes of shared memory of a block.
    pub shared_end: u32,
    /// Names, addresses and bytes of the variables in it.
    pub shared: Vec<(String, u32, u32)>,
}

impl Layout {
    /// Lays out the variables that the functions reach and writes the initial values to memory.
    pub fn new(
        program: &Program,
        functions: &[String],
        dynamic: u32,
        memory: &mut Memory,
    ) -> Result<Layout, LayoutError> {
        let mut layout = Layout {
            module: BTreeMap::new(),
            local: BTreeMap::new(),
            shared_end: SHARED_START,
            shared: Vec::new(),
        };
        for variable in &program.variables {
            let size = usize::try_from(variable.size.max(variable.bytes.len() as u64))
                .ok()
                .filter(|size| *size <= 1 << 31)
                .ok_or_else(|| LayoutError::TooLarge(variable.name.clone()))?;
            let mut bytes = variable.bytes.clone();
            bytes.resize(size, 0);
            let address = match variable.space {
                Space::Global => (Place::Global, memory.add_region(bytes)),
                Space::Constant => {
                    let start = memory.constant.len().next_multiple_of(variable.align.max(1) as usize);
                    memory.constant.resize(start, 0);
                    memory.constant.extend(bytes);
                    (Place::Constant, start as u64)
                }
                // Laid out below, and only where a reached body names it.
                _ => continue,
            };
            layout.module.insert(variable.name.clone(), address);
        }
        layout.shared(program, functions, dynamic)?;
        if memory.constant.len() > CONSTANT_LIMIT {
            return Err(LayoutError::Constant);
        }
        layout.initial_addresses(program, functions, memory)?;
        Ok(layout)
    }

    fn shared(&mut self, program: &Program, functions: &[String], dynamic: u32) -> Result<(), LayoutError> {
        // Variables without a length share the start of dynamic memory.
        let mut open = Vec::new();
        let mut open_align = 16;
        for (index, name) in functions.iter().enumerate() {
            let Some(function) = program.function(name) else { continue };
            for (number, variable) in function.body.variables.iter() {
                let size =
                    u32::try_from(variable.size).map_err(|_| LayoutError::TooLarge(variable.name.clone()))?;
                let module = variable.kind == VariableKind::Module;
                if !matches!(variable.space, Space::Shared | Space::SharedCluster) {
                    continue;
                }
                if module && self.module.contains_key(&variable.name) {
                    continue;
                }
                let address = if size == 0 {
                    open.push((module, index, number, variable.name.clone()));
                    open_align = open_align.max(variable.align);
                    0
                } else {
                    let start = self.shared_end.next_multiple_of(variable.align.max(1));
                    self.shared_end = start.checked_add(size).ok_or(LayoutError::SharedAddress)?;
                    self.shared.push((variable.name.clone(), start, size));
                    start
                };
                let placed = (Place::Shared, u64::from(address));
                if module {
                    self.module.insert(variable.name.clone(), placed);
                } else {
                    self.local.insert((index, number), placed);
                }
            }
        }
        // Padding at the end is outside every variable.
        let padded = dynamic > 0 || !open.is_empty();
        let start = if padded { self.shared_end.next_multiple_of(open_align) } else { self.shared_end };
        for (module, index, number, name) in open {
            let placed = (Place::Shared, u64::from(start));
            self.shared.push((name.clone(), start, dynamic));
            if module {
                self.module.insert(name, placed);
            } else {
                self.local.insert((index, number), placed);
            }
        }
        self.shared_end =
            start.checked_add(dynamic).filter(|end| *end <= 1 << 24).ok_or(LayoutError::Shared)?;
        Ok(())
    }

    fn initial_addresses(
        &self,
        program: &Program,
        functions: &[String],
        memory: &mut Memory,
    ) -> Result<(), LayoutError> {
        for variable in &program.variables {
            let Some((place, base)) = self.module.get(&variable.name).copied() else { continue };
            for address in &variable.addresses {
                let value = if let Some(index) = functions.iter().position(|name| *name == address.symbol) {
                    function_address(index)
                } else {
                    let (place, value) = self
                        .module
                        .get(&address.symbol)
                        .copied()
                        .ok_or_else(|| LayoutError::NoAddress(address.symbol.clone()))?;
                    if address.generic { value + place.window() } else { value }
                };
                let value = value.wrapping_add(address.addend as u64);
                let value = address.byte.map_or(value, |byte| value >> (8 * byte) & 0xff);
                let value = value.to_le_bytes();
                let size = address.size.min(8) as usize;
                memory
                    .segment(place, base)
                    .and_then(|(segment, start)| span(segment, start + address.offset, size))
                    .ok_or_else(|| LayoutError::Initializer(variable.name.clone()))?
                    .copy_from_slice(&value[..size]);
            }
        }
        Ok(())
    }

    /// Names and addresses of the variables in global memory.
    pub fn global_variables(&self) -> Vec<(String, u64)> {
        let global = self.module.iter().filter(|(_, (place, _))| *place == Place::Global);
        global.map(|(name, (_, address))| (name.clone(), *address)).collect()
    }

    /// The place of a variable that is neither in a frame nor a kernel's parameter.
    pub fn variable(&self, function: usize, variable: VariableId, name: &str) -> Option<(Place, u64)> {
        self.local.get(&(function, variable)).or_else(|| self.module.get(name)).copied()
    }
}

/// The local frame of a function: its `.local` variables, and the `.param` variables of itself and its calls.
pub struct Frame {
    /// Offset of each variable of the body that is in the frame.
    pub offsets: ArenaMap<VariableId, u32>,
    /// Bytes of a frame.
    pub bytes: u32,
}

impl Frame {
    /// Lays out the frame of a body.
    pub fn new(body: &Body) -> Frame {
        let mut bytes: u32 = 0;
        let mut offsets = ArenaMap::default();
        for (id, variable) in body.variables.iter() {
            let of_call = variable.space == Space::FunctionParameter
                || (variable.space == Space::KernelParameter && variable.kind == VariableKind::Body);
            if variable.space == Space::Local || of_call {
                let start = bytes.next_multiple_of(variable.align.clamp(1, 1 << 12));
                bytes = start.saturating_add(u32::try_from(variable.size).unwrap_or(u32::MAX));
                offsets.insert(id, start);
            }
        }
        let bytes = bytes.min(u32::MAX - 4096).next_multiple_of(16);
        // An array without a size comes last: the frame grows by the size of the argument.
        if let Some(open) = body.parameters.iter().position(oriole_hir::Parameter::is_open) {
            let variable = body.variable_of(VariableKind::Parameter(open as u32));
            if let Some(offset) = variable.and_then(|variable| offsets.get_mut(variable)) {
                *offset = bytes;
            }
        }
        Frame { offsets, bytes }
    }
}

/// An argument that is returned after the launch.
#[derive(Clone, Copy, Debug)]
pub enum Kept {
    /// A region of global memory, by its address.
    Region(u64),
    /// An object, by its index.
    Object(usize),
}

/// Puts the arguments of a launch into the parameter block and their buffers into memory.
pub fn arguments(
    body: &Body,
    launch: &Launch,
    memory: &mut Memory,
    objects: &mut Objects,
) -> Result<Vec<Option<Kept>>, LayoutError> {
    if launch.args.len() != body.parameters.len() {
        return Err(LayoutError::Count {
            kernel: launch.entry.clone(),
            parameters: body.parameters.len(),
            arguments: launch.args.len(),
        });
    }
    let mut kept: Vec<Option<Kept>> = Vec::new();
    for (index, (arg, parameter)) in launch.args.iter().zip(&body.parameters).enumerate() {
        if let Some(kind) = parameter.ty.opaque_kind() {
            match arg {
                Arg::Object(object) if object.kind() == kind => {
                    kept.push(Some(Kept::Object(objects.add_parameter(index, object.clone()))));
                    continue;
                }
                _ => return Err(LayoutError::Opaque { index, kind }),
            }
        }
        let (back, bytes) = match arg {
            Arg::Buffer(bytes) => {
                let address = memory.add_region(bytes.clone());
                (Some(Kept::Region(address)), address.to_le_bytes().to_vec())
            }
            Arg::Object(object) => {
                let (number, handle) = objects.add(object.clone());
                (Some(Kept::Object(number)), handle.to_le_bytes().to_vec())
            }
            Arg::Alias(of) | Arg::Map(of, _) => {
                let Some(&Some(Kept::Region(address))) = kept.get(*of) else {
                    return Err(LayoutError::Alias { index, of: *of });
                };
                let mut bytes = match arg {
                    Arg::Map(_, bytes) => bytes.clone(),
                    _ => vec![0; 8],
                };
                let address = address.wrapping_add(crate::memory::word(&bytes[..8]));
                bytes[..8].copy_from_slice(&address.to_le_bytes());
                (None, bytes)
            }
            Arg::Scalar(bytes) => (None, bytes.clone()),
        };
        kept.push(back);
        let size = parameter.size() as usize;
        if bytes.len() != size {
            return Err(LayoutError::Size { index, bytes: bytes.len(), size });
        }
        let start = parameter.offset as usize;
        if memory.parameters.len() < start + size {
            memory.parameters.resize(start + size, 0);
        }
        memory.parameters[start..start + size].copy_from_slice(&bytes);
    }
    Ok(kept)
}
