//! Memory of the module: the sections of variables with their bytes or sizes.

use super::placement::extent;
use super::{COMMON_SHARED, Content, Key, Link, Name, Writer};
use crate::elf::*;
use crate::image::Variable;

impl<'a> Writer<'a> {
    pub(super) fn image_of(size: u64, variables: &[(&Variable, u64)]) -> Vec<u8> {
        let mut data = vec![0; size as usize];
        for (variable, offset) in variables {
            if let Some(bytes) = &variable.bytes {
                data[*offset as usize..*offset as usize + bytes.len()].copy_from_slice(bytes);
            }
        }
        data
    }

    pub(super) fn initialized_variables(&self) -> Vec<(&'a Variable, u64)> {
        let module = self.module;
        self.initialized
            .members
            .iter()
            .zip(&self.initialized.offsets)
            .map(|(&index, &offset)| (&module.globals[index], offset))
            .collect()
    }

    pub(super) fn add_constants(&mut self, constants_size: u64) {
        let module = self.module;
        if !module.slots.is_empty() {
            self.add(
                Key::Constant4,
                ".nv.constant4",
                SHT_PROGBITS,
                SHF_ALLOC,
                8,
                Content::Zeros(module.slots.len() * 8),
            );
        }
        if !module.constants.is_empty() {
            let variables: Vec<(&Variable, u64)> =
                module.constants.iter().map(|variable| (variable, variable.offset)).collect();
            let alignment =
                module.constants.iter().map(|variable| variable.alignment).max().unwrap_or(1).max(4);
            self.add(
                Key::Constant3,
                ".nv.constant3",
                self.kind_of(SHT_CUDA_CONSTANT_3, SHT_PROGBITS),
                SHF_ALLOC,
                alignment,
                Self::image_of(constants_size, &variables),
            );
        }
        for kernel in self.order.clone() {
            let image = &module.kernels[kernel];
            if !image.constant2.is_empty() {
                let draft = self.add(
                    Key::Constant2(kernel),
                    Name::of(".nv.constant2.", &image.name),
                    self.kind_of(SHT_CUDA_CONSTANT_2, SHT_PROGBITS),
                    SHF_ALLOC | SHF_INFO_LINK,
                    4,
                    Content::Borrowed(&image.constant2),
                );
                draft.info = Link::Section(Key::Text(kernel));
            }
        }
    }

    pub(super) fn add_memory(&mut self) {
        let module = self.module;
        if !self.initialized.members.is_empty() {
            let data = Self::image_of(self.initialized.size, &self.initialized_variables());
            let alignment = self.initialized.alignment;
            self.add(
                Key::GlobalInit,
                ".nv.global.init",
                self.kind_of(SHT_CUDA_GLOBAL_INIT, SHT_PROGBITS),
                SHF_WRITE | SHF_ALLOC,
                alignment,
                data,
            );
        }
        if self.is_relocatable() {
            self.add_linked_memory();
            return;
        }
        let shared: Vec<usize> = self
            .order
            .iter()
            .copied()
            .filter(|&kernel| module.kernels[kernel].shared_size.is_some())
            .collect();
        let add_shared = |writer: &mut Self, kernel: usize| {
            let image = &module.kernels[kernel];
            let size = writer.shared_start() + u64::from(image.shared_size.unwrap_or(0));
            let draft = writer.add(
                Key::Shared(kernel),
                Name::of(".nv.shared.", &image.name),
                writer.kind_of(SHT_CUDA_SHARED, SHT_NOBITS),
                SHF_WRITE | SHF_ALLOC | SHF_INFO_LINK,
                u64::from(image.shared_alignment.max(1)),
                Vec::new(),
            );
            draft.memory_size = size;
            draft.info = Link::Section(Key::Text(kernel));
        };
        // The shared memory of the first kernel precedes the reserved part, that of the others follows the globals.
        let (first, rest): (Vec<usize>, Vec<usize>) =
            shared.into_iter().partition(|kernel| Some(kernel) == self.order.first());
        for kernel in first {
            add_shared(self, kernel);
        }
        let family = self.rules.family;
        let variables: u32 = self.reserved_variables().map(|(_, bytes)| bytes).sum();
        let before = if self.leaves_open() { 0 } else { family.reserved_bytes };
        let flags = SHF_WRITE | SHF_ALLOC;
        if self.has_reserved_shared() {
            let kind = self.kind_of(SHT_CUDA_RESERVED_SHARED, SHT_NOBITS);
            let alignment = self.reserved_alignment();
            self.add(Key::ReservedShared, ".nv.shared.reserved.0", kind, flags, alignment, Vec::new())
                .memory_size = u64::from(before + variables);
        }
        if !self.zeroed.members.is_empty() {
            let (size, alignment) = (self.zeroed.size, self.zeroed.alignment);
            let kind = self.kind_of(SHT_CUDA_GLOBAL, SHT_NOBITS);
            self.add(Key::Global, ".nv.global", kind, flags, alignment, Vec::new()).memory_size = size;
        }
        for kernel in rest {
            add_shared(self, kernel);
        }
        self.add_common_shared();
    }

    /// True if there is a section for the system's part of shared memory: a debug build has it only for variables.
    pub(super) fn has_reserved_shared(&self) -> bool {
        let has_variables = || self.reserved_variables().next().is_some();
        self.rules.family.reserves_shared && (!self.is_for_debuggers() || has_variables())
    }

    /// Shared variables that have places and are of no kernel alone.
    fn add_common_shared(&mut self) {
        let module = self.module;
        let common = module.placed_shared.iter().filter(|place| place.kernel.is_none());
        let common: Vec<&Variable> = common.map(|place| &place.variable).collect();
        if common.is_empty() {
            return;
        }
        let sized = common.iter().filter(|variable| variable.size > 0);
        let end = sized.map(|variable| variable.offset + variable.size).max().unwrap_or(0);
        let alignment = module.common_shared_alignment.max(1);
        let flags = SHF_WRITE | SHF_ALLOC;
        let kind = self.kind_of(SHT_CUDA_SHARED, SHT_NOBITS);
        self.add(Key::LinkedShared, COMMON_SHARED, kind, flags, alignment, Vec::new()).memory_size =
            self.shared_start() + end;
    }

    /// Global and shared memory that a linker lays out: for shared variables only sizes are recorded.
    pub(super) fn add_linked_memory(&mut self) {
        let module = self.module;
        let flags = SHF_WRITE | SHF_ALLOC;
        if !self.zeroed.members.is_empty() {
            let (size, alignment) = (self.zeroed.size, self.zeroed.alignment);
            self.add(Key::Global, ".nv.global", SHT_CUDA_GLOBAL, flags, alignment, Vec::new()).memory_size =
                size;
        }
        let reserved: u32 = self.reserved_variables().map(|(_, bytes)| bytes).sum();
        if reserved > 0 {
            let (key, kind) = (Key::ReservedShared, SHT_CUDA_RESERVED_SHARED);
            let alignment = self.reserved_alignment();
            self.add(key, ".nv.shared.reserved.0", kind, flags, alignment, Vec::new()).memory_size =
                u64::from(reserved);
        }
        let mut of_module: Vec<&Variable> = module.shared.iter().collect();
        for index in self.order.clone() {
            let code = &module.kernels[index];
            if !code.is_kernel() {
                of_module.extend(&code.own_shared);
            } else if !code.own_shared.is_empty() {
                let (size, alignment) = extent(&code.own_shared.iter().collect::<Vec<_>>());
                let name = Name::of(".nv.shared.", &code.name);
                let key = Key::Shared(index);
                let draft =
                    self.add(key, name, SHT_CUDA_SHARED, flags | SHF_INFO_LINK, alignment, Vec::new());
                draft.memory_size = size;
                draft.info = Link::Section(Key::Text(index));
            }
        }
        if !of_module.is_empty() {
            let (size, alignment) = extent(&of_module);
            self.add(Key::LinkedShared, COMMON_SHARED, SHT_CUDA_SHARED, flags, alignment, Vec::new())
                .memory_size = size;
        }
    }

    /// Alignment of the system's part of shared memory.
    pub(super) fn reserved_alignment(&self) -> u64 {
        self.rules.family.reserved_variable.map_or(1, |_| 16)
    }

    /// The system's variables in shared memory: that of the family, and the record of tensor memory.
    pub(super) fn reserved_variables(&self) -> impl Iterator<Item = (&'static str, u32)> + use<> {
        let takes = self.module.kernels.iter().any(|kernel| kernel.tensor_memory.takes_columns);
        let partition = takes.then_some(("__nv_reservedSMEM_tcgen05_partition", 0x20));
        self.rules.family.reserved_variable.into_iter().chain(partition)
    }
}
