//! Faults of a file: places that cannot be read, and images that cannot be unpacked.

use std::fmt;

/// A place of a file that is damaged. The rest of the file is read all the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Offset in the file.
    pub offset: u64,
    /// The damage.
    pub kind: FaultKind,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {:#x}: {}", self.offset, self.kind)
    }
}

/// A damage.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FaultKind {
    /// A header of an ELF file.
    #[error("the section headers of an ELF file are broken")]
    Sections,
    /// A section that ends after the file.
    #[error("section '{0}' ends after the file")]
    SectionEnd(String),
    /// Bytes in a section for fatbins that are none.
    #[error("{0} bytes are not a fatbin")]
    NotFatbin(u64),
    /// A fatbin that ends after what holds it.
    #[error("a fatbin states {stated} bytes, and {there} are there")]
    FatbinEnd {
        /// As its header says.
        stated: u64,
        /// To the end.
        there: u64,
    },
    /// The header of an image that cannot be one.
    #[error("the header of an image is broken")]
    Entry,
    /// An image that ends after its fatbin.
    #[error("an image states {stated} bytes, and {there} are there")]
    EntryEnd {
        /// As its header says.
        stated: u64,
        /// To the end.
        there: u64,
    },
    /// The list of images that are packed together.
    #[error("the list of images that are packed together is broken")]
    Parts,
    /// A member of an archive.
    #[error("the header of an archive's member is broken")]
    Member,
    /// An archive that holds names only.
    #[error("the archive is thin: its members are files of their own")]
    Thin,
    /// More images than are read.
    #[error("there are more than {0} images; the others are left out")]
    TooMany(usize),
    /// More damages than are reported.
    #[error("there is more damage than is reported")]
    TooDamaged,
}

/// Why an image cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is larger than is allowed.
    #[error("the image has {0} bytes, more than are unpacked")]
    TooLarge(u64),
    /// It is packed in a way that is not known.
    #[error("the image is compressed in an unknown way (flags {0:#x})")]
    Unknown(u64),
    /// Its packed bytes are broken.
    #[error("the compressed bytes of the image are broken")]
    Corrupt,
    /// It does not have the size that the file states.
    #[error("the image states {stated} bytes and has {found}")]
    Size {
        /// As the file says.
        stated: u64,
        /// When unpacked.
        found: u64,
    },
    /// It is outside of its packed block.
    #[error("the image is outside of what it is packed into")]
    Outside,
}
