//! Meaning of the names of a module to code: variables with their places, functions with their numbers.
//!
//! It is plain data, so that a query can hand a kernel just the entries that it names. No place in a file may enter.

use std::collections::{BTreeMap, BTreeSet};

/// A variable of the module, as far as code may refer to it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ModuleVariable {
    /// Name.
    pub name: String,
    /// Where it lives.
    pub space: VariableSpace,
    /// Size in bytes, 0 for a dynamic shared array.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
}

/// Spaces of module variables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VariableSpace {
    /// `.shared`: laid out anew for each kernel.
    Shared,
    /// `.const`, with its offset in bank 3.
    Constant(u64),
    /// `.global`, with its index in the module's list of globals.
    Global(usize),
}

/// Meaning of the names of the module to a kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ModuleSymbols {
    /// Module variables in order of declaration.
    pub variables: Vec<ModuleVariable>,
    /// Functions that the driver provides, in order of declaration.
    pub externs: Vec<String>,
    /// Textures, samplers and surfaces, in order of declaration.
    pub opaque: Vec<String>,
    /// How many global variables there are; slots of bank 4 are the globals, then the externs, then the launched kernels.
    pub globals: usize,
    /// Functions that a pointer may name, in order of declaration: all of the module whose address is taken, whether by
    /// code or by an initial value. See [`function_value`].
    pub functions: Vec<String>,
    /// The functions that other names (`.alias`) stand for.
    pub aliases: BTreeMap<String, String>,
    /// The kernels among the functions whose addresses code takes.
    pub kernels: BTreeSet<String>,
    /// The kernels of the module whose addresses any code takes, in order of declaration: those that have a slot.
    pub launched: Vec<String>,
    /// Bytes of the module's constants.
    pub constant_bytes: u64,
    /// Other files may define what the module names: a linker completes the kernel.
    pub extensible: bool,
}

impl ModuleSymbols {
    /// The function that a name stands for.
    pub fn meant<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }
}

/// The address of a function as a value: the offset, in bytes, of its entry in the table of functions that each kernel
/// has in constant bank 2. `index` is its place in [`ModuleSymbols::functions`]. No text offset would do, because each
/// kernel has a clone of the function, and a pointer may be in memory that kernels share. Never 0.
pub fn function_value(index: usize) -> u64 {
    FUNCTION_ENTRY as u64 * (index as u64 + 1)
}

/// Bytes of an entry in the table of functions: a text offset of 64 bits.
pub const FUNCTION_ENTRY: usize = 8;

/// Addresses in the table of constant bank 4 that instructions can read.
pub const ADDRESS_SLOTS: usize = 8192;

/// Bytes of a constant bank; loads beyond give zeros.
pub const BANK: u64 = 0x1_0000;

/// The least alignment of arrays in shared memory whose size the launch gives.
pub const DYNAMIC_ALIGNMENT: u64 = 16;
