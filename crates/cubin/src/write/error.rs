//! Why a module cannot be written. No part of the container may enter.

/// Why a module cannot be written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WriteError {
    /// There are no rules for this SM number.
    UnsupportedChip(u16),
    /// A reference has an index that the module does not have.
    BadReference {
        /// The section or kernel with the reference.
        place: String,
    },
    /// A size or offset does not fit its field or exceeds the chip's limit.
    TooLarge {
        /// The item that is too large, with the name of its owner.
        what: String,
        /// Its size.
        size: u64,
        /// The most that is possible.
        limit: u64,
    },
    /// The initial bytes of a variable are more than its size.
    BadInitializer {
        /// Name of the variable.
        variable: String,
    },
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WriteError::UnsupportedChip(sm) => write!(f, "no container rules for sm_{sm}"),
            WriteError::BadReference { place } => {
                write!(f, "{place} refers to something that the module lacks")
            }
            WriteError::TooLarge { what, size, limit } => {
                write!(f, "{what} has size {size:#x}, at most {limit:#x} is possible")
            }
            WriteError::BadInitializer { variable } => {
                write!(f, "the initializer of '{variable}' is longer than the variable")
            }
        }
    }
}

impl std::error::Error for WriteError {}
