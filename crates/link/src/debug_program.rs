//! Debug builds: each function in a section of its own as for a linker, and all the same a whole program, which the loader takes as it
//! is.
//!
//! It is apart from relocatable output because the program is linked here: what a kernel's launch reaches says where shared variables
//! and tables of constants are, how deep the stack is and how many registers a thread has. Sections of code know nothing of it, so
//! that an edit of one function makes no other section again. Nothing may enter that code depends on.

mod headers;
mod launches;
mod shared;

use std::collections::BTreeMap;

use oriole_chip::WordShape;
use oriole_cubin::{
    Binding, DebugAddress, DebugTarget, KernelImage, Module, RelocationKind, SymbolRef, TextRelocation,
    Variable,
};
use oriole_hir::{Linkage, ModuleVariable};
use oriole_pipeline::{LibraryFunction, Target};

use crate::call_graph::CallGraph;
use crate::data::place_variables;
use crate::debug_info::{OpenReference, loaded_variables};
use crate::error::LinkError;
use crate::symbols::{ModuleSymbols, VariableSpace};
use headers::HeaderPlaces;
use launches::{Ends, Launches};
use shared::{OwnShared, SharedPlaces, place_shared};

/// Alignment of a table of constants.
const TABLE_ALIGNMENT: u64 = 8;

/// The facts by which a program is linked, in addition to its code.
pub struct Program<'a> {
    /// The chip.
    pub target: &'a Target,
    /// The call graph.
    pub calls: &'a CallGraph,
    /// Where the variables of the module are.
    pub layout: &'a ModuleSymbols,
    /// Their values.
    pub data: &'a [ModuleVariable],
    /// Names that debug sections leave open.
    pub open: &'a [OpenReference],
}

impl Program<'_> {
    /// Links a module that has its code and its debug sections, and nothing of its variables.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub fn link(&self, module: &mut Module) -> Result<(), LinkError> {
        place_variables(self.layout, self.data, &BTreeMap::new(), module)?;
        let launches = Launches::new(&module.kernels, self.calls);
        let limits = &self.target.limits;
        let shared = place_shared(&launches, limits, &self.shared_variables(), module)?;
        close(self.open, &shared, limits.static_shared_start, module);
        let places = Places {
            tables: place_tables(&launches, module),
            constants: module.constants.iter().map(|one| (one.name.clone(), one.offset)).collect(),
            constant_bytes: module.constants.iter().map(|one| one.offset + one.size).max().unwrap_or(0),
            headers: HeaderPlaces::new(self.target.chip, &launches, module)?,
            shared,
        };
        for (at, image) in module.kernels.iter_mut().enumerate() {
            places.complete(self.target.words, at, triomphe::Arc::make_mut(image));
        }
        record_needs(&launches, self.calls, module);
        Ok(())
    }

    /// The shared variables of the module.
    fn shared_variables(&self) -> Vec<Variable> {
        let placed = self.layout.variables.iter();
        let shared = placed.filter(|variable| variable.space == VariableSpace::Shared).map(|variable| {
            let value = self.data.iter().find(|value| value.name == variable.name);
            Variable {
                name: variable.name.clone(),
                binding: match value.and_then(|value| value.info.linkage) {
                    None => Binding::Local,
                    Some(Linkage::Weak) => Binding::Weak,
                    Some(_) => Binding::Global,
                },
                size: variable.size,
                alignment: variable.align,
                ..Variable::default()
            }
        });
        shared.collect()
    }
}

/// Completes what debug sections name: of shared memory the place is known, other variables have theirs when they are loaded.
fn close(open: &[OpenReference], shared: &SharedPlaces, start: u32, module: &mut Module) {
    if open.is_empty() {
        return;
    }
    let own = shared.of_code_by_name.iter().chain(&shared.of_module);
    let shared: BTreeMap<&str, u64> = own.map(|(name, &place)| (name.as_str(), place)).collect();
    let loaded = loaded_variables(module);
    let sections = triomphe::Arc::make_mut(&mut module.debug);
    for reference in open {
        let section = &mut sections[reference.section];
        if let Some(&place) = shared.get(reference.name.as_str()) {
            let at = reference.at as usize;
            let address = (u64::from(start) + place).wrapping_add_signed(reference.addend);
            section.bytes[at..at + 8].copy_from_slice(&address.to_le_bytes());
        } else if let Some(&target) = loaded.get(&reference.name) {
            let target = DebugTarget::Memory(target);
            section.addresses.push(DebugAddress { offset: reference.at, target, addend: reference.addend });
        }
    }
}

/// Puts the tables of functions into constant bank 2 of the kernels that reach them; the offset of each section's.
fn place_tables(launches: &Launches, module: &mut Module) -> Vec<u64> {
    let mut ends = Ends(vec![0; module.kernels.len()]);
    let mut places = vec![0; module.kernels.len()];
    let mut banks: Vec<Vec<u8>> = vec![Vec::new(); module.kernels.len()];
    for (at, image) in module.kernels.iter_mut().enumerate() {
        let image = triomphe::Arc::make_mut(image);
        let table = std::mem::take(&mut image.constant2);
        if table.is_empty() {
            continue;
        }
        let kernels = launches.of([at]);
        places[at] = ends.place(&kernels, table.len() as u64, TABLE_ALIGNMENT);
        for kernel in kernels {
            let bank = &mut banks[kernel];
            bank.resize(places[at] as usize, 0);
            bank.extend_from_slice(&table);
        }
    }
    for (image, bank) in module.kernels.iter_mut().zip(banks) {
        triomphe::Arc::make_mut(image).constant2 = bank;
    }
    places
}

/// Everything that code names and that has a place in a bank or in shared memory.
struct Places {
    shared: SharedPlaces,
    /// Of each section of code where its tables are in bank 2.
    tables: Vec<u64>,
    /// Where the `.const` variables are in bank 3, by name.
    constants: BTreeMap<String, u64>,
    /// Bytes of the `.const` variables.
    constant_bytes: u64,
    headers: HeaderPlaces,
}

impl Places {
    /// Writes the known addresses into a section of code. Fields that the loader completes stay as they are.
    fn complete(&self, words: WordShape, at: usize, image: &mut KernelImage) {
        for mut relocation in std::mem::take(&mut image.relocations) {
            // Only what knows of a table of functions adds something to an address that is called.
            if relocation.target == SymbolRef::FunctionTable {
                continue;
            }
            if let Some((place, bank)) = self.place(at, &relocation, image) {
                let value = place.wrapping_add_signed(relocation.addend);
                let word = &mut image.code[words.index(relocation.offset) as usize];
                *word = relocation.kind.with_bank(relocation.kind.patch(*word, value), bank);
                continue;
            }
            relocation.kind = match relocation.kind {
                RelocationKind::UnifiedLo => RelocationKind::Abs32Lo,
                RelocationKind::UnifiedHi => RelocationKind::Abs32Hi,
                kind => kind,
            };
            image.relocations.push(relocation);
        }
    }

    /// The place of what a relocation of a section of code names, and the bank in which it is, if it is in one.
    fn place(&self, code: usize, relocation: &TextRelocation, image: &mut KernelImage) -> Option<(u64, u8)> {
        let name = match relocation.target {
            SymbolRef::Named(name) => Some(image.names[name].as_str()),
            _ => None,
        };
        let named = |places: &BTreeMap<String, u64>| places.get(name?).copied();
        let in_shared = match relocation.target {
            SymbolRef::OwnShared(number) => self.shared.of_code.get(&OwnShared { code, number }).copied(),
            SymbolRef::OwnConstants => return Some((self.tables[code], 2)),
            SymbolRef::ConstantSize => return Some((self.constant_bytes, 0)),
            _ => named(&self.shared.of_module),
        };
        if let Some(place) = in_shared {
            image.addresses_shared = true;
            return Some((place, 0));
        }
        named(&self.constants).map(|place| (place, 3)).or_else(|| self.headers.place(code, relocation, image))
    }
}

/// Records for each kernel what all the code of its launch needs: the stack, registers and barriers.
fn record_needs(launches: &Launches, calls: &CallGraph, module: &mut Module) {
    let depths = stack_depths(calls, module);
    let needs: Vec<(u32, u8)> = module.kernels.iter().map(|code| (code.registers, code.barriers)).collect();
    for (at, (registers, barriers)) in needs.into_iter().enumerate() {
        for &kernel in launches.of_one(at) {
            let image = triomphe::Arc::make_mut(&mut module.kernels[kernel]);
            image.registers = image.registers.max(registers);
            image.barriers = image.barriers.max(barriers);
            image.stack_size = Some(depths[kernel]);
        }
    }
}

/// The bytes of stack that each section of code needs with all that it calls.
fn stack_depths(calls: &CallGraph, module: &Module) -> Vec<u32> {
    let index: BTreeMap<&str, usize> =
        module.kernels.iter().enumerate().map(|(at, code)| (code.name.as_str(), at)).collect();
    let frame = |at: usize| module.kernels[at].frame_size;
    let mut depths = vec![0u32; module.kernels.len()];
    let of_library = |at: usize| {
        let names = module.kernels[at].names.iter();
        let functions = names.filter(|name| LibraryFunction::named(name).is_some());
        functions.filter_map(|name| index.get(name.as_str()).copied())
    };
    // Callees come first. Recursion may need more than each function once: there the driver's own limit counts.
    for members in &calls.components {
        let members: Vec<usize> = members.iter().filter_map(|name| index.get(&**name).copied()).collect();
        let own: u32 = members.iter().map(|&at| frame(at)).sum();
        let callees = members.iter().flat_map(|&at| calls.callees.get(module.kernels[at].name.as_str()));
        let callees = callees.flatten().filter_map(|name| index.get(&**name).copied());
        let below = callees.filter(|callee| !members.contains(callee)).map(|callee| depths[callee]);
        let library = members.iter().flat_map(|&at| of_library(at)).map(frame);
        let below = below.chain(library).max();
        let routines = members.iter().flat_map(|&at| &module.kernels[at].functions);
        let routines = routines.map(|routine| routine.frame_size).max();
        let depth = own + below.max(routines).unwrap_or(0);
        members.iter().for_each(|&at| depths[at] = depth);
    }
    depths
}
