//! The finished module before it becomes a file: kernels with code and properties, variables, undefined functions.
//! Plain data without behaviour; symbolic references are indices into the module's own lists, so that nothing here
//! depends on the symbol order of a file.

use crate::RelocationKind;
use oriole_chip::texture::{DescriptorTable, OpaqueKind};
use oriole_sass::InstructionWord;
use triomphe::Arc;

/// Output form: the sections of the code, and the work left to a linker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Form {
    /// An executable: the code of each kernel contains clones of its callees.
    #[default]
    Whole,
    /// An executable that a linker completes: whole-program output with relocations for external symbols.
    Extensible,
    /// For a linker: each function has a section of its own, and relocations reference external symbols.
    Relocatable,
}

/// A module ready to be written.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Module {
    /// The sections for its code.
    pub form: Form,
    /// SM number of the chip, 90 for sm_90.
    pub sm: u16,
    /// The `a` variant of the chip.
    pub accelerated: bool,
    /// SM number of the PTX `.target`; at most `sm`.
    pub virtual_sm: u16,
    /// The tool that made the file.
    pub tool: Tool,
    /// Kernels in source order, and functions with sections of their own; shared with the caller.
    pub kernels: Vec<Arc<KernelImage>>,
    /// Variables of user constant memory, bank 3; `Variable::offset` is theirs.
    pub constants: Vec<Variable>,
    /// Global variables; the writer places them, `Variable::offset` is not read.
    pub globals: Vec<Variable>,
    /// Undefined functions that the driver provides (`vprintf`, `malloc`, ...).
    pub externs: Vec<String>,
    /// Textures, samplers and surfaces that the module declares: symbols that the driver's interface finds by name.
    pub opaque: Vec<Opaque>,
    /// The 8-byte slots of constant bank 4, in order: code reads slot `i` at `c[4][8 * i]`.
    pub slots: Vec<Slot>,
    /// Debug sections, in file order.
    pub debug: Arc<Vec<DebugSection>>,
    /// Callee-saved registers, in a debug build: frames then describe every register.
    pub callee_saved: Option<CalleeSaved>,
    /// Shared-memory variables that kernels of other files may access, or that functions have; the linker places
    /// them.
    pub shared: Vec<Variable>,
    /// Names that other files define, with their declarations.
    pub undefined: Vec<Undefined>,
    /// Shared variables with places, in a whole module with functions in sections of their own.
    pub placed_shared: Vec<PlacedShared>,
    /// Common alignment of those undefined shared variables that no single kernel owns.
    pub common_shared_alignment: u64,
}

/// Callee-saved registers of functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CalleeSaved {
    /// General registers but the stack pointer, bit n of word k for register `64 k + n`.
    pub general: [u64; 4],
    /// The first callee-saved uniform register.
    pub first_uniform: u8,
}

impl CalleeSaved {
    /// True if the general register is callee-saved.
    pub fn has_general(&self, number: u8) -> bool {
        self.general[usize::from(number / 64)] >> (number % 64) & 1 != 0
    }
}

/// A shared variable with an offset.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PlacedShared {
    /// The variable; `Variable::offset` counts from the end of the system's part.
    pub variable: Variable,
    /// The kernel whose section holds it, index into [`Module::kernels`]; `None` if no single kernel owns it.
    pub kernel: Option<usize>,
}

/// A debug section: no memory of the chip holds it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct DebugSection {
    /// Its name, with the dot.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Addresses that linkers and loaders fill in.
    pub addresses: Vec<DebugAddress>,
}

/// An address in a debug section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DebugAddress {
    /// Offset in the section.
    pub offset: u64,
    /// Its target.
    pub target: DebugTarget,
    /// Bytes added to the address.
    pub addend: i64,
}

/// Targets of references in a debug section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DebugTarget {
    /// Code or a variable, by an address of eight bytes.
    Memory(SymbolRef),
    /// The start of `Module::debug[i]`, which a linker moves, by four bytes.
    Section(usize),
    /// `Module::shared[i]`, which a linker places, by an address of eight bytes from the end of the system's part.
    Shared(usize),
    /// `KernelImage::own_shared[i]` of `Module::kernels[code]`, likewise.
    OwnShared {
        /// The owner of the variable.
        code: usize,
        /// Its index there.
        index: usize,
    },
}

/// Something that another file defines.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Undefined {
    /// Name.
    pub name: String,
    /// Its kind.
    pub kind: UndefinedKind,
    /// Bytes of a variable, if known.
    pub size: u64,
    /// The types of results and parameters of a function; empty of a variable.
    pub prototype: String,
}

/// Kinds of [`Undefined`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UndefinedKind {
    /// A function.
    Function,
    /// A variable of global memory.
    Global,
    /// A variable of constant memory.
    Constant,
    /// A variable of shared memory.
    Shared,
}

/// The strings of the tool note.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tool {
    /// Name of the tool.
    pub name: String,
    /// Version line.
    pub version: String,
    /// Build line.
    pub build: String,
    /// Command line arguments.
    pub arguments: String,
}

/// A texture, sampler or surface of the module: it has no memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Opaque {
    /// Name.
    pub name: String,
    /// Its kind.
    pub kind: OpaqueKind,
}

/// Visibility of a symbol to other files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Binding {
    /// Inside the file only.
    Local,
    /// `.visible`, `.extern` and kernels.
    #[default]
    Global,
    /// `.weak`.
    Weak,
    /// `.common`: of several files, the largest.
    Common,
}

/// Something that has an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolRef {
    /// `Module::kernels[i]`.
    Kernel(usize),
    /// `Module::globals[i]`.
    Global(usize),
    /// `Module::constants[i]`.
    Constant(usize),
    /// `Module::externs[i]`.
    Extern(usize),
    /// `Module::undefined[i]`.
    Undefined(usize),
    /// The size of a descriptor in this table, which the loader knows.
    DescriptorSize(DescriptorTable),
    /// The bytes of all constants of the program, which the linker knows.
    ConstantSize,
    /// `KernelImage::names[i]` of the current code, in whatever file it is defined.
    Named(usize),
    /// The current code.
    Own,
    /// `KernelImage::own_shared[i]` of the current code.
    OwnShared(usize),
    /// `KernelImage::parameters[i]` of the current code, a texture, sampler or surface.
    OwnParameter(usize),
    /// Constant bank 2 of the current code.
    OwnConstants,
    /// Offset that the loader adds to function addresses.
    FunctionTable,
}

/// An 8-byte slot of constant bank 4 that the loader fills with an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot {
    /// Its target.
    pub target: SymbolRef,
    /// Bytes added to the address.
    pub addend: i64,
}

/// A variable of global or constant memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// Binding of its symbol.
    pub binding: Binding,
    /// `.attribute(.managed)`.
    pub managed: bool,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub alignment: u64,
    /// Offset in bank 3; constants only.
    pub offset: u64,
    /// Initial bytes, at most `size` of them (the rest is zero); `None` puts a global into zeroed memory.
    pub bytes: Option<Vec<u8>>,
    /// Addresses inside the initial bytes.
    pub pointers: Vec<Pointer>,
}

/// An address inside an initialiser, 8 bytes wide, or one byte of an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pointer {
    /// Offset in the variable.
    pub offset: u64,
    /// Its target.
    pub target: SymbolRef,
    /// Bytes added to the address.
    pub addend: i64,
    /// A generic address instead of one of the target's own space.
    pub generic: bool,
    /// The index of the one byte of the address, from 0 (the lowest) to 7; `None` for all of it.
    pub byte: Option<u8>,
}

impl Pointer {
    /// Its end offset in the variable.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(if self.byte.is_some() { 1 } else { 8 })
    }
}

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

/// Offset of a parameter that has no memory.
pub const NO_OFFSET: u32 = 0xffff;

/// A kernel parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Parameter {
    /// Offset from the parameter base in bytes; of an opaque type [`NO_OFFSET`].
    pub offset: u32,
    /// Size in bytes; of an opaque type 0.
    pub size: u32,
    /// Declared alignment of the pointee of a `.ptr` parameter, in bytes; 0 or 1 for none.
    pub pointee_alignment: u32,
    /// Stated space of a `.ptr` parameter.
    pub space: ParameterSpace,
}

/// A texture, sampler or surface parameter: it has no memory, and has a symbol of its kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OpaqueParameter {
    /// Its index in [`KernelImage::parameters`], which holds its kind.
    pub number: usize,
    /// Name.
    pub name: String,
}

/// Four bytes of constant bank 0 with the index of a header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HeaderSlot {
    /// Offset in the bank, in bytes.
    pub offset: u32,
    /// The owner of the header.
    pub header: Header,
}

/// Objects with a header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Header {
    /// `Module::opaque[i]`.
    Module(usize),
    /// `KernelImage::parameters[i]` of the current kernel.
    Parameter(usize),
}

/// Kind of a parameter: the state space that a `.ptr` parameter names, or an opaque type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ParameterSpace {
    /// No `.ptr`.
    #[default]
    None,
    /// `.local`.
    Local,
    /// `.shared`.
    Shared,
    /// `.const`.
    Const,
    /// `.global`.
    Global,
    /// `.ptr` without a space.
    Generic,
    /// A texture, sampler or surface.
    Opaque(OpaqueKind),
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
