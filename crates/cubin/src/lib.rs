//! The cubin format: the plain data of a finished module, its ELF writer, and a reader for cubins of any producer.
//!
//! It is here so that one crate knows sections, symbols, `nv.info` attributes and relocations. No instruction is
//! decoded here and no compiler stage is known: code is instruction words, its properties are plain data.

pub mod attribute;
mod debug_frame;
pub mod edit;
mod elf;
pub mod image;
pub mod layout;
mod notes;
mod outline;
pub mod read;
pub mod relocation;
mod rules;
pub mod write;

pub use attribute::{Attribute, Payload};
pub use image::{
    Binding, Bound, CalleeSaved, CodeKind, DebugAddress, DebugSection, DebugTarget, Form, FrameRow,
    FrameRule, Header, HeaderSlot, IndirectBranch, InnerFunction, KernelImage, Mbarrier, Module, NO_OFFSET,
    Opaque, OpaqueParameter, Parameter, ParameterSpace, PlacedShared, Pointer, Slot, SymbolRef, TensorMemory,
    TextRelocation, Tool, Undefined, UndefinedKind, Variable,
};
pub use oriole_chip::texture::OpaqueKind;
pub use outline::{Outline, outline};
pub use read::{Cubin, ReadError, read};
pub use relocation::RelocationKind;
pub use rules::{Rules, rules};
pub use write::{WriteError, write};
