//! The layout of constant bank 0, which the driver fills before a kernel starts. Offsets are bytes.

use crate::texture::DescriptorTable;

/// Bytes of one slot of the address pool in bank 4.
pub const SLOT_BYTES: u32 = 8;

/// Bytes of parameters up to which a kernel has them at the usual place and described in the usual format.
pub const SMALL_PARAMETER_BYTES: u32 = 4352;

/// Bytes of a slot with the header index of a texture, sampler or surface.
pub const HEADER_SLOT_BYTES: u32 = 4;

/// Source of the generic addresses of the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ParameterWindow {
    /// The address of the first parameter (pair) at this offset, followed by the end address of the last (pair).
    Bounds(u32),
    /// The bank has addresses as a whole.
    Bank {
        /// Generic address of the start of the bank (pair).
        start: u32,
        /// Offset of the end of the parameters in the bank.
        end: u32,
    },
}

/// Offsets in bank 0. 64-bit values are marked "pair"; the others have 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConstantBank {
    /// First kernel parameter; also the size of the bank of a kernel without parameters.
    pub parameters: u32,
    /// First kernel parameter of a kernel that has more than [`SMALL_PARAMETER_BYTES`] of them.
    pub large_parameters: u32,
    /// Bytes of parameters at most.
    pub parameter_limit: u32,
    /// Threads of a block: x, followed by y and z.
    pub block_threads: u32,
    /// Blocks of the grid: x, followed by y and z.
    pub grid_blocks: u32,
    /// Base of the shared window of the generic address space (pair), if no special register has it.
    pub shared_window: Option<u32>,
    /// Base of the local window of the generic address space (pair).
    pub local_window: u32,
    /// First value of the stack pointer `R1`.
    pub stack_pointer: u32,
    /// Bytes of dynamic shared memory, where the bank has it at a fixed place.
    pub dynamic_shared_size: Option<u32>,
    /// Grid id (pair).
    pub grid_id: u32,
    /// Generic addresses of the parameters.
    pub parameter_window: ParameterWindow,
    /// Generic address of the user's constants (pair).
    pub constant_window: u32,
    /// `%envreg0`; the others of the first sixteen follow.
    pub environment: Option<u32>,
    /// `%envreg16`; the others of the last sixteen follow.
    pub late_environment: Option<u32>,
    /// Count of SMs, `%nsmid`.
    pub sm_count: u32,
    /// Added to the special register to give `%total_smem_size`.
    pub total_shared_adjust: u32,
    /// Descriptor of global memory (pair), named by `desc[UR]`, where accesses need one.
    pub global_descriptor: Option<u32>,
    /// End of the reserved shared memory, `%reserved_smem_offset_end`; the next word is the first extra one.
    pub reserved_shared_end: Option<u32>,
    /// `%current_graph_exec` (pair).
    pub graph_exec: u32,
    /// `%is_explicit_cluster`, where there are clusters.
    pub explicit_cluster: Option<u32>,
    /// Blocks of a cluster: x, followed by y and z.
    pub cluster_blocks: Option<u32>,
    /// Factors that turn a block id into a cluster id: x, followed by y and z.
    pub cluster_reciprocals: Option<u32>,
    /// Clusters of the grid: x, followed by y and z.
    pub grid_clusters: Option<u32>,
    /// The word that says whether all addresses of aliased memory are on this device, and its relevant bits.
    pub within_device: (u32, u32),
    /// Addresses of the driver's descriptor tables of textures, samplers and surfaces (pairs, in this order).
    pub descriptors: [u32; 3],
    /// `%aggr_smem_size`.
    pub aggregate_shared: Option<u32>,
    /// Blocks of a cluster, all dimensions multiplied.
    pub cluster_size: Option<u32>,
    /// Some words have several copies: a special register with the cluster size says how many times these bytes are
    /// subtracted from their offset. These are the words of a cluster, the first part of the environment, the end
    /// of the reserved shared memory, and both sizes of shared memory, dynamic and aggregate.
    pub cluster_stride: Option<u32>,
}

/// sm_70, sm_72, sm_75.
pub(crate) static TURING: ConstantBank = ConstantBank { global_descriptor: None, ..AMPERE };

/// sm_80, sm_86, sm_87, sm_88, sm_89.
pub(crate) static AMPERE: ConstantBank = ConstantBank {
    parameters: 0x160,
    large_parameters: 0x1a80,
    parameter_limit: 0x7ffc,
    block_threads: 0x0,
    grid_blocks: 0xc,
    shared_window: Some(0x18),
    local_window: 0x20,
    stack_pointer: 0x28,
    dynamic_shared_size: Some(0x2c),
    grid_id: 0x30,
    parameter_window: ParameterWindow::Bank { start: 0x40, end: 0x12c },
    constant_window: 0x50,
    environment: Some(0x88),
    late_environment: Some(0xc8),
    sm_count: 0x10c,
    total_shared_adjust: 0x114,
    global_descriptor: Some(0x118),
    reserved_shared_end: Some(0x120),
    graph_exec: 0x130,
    explicit_cluster: None,
    cluster_blocks: None,
    cluster_reciprocals: None,
    grid_clusters: None,
    within_device: (0x128, u32::MAX),
    descriptors: [0x70, 0x78, 0x80],
    aggregate_shared: None,
    cluster_size: None,
    cluster_stride: None,
};

/// sm_90.
pub(crate) static HOPPER: ConstantBank = ConstantBank {
    parameters: 0x210,
    large_parameters: 0x210,
    parameter_limit: 0x7ffc,
    block_threads: 0x0,
    grid_blocks: 0xc,
    shared_window: None,
    local_window: 0x20,
    stack_pointer: 0x28,
    dynamic_shared_size: Some(0x2c),
    grid_id: 0x30,
    parameter_window: ParameterWindow::Bounds(0x198),
    constant_window: 0xd0,
    environment: Some(0x40),
    late_environment: Some(0x80),
    sm_count: 0x10c,
    total_shared_adjust: 0x114,
    global_descriptor: Some(0x208),
    reserved_shared_end: Some(0x68),
    graph_exec: 0x190,
    explicit_cluster: Some(0x140),
    cluster_blocks: Some(0x144),
    cluster_reciprocals: Some(0x150),
    grid_clusters: Some(0x15c),
    within_device: (0x18c, 1),
    descriptors: [0xf0, 0xf8, 0x100],
    aggregate_shared: Some(0x13c),
    cluster_size: Some(0x188),
    cluster_stride: None,
};

/// sm_100 and later.
pub(crate) static BLACKWELL: ConstantBank = ConstantBank {
    parameters: 0x380,
    large_parameters: 0x380,
    parameter_limit: 0x7ffc,
    block_threads: 0x360,
    grid_blocks: 0x370,
    shared_window: None,
    local_window: 0x2f8,
    stack_pointer: 0x37c,
    dynamic_shared_size: Some(0x2ac),
    grid_id: 0x140,
    parameter_window: ParameterWindow::Bounds(0x348),
    constant_window: 0x120,
    environment: Some(0x250),
    late_environment: Some(0xd0),
    sm_count: 0x2d0,
    total_shared_adjust: 0x16c,
    global_descriptor: Some(0x358),
    reserved_shared_end: Some(0x278),
    graph_exec: 0x2e8,
    explicit_cluster: Some(0x36c),
    cluster_blocks: Some(0x2a0),
    cluster_reciprocals: Some(0x2b0),
    grid_clusters: Some(0x2c0),
    within_device: (0x2d8, 1),
    descriptors: [0x150, 0x158, 0x160],
    aggregate_shared: Some(0x2bc),
    cluster_size: Some(0x2cc),
    cluster_stride: Some(0xa0),
};

impl ConstantBank {
    /// Offset of the address of a table.
    pub const fn descriptor_table(&self, table: DescriptorTable) -> u32 {
        let [textures, samplers, surfaces] = self.descriptors;
        match table {
            DescriptorTable::Textures | DescriptorTable::TexturesAlone => textures,
            DescriptorTable::Samplers => samplers,
            DescriptorTable::Surfaces => surfaces,
        }
    }

    /// Start of the parameters of a kernel with this many bytes of them.
    pub fn parameters_start(&self, bytes: u32) -> u32 {
        if bytes > SMALL_PARAMETER_BYTES { self.large_parameters } else { self.parameters }
    }

    /// Offset of header slot `slot` of a texture, sampler or surface, after the parameters of a kernel with this many
    /// bytes of them.
    pub fn header_slot(&self, bytes: u32, slot: u32) -> u32 {
        (self.parameters_start(bytes) + bytes).next_multiple_of(HEADER_SLOT_BYTES) + HEADER_SLOT_BYTES * slot
    }
}
