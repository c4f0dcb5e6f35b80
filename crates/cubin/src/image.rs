//! The finished module before it becomes a file: kernels with code and properties, variables, undefined functions.
//! Plain data without behaviour; symbolic references are indices into the module's own lists, so that nothing here
//! depends on the symbol order of a file.

mod debug;
mod kernel;
mod parameter;
mod variable;

pub use debug::{CalleeSaved, DebugAddress, DebugSection, DebugTarget};
pub use kernel::{
    Bound, CodeKind, FrameRow, FrameRule, IndirectBranch, InnerFunction, KernelImage, Mbarrier, TensorMemory,
    TextRelocation,
};
use oriole_chip::texture::OpaqueKind;
pub use parameter::{Header, HeaderSlot, NO_OFFSET, OpaqueParameter, Parameter, ParameterSpace};
use triomphe::Arc;
pub use variable::{Binding, PlacedShared, Pointer, Slot, SymbolRef, Variable};

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
