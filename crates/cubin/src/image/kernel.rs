//! Kernels, and functions with sections of their own: code and properties.

use super::parameter::{HeaderSlot, OpaqueParameter, Parameter};
use super::variable::{Binding, SymbolRef, Variable};
use crate::RelocationKind;
use oriole_sass::InstructionWord;

/// Kinds of code sections.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CodeKind {
    /// A kernel.
    #[default]
    Kernel,
    /// A function, which other code calls.
    Function,
}

/// A kernel: its code with all cloned functions and helpers, and its properties for the driver and the tools; or a
/// function with a section of its own.
///
/// Offsets of instructions are bytes from the start of the kernel's text.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct KernelImage {
    /// Name.
    pub name: String,
    /// Its kind.
    pub kind: CodeKind,
    /// Binding of its symbol.
    pub binding: Binding,
    /// Instruction words, without the closing self branch and padding: the writer adds those.
    pub code: Vec<InstructionWord>,
    /// Offset of the kernel's own first instruction, after the entry sequence of the chip.
    pub own_start: u32,
    /// Cloned callees and helpers inside the code, by ascending offset.
    pub functions: Vec<InnerFunction>,
    /// General registers used: the highest index plus one.
    pub registers: u32,
    /// Bytes of the kernel's own stack frame.
    pub frame_size: u32,
    /// The first of the registers with the return address of a function, if it is not that of the calling convention.
    pub return_register: Option<u8>,
    /// Frame rules by offset, for debug builds.
    pub frame_rows: Vec<FrameRow>,
    /// Bytes of the frame and the deepest call chain; `None` if recursion makes it unknown.
    pub stack_size: Option<u32>,
    /// Named barriers used: the highest index plus one.
    pub barriers: u8,
    /// Bytes of static shared variables, without the reserved part; `None` if no shared memory is used at all,
    /// `Some(0)` if only dynamic shared memory is.
    pub shared_size: Option<u32>,
    /// Largest alignment of the shared variables in bytes.
    pub shared_alignment: u32,
    /// The source of the code names a shared variable, used or not.
    pub names_shared: bool,
    /// The code has the address of a shared variable in it.
    pub addresses_shared: bool,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// Bytes of all parameters, without tail padding.
    pub parameter_size: u32,
    /// Constant bank 2 of the kernel: branch tables and literals.
    pub constant2: Vec<u8>,
    /// Cap on registers (`.maxnreg`, or derived from `.minnctapersm`); `None` for none.
    pub max_registers: Option<u16>,
    /// `.maxntid`, `.reqntid` or neither.
    pub bound: Bound,
    /// `.reqnctapercluster`.
    pub cluster_size: Option<[u32; 3]>,
    /// `.explicitcluster`.
    pub explicit_cluster: bool,
    /// `.maxclusterrank`.
    pub max_cluster_rank: Option<u32>,
    /// `.blocksareclusters`.
    pub blocks_are_clusters: bool,
    /// Offsets of all `EXIT` instructions.
    pub exits: Vec<u32>,
    /// Offset and mask of each cooperative-group instruction: `u32::MAX` for a full or immediate mask, else
    /// `0x0500_0000 | register`.
    pub coop_groups: Vec<(u32, u32)>,
    /// Offsets of warp-wide instructions that the compiler introduced.
    pub warp_wide: Vec<u32>,
    /// Indexed branches and their targets.
    pub indirect_branches: Vec<IndirectBranch>,
    /// The code contains a call.
    pub has_call: bool,
    /// Undefined functions called: indices into `Module::externs`.
    pub externs: Vec<usize>,
    /// Kernels that it launches, by descriptors in bank 4.
    pub launched: Vec<SymbolRef>,
    /// Offsets of the calls of undefined functions.
    pub syscalls: Vec<u32>,
    /// Offsets of register spill and refill instructions.
    pub spills: Vec<u32>,
    /// Mbarrier operations.
    pub mbarriers: Vec<Mbarrier>,
    /// Mbarrier initialisations.
    pub mbarrier_count: u16,
    /// `setmaxnreg` occurs.
    pub reconfigures_registers: bool,
    /// Use of tensor memory.
    pub tensor_memory: TensorMemory,
    /// Sparse-matrix mask of the attribute of that name; 0 as a rule.
    pub sparse_mma_mask: u16,
    /// Its parameters that are textures, samplers or surfaces.
    pub opaque_parameters: Vec<OpaqueParameter>,
    /// The slots after the parameters with the header indices of textures, samplers and surfaces.
    pub headers: Vec<HeaderSlot>,
    /// Addresses that the linker or the loader writes into the code.
    pub relocations: Vec<TextRelocation>,
    /// External names that the relocations reference.
    pub names: Vec<String>,
    /// Shared variables that a linker places: of the code alone.
    pub own_shared: Vec<Variable>,
    /// For a linker: the prototypes of indirect callees.
    pub pointed_prototypes: Vec<String>,
    /// The prototype of the function itself; empty for a kernel.
    pub prototype: String,
}

/// From an offset on something else is true of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FrameRow {
    /// Offset of the first instruction before which it is true.
    pub offset: u32,
    /// The rule.
    pub rule: FrameRule,
}

/// Position of a frame, or the caller's value of a general register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameRule {
    /// The frame ends this many bytes after the address in the register.
    Frame {
        /// The register.
        register: u8,
        /// Bytes.
        bytes: u32,
    },
    /// The caller's value of the register is in the frame, this many bytes before its end.
    Saved {
        /// The register.
        register: u8,
        /// Bytes, a multiple of four.
        below: u32,
    },
    /// It is in another register.
    Held {
        /// The register.
        register: u8,
        /// The other register.
        by: u8,
    },
    /// The register has it back.
    Restored(u8),
    /// Nothing has it.
    Lost(u8),
}

/// Use of tensor memory by a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TensorMemory {
    /// It has operations of a one-block group.
    pub alone: bool,
    /// It has operations of a two-block group.
    pub in_pairs: bool,
    /// It allocates columns, frees them, or relinquishes allocation.
    pub takes_columns: bool,
    /// It reads or writes tensor memory.
    pub reaches: bool,
}

/// A function inside the text of a kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct InnerFunction {
    /// Symbol, `$kernel$function` by convention.
    pub name: String,
    /// Offset in bytes from the start of the text.
    pub offset: u32,
    /// Size in bytes. The last function's size is extended over the padding by the writer.
    pub size: u32,
    /// Bytes of its own stack frame.
    pub frame_size: u32,
    /// Lower register of the pair that holds the return offset; for unwinding.
    pub return_register: Option<u8>,
}

impl KernelImage {
    /// True for a kernel.
    pub fn is_kernel(&self) -> bool {
        self.kind == CodeKind::Kernel
    }
}

/// The limit on the block that the source states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Bound {
    /// No launch requirement.
    #[default]
    None,
    /// `.maxntid`.
    AtMost([u32; 3]),
    /// `.reqntid`.
    Exactly([u32; 3]),
}

/// An indexed branch.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct IndirectBranch {
    /// Offset of the branch.
    pub offset: u32,
    /// Offsets of its targets.
    pub targets: Vec<u32>,
}

/// One record of the mbarrier attribute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mbarrier {
    /// Offset of the instruction.
    pub offset: u32,
    /// Address register, 255 for none.
    pub register: u32,
    /// Address offset in bytes.
    pub displacement: u32,
    /// Kind of operation, as numbered by the attribute.
    pub kind: u8,
    /// Uniform address register, 255 for none.
    pub uniform: u8,
}

/// An address that the loader writes into an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TextRelocation {
    /// Offset of the instruction.
    pub offset: u32,
    /// The field that it patches.
    pub kind: RelocationKind,
    /// Its target.
    pub target: SymbolRef,
    /// Bytes added.
    pub addend: i64,
}
