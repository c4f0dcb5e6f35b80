//! Device code in the files of a host: fatbins, and the objects, libraries, programs and archives that hold them.
//!
//! It is here so that one crate knows where device code may be and how it is packed. It gives images as bytes and does not look
//! into them: cubins and PTX are read elsewhere. No file is opened here, and nothing is trusted: a size that a file states
//! is compared with what is there before memory is taken for it.

mod archive;
mod elf;
mod entries;
mod expand;
mod fault;
mod found;
mod image;
mod scan;
mod source;

pub use expand::{Extractor, LARGEST};
pub use fault::{ExtractError, Fault, FaultKind};
pub use image::{Compression, Image, Kind, Origin, Part};
pub use scan::{Contents, Format, scan};
pub use source::Source;

/// How a fatbin begins.
pub const FATBIN_MAGIC: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();

/// How an ELF file begins.
pub const ELF_MAGIC: [u8; 4] = *b"\x7fELF";

/// The machine number of ELF files that are cubins.
pub const CUDA_MACHINE: u16 = 190;

/// How an archive begins, and one whose members are files of their own.
pub const ARCHIVE_MAGICS: [&[u8]; 2] = [b"!<arch>\n", b"!<thin>\n"];
