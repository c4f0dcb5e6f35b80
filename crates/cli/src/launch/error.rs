//! Why a launch record is wrong, with the place in the record.
//!
//! It is here so that every field of a record is refused in one form: the place, then the rule. It knows no value of a record.

use crate::files::FileError;
use crate::tensor_map::MapError;
use std::path::Path;

/// Most bytes one buffer may have.
pub(super) const LARGEST_BUFFER: u64 = 1 << 32;

/// Why a launch record is wrong.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file that cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The record is not JSON of its form.
    #[error("{0}")]
    Json(String),
    /// An error at a place of a file or of a record.
    #[error("{place}: {error}")]
    At {
        /// The place.
        place: String,
        /// The error there.
        error: Box<RecordError>,
    },
    /// A rule of the format that the record breaks, in words.
    #[error("{0}")]
    Rule(&'static str),
    /// A buffer that no machine has room for.
    #[error("a buffer of {0} bytes is larger than {LARGEST_BUFFER}")]
    LargeBuffer(u64),
    /// As many elements as no machine has room for.
    #[error("{count} of type {name} are more than {LARGEST_BUFFER} bytes")]
    LargeArray {
        /// Elements.
        count: u64,
        /// Their type.
        name: &'static str,
    },
    /// An argument that holds no bytes of its own.
    #[error("alias {0} names no earlier buffer")]
    NoBuffer(usize),
    /// A key that names no argument with bytes.
    #[error("`{0}` names no argument that is a buffer or a surface")]
    NoArgument(String),
    /// More or fewer bytes than the buffer has.
    #[error("{expected} bytes, and the buffer has {held}")]
    Size {
        /// Expected bytes.
        expected: usize,
        /// Bytes of the buffer.
        held: usize,
    },
    /// The last element lacks bytes.
    #[error("{bytes} bytes are no whole elements of type {name}")]
    Partial {
        /// Bytes.
        bytes: usize,
        /// The type.
        name: &'static str,
    },
    /// A tolerance of a type that is compared bit by bit.
    #[error("{0} is no type to compare with a tolerance")]
    Exact(&'static str),
    /// No type has this name.
    #[error("`{name}` is no type; there are {known}")]
    NoType {
        /// The name as written.
        name: String,
        /// The names of all types.
        known: String,
    },
    /// A value that the type does not have.
    #[error("`{value}` is no value of type {name}")]
    Value {
        /// The value as written.
        value: String,
        /// The type.
        name: &'static str,
    },
    /// A computed value that the type does not have.
    #[error("element {index} is no value of type {name}")]
    Past {
        /// Index of the element.
        index: u64,
        /// The type.
        name: &'static str,
    },
    /// A bound or step that is not an integer of 64 bits.
    #[error("`{0}` is no integer of 64 bits")]
    NoInteger(String),
    /// A bound or step that is infinite or not a number.
    #[error("`{0}` is no finite number")]
    NotFinite(String),
    /// No address mode has this name.
    #[error("`{0}` is no address mode")]
    NoMode(String),
    /// No component of a texture has this type.
    #[error("`{0}` is no type of a component")]
    NoComponent(String),
    /// No layout of a texture has this name.
    #[error("`{0}` is no layout of a texture")]
    NoLayout(String),
    /// More or fewer bytes than the texture has.
    #[error("a texture of {wanted} bytes is given {given}")]
    Texels {
        /// Bytes of the texture.
        wanted: usize,
        /// Bytes of the record.
        given: usize,
    },
    /// A tensor map that cannot be encoded.
    #[error(transparent)]
    Map(#[from] MapError),
}

impl RecordError {
    /// The error, with a place before it.
    pub fn at(self, place: impl std::fmt::Display) -> RecordError {
        RecordError::At { place: place.to_string(), error: Box::new(self) }
    }

    /// The error, with a file and a line before it.
    pub fn in_line(self, path: &Path, line: usize) -> RecordError {
        self.at(format_args!("{}:{line}", path.display()))
    }
}
