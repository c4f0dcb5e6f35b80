//! Writing a module as a cubin. The order of sections and symbols is fixed, so that equal modules are equal
//! files, byte for byte.

mod attributes;
mod container;
mod draft;
mod error;
mod frames;
mod memory;
mod placement;
mod references;
mod relocations;
mod symbols;

use crate::elf::*;
use crate::image::*;
use crate::layout::{TEXT_ALIGNMENT, padded_words};
use crate::notes;
use crate::rules::{Abi, Rules, rules};
use draft::{Content, Key, Link, Name, SectionDraft, Strings, SymbolDraft};
pub use error::WriteError;
use oriole_chip::HEADER_SLOT_BYTES;
use oriole_chip::texture::DescriptorTable;
use placement::{Placed, place};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// Most bytes of initialized global data: they are in the file one by one, zeros included, and a file is made in
/// memory.
const MOST_INITIALIZED: u64 = 1 << 30;

/// Content of `.nv.rel.action`: the bits of the constant-bank field that one kind of relocation patches.
const RELOCATION_ACTION: [u8; 16] = [0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 0x05, 0x36];

/// Writes the module as the bytes of a cubin.
pub fn write(module: &Module) -> Result<Vec<u8>, WriteError> {
    let mut rules = rules(module.sm).ok_or(WriteError::UnsupportedChip(module.sm))?;
    if module.accelerated {
        rules.limits = rules.limits.accelerated();
    }
    Writer::new(module, rules)?.finish()
}

struct Writer<'a> {
    module: &'a Module,
    rules: Rules,
    /// Kernels in file order: the reverse of the source.
    order: Vec<usize>,
    initialized: Placed,
    zeroed: Placed,
    symbols: Vec<SymbolDraft<'a>>,
    kernel_symbols: Vec<u32>,
    inner_symbols: Vec<Vec<u32>>,
    global_symbols: Vec<u32>,
    constant_symbols: Vec<u32>,
    extern_symbols: Vec<u32>,
    /// For each descriptor table, 0 if its size is not needed.
    size_symbols: Vec<u32>,
    constant_size_symbol: Vec<u32>,
    constant0_symbols: Vec<u32>,
    opaque_symbols: Vec<u32>,
    /// For each kernel, those of [`KernelImage::opaque_parameters`].
    opaque_parameter_symbols: Vec<Vec<u32>>,
    shared_symbols: Vec<u32>,
    undefined_symbols: Vec<u32>,
    own_shared_symbols: Vec<Vec<u32>>,
    constant2_symbols: Vec<u32>,
    debug_symbols: Vec<u32>,
    /// The symbols of `.debug_frame` and of the loader's function offset.
    frame_symbol: u32,
    table_symbol: u32,
    /// Symbols that code references by name.
    symbols_by_name: FxHashMap<&'a str, u32>,
    /// Collected when they are first asked for, with all symbols drafted.
    function_symbols: OnceCell<FxHashSet<u32>>,
    sections: Vec<(Key, SectionDraft<'a>)>,
    /// File index of each section by its key; for a repeated key, of the first one.
    section_indices: Vec<u32>,
}

/// Bytes of the code of a kernel, without the padding.
fn code_size(rules: &Rules, kernel: &KernelImage) -> u64 {
    rules.words.size(kernel.code.len())
}

fn fits(what: impl Fn() -> String, size: u64, limit: u64) -> Result<(), WriteError> {
    if size <= limit { Ok(()) } else { Err(WriteError::TooLarge { what: what(), size, limit }) }
}

/// The section of shared variables that are of no kernel alone.
const COMMON_SHARED: &str = ".nv_debug.shared";

fn binding_number(binding: Binding) -> u8 {
    match binding {
        Binding::Local => STB_LOCAL,
        Binding::Global | Binding::Common => STB_GLOBAL,
        Binding::Weak => STB_WEAK,
    }
}

impl<'a> Writer<'a> {
    fn new(module: &'a Module, rules: Rules) -> Result<Writer<'a>, WriteError> {
        for kernel in &module.kernels {
            let name = &kernel.name;
            fits(
                || format!("parameter space of '{name}'"),
                u64::from(kernel.parameter_size),
                u64::from(rules.bank.parameter_limit),
            )?;
            fits(
                || format!("shared data of '{name}'"),
                u64::from(kernel.shared_size.unwrap_or(0)),
                u64::from(rules.limits.static_shared_per_block),
            )?;
            fits(
                || format!("registers of '{name}'"),
                u64::from(kernel.registers),
                u64::from(rules.registers.general.count),
            )?;
            fits(|| format!("code of '{name}'"), code_size(&rules, kernel), 1 << 30)?;
            // A bank has 64 KiB; loads past it return zeros.
            let constants = kernel.constant2.len() as u64;
            fits(|| format!("the constant bank of '{name}' with its jump tables"), constants, 0x1_0000)?;
            for function in &kernel.functions {
                fits(
                    || format!("'{}'", function.name),
                    u64::from(function.offset) + u64::from(function.size),
                    code_size(&rules, kernel),
                )?;
            }
            let in_memory = |it: &&Parameter| !matches!(it.space, ParameterSpace::Opaque(_));
            for parameter in kernel.parameters.iter().filter(in_memory) {
                let end = u64::from(parameter.offset) + u64::from(parameter.size);
                fits(|| format!("a parameter of '{name}'"), end, u64::from(kernel.parameter_size))?;
            }
            if kernel.externs.iter().any(|&index| index >= module.externs.len()) {
                return Err(WriteError::BadReference { place: format!("kernel '{name}'") });
            }
        }
        let own_shared = module.kernels.iter().flat_map(|code| &code.own_shared);
        let variables = module.globals.iter().chain(&module.constants).chain(&module.shared);
        for variable in variables.chain(own_shared) {
            if variable.bytes.as_ref().is_some_and(|bytes| bytes.len() as u64 > variable.size)
                || variable.pointers.iter().any(|pointer| pointer.end() > variable.size)
            {
                return Err(WriteError::BadInitializer { variable: variable.name.clone() });
            }
            fits(|| format!("'{}'", variable.name), variable.size, 1 << 40)?;
            fits(|| format!("alignment of '{}'", variable.name), variable.alignment, 1 << 20)?;
        }
        Ok(Writer {
            module,
            rules,
            order: (0..module.kernels.len()).rev().collect(),
            initialized: place(&module.globals, true),
            zeroed: place(&module.globals, false),
            symbols: Vec::new(),
            kernel_symbols: vec![0; module.kernels.len()],
            inner_symbols: module.kernels.iter().map(|kernel| vec![0; kernel.functions.len()]).collect(),
            global_symbols: vec![0; module.globals.len()],
            constant_symbols: vec![0; module.constants.len()],
            extern_symbols: vec![0; module.externs.len()],
            size_symbols: vec![0; DescriptorTable::ALL.len()],
            constant_size_symbol: Vec::new(),
            constant0_symbols: vec![0; module.kernels.len()],
            opaque_symbols: vec![0; module.opaque.len()],
            opaque_parameter_symbols: vec![Vec::new(); module.kernels.len()],
            shared_symbols: vec![0; module.shared.len()],
            undefined_symbols: vec![0; module.undefined.len()],
            own_shared_symbols: module.kernels.iter().map(|code| vec![0; code.own_shared.len()]).collect(),
            constant2_symbols: vec![0; module.kernels.len()],
            debug_symbols: Vec::new(),
            frame_symbol: 0,
            table_symbol: 0,
            symbols_by_name: FxHashMap::default(),
            function_symbols: OnceCell::new(),
            sections: Vec::new(),
            section_indices: Vec::new(),
        })
    }

    fn text_size(&self, kernel: usize) -> u64 {
        let shape = self.rules.words;
        shape.size(padded_words(shape, self.module.kernels[kernel].code.len()))
    }

    fn inner_size(&self, kernel: usize, function: usize) -> u64 {
        let functions = &self.module.kernels[kernel].functions;
        // The last function extends over self branch and padding, as every byte of the text belongs to a function.
        if function + 1 == functions.len() {
            self.text_size(kernel).saturating_sub(u64::from(functions[function].offset))
        } else {
            u64::from(functions[function].size)
        }
    }

    fn constants_size(&self) -> u64 {
        self.module
            .constants
            .iter()
            .map(|variable| variable.offset.saturating_add(variable.size))
            .max()
            .unwrap_or(0)
    }

    fn symbol(&mut self, draft: SymbolDraft<'a>) -> u32 {
        self.symbols.push(draft);
        (self.symbols.len() - 1) as u32
    }

    fn section_symbol(&mut self, name: impl Into<Name<'a>>, key: Key) -> u32 {
        self.symbol(SymbolDraft {
            name: name.into(),
            kind: STT_SECTION,
            binding: STB_LOCAL,
            other: 0,
            section: Some(key),
            value: 0,
            size: 0,
        })
    }

    fn variable_symbol(&mut self, variable: &'a Variable, key: Key, value: u64) -> u32 {
        let managed = if variable.managed { STO_MANAGED } else { 0 };
        let (kind, space) = match key {
            _ if !self.leaves_open() => (STT_OBJECT, 0),
            Key::Constant3 => (STT_CUDA_OBJECT, STO_CONSTANT),
            Key::LinkedShared | Key::Shared(_) => (STT_CUDA_OBJECT, STO_SHARED),
            _ => (STT_CUDA_OBJECT, STO_GLOBAL),
        };
        self.symbol(SymbolDraft {
            name: variable.name.as_str().into(),
            kind,
            binding: binding_number(variable.binding),
            other: managed | space,
            section: Some(key),
            value,
            size: variable.size,
        })
    }

    /// True if the file has all debug info.
    fn is_for_debuggers(&self) -> bool {
        self.module.callee_saved.is_some()
    }

    /// True if a linker combines the code.
    fn is_relocatable(&self) -> bool {
        self.module.form == Form::Relocatable
    }

    /// True if a linker completes the file, so that no loader takes it as it is.
    fn leaves_open(&self) -> bool {
        self.module.form != Form::Whole
    }

    /// True if functions inside a section of code get symbols. A linker treats them as unreferenced functions, and
    /// may drop their section.
    fn tells_inner(&self, code: usize) -> bool {
        match self.module.form {
            Form::Whole => true,
            Form::Extensible => self.module.kernels[code].is_kernel(),
            Form::Relocatable => false,
        }
    }

    /// Shared memory reserved for the system before the variables: linkers add it.
    fn shared_start(&self) -> u64 {
        if self.leaves_open() { 0 } else { self.rules.limits.static_shared_start.into() }
    }

    /// The kernels among the code, in file order.
    fn kernels(&self) -> Vec<usize> {
        self.order.iter().copied().filter(|&index| self.module.kernels[index].is_kernel()).collect()
    }

    /// The section type: that for a linker to lay out, or that for the loader.
    fn kind_of(&self, linked: u32, loaded: u32) -> u32 {
        if self.leaves_open() { linked } else { loaded }
    }

    fn add(
        &mut self,
        key: Key,
        name: impl Into<Name<'a>>,
        kind: u32,
        flags: u64,
        alignment: u64,
        data: impl Into<Content<'a>>,
    ) -> &mut SectionDraft<'a> {
        let data = data.into();
        self.sections.push((
            key,
            SectionDraft {
                name: name.into(),
                kind,
                flags,
                link: Link::Number(0),
                info: Link::Number(0),
                alignment,
                entry_size: 0,
                memory_size: data.len() as u64,
                data,
            },
        ));
        let last = self.sections.len() - 1;
        &mut self.sections[last].1
    }

    fn finish(mut self) -> Result<Vec<u8>, WriteError> {
        let module = self.module;
        let family = self.rules.family;
        let constants_size = self.constants_size();
        fits(|| "global constant data".into(), constants_size, u64::from(self.rules.limits.constant_bank))?;
        fits(|| "initialized global data".into(), self.initialized.size, MOST_INITIALIZED)?;
        self.draft_symbols();

        self.add(Key::Names, ".shstrtab", SHT_STRTAB, 0, 1, Vec::new());
        self.add(Key::Strings, ".strtab", SHT_STRTAB, 0, 1, Vec::new());
        self.add(Key::Symbols, ".symtab", SHT_SYMTAB, 0, 8, Vec::new());
        let (frames, frame_relocations) = self.frames();
        self.add(Key::DebugFrame, ".debug_frame", SHT_PROGBITS, 0, 1, frames);
        for (index, section) in module.debug.iter().enumerate() {
            let bytes = Content::Borrowed(&section.bytes);
            self.add(Key::Debug(index), section.name.as_str(), SHT_PROGBITS, 0, 1, bytes);
        }
        if family.abi == Abi::V8 {
            self.add_notes();
        }
        let info = self.info_bytes(self.module_info(), "the module")?;
        self.add(Key::Info, ".nv.info", SHT_CUDA_INFO, 0, 4, info).link = Link::Section(Key::Symbols);
        if family.compat {
            self.add(
                Key::Compat,
                ".nv.compat",
                SHT_CUDA_COMPAT,
                0,
                4,
                notes::compat(module.accelerated, self.rules.compat_mask),
            );
        }
        for kernel in self.order.clone() {
            let name = &module.kernels[kernel].name;
            let data = self.info_bytes(self.kernel_info(kernel), name)?;
            let name = Name::of(".nv.info.", name);
            let draft = self.add(Key::KernelInfo, name, SHT_CUDA_INFO, SHF_INFO_LINK, 4, data);
            draft.link = Link::Section(Key::Symbols);
            draft.info = Link::Section(Key::Text(kernel));
        }
        // String offsets are known at the end.
        let graph = self.callgraph(&mut |_| 0);
        let draft = self.add(Key::Callgraph, ".nv.callgraph", SHT_CUDA_CALLGRAPH, 0, 4, graph);
        draft.link = Link::Section(Key::Symbols);
        draft.entry_size = 8;
        self.reserve_prototypes();
        if family.plain_relocations && !self.leaves_open() {
            let draft = self.add(
                Key::RelocationAction,
                ".nv.rel.action",
                SHT_CUDA_RELOCATION_ACTION,
                0,
                8,
                RELOCATION_ACTION.to_vec(),
            );
            draft.entry_size = 8;
        }
        self.add_relocations(frame_relocations)?;
        self.add_constants(constants_size);
        if family.constants_before_code {
            self.add_parameter_banks();
        }
        self.add_text();
        self.add_memory();
        if !family.constants_before_code {
            self.add_parameter_banks();
        }
        self.assemble()
    }

    /// Constant bank 0 of each kernel: the driver fills it.
    fn add_parameter_banks(&mut self) {
        let module = self.module;
        let kind = self.kind_of(SHT_CUDA_CONSTANT_0, SHT_PROGBITS);
        for kernel in self.kernels() {
            let image = &module.kernels[kernel];
            let parameters = self.rules.bank.parameters_start(image.parameter_size) + image.parameter_size;
            let slots = image.headers.iter().map(|slot| slot.offset + HEADER_SLOT_BYTES);
            let size = slots.fold(parameters, u32::max);
            let draft = self.add(
                Key::Constant0(kernel),
                Name::of(".nv.constant0.", &image.name),
                kind,
                SHF_ALLOC | SHF_INFO_LINK,
                4,
                Content::Zeros(size as usize),
            );
            draft.info = Link::Section(Key::Text(kernel));
        }
    }

    fn add_notes(&mut self) {
        let (module, family) = (self.module, self.rules.family);
        self.add(
            Key::ToolkitNote,
            ".note.nv.tkinfo",
            SHT_NOTE,
            SHF_NOTE_TOOLKIT,
            4,
            notes::toolkit_note(&module.tool),
        );
        let note = self.add(
            Key::CudaNote,
            ".note.nv.cuinfo",
            SHT_NOTE,
            SHF_NOTE_CUDA | if family.compat { SHF_INFO_LINK } else { 0 },
            4,
            notes::cuda_note(module.virtual_sm),
        );
        note.link = Link::Section(Key::ToolkitNote);
        if family.compat {
            note.info = Link::Section(Key::Compat);
        }
    }

    fn add_text(&mut self) {
        let module = self.module;
        for kernel in self.order.clone() {
            let image = &module.kernels[kernel];
            let count = padded_words(self.rules.words, image.code.len()) - image.code.len() - 1;
            let data = Content::Code {
                shape: self.rules.words,
                words: &image.code,
                self_branch: self.rules.self_branch,
                padding: (self.rules.padding, count),
            };
            let mut info = self.kernel_symbols[kernel];
            if self.rules.family.registers_in_section {
                info |= image.registers << 24;
            }
            let mut flags = SHF_ALLOC | SHF_EXECINSTR;
            if matches!(self.rules.family.abi, Abi::V7 { .. }) {
                flags |= u64::from(image.barriers) << SHF_CUDA_V7_BARRIERS_SHIFT;
            }
            let draft = self.add(
                Key::Text(kernel),
                Name::of(".text.", &image.name),
                SHT_PROGBITS,
                flags,
                TEXT_ALIGNMENT,
                data,
            );
            draft.link = Link::Section(Key::Symbols);
            draft.info = Link::Number(info);
        }
    }

    /// Drafts the section of prototypes, which is filled when the strings have their places.
    fn reserve_prototypes(&mut self) {
        let count = self.prototypes().count();
        if count > 0 {
            let kind = SHT_CUDA_PROTOTYPE;
            let draft = self.add(Key::Prototype, ".nv.prototype", kind, 0, 4, Content::Zeros(8 * count));
            draft.link = Link::Section(Key::Symbols);
            draft.entry_size = 8;
        }
    }

    /// Functions whose prototypes a linker needs, by their symbols.
    fn prototypes(&self) -> impl Iterator<Item = (u32, &'a str)> + use<'a, '_> {
        // The call graph has those of functions whose addresses are taken; local ones are not needed elsewhere.
        let taken = if self.is_relocatable() { self.address_taken() } else { BTreeSet::new() };
        self.function_prototypes().filter(|_| self.is_relocatable()).filter(move |(symbol, prototype)| {
            let is_local = self.symbols[*symbol as usize].binding == STB_LOCAL;
            !prototype.is_empty() && !is_local && !taken.contains(symbol)
        })
    }

    fn index_of(&self, key: Key) -> u32 {
        self.section_indices.get(key.number()).copied().unwrap_or(0)
    }

    /// Assigns indices to the sections, all of which are drafted.
    fn number_sections(&mut self) {
        for (position, (key, _)) in self.sections.iter().enumerate() {
            let number = key.number();
            if self.section_indices.len() <= number {
                self.section_indices.resize(number + 1, 0);
            }
            let index = &mut self.section_indices[number];
            if *index == 0 {
                *index = position as u32 + 1;
            }
        }
    }
}
