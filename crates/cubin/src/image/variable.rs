//! Variables with their initial bytes, and everything that has an address.

use oriole_chip::texture::DescriptorTable;

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

/// A shared variable with an offset.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PlacedShared {
    /// The variable; `Variable::offset` counts from the end of the system's part.
    pub variable: Variable,
    /// The kernel whose section holds it, index into `Module::kernels`; `None` if no single kernel owns it.
    pub kernel: Option<usize>,
}
