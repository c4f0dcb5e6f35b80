//! Why something cannot be linked: of one kernel or function, and of a module.
//!
//! A failure has no place in a text, so that it stays equal when text moves. How it is shown is for the caller.

use oriole_cubin::WriteError;
use oriole_diagnostics::Code;

use crate::symbols::{ADDRESS_SLOTS, BANK};

/// Why a kernel could not be laid out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ImageError {
    /// A function is called that the module neither defines nor declares.
    MissingFunction(String),
    /// A variable is named that does not exist.
    MissingVariable(String),
    /// Code takes the address of a function that cannot be called through a pointer: a kernel, for one.
    NoAddress(String),
    /// Too much static shared memory: bytes, and the limit in bytes.
    SharedTooLarge(u64, u64),
    /// Code that a linker is to complete names something in a way that no relocation of the chip is for.
    NoRelocation(String),
    /// Code takes the address of a variable whose index is too large for the table of addresses.
    TooManySlots(String),
    /// The jump tables and numbers of a kernel need this many bytes of a constant bank, more than it has.
    TablesTooLarge(u64),
    /// Something that should not happen.
    Internal(String),
}

impl std::fmt::Display for ImageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ImageError::MissingFunction(name) => write!(f, "unresolved extern function `{name}`"),
            ImageError::MissingVariable(name) => write!(f, "unresolved variable `{name}`"),
            ImageError::NoAddress(name) => {
                write!(f, "code takes the address of `{name}`, which is no `.func` here")
            }
            ImageError::SharedTooLarge(bytes, limit) => {
                write!(f, "uses too much shared data ({bytes:#x} bytes, {limit:#x} at most)")
            }
            ImageError::NoRelocation(name) => {
                write!(f, "`{name}` cannot be named in relocatable code of this chip yet")
            }
            ImageError::TooManySlots(name) => {
                write!(
                    f,
                    "takes the address of `{name}`, which comes after {ADDRESS_SLOTS} other `.global` variables and functions of the module: no more addresses can be read"
                )
            }
            ImageError::TablesTooLarge(bytes) => {
                write!(f, "the constant bank with its jump tables has size {bytes:#x}, at most {BANK:#x}")
            }
            ImageError::Internal(what) => write!(f, "internal error: {what}"),
        }
    }
}

impl std::error::Error for ImageError {}

impl ImageError {
    /// The failure of the kernel or function with this name.
    pub fn of(&self, code: &str) -> LinkError {
        let message = format!("`{code}`: {self}");
        let code = match self {
            ImageError::NoAddress(_) | ImageError::NoRelocation(_) => Code::NotSupported,
            ImageError::MissingFunction(_) | ImageError::MissingVariable(_) => Code::UnresolvedExternal,
            ImageError::SharedTooLarge(..) => Code::TooMuchSharedMemory,
            ImageError::TooManySlots(_) | ImageError::TablesTooLarge(_) => Code::TooLarge,
            ImageError::Internal(_) => Code::InternalError,
        };
        LinkError { code, message }
    }
}

/// Why a module cannot be linked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LinkError {
    /// Kind of failure.
    pub code: Code,
    /// Text of the failure.
    pub message: String,
}

impl LinkError {
    /// The compiler contradicts itself.
    pub fn internal(phase: &str, message: impl std::fmt::Display) -> LinkError {
        LinkError { code: Code::InternalError, message: format!("in {phase}: {message}") }
    }
}

impl std::fmt::Display for LinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LinkError {}

impl From<WriteError> for LinkError {
    fn from(error: WriteError) -> LinkError {
        let code = match &error {
            WriteError::UnsupportedChip(_) => Code::NotSupportedTarget,
            WriteError::TooLarge { what, .. } if what.contains("constant") => Code::TooMuchConstantMemory,
            WriteError::TooLarge { .. } => Code::TooLarge,
            WriteError::BadReference { .. } => Code::InternalError,
            WriteError::BadInitializer { .. } => Code::InvalidInitializer,
        };
        LinkError { code, message: error.to_string() }
    }
}
