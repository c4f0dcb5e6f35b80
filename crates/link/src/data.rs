//! Puts the variables of a module into its container: their bytes, bindings, and the addresses in their initial values.
//!
//! It is the only place that reads initial values, after everything is laid out, so that no layout depends on them. No code may enter.

use std::collections::BTreeMap;

use oriole_cubin::{Binding, Form, Module, Opaque, Pointer, SymbolRef, Variable};
use oriole_diagnostics::Code;
use oriole_hir::{InitialValue, Linkage, ModuleVariable, Relocation};

use crate::error::LinkError;
use crate::symbols::{DYNAMIC_ALIGNMENT, ModuleSymbols, VariableSpace};

/// Puts the variables into the module; gives the largest alignment of arrays in shared memory without a size. `functions` has the
/// values of the functions whose addresses are numbers.
pub fn place_variables(
    layout: &ModuleSymbols,
    data: &[ModuleVariable],
    functions: &BTreeMap<String, u64>,
    module: &mut Module,
) -> Result<Option<u32>, LinkError> {
    let mut known = KnownAddresses { functions, constants: BTreeMap::new() };
    let values: BTreeMap<&str, &ModuleVariable> =
        data.iter().map(|variable| (variable.name.as_str(), variable)).collect();
    let linked = module.form == Form::Relocatable;
    let mut symbols = code_symbols(data, module);
    let mut dynamic = None;
    for placed in &layout.variables {
        let Some(value) = values.get(placed.name.as_str()) else { continue };
        let variable = described(placed, value, module.form);
        match placed.space {
            VariableSpace::Shared if linked => {
                if value.info.linkage != Some(Linkage::Extern) {
                    module.shared.push(variable);
                }
            }
            // A size of 0 is that of a dynamic array.
            VariableSpace::Shared if placed.size == 0 => {
                dynamic = dynamic.max(Some(placed.align.max(DYNAMIC_ALIGNMENT) as u32));
            }
            VariableSpace::Shared => {}
            VariableSpace::Constant(offset) => {
                if !linked {
                    known.constants.insert(placed.name.clone(), offset);
                }
                symbols.insert(placed.name.clone(), SymbolRef::Constant(module.constants.len()));
                module.constants.push(Variable { offset, ..variable });
            }
            VariableSpace::Global(_) => {
                symbols.insert(placed.name.clone(), SymbolRef::Global(module.globals.len()));
                module.globals.push(variable);
            }
        }
    }
    let opaque = data.iter().filter_map(|variable| {
        Some(Opaque { name: variable.name.clone(), kind: variable.info.ty.opaque_kind()? })
    });
    module.opaque.extend(opaque);
    for variable in module.globals.iter_mut().chain(&mut module.constants) {
        if let Some(initial) = values.get(variable.name.as_str()).and_then(|value| value.initial.as_ref()) {
            if let Some(bytes) = &mut variable.bytes {
                known.write(initial, bytes);
            }
            variable.pointers = pointers(&variable.name, initial, &known, &symbols)?;
        }
    }
    Ok(dynamic)
}

/// The symbols of code, and of names that other files define. Only initial values with addresses use them.
fn code_symbols(data: &[ModuleVariable], module: &Module) -> BTreeMap<String, SymbolRef> {
    let initial = data.iter().filter_map(|variable| variable.initial.as_ref());
    if initial.flat_map(|initial| &initial.relocations).next().is_none() {
        return BTreeMap::new();
    }
    let code = module.kernels.iter().enumerate();
    let code = code.map(|(at, code)| (code.name.clone(), SymbolRef::Kernel(at)));
    let others = module.undefined.iter().enumerate();
    code.chain(others.map(|(at, other)| (other.name.clone(), SymbolRef::Undefined(at)))).collect()
}

/// A variable as the container has it, without a place and without pointers.
fn described(placed: &crate::symbols::ModuleVariable, value: &ModuleVariable, form: Form) -> Variable {
    Variable {
        name: placed.name.clone(),
        binding: match value.info.linkage {
            Some(Linkage::Common) if form != Form::Whole => Binding::Common,
            Some(Linkage::Visible | Linkage::Common | Linkage::Extern) => Binding::Global,
            Some(Linkage::Weak) => Binding::Weak,
            None => Binding::Local,
        },
        managed: value.managed,
        size: placed.size,
        alignment: placed.align,
        bytes: value.initial.as_ref().map(|initial| initial.bytes.clone()),
        ..Variable::default()
    }
}

/// Addresses that are numbers when the module is laid out: they are written into initial values, and no loader
/// completes them.
struct KnownAddresses<'a> {
    /// Values of functions, by name.
    functions: &'a BTreeMap<String, u64>,
    /// Offsets of `.const` variables in their bank, by name. A generic address of one is for the loader.
    constants: BTreeMap<String, u64>,
}

impl KnownAddresses<'_> {
    fn of(&self, relocation: &Relocation) -> Option<u64> {
        let constant = || self.constants.get(&relocation.symbol).filter(|_| !relocation.generic);
        self.functions.get(&relocation.symbol).or_else(constant).copied()
    }

    fn write(&self, initial: &InitialValue, bytes: &mut [u8]) {
        for relocation in &initial.relocations {
            let Some(value) = self.of(relocation) else { continue };
            let value = value.wrapping_add_signed(relocation.addend);
            let part = relocation.byte.map_or(value, |byte| value >> (8 * byte) & 0xff);
            let written = bytes.iter_mut().skip(relocation.offset as usize).take(relocation.width.into());
            written.zip(part.to_le_bytes()).for_each(|(byte, of_part)| *byte = of_part);
        }
    }
}

/// The pointers of an initial value that the loader completes.
fn pointers(
    variable: &str,
    initial: &InitialValue,
    known: &KnownAddresses<'_>,
    symbols: &BTreeMap<String, SymbolRef>,
) -> Result<Vec<Pointer>, LinkError> {
    let mut pointers = Vec::new();
    for relocation in initial.relocations.iter().filter(|it| known.of(it).is_none()) {
        let target = *symbols.get(&relocation.symbol).ok_or_else(|| LinkError {
            code: Code::NotSupported,
            message: format!(
                "the initial value of `{variable}` names `{}`, which has no address in the module",
                relocation.symbol
            ),
        })?;
        let &Relocation { offset, addend, generic, byte, width, .. } = relocation;
        let pointer = |offset, byte| Pointer { offset, target, addend, generic, byte };
        match (byte, width) {
            // No relocation writes half of an address: one of each byte does.
            (None, ..8) => pointers.extend((0..width).map(|at| pointer(offset + u64::from(at), Some(at)))),
            _ => pointers.push(pointer(offset, byte)),
        }
    }
    Ok(pointers)
}
