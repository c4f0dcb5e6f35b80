//! The symbol table of a module: its symbols, and their order.

use super::{COMMON_SHARED, Key, Name, SymbolDraft, Writer, binding_number};
use crate::elf::*;
use crate::rules::Abi;
use crate::{Binding, SymbolRef, UndefinedKind};
use oriole_chip::texture::{DescriptorTable, OpaqueKind};

/// Offset that the loader adds to the address of a function that is called through a pointer.
const FUNCTION_OFFSET: &str = "__UFT_OFFSET";

/// The linker's symbol for the size of all constants of a program.
const CONSTANT_SIZE: &str = ".nv.ptx.const0.size";

/// The parts of the tables of functions and data that all devices know.
const FUNCTION_TABLE: [&str; 8] = [
    "__UDT_OFFSET",
    FUNCTION_OFFSET,
    "__UFT_CANONICAL",
    "__UDT_CANONICAL",
    "__UFT",
    "__UDT",
    "__UFT_END",
    "__UDT_END",
];

impl<'a> Writer<'a> {
    /// Draws up the symbol table. Indices are final after this.
    pub(super) fn draft_symbols(&mut self) {
        self.symbol(SymbolDraft {
            name: "".into(),
            kind: STT_NOTYPE,
            binding: STB_LOCAL,
            other: 0,
            section: None,
            value: 0,
            size: 0,
        });
        self.code_sections();
        if self.is_relocatable() {
            self.function_table();
            self.linked_shared();
        } else if self.rules.family.reserves_shared {
            self.reserved_shared();
        }
        let placed = &self.module.placed_shared;
        if placed.iter().any(|place| place.kernel.is_none() && place.variable.size > 0) {
            self.section_symbol(COMMON_SHARED, Key::LinkedShared);
        }
        for place in placed {
            let key = place.kernel.map_or(Key::LinkedShared, Key::Shared);
            self.variable_symbol(&place.variable, key, self.shared_start() + place.variable.offset);
        }
        self.descriptor_sizes();
        self.constant_size();
        self.variables();
        self.frame_symbol = self.section_symbol(".debug_frame", Key::DebugFrame);
        let module = self.module;
        for (index, section) in module.debug.iter().enumerate() {
            let symbol = self.section_symbol(section.name.as_str(), Key::Debug(index));
            self.debug_symbols.push(symbol);
        }
        self.section_symbol(".nv.callgraph", Key::Callgraph);
        if self.rules.family.plain_relocations && !self.leaves_open() {
            self.section_symbol(".nv.rel.action", Key::RelocationAction);
        }
        self.code_symbols();
        self.outside_symbols();
        self.undefined_symbols();
        for kernel in self.kernels() {
            self.constant0_symbols[kernel] = self.section_symbol(
                Name::of(".nv.constant0.", &module.kernels[kernel].name),
                Key::Constant0(kernel),
            );
        }
        if self.rules.family.local_symbols_first {
            self.put_local_symbols_first();
        }
        self.name_symbols();
    }

    /// Symbols that code can reference by name: everything that the module defines or declares.
    fn name_symbols(&mut self) {
        let module = self.module;
        let code = module.kernels.iter().map(|code| code.name.as_str()).zip(&self.kernel_symbols);
        let names = code
            .chain(module.globals.iter().map(|variable| variable.name.as_str()).zip(&self.global_symbols))
            .chain(module.constants.iter().map(|variable| variable.name.as_str()).zip(&self.constant_symbols))
            .chain(module.shared.iter().map(|variable| variable.name.as_str()).zip(&self.shared_symbols))
            .chain(module.opaque.iter().map(|opaque| opaque.name.as_str()).zip(&self.opaque_symbols))
            .chain(module.undefined.iter().map(|other| other.name.as_str()).zip(&self.undefined_symbols));
        self.symbols_by_name = names.map(|(name, &symbol)| (name, symbol)).collect();
    }

    /// The sections of notes and of each kernel.
    fn code_sections(&mut self) {
        let module = self.module;
        if self.rules.family.abi == Abi::V8 {
            self.section_symbol(".note.nv.tkinfo", Key::ToolkitNote);
            self.section_symbol(".note.nv.cuinfo", Key::CudaNote);
        }
        for kernel in self.order.clone() {
            self.section_symbol(Name::of(".text.", &module.kernels[kernel].name), Key::Text(kernel));
            let own_shared = self.is_relocatable() && module.kernels[kernel].is_kernel();
            let own_shared = own_shared && !module.kernels[kernel].own_shared.is_empty();
            // Memory that is only sized at launch has no symbol.
            if module.kernels[kernel].shared_size.is_some_and(|size| size > 0) || own_shared {
                self.section_symbol(
                    Name::of(".nv.shared.", &module.kernels[kernel].name),
                    Key::Shared(kernel),
                );
            }
            if !module.kernels[kernel].constant2.is_empty() {
                self.section_symbol(
                    Name::of(".nv.constant2.", &module.kernels[kernel].name),
                    Key::Constant2(kernel),
                );
                if self.is_relocatable() {
                    self.constant2_symbols[kernel] = self.own_constants(kernel);
                }
            }
            for parameter in &module.kernels[kernel].opaque_parameters {
                let kind = self.parameter_kind(kernel, parameter.number);
                let symbol = self.symbol(SymbolDraft {
                    name: parameter.name.as_str().into(),
                    kind: kind.map_or(STT_NOTYPE, opaque_symbol_type),
                    binding: STB_LOCAL,
                    other: 0,
                    section: Some(Key::Text(kernel)),
                    value: 0,
                    size: 0,
                });
                self.opaque_parameter_symbols[kernel].push(symbol);
            }
        }
    }

    /// Constant bank 2 of a section of code as a variable, which a linker merges with others.
    fn own_constants(&mut self, code: usize) -> u32 {
        let image = &self.module.kernels[code];
        self.symbol(SymbolDraft {
            name: Name::of(&image.name, ".const_opt"),
            kind: STT_CUDA_OBJECT,
            binding: STB_LOCAL,
            other: STO_CONSTANT | STV_INTERNAL,
            section: Some(Key::Constant2(code)),
            value: 0,
            size: image.constant2.len() as u64,
        })
    }

    /// Parts of the function table that other devices know, and the system's part of shared memory: the linker
    /// defines them if they exist.
    fn function_table(&mut self) {
        let family = self.rules.family;
        let weak = |name: &'static str, value, size| SymbolDraft {
            name: name.into(),
            kind: STT_OBJECT,
            binding: STB_WEAK,
            other: 0,
            section: None,
            value,
            size,
        };
        if family.function_table {
            for name in FUNCTION_TABLE {
                let symbol = self.symbol(weak(name, 0, 8));
                if name == FUNCTION_OFFSET {
                    self.table_symbol = symbol;
                }
            }
        }
        if family.reserves_shared {
            self.symbol(weak(".nv.reservedSmem.offset0", u64::from(family.reserved_bytes), 4));
        }
        if let Some(cap) = self.end_of_the_system() {
            self.symbol(weak(".nv.reservedSmem.cap", cap, 4));
        }
    }

    /// Shared variables: a linker finds their alignment in place of an offset.
    fn linked_shared(&mut self) {
        let module = self.module;
        let of_functions = module.kernels.iter().filter(|code| !code.is_kernel());
        if !module.shared.is_empty() || of_functions.into_iter().any(|code| !code.own_shared.is_empty()) {
            self.section_symbol(COMMON_SHARED, Key::LinkedShared);
        }
        let reserved: Vec<_> = self.reserved_variables().collect();
        if !reserved.is_empty() {
            self.section_symbol(".nv.shared.reserved.0", Key::ReservedShared);
        }
        for (name, bytes) in reserved {
            self.reserved_variable(name, bytes, 0);
        }
        for (index, variable) in module.shared.iter().enumerate() {
            self.shared_symbols[index] =
                self.variable_symbol(variable, Key::LinkedShared, variable.alignment.max(1));
        }
        for code in self.order.clone() {
            let image = &module.kernels[code];
            let key = if image.is_kernel() { Key::Shared(code) } else { Key::LinkedShared };
            for (index, variable) in image.own_shared.iter().enumerate() {
                let symbol = self.variable_symbol(variable, key, variable.alignment.max(1));
                self.own_shared_symbols[code][index] = symbol;
            }
        }
    }

    /// The shared memory reserved for the system.
    fn reserved_shared(&mut self) {
        let family = self.rules.family;
        let end = u64::from(family.reserved_bytes);
        self.symbol(SymbolDraft {
            name: ".nv.reservedSmem.offset0".into(),
            kind: STT_OBJECT,
            binding: STB_WEAK,
            other: 0,
            section: None,
            value: end,
            size: 4,
        });
        let variables: Vec<_> = self.reserved_variables().collect();
        if !variables.is_empty() {
            self.symbol(SymbolDraft {
                name: ".nv.shared.reserved.0".into(),
                kind: STT_SECTION,
                binding: STB_LOCAL,
                other: 0,
                section: Some(Key::ReservedShared),
                value: 0,
                size: 0,
            });
        }
        // For a linker the value is an alignment instead of an offset.
        let linked = self.leaves_open().then(|| self.reserved_alignment());
        if !self.is_for_debuggers() {
            self.symbol(SymbolDraft {
                name: "__nv_reservedSMEM_offset_0_alias".into(),
                kind: STT_NOTYPE,
                binding: STB_WEAK,
                other: STO_RESERVED_SHARED,
                section: Some(Key::ReservedShared),
                value: linked.unwrap_or(end),
                size: 0,
            });
        }
        let mut place = end;
        for (name, bytes) in variables {
            self.reserved_variable(name, bytes, place);
            place += u64::from(bytes);
        }
        if let Some(cap) = self.end_of_the_system() {
            self.symbol(SymbolDraft {
                name: ".nv.reservedSmem.cap".into(),
                kind: STT_OBJECT,
                binding: STB_WEAK,
                other: 0,
                section: None,
                value: cap,
                size: 4,
            });
        }
    }

    /// End of the system's part of shared memory, where the variables begin, if code references it.
    fn end_of_the_system(&self) -> Option<u64> {
        let names_shared = self.module.kernels.iter().any(|code| code.names_shared);
        self.rules.family.shared_cap.filter(|_| names_shared)
    }

    /// A variable of the system in shared memory: its offset, or its alignment for a linker.
    fn reserved_variable(&mut self, name: &'static str, bytes: u32, place: u64) {
        let (kind, other, value) = if self.leaves_open() {
            (STT_CUDA_OBJECT, STO_RESERVED_SHARED, self.reserved_alignment())
        } else {
            (STT_OBJECT, 0, place)
        };
        self.symbol(SymbolDraft {
            name: name.into(),
            kind,
            binding: STB_WEAK,
            other,
            section: Some(Key::ReservedShared),
            value,
            size: u64::from(bytes),
        });
    }

    /// Descriptor sizes that the code references.
    fn descriptor_sizes(&mut self) {
        let module = self.module;
        for table in DescriptorTable::ALL {
            let target = SymbolRef::DescriptorSize(table);
            let mut relocations = module.kernels.iter().flat_map(|kernel| &kernel.relocations);
            if relocations.any(|relocation| relocation.target == target) {
                self.size_symbols[table as usize] = self.symbol(SymbolDraft {
                    name: table.size_symbol().into(),
                    kind: STT_OBJECT,
                    binding: STB_WEAK,
                    other: 0,
                    section: None,
                    value: 0,
                    size: 4,
                });
            }
        }
    }

    /// The bytes of this file's constants, if code references those of the program.
    fn constant_size(&mut self) {
        let module = self.module;
        let mut relocations = module.kernels.iter().flat_map(|kernel| &kernel.relocations);
        if !relocations.any(|relocation| relocation.target == SymbolRef::ConstantSize) {
            return;
        }
        let ends = module.constants.iter().map(|variable| variable.offset + variable.size);
        let symbol = self.symbol(SymbolDraft {
            name: CONSTANT_SIZE.into(),
            kind: STT_OBJECT,
            binding: STB_LOCAL,
            other: STV_INTERNAL,
            section: None,
            value: ends.max().unwrap_or(0),
            size: 4,
        });
        self.constant_size_symbol.push(symbol);
    }

    /// The variables, each section of them before its members.
    fn variables(&mut self) {
        let module = self.module;
        for (initialized, key, name) in
            [(true, Key::GlobalInit, ".nv.global.init"), (false, Key::Global, ".nv.global")]
        {
            let placed = if initialized { &self.initialized } else { &self.zeroed };
            let members: Vec<(usize, u64)> =
                placed.members.iter().copied().zip(placed.offsets.iter().copied()).collect();
            if members.is_empty() {
                continue;
            }
            self.section_symbol(name, key);
            for (index, offset) in members {
                self.global_symbols[index] = self.variable_symbol(&module.globals[index], key, offset);
            }
        }
        for (index, variable) in module.globals.iter().enumerate() {
            if variable.binding == Binding::Common {
                let alignment = variable.alignment.max(1);
                self.global_symbols[index] = self.variable_symbol(variable, Key::Common, alignment);
            }
        }
        if !module.slots.is_empty() {
            self.section_symbol(".nv.constant4", Key::Constant4);
        }
        if !module.constants.is_empty() {
            self.section_symbol(".nv.constant3", Key::Constant3);
            for (index, variable) in module.constants.iter().enumerate() {
                self.constant_symbols[index] =
                    self.variable_symbol(variable, Key::Constant3, variable.offset);
            }
        }
    }

    /// Kernels, and the functions inside each.
    fn code_symbols(&mut self) {
        let module = self.module;
        for kernel in self.order.clone() {
            let size = self.text_size(kernel);
            self.kernel_symbols[kernel] = self.symbol(SymbolDraft {
                name: module.kernels[kernel].name.as_str().into(),
                kind: STT_FUNC,
                binding: binding_number(module.kernels[kernel].binding),
                other: if module.kernels[kernel].is_kernel() { STO_ENTRY } else { 0 },
                section: Some(Key::Text(kernel)),
                value: 0,
                size,
            });
            if !self.tells_inner(kernel) {
                continue;
            }
            for (index, function) in module.kernels[kernel].functions.iter().enumerate() {
                let size = self.inner_size(kernel, index);
                self.inner_symbols[kernel][index] = self.symbol(SymbolDraft {
                    name: function.name.as_str().into(),
                    kind: STT_FUNC,
                    binding: STB_GLOBAL,
                    other: 0,
                    section: Some(Key::Text(kernel)),
                    value: u64::from(function.offset),
                    size,
                });
            }
        }
    }

    /// Textures, samplers and surfaces, and functions of other files.
    fn outside_symbols(&mut self) {
        let module = self.module;
        for (index, opaque) in module.opaque.iter().enumerate() {
            self.opaque_symbols[index] = self.symbol(SymbolDraft {
                name: opaque.name.as_str().into(),
                kind: opaque_symbol_type(opaque.kind),
                binding: STB_GLOBAL,
                other: 0,
                section: None,
                value: 0,
                size: 0,
            });
        }
        for (index, name) in module.externs.iter().enumerate() {
            self.extern_symbols[index] = self.symbol(SymbolDraft {
                name: name.as_str().into(),
                kind: STT_FUNC,
                binding: STB_GLOBAL,
                other: 0,
                section: None,
                value: 0,
                size: 0,
            });
        }
    }

    /// Symbols that other files define.
    fn undefined_symbols(&mut self) {
        let module = self.module;
        for (index, other) in module.undefined.iter().enumerate() {
            let (kind, space) = match other.kind {
                UndefinedKind::Function => (STT_FUNC, 0),
                UndefinedKind::Global => (STT_CUDA_OBJECT, STO_GLOBAL),
                UndefinedKind::Constant => (STT_CUDA_OBJECT, STO_CONSTANT),
                UndefinedKind::Shared => (STT_CUDA_OBJECT, STO_SHARED),
            };
            self.undefined_symbols[index] = self.symbol(SymbolDraft {
                name: other.name.as_str().into(),
                kind,
                binding: STB_GLOBAL,
                other: space,
                section: None,
                value: 0,
                size: other.size,
            });
        }
    }

    /// Moves the local symbols before the others, and updates the indices in use.
    fn put_local_symbols_first(&mut self) {
        let mut order: Vec<usize> = (0..self.symbols.len()).collect();
        order.sort_by_key(|&index| self.symbols[index].binding != STB_LOCAL);
        let mut number = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            number[old] = new as u32;
        }
        let mut drafts: Vec<Option<SymbolDraft<'a>>> = self.symbols.drain(..).map(Some).collect();
        self.symbols = order.iter().filter_map(|&index| drafts[index].take()).collect();
        let inner = self.inner_symbols.iter_mut().chain(&mut self.own_shared_symbols);
        let inner = inner.chain(&mut self.opaque_parameter_symbols).flatten();
        let lists = self
            .kernel_symbols
            .iter_mut()
            .chain(&mut self.global_symbols)
            .chain(&mut self.constant_symbols)
            .chain(&mut self.extern_symbols)
            .chain(&mut self.size_symbols)
            .chain(&mut self.constant_size_symbol)
            .chain(&mut self.opaque_symbols)
            .chain(&mut self.shared_symbols)
            .chain(&mut self.undefined_symbols)
            .chain(&mut self.constant2_symbols)
            .chain(&mut self.debug_symbols)
            .chain([&mut self.frame_symbol, &mut self.table_symbol])
            .chain(&mut self.constant0_symbols);
        inner.chain(lists).for_each(|symbol| *symbol = number[*symbol as usize]);
    }
}

/// Symbol type of a texture, sampler or surface.
fn opaque_symbol_type(kind: OpaqueKind) -> u8 {
    match kind {
        OpaqueKind::Texture => STT_CUDA_TEXTURE,
        OpaqueKind::Sampler => STT_CUDA_SAMPLER,
        OpaqueKind::Surface => STT_CUDA_SURFACE,
    }
}
