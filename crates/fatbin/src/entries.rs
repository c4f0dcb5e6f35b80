//! Fatbins: a header, then entries, each a header and its packed bytes. The layout was found by looking at files that
//! NVIDIA's `fatbinary` writes.
//!
//! All numbers are little-endian. A fatbin begins with its magic number, a version (u16), the size of this header (u16) and the
//! size of all entries (u64). An entry begins with [`Header`]; after it follow the name, the options, and for images that are packed
//! together a list of them, whose rows are headers again.

use crate::found::Found;
use crate::image::{Compression, Image, Kind, Origin, Part};
use crate::source::Window;
use crate::{FATBIN_MAGIC, FaultKind};
use std::io;
use std::sync::Arc;

/// Bytes of the header of a fatbin.
pub const FATBIN_HEADER: u64 = 16;

/// Bytes of the header of an entry without what follows it.
const ENTRY_HEADER: usize = 64;

/// Most bytes of the header of an entry with its name, its options and its list.
const LARGEST_HEADER: u64 = 16 << 20;

/// The number of the kind of an entry that several images are packed into.
const PACKED_TOGETHER: u16 = 0x100;

/// Flags of an entry.
const DEBUG: u64 = 1 << 1;
const LZ4: u64 = 1 << 13;
const ZSTD: u64 = 1 << 15;
/// All flags that mean compression.
const COMPRESSED: u64 = 0xf << 12;
const ACCELERATED: u64 = 1 << 20;
const FAMILY: u64 = 1 << 21;

/// A number of a header; 0 after its end, which the size of the header excludes.
fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> u64 {
    let field = bytes.get(at..at + BYTES).unwrap_or_default();
    field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// The header of a fatbin: its size with the entries, if it is one.
pub fn fatbin_size(bytes: &[u8]) -> Option<(u64, u64)> {
    let header = number::<2>(bytes, 6);
    let is_one = bytes.starts_with(&FATBIN_MAGIC) && number::<2>(bytes, 4) == 1 && header >= FATBIN_HEADER;
    is_one.then(|| (header, number::<8>(bytes, 8)))
}

/// The first fields of an entry, and of a row of the list.
struct Header {
    kind: u16,
    /// In an entry the size of the header; in a row the offset of the part.
    second: u64,
    size: u64,
    compressed: u64,
    /// Offset of the options, or of the list.
    extra: usize,
    version: (u16, u16),
    chip: u32,
    name: (usize, usize),
    flags: u64,
    expanded: u64,
}

impl Header {
    fn of(bytes: &[u8]) -> Option<Header> {
        if bytes.len() < ENTRY_HEADER || number::<2>(bytes, 2) >> 8 != 1 {
            return None;
        }
        Some(Header {
            kind: number::<2>(bytes, 0) as u16,
            second: number::<4>(bytes, 4),
            size: number::<8>(bytes, 8),
            compressed: number::<4>(bytes, 16),
            extra: number::<4>(bytes, 20) as usize,
            version: (number::<2>(bytes, 26) as u16, number::<2>(bytes, 24) as u16),
            chip: number::<4>(bytes, 28) as u32,
            name: (number::<4>(bytes, 32) as usize, number::<4>(bytes, 36) as usize),
            flags: number::<8>(bytes, 40),
            expanded: number::<8>(bytes, 56),
        })
    }

    fn compression(&self) -> Compression {
        match self.flags & COMPRESSED {
            0 => Compression::None,
            LZ4 => Compression::Lz4,
            ZSTD => Compression::Zstd,
            other => Compression::Unknown(other),
        }
    }

    /// The image of an entry whose packed bytes are here.
    fn image(&self, bytes: &[u8], offset: u64, origin: &Arc<Origin>) -> Image {
        let kind = Kind::from_number(self.kind);
        let letter = match self.flags & (ACCELERATED | FAMILY) {
            ACCELERATED => Some('a'),
            FAMILY => Some('f'),
            _ => None,
        };
        let compression = self.compression();
        let packed = compression != Compression::None;
        let stored = if packed && self.compressed != 0 { self.compressed } else { self.size };
        Image {
            kind,
            chip: (self.chip != 0).then_some((self.chip, letter)),
            version: self.version,
            name: text(bytes, self.name.0, self.name.1),
            options: kind.is_ptx().then(|| self.options(bytes)).flatten(),
            debug: self.flags & DEBUG != 0,
            compression,
            offset,
            stored,
            expanded: if packed { self.expanded } else { self.size },
            part: None,
            origin: Arc::clone(origin),
        }
    }

    /// The options: the place of them and their length stand before them.
    fn options(&self, bytes: &[u8]) -> Option<String> {
        let block = bytes.get(self.extra..).filter(|_| self.extra >= ENTRY_HEADER)?;
        text(bytes, number::<4>(block, 0) as usize, number::<4>(block, 4) as usize)
    }

    /// Bytes of a row of the list: the fields, the name and the options, each filled up to 8 bytes.
    fn row_size(&self, bytes: &[u8]) -> usize {
        let end = |at: usize, length: usize| at.saturating_add(length).saturating_add(7) & !7;
        let mut size = ENTRY_HEADER;
        if self.name.1 != 0 {
            size = size.max(end(self.name.0, self.name.1));
        }
        if self.extra >= ENTRY_HEADER {
            let block = bytes.get(self.extra..).unwrap_or_default();
            size = size.max(end(self.extra, 8));
            size = size.max(end(number::<4>(block, 0) as usize, number::<4>(block, 4) as usize));
        }
        size
    }
}

/// A text of a header; none if it is empty or outside.
fn text(bytes: &[u8], at: usize, length: usize) -> Option<String> {
    let field = bytes.get(at..at.checked_add(length)?)?;
    let field = field.split(|&byte| byte == 0).next().unwrap_or_default();
    (at >= ENTRY_HEADER && !field.is_empty()).then(|| String::from_utf8_lossy(field).into_owned())
}

/// The entries between two offsets.
pub fn walk(
    window: &mut Window<'_>,
    mut at: u64,
    end: u64,
    origin: &Arc<Origin>,
    found: &mut Found,
) -> io::Result<()> {
    while at < end && !found.is_full() {
        let left = end - at;
        let bytes = window.up_to(at, left.min(ENTRY_HEADER as u64) as usize)?;
        // The last entry may be filled up.
        if bytes.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        let Some(header) = Header::of(bytes) else {
            found.fault(at, FaultKind::Entry);
            return Ok(());
        };
        let own = header.second;
        if own < ENTRY_HEADER as u64 || own > left.min(LARGEST_HEADER) {
            found.fault(at, FaultKind::Entry);
            return Ok(());
        }
        let there = left - own;
        if header.size > there || header.compressed > header.size {
            let stated = header.size.max(header.compressed);
            found.fault(at, FaultKind::EntryEnd { stated, there: there.min(header.size) });
            if header.size > there {
                return Ok(());
            }
        } else {
            let bytes = window.up_to(at, own as usize)?;
            entry(&header, bytes, (at, at + own), origin, found);
        }
        at += own + header.size;
    }
    Ok(())
}

/// The images of an entry, which begins at `place.0`, and whose packed bytes begin at `place.1`.
fn entry(header: &Header, bytes: &[u8], place: (u64, u64), origin: &Arc<Origin>, found: &mut Found) {
    let whole = header.image(bytes, place.1, origin);
    if header.kind != PACKED_TOGETHER {
        found.image(whole);
        return;
    }
    if parts(header, bytes, &whole, found).is_none() {
        found.fault(place.0, FaultKind::Parts);
    }
}

/// The images of the list of an entry; none if the list is broken, after those before that place.
fn parts(header: &Header, bytes: &[u8], whole: &Image, found: &mut Found) -> Option<()> {
    let list = bytes.get(header.extra..).filter(|_| header.extra >= ENTRY_HEADER)?;
    let count = number::<4>(list, 0);
    let mut rows = list.get(8..)?;
    // Parts follow each other: no byte is in two of them.
    let mut last = 0;
    for _ in 0..count {
        let row = Header::of(rows)?;
        let size = row.row_size(rows);
        let own = rows.get(..size)?;
        let part = Part { offset: row.second, size: row.size };
        let end = part.offset.checked_add(part.size).filter(|&end| end <= whole.expanded)?;
        if part.offset < last {
            return None;
        }
        last = end;
        if found.is_full() {
            return Some(());
        }
        found.image(Image {
            part: Some(part),
            compression: whole.compression,
            stored: whole.stored,
            expanded: whole.expanded,
            ..row.image(own, whole.offset, &whole.origin)
        });
        rows = &rows[size..];
    }
    Some(())
}
