//! The attributes of the module and of each kernel, and the call graph section.

use super::{WriteError, Writer};
use crate::attribute::{Attributes, code};
use crate::elf::Bytes;
use crate::image::{Bound, IndirectBranch, KernelImage, ParameterSpace};
use crate::notes;
use crate::relocation::RelocationKind;
use crate::rules::Abi;
use crate::{SymbolRef, UndefinedKind};
use oriole_chip::SMALL_PARAMETER_BYTES;
use oriole_chip::texture::OpaqueKind;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Initial share of the pool for a kernel with tensor memory.
const TENSOR_POOL: u8 = 0x80;

impl<'a> Writer<'a> {
    pub(super) fn module_info(&self) -> Attributes {
        let mut rows = Attributes::default();
        for (index, kernel) in self.module.kernels.iter().enumerate() {
            rows.words(code::REGCOUNT, [self.kernel_symbols[index], kernel.registers]);
            let inner = kernel.functions.iter().zip(&self.inner_symbols[index]);
            for (function, symbol) in inner.filter(|_| self.tells_inner(index)) {
                rows.words(code::FRAME_SIZE, [*symbol, function.frame_size]);
            }
            rows.words(code::FRAME_SIZE, [self.kernel_symbols[index], kernel.frame_size]);
            if self.is_for_debuggers() {
                rows.none(code::GEN_ERRBAR_AT_EXIT);
            }
        }
        for &index in &self.order {
            if self.leaves_open() {
                // The linker finds the call depth.
                let inner = self.inner_symbols[index].iter().filter(|_| self.tells_inner(index));
                for &symbol in inner.chain([&self.kernel_symbols[index]]) {
                    rows.words(code::MAX_STACK_SIZE, [symbol, 0]);
                }
            } else if let Some(size) = self.module.kernels[index].stack_size {
                rows.words(code::MIN_STACK_SIZE, [self.kernel_symbols[index], size]);
            }
        }
        rows
    }

    fn parameter_rows(&self, index: usize, rows: &mut Attributes) {
        let kernel = &self.module.kernels[index];
        let wide = kernel.parameter_size > SMALL_PARAMETER_BYTES;
        let symbols = &self.opaque_parameter_symbols[index];
        for (ordinal, parameter) in kernel.parameters.iter().enumerate().rev() {
            let symbol = kernel.opaque_parameters.iter().position(|opaque| opaque.number == ordinal);
            let symbol = symbol.map_or(0, |at| symbols[at]);
            let alignment = parameter.pointee_alignment.max(1).ilog2();
            let space = match parameter.space {
                ParameterSpace::None => 0,
                ParameterSpace::Local => 1,
                ParameterSpace::Shared => 2,
                ParameterSpace::Const | ParameterSpace::Global => 4,
                ParameterSpace::Generic => 5,
                ParameterSpace::Opaque(OpaqueKind::Texture) => 6,
                ParameterSpace::Opaque(OpaqueKind::Surface) => 7,
                ParameterSpace::Opaque(OpaqueKind::Sampler) => 8,
            };
            let (code, word) = if wide {
                (code::KPARAM_INFO_V2, parameter.size | alignment << 16 | space << 24)
            } else {
                (code::KPARAM_INFO, alignment | space << 8 | 0x1f << 12 | parameter.size << 18)
            };
            rows.words(code, [symbol, ordinal as u32 | parameter.offset << 16, word]);
        }
    }

    pub(super) fn kernel_info(&self, index: usize) -> Attributes {
        let kernel = &self.module.kernels[index];
        let mut rows = Attributes::default();
        if kernel.blocks_are_clusters {
            rows.none(code::BLOCKS_ARE_CLUSTERS);
        }
        let (toolkit, has_notes) = match self.rules.family.abi {
            Abi::V7 { toolkit } => (toolkit, false),
            Abi::V8 => (notes::TOOLKIT, true),
        };
        rows.words(code::CUDA_API_VERSION, [u32::from(toolkit)]);
        if self.rules.sw_2861232_war {
            rows.none(code::SW2861232_WAR);
        }
        let family = self.rules.family;
        if family.parameters_first {
            self.parameter_place(index, &mut rows);
            self.parameter_size(index, &mut rows);
        }
        self.parameter_rows(index, &mut rows);
        if let Some(size) = kernel.cluster_size {
            rows.words(code::CTA_PER_CLUSTER, size);
        }
        if let Some(rank) = kernel.max_cluster_rank {
            rows.words(code::MAX_CLUSTER_RANK, [rank]);
        }
        if kernel.explicit_cluster {
            rows.none(code::EXPLICIT_CLUSTER);
        }
        let tensor = kernel.tensor_memory;
        if tensor.takes_columns {
            // Entry fragments of the driver: they record that nothing is allocated, for one block or for two.
            rows.words(code::AT_ENTRY_FRAGMENTS, [if tensor.in_pairs { 7 } else { 6 }]);
        }
        if family.reserved_variable.is_some() || tensor.takes_columns {
            rows.none(code::RESERVED_SMEM_USED);
        }
        if family.sparse_mask {
            rows.half(code::SPARSE_MMA_MASK, kernel.sparse_mma_mask);
        }
        if tensor.alone {
            rows.none(code::TCGEN05_1CTA_USED);
        }
        if tensor.in_pairs {
            rows.none(code::TCGEN05_2CTA_USED);
        }
        if kernel.is_kernel() {
            rows.half(code::MAXREG_COUNT, kernel.max_registers.unwrap_or(0xff));
        }
        if kernel.barriers != 0 && has_notes {
            rows.byte(code::NUM_BARRIERS, kernel.barriers);
        }
        if !kernel.spills.is_empty() {
            rows.words(code::ANNOTATIONS, kernel.spills.iter().flat_map(|&offset| [1, offset]));
        }
        if !kernel.externs.is_empty() {
            let symbols = kernel.externs.iter().map(|&index| self.extern_symbols[index]);
            rows.words(code::EXTERNS, symbols);
        }
        let undefined = self.undefined_functions(index);
        if !undefined.is_empty() {
            rows.words(code::EXTERNS, undefined);
        }
        if has_notes {
            rows.half(code::MERCURY_ISA_VERSION, family.isa_version);
        }
        if kernel.reconfigures_registers {
            rows.none(code::REG_RECONFIG);
        }
        if family.init_count {
            rows.byte(code::VRC_CTA_INIT_COUNT, if tensor.reaches { TENSOR_POOL } else { 0 });
        }
        if !kernel.syscalls.is_empty() {
            rows.words(code::SYSCALL_OFFSETS, kernel.syscalls.iter().copied());
        }
        instruction_places(kernel, &mut rows);
        match kernel.bound {
            Bound::None => {}
            Bound::AtMost(size) => rows.words(code::MAX_THREADS, size),
            Bound::Exactly(size) => rows.words(code::REQNTID, size),
        }
        if kernel.has_call {
            rows.words(code::CRS_STACK_SIZE, [0]);
        }
        if !family.parameters_first {
            self.parameter_size(index, &mut rows);
            self.parameter_place(index, &mut rows);
        }
        if let Some(mask) = self.rules.sw_war {
            rows.words(code::SW_WAR, [mask]);
        }
        self.header_banks(index, &mut rows);
        rows
    }

    /// The size of the parameters, if there are any.
    fn parameter_size(&self, index: usize, rows: &mut Attributes) {
        let kernel = &self.module.kernels[index];
        if !kernel.parameters.is_empty() {
            rows.half(code::CBANK_PARAM_SIZE, kernel.parameter_size as u16);
        }
    }

    /// The constant bank that holds the slots of textures and surfaces.
    fn header_banks(&self, index: usize, rows: &mut Attributes) {
        let kernel = &self.module.kernels[index];
        let has = |surface| {
            let mut kinds = kernel.headers.iter().filter_map(|slot| Some(self.header(index, slot.header)?.0));
            kinds.any(|kind| (kind == OpaqueKind::Surface) == surface)
        };
        let (textures, surfaces) = (has(false), has(true));
        let both = self.rules.family.both_header_banks && (textures || surfaces);
        if textures || both {
            rows.byte(code::BINDLESS_TEXTURE_BANK, 0);
        }
        if surfaces || both {
            rows.byte(code::BINDLESS_SURFACE_BANK, 0);
        }
    }

    /// The location of the parameters, if there are any.
    fn parameter_place(&self, index: usize, rows: &mut Attributes) {
        let kernel = &self.module.kernels[index];
        if !kernel.parameters.is_empty() {
            let place = self.rules.bank.parameters_start(kernel.parameter_size) | kernel.parameter_size << 16;
            rows.words(code::PARAM_CBANK, [self.constant0_symbols[index], place]);
        }
    }

    pub(super) fn info_bytes(&self, rows: Attributes, owner: &str) -> Result<Vec<u8>, WriteError> {
        rows.finish().map_err(|code| WriteError::TooLarge {
            what: format!("attribute {code:#x} of '{owner}'"),
            size: 0x10000,
            limit: 0xffff,
        })
    }

    /// The call graph; `place` returns the string offset of a prototype.
    pub(super) fn callgraph(&self, place: &mut dyn FnMut(&'a str) -> u32) -> Vec<u8> {
        let mut out = Bytes::default();
        for group in 1..=4u32 {
            out.u32(0).u32(group.wrapping_neg());
            if group == 1 {
                for &index in &self.order {
                    for &callee in &self.module.kernels[index].externs {
                        out.u32(self.kernel_symbols[index]).u32(self.extern_symbols[callee]);
                    }
                }
            }
            for (from, to) in self.linked_group(group, place) {
                out.u32(from).u32(to);
            }
        }
        out.0
    }

    /// The symbols of the functions that relocations of this kind in a section of code name, each once.
    fn named(&self, code: usize, wanted: impl Fn(RelocationKind) -> bool) -> Vec<u32> {
        let mut found = Vec::new();
        for relocation in &self.module.kernels[code].relocations {
            // The code's own address is the return address of a callee.
            let named = matches!(relocation.target, SymbolRef::Named(_));
            let symbol = self.resolve_in(code, relocation.target, "").ok();
            let symbol = symbol.filter(|symbol| named && wanted(relocation.kind) && !found.contains(symbol));
            found.extend(symbol);
        }
        found
    }

    /// The kernels that a section of code may launch.
    fn launched(&self, code: usize) -> Vec<u32> {
        let by_slot = self.module.kernels[code].launched.iter();
        let by_slot = by_slot.filter_map(|&kernel| self.resolve_in(code, kernel, "").ok());
        each_once(self.named(code, RelocationKind::is_descriptor).into_iter().chain(by_slot))
    }

    /// Functions of other files that a section of code may call, directly or through pointers in the variables that
    /// it references; and the kernels that it may launch.
    fn undefined_functions(&self, code: usize) -> Vec<u32> {
        let found = self.named(code, is_call).into_iter().chain(self.reachable_by_address(code));
        let launched = self.launched(code);
        let is_outside = |symbol: &u32| self.undefined_symbols.contains(symbol) || launched.contains(symbol);
        each_once(found.filter(is_outside))
    }

    /// Functions and kernels whose addresses a section of code takes, and those in the variables that it references.
    fn reachable_by_address(&self, code: usize) -> Vec<u32> {
        each_once(self.addressed(code).into_iter().chain(self.named_by_variables(code)))
    }

    /// Functions in the variables that a section of code references.
    fn named_by_variables(&self, code: usize) -> Vec<u32> {
        let mut found = Vec::new();
        let variables = self.module.globals.iter().zip(&self.global_symbols);
        let variables = variables.chain(self.module.constants.iter().zip(&self.constant_symbols));
        let named = self.named(code, |_| true);
        for (variable, _) in variables.filter(|(_, symbol)| named.contains(symbol)) {
            let functions = variable.pointers.iter().filter(|pointer| self.names_function(pointer.target));
            found.extend(functions.filter_map(|pointer| self.resolve(pointer.target, "").ok()));
        }
        found
    }

    /// True for a kernel that an initial value references.
    pub(super) fn names_kernel(&self, target: SymbolRef) -> bool {
        let SymbolRef::Kernel(index) = target else { return false };
        self.module.kernels.get(index).is_some_and(|code| code.is_kernel())
    }

    /// True for a function that an initial value references.
    pub(super) fn names_function(&self, target: SymbolRef) -> bool {
        match target {
            SymbolRef::Kernel(index) => self.module.kernels.get(index).is_some_and(|code| !code.is_kernel()),
            SymbolRef::Undefined(index) => {
                let undefined = self.module.undefined.get(index);
                undefined.is_some_and(|undefined| undefined.kind == UndefinedKind::Function)
            }
            _ => false,
        }
    }

    /// Functions and kernels whose addresses a section of code takes.
    fn addressed(&self, code: usize) -> Vec<u32> {
        let mut found = self.named(code, RelocationKind::is_low_half);
        found.extend(self.launched(code));
        found.retain(|symbol| self.function_symbols().contains(symbol));
        each_once(found.into_iter())
    }

    /// The symbols of all code and of functions of other files. They are collected once: each section of code asks several times.
    fn function_symbols(&self) -> &FxHashSet<u32> {
        self.function_symbols.get_or_init(|| {
            let undefined = self.module.undefined.iter().zip(&self.undefined_symbols);
            let functions = undefined.filter(|(other, _)| other.kind == UndefinedKind::Function);
            self.kernel_symbols.iter().copied().chain(functions.map(|(_, &symbol)| symbol)).collect()
        })
    }

    /// Functions and kernels whose addresses code or initial values take.
    pub(super) fn address_taken(&self) -> BTreeSet<u32> {
        let by_code = self.order.iter().flat_map(|&code| self.addressed(code));
        let variables = self.module.globals.iter().chain(&self.module.constants);
        let targets = variables.flat_map(|variable| &variable.pointers).map(|pointer| pointer.target);
        let targets = targets.filter(|&target| self.names_function(target) || self.names_kernel(target));
        by_code.chain(targets.filter_map(|target| self.resolve(target, "").ok())).collect()
    }

    /// The prototypes of functions by their symbols.
    pub(super) fn function_prototypes(&self) -> impl Iterator<Item = (u32, &'a str)> + use<'a, '_> {
        let module = self.module;
        let own = module.kernels.iter().zip(&self.kernel_symbols);
        let own = own.map(|(code, &symbol)| (symbol, code.prototype.as_str()));
        let others = module.undefined.iter().zip(&self.undefined_symbols);
        own.chain(others.map(|(other, &symbol)| (symbol, other.prototype.as_str())))
    }

    /// Call graph for a linker: calls, functions whose address is taken with their prototypes, indirect calls with
    /// theirs, and address-taking pairs.
    fn linked_group(&self, group: u32, place: &mut dyn FnMut(&'a str) -> u32) -> Vec<(u32, u32)> {
        let pairs = |of: &dyn Fn(usize) -> Vec<u32>| -> Vec<(u32, u32)> {
            let all = self.order.iter().map(|&code| (self.kernel_symbols[code], of(code)));
            all.flat_map(|(own, others)| others.into_iter().map(move |other| (own, other))).collect()
        };
        match group {
            1 => pairs(&|code| self.named(code, is_call)),
            2 => {
                let taken = self.address_taken();
                let functions = self.function_prototypes().filter(|(symbol, _)| taken.contains(symbol));
                functions.map(|(symbol, prototype)| (symbol, place(prototype))).collect()
            }
            3 => {
                let module = self.module;
                let calls = self.order.iter().flat_map(|&code| {
                    let own = self.kernel_symbols[code];
                    module.kernels[code].pointed_prototypes.iter().map(move |prototype| (own, prototype))
                });
                calls.map(|(own, prototype)| (own, place(prototype))).collect()
            }
            _ if self.is_relocatable() => pairs(&|code| self.addressed(code)),
            _ => pairs(&|code| self.reachable_by_address(code)),
        }
    }
}

/// Removes duplicates; the first occurrence stays.
fn each_once(symbols: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    symbols.filter(|&symbol| seen.insert(symbol)).collect()
}

/// True if the relocation completes a direct call.
fn is_call(kind: RelocationKind) -> bool {
    matches!(kind, RelocationKind::Branch | RelocationKind::BranchAbs)
}

/// The attribute encoding of an indirect branch.
fn branch_words(branch: &IndirectBranch) -> impl Iterator<Item = u32> {
    [branch.offset, 0, branch.targets.len() as u32].into_iter().chain(branch.targets.iter().copied())
}

/// The instructions that the driver must know of.
fn instruction_places(kernel: &KernelImage, rows: &mut Attributes) {
    if !kernel.warp_wide.is_empty() {
        rows.words(code::INT_WARP_WIDE_INSTR_OFFSETS, kernel.warp_wide.iter().copied());
    }
    if !kernel.coop_groups.is_empty() {
        rows.words(code::COOP_GROUP_MASK_REGIDS, kernel.coop_groups.iter().map(|group| group.1));
        rows.words(code::COOP_GROUP_INSTR_OFFSETS, kernel.coop_groups.iter().map(|group| group.0));
    }
    if !kernel.mbarriers.is_empty() {
        let words = kernel.mbarriers.iter().flat_map(|entry| {
            let tail = u32::from(entry.kind) | 1 << 8 | u32::from(entry.uniform) << 16;
            [entry.offset, entry.register, entry.displacement, tail]
        });
        rows.words(code::MBARRIER_INSTR_OFFSETS, words);
        rows.half(code::NUM_MBARRIERS, kernel.mbarrier_count);
    }
    if !kernel.exits.is_empty() {
        rows.words(code::EXIT_INSTR_OFFSETS, kernel.exits.iter().copied());
    }
    let mut left = &kernel.indirect_branches[..];
    while !left.is_empty() {
        // As many branches as fit an attribute, and at least one: a single one that is too long is reported.
        let mut words = 0;
        let fits = left.iter().take_while(|branch| {
            words += branch_words(branch).count();
            words <= Attributes::MOST_WORDS
        });
        let (branches, rest) = left.split_at(fits.count().max(1));
        rows.words(code::INDIRECT_BRANCH_TARGETS, branches.iter().flat_map(branch_words));
        left = rest;
    }
}
