//! Why a kernel cannot be laid out.

use super::linker::SLOTS;
use super::tables::BANK;

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
    /// Code takes the address of a variable that stands behind so many others that the table of addresses has no place
    /// for it.
    TooManySlots(String),
    /// The jump tables and numbers of a kernel need so many bytes of a constant bank, more than one has.
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
                    "takes the address of `{name}`, which comes after {SLOTS} other `.global` variables and functions of the module: no more addresses can be read"
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
