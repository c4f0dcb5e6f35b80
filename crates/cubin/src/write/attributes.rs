//! The attributes of the module and of each kernel, and the call graph section.

use super::{WriteError, Writer};
use crate::attribute::{Attributes, code};
use crate::elf::Bytes;
use crate::image::{Bound, KernelImage, OpaqueKind, ParameterSpace};
use crate::notes;
use crate::rules::Abi;
use oriole_chip::SMALL_PARAMETER_BYTES;

/// What a kernel with tensor memory has of the pool at first.
const TENSOR_POOL: u8 = 0x80;

impl Writer<'_> {
    pub(super) fn module_info(&self) -> Attributes {
        let mut rows = Attributes::default();
        for (index, kernel) in self.module.kernels.iter().enumerate() {
            rows.words(code::REGCOUNT, [self.kernel_symbols[index], kernel.registers]);
            for (function, symbol) in kernel.functions.iter().zip(&self.inner_symbols[index]) {
                rows.words(code::FRAME_SIZE, [*symbol, function.frame_size]);
            }
            rows.words(code::FRAME_SIZE, [self.kernel_symbols[index], kernel.frame_size]);
        }
        for &index in &self.order {
            if let Some(size) = self.module.kernels[index].stack_size {
                rows.words(code::MIN_STACK_SIZE, [self.kernel_symbols[index], size]);
            }
        }
        rows
    }

    fn parameter_rows(&self, kernel: &KernelImage, rows: &mut Attributes) {
        let wide = kernel.parameter_size > SMALL_PARAMETER_BYTES;
        for (ordinal, parameter) in kernel.parameters.iter().enumerate().rev() {
            let alignment = parameter.pointee_alignment.max(1).ilog2();
            let space = match parameter.space {
                ParameterSpace::None => 0,
                ParameterSpace::Local => 1,
                ParameterSpace::Shared => 2,
                ParameterSpace::Const | ParameterSpace::Global => 4,
                ParameterSpace::Generic => 5,
            };
            let (code, word) = if wide {
                (code::KPARAM_INFO_V2, parameter.size | alignment << 16 | space << 24)
            } else {
                (code::KPARAM_INFO, alignment | space << 8 | 0x1f << 12 | parameter.size << 18)
            };
            rows.words(code, [0, ordinal as u32 | parameter.offset << 16, word]);
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
        self.parameter_rows(kernel, &mut rows);
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
            // What the driver runs first: it writes down that nothing is taken, for one block or for two.
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
        rows.half(code::MAXREG_COUNT, kernel.max_registers.unwrap_or(0xff));
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
        self.header_banks(kernel, &mut rows);
        rows
    }

    /// How many bytes the parameters take, if there are any.
    fn parameter_size(&self, index: usize, rows: &mut Attributes) {
        let kernel = &self.module.kernels[index];
        if !kernel.parameters.is_empty() {
            rows.half(code::CBANK_PARAM_SIZE, kernel.parameter_size as u16);
        }
    }

    /// The constant bank that holds the slots of textures and surfaces.
    fn header_banks(&self, kernel: &KernelImage, rows: &mut Attributes) {
        let has = |surface| {
            let mut kinds = kernel.headers.iter().map(|&opaque| self.module.opaque[opaque].kind);
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

    /// Where the parameters are, if there are any.
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

    pub(super) fn callgraph(&self) -> Vec<u8> {
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
        }
        out.0
    }
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
    if !kernel.indirect_branches.is_empty() {
        let words = kernel.indirect_branches.iter().flat_map(|branch| {
            [branch.offset, 0, branch.targets.len() as u32].into_iter().chain(branch.targets.iter().copied())
        });
        rows.words(code::INDIRECT_BRANCH_TARGETS, words);
    }
}
