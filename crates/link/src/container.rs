//! From images and variables to the module that the container is written from: one function for each form of output.
//!
//! It is the last step: everything that it joins is finished. No code is changed here, and no bytes of the file are known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_chip::{Chip, Variant};
use oriole_cubin::{
    DebugAddress, DebugTarget, Form, Module, Slot, SymbolRef, Tool, Undefined, UndefinedKind,
};
use oriole_hir::{Header, ModuleVariable};
use oriole_options::Linking;

use crate::data::place_variables;
use crate::debug_info::{OpenReference, loaded_variables};
use crate::error::LinkError;
use crate::symbols::ModuleSymbols;

/// A module that has its header, and nothing else yet.
pub fn with_header(chip: Chip, header: &Header, linking: Linking) -> Module {
    Module {
        sm: u16::from(chip.number()),
        accelerated: chip.variant() == Variant::Accelerated,
        virtual_sm: header.target.map_or(0, |target| target.number()),
        tool: Tool {
            name: "oriole".to_owned(),
            version: concat!("Oriole ", env!("CARGO_PKG_VERSION")).to_owned(),
            build: String::new(),
            arguments: format!("-arch {chip}{}", argument_of(linking)),
        },
        form: match linking {
            Linking::Whole => Form::Whole,
            Linking::Extensible => Form::Extensible,
            Linking::Relocatable => Form::Relocatable,
        },
        ..Module::default()
    }
}

/// The command-line option that gives the kind of output.
fn argument_of(linking: Linking) -> &'static str {
    match linking {
        Linking::Whole => "",
        Linking::Extensible => " -ewp",
        Linking::Relocatable => " -c",
    }
}

/// The inputs that complete a program of kernels that are laid out.
pub struct Program<'a> {
    /// Where the variables of the module are.
    pub layout: &'a ModuleSymbols,
    /// Their values.
    pub data: &'a [ModuleVariable],
    /// The values of the functions whose addresses are in initial values.
    pub functions: &'a BTreeMap<String, u64>,
    /// The kernels whose addresses code takes.
    pub launched: &'a [Arc<str>],
}

impl Program<'_> {
    /// Completes a module whose kernels are laid out with what they reach.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub fn complete(&self, module: &mut Module) -> Result<(), LinkError> {
        let dynamic = place_variables(self.layout, self.data, self.functions, module)?;
        if let Some(alignment) = dynamic {
            // Every kernel of a module that declares a dynamic array may be launched with dynamic shared memory; what the
            // system appends must then be aligned, whether this kernel names the array or not.
            for kernel in &mut module.kernels {
                let kernel = triomphe::Arc::make_mut(kernel);
                let size = kernel.shared_size.unwrap_or(0);
                kernel.shared_size = Some(size.checked_next_multiple_of(alignment).unwrap_or(u32::MAX));
                kernel.shared_alignment = kernel.shared_alignment.max(alignment);
            }
        }
        if module.form == Form::Whole {
            module.slots = self.slots(module);
        }
        Ok(())
    }

    /// The slots of constant bank 4: the globals, then the functions of the driver, then the launched kernels.
    fn slots(&self, module: &Module) -> Vec<Slot> {
        let globals = (0..module.globals.len()).map(SymbolRef::Global);
        let externs = (0..module.externs.len()).map(SymbolRef::Extern);
        let place = |name: &Arc<str>| module.kernels.iter().position(|kernel| kernel.name == **name);
        let launched = self.launched.iter().filter_map(place).map(SymbolRef::Kernel);
        globals.chain(externs).chain(launched).map(|target| Slot { target, addend: 0 }).collect()
    }
}

/// Completes relocatable output that has its code and its debug sections. `shared_start` is where the system's part of shared memory
/// ends.
///
/// # Errors
/// See [`LinkError`].
pub fn complete_relocatable(
    layout: &ModuleSymbols,
    data: &[ModuleVariable],
    open: &[OpenReference],
    shared_start: u32,
    module: &mut Module,
) -> Result<(), LinkError> {
    place_variables(layout, data, &BTreeMap::new(), module)?;
    close(open, shared_start, module);
    Ok(())
}

/// Completes what debug sections name. Linkers count shared memory from the end of the system's part.
fn close(open: &[OpenReference], start: u32, module: &mut Module) {
    if open.is_empty() {
        return;
    }
    let code = module.kernels.iter().enumerate();
    let mut targets: BTreeMap<String, (DebugTarget, i64)> = BTreeMap::new();
    for (code, image) in code.rev() {
        let prefix = format!("${}$", image.name);
        for (index, variable) in image.own_shared.iter().enumerate() {
            let name = variable.name.strip_prefix(&prefix).unwrap_or(&variable.name).to_owned();
            targets.insert(name, (DebugTarget::OwnShared { code, index }, start.into()));
        }
    }
    let shared = module.shared.iter().enumerate();
    targets.extend(shared.map(|(at, one)| (one.name.clone(), (DebugTarget::Shared(at), start.into()))));
    let loaded = loaded_variables(module).into_iter();
    targets.extend(loaded.map(|(name, target)| (name, (DebugTarget::Memory(target), 0))));
    let sections = triomphe::Arc::make_mut(&mut module.debug);
    for OpenReference { section, at, name, addend } in open {
        if let Some(&(target, more)) = targets.get(name) {
            let address = DebugAddress { offset: *at, target, addend: addend + more };
            sections[*section].addresses.push(address);
        }
    }
}

/// The names in the code and the initial values of the module that it does not define. `declared` returns the
/// meaning of a name that another file defines.
pub fn undefined(
    module: &Module,
    data: &[ModuleVariable],
    declared: impl Fn(&str) -> Option<Undefined>,
) -> Vec<Undefined> {
    let defined: BTreeSet<&str> = module.kernels.iter().map(|code| code.name.as_str()).collect();
    let in_code = module.kernels.iter().flat_map(|code| &code.names);
    let initial = data.iter().filter_map(|variable| variable.initial.as_ref());
    let in_data = initial.flat_map(|initial| &initial.relocations).map(|relocation| &relocation.symbol);
    let names: BTreeSet<&str> =
        in_code.chain(in_data).map(String::as_str).filter(|name| !defined.contains(name)).collect();
    names.into_iter().filter_map(declared).collect()
}

/// The undefined names that stay in a program whose own functions and shared memory are laid out: arrays
/// whose size the launch gives are declared as what other files define is, and have places; and no linker
/// compares prototypes.
pub fn undefined_in_program(mut found: Vec<Undefined>) -> Vec<Undefined> {
    found.retain(|other| other.kind != UndefinedKind::Shared);
    found.iter_mut().for_each(|other| other.prototype.clear());
    found
}

/// The file.
///
/// # Errors
/// The container has no place for something.
pub fn write(module: &Module) -> Result<Vec<u8>, LinkError> {
    Ok(oriole_cubin::write(module)?)
}
