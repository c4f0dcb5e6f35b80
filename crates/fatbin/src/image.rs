//! A piece of device code as its file describes it. Its bytes are not here.

use std::fmt;
use std::sync::Arc;

/// The kind of an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// PTX text.
    Ptx,
    /// An ELF file with machine code.
    Cubin,
    /// Machine code of toolkits before ELF.
    OldCubin,
    /// The compiler's own representation, for a link that compiles.
    Nvvm,
    /// A list of other images.
    Index,
    /// PTX that a linker completes.
    RelocatablePtx,
    /// A program of tiles.
    TileIr,
    /// A number that is not known.
    Other(u16),
}

/// Numbers of kinds, and how they are named.
const KINDS: &[(u16, Kind, &str)] = &[
    (0x01, Kind::Ptx, "ptx"),
    (0x02, Kind::Cubin, "cubin"),
    (0x04, Kind::OldCubin, "old-cubin"),
    (0x08, Kind::Nvvm, "nvvm"),
    (0x20, Kind::Index, "index"),
    (0x40, Kind::RelocatablePtx, "relocatable-ptx"),
    (0x80, Kind::TileIr, "tile-ir"),
];

impl Kind {
    /// The kind with this number.
    pub fn from_number(number: u16) -> Kind {
        KINDS.iter().find(|row| row.0 == number).map_or(Kind::Other(number), |row| row.1)
    }

    /// True for text in PTX.
    pub fn is_ptx(self) -> bool {
        matches!(self, Kind::Ptx | Kind::RelocatablePtx)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match KINDS.iter().find(|row| row.1 == *self) {
            Some(row) => f.pad(row.2),
            None => match self {
                Kind::Other(number) => f.pad(&format!("kind-{number:#x}")),
                _ => Ok(()),
            },
        }
    }
}

/// How an image is packed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// One block of LZ4.
    Lz4,
    /// A frame of zstd.
    Zstd,
    /// In a way that is not known; the flags that say so.
    Unknown(u64),
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
            Compression::Unknown(_) => "unknown",
        })
    }
}

/// Where an image was found.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Origin {
    /// The member of the archive.
    pub member: Option<String>,
    /// The section of the host file.
    pub section: Option<String>,
}

/// A part of the block that several images were packed into together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub size: u64,
}

/// A piece of device code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// Its kind.
    pub kind: Kind,
    /// The number of its chip and the letter after it, where the file that holds the image says so.
    pub chip: Option<(u32, Option<char>)>,
    /// The version of PTX, or of the machine code's calling convention: major and minor.
    pub version: (u16, u16),
    /// The name of the source.
    pub name: Option<String>,
    /// Options for the compiler of PTX.
    pub options: Option<String>,
    /// Made for a debugger.
    pub debug: bool,
    /// How it is packed.
    pub compression: Compression,
    /// Offset of the packed bytes in the file.
    pub offset: u64,
    /// Number of the packed bytes.
    pub stored: u64,
    /// Number of bytes when unpacked, of all that is packed together.
    pub expanded: u64,
    /// Its part, if it is packed together with others.
    pub part: Option<Part>,
    /// Where it was found.
    pub origin: Arc<Origin>,
}

impl Image {
    /// An image that is a file, or is in one unchanged.
    pub(crate) fn plain(kind: Kind, offset: u64, size: u64, origin: &Arc<Origin>) -> Image {
        Image {
            kind,
            chip: None,
            version: (0, 0),
            name: None,
            options: None,
            debug: false,
            compression: Compression::None,
            offset,
            stored: size,
            expanded: size,
            part: None,
            origin: Arc::clone(origin),
        }
    }

    /// Number of its bytes when unpacked, as the file states it.
    pub fn size(&self) -> u64 {
        self.part.map_or(self.expanded, |part| part.size)
    }

    /// Its chip as it is named, where the file says so.
    pub fn chip_name(&self) -> Option<String> {
        let (number, letter) = self.chip?;
        Some(format!("sm_{number}{}", letter.map(String::from).unwrap_or_default()))
    }
}
