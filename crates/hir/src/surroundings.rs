//! What a function may ask about the rest of its module.
//!
//! It is here so that whoever resolves one function records exactly which facts it read. No tree and no position of
//! another unit may enter.

use oriole_ptx::{Space, Type};

use crate::{Header, Linkage, Signature};

/// Facts of the module, asked one at a time.
pub trait Surroundings {
    /// The module's header.
    fn header(&self) -> Header;
    /// The module-level variable of this name.
    fn global(&self, name: &str) -> Option<GlobalInfo>;
    /// The function or kernel of this name, declared or defined, aliases included.
    fn signature(&self, name: &str) -> Option<SignatureInfo>;
}

/// A module-level variable, as its users see it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GlobalInfo {
    /// State space.
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// Elements of a vector type; 1 for a scalar.
    pub vector: u8,
    /// Size in bytes; 0 for `.extern` arrays of no given length.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// Linkage word.
    pub linkage: Option<Linkage>,
}

/// A function or kernel, as its users see it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SignatureInfo {
    /// True for `.entry`.
    pub is_entry: bool,
    /// Parameters and results.
    pub signature: Signature,
    /// True if the module only declares it.
    pub external: bool,
}
