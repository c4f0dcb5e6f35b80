//! The sections of an ELF file, as far as they say where device code is. Sections of cubins are not looked at here.

use crate::source::Window;
use crate::{CUDA_MACHINE, ELF_MAGIC};
use object::LittleEndian as LE;
use object::elf::{FileHeader64, SectionHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use std::io;

/// Bytes of the header of a file.
pub const HEADER: usize = 64;

/// Sections without bytes in the file.
const NO_BYTES: u32 = 8;

/// Most bytes of a table of section headers, and of their names.
const LARGEST_TABLE: u64 = 64 << 20;

/// Types of files.
pub const RELOCATABLE: u16 = 1;
pub const EXECUTABLE: u16 = 2;

/// A section.
pub struct Section {
    pub name: String,
    /// In the ELF file.
    pub offset: u64,
    pub size: u64,
}

/// The header of a file with 64 bits and little-endian numbers.
pub fn header(bytes: &[u8]) -> Option<&FileHeader64<LE>> {
    let (header, _) = object::pod::from_bytes::<FileHeader64<LE>>(bytes).ok()?;
    (bytes.starts_with(&ELF_MAGIC) && bytes.get(4..6) == Some(&[2, 1])).then_some(header)
}

/// Whether these first bytes are those of a cubin.
pub fn is_cubin(bytes: &[u8]) -> bool {
    header(bytes).is_some_and(|header| header.e_machine(LE).0 == CUDA_MACHINE)
}

/// The end of an ELF file: that of its tables. In cubins the contents of sections come before the
/// tables.
pub fn end(bytes: &[u8]) -> Option<u64> {
    let header = header(bytes)?;
    let table = |offset: u64, count: u16, size: u16| offset.checked_add(u64::from(count) * u64::from(size));
    let sections = table(header.e_shoff(LE), header.e_shnum(LE), header.e_shentsize(LE))?;
    let segments = table(header.e_phoff(LE), header.e_phnum(LE), header.e_phentsize(LE))?;
    Some(sections.max(segments)).filter(|&end| end >= HEADER as u64)
}

/// The sections of a file that begins at `base` and has `size` bytes; none if the headers are broken. A file without section
/// headers has no sections.
pub fn sections(window: &mut Window<'_>, base: u64, size: u64) -> io::Result<Option<Vec<Section>>> {
    let bytes = window.up_to(base, HEADER)?;
    let Some(header) = header(bytes) else { return Ok(None) };
    let (offset, mut count) = (header.e_shoff(LE), u64::from(header.e_shnum(LE)));
    let mut names = u64::from(header.e_shstrndx(LE).0);
    if offset == 0 {
        return Ok(Some(Vec::new()));
    }
    const ROW: u64 = size_of::<SectionHeader64<LE>>() as u64;
    if header.e_shentsize(LE) != ROW as u16 || offset >= size {
        return Ok(None);
    }
    // Numbers that are too large for the header are in the first section.
    if count == 0 || names == 0xffff {
        let bytes = window.up_to(base + offset, ROW as usize)?;
        let Ok((first, _)) = object::pod::from_bytes::<SectionHeader64<LE>>(bytes) else { return Ok(None) };
        count = if count == 0 { first.sh_size(LE) } else { count };
        names = if names == 0xffff { u64::from(first.sh_link(LE)) } else { names };
    }
    let whole = count.checked_mul(ROW).filter(|&whole| whole <= LARGEST_TABLE.min(size - offset));
    let Some(whole) = whole else { return Ok(None) };
    let bytes = window.up_to(base + offset, whole as usize)?.to_vec();
    let Ok((rows, _)) = object::pod::slice_from_bytes::<SectionHeader64<LE>>(&bytes, count as usize) else {
        return Ok(None);
    };
    let Some(table) = rows.get(names as usize) else { return Ok(None) };
    let (from, length) = (table.sh_offset(LE), table.sh_size(LE));
    if length > LARGEST_TABLE || from.checked_add(length).is_none_or(|end| end > size) {
        return Ok(None);
    }
    let strings = window.up_to(base + from, length as usize)?;
    let name = |at: u32| {
        let rest = strings.get(at as usize..).unwrap_or_default();
        let end = memchr::memchr(0, rest).unwrap_or(rest.len()).min(LONGEST_NAME);
        String::from_utf8_lossy(&rest[..end]).into_owned()
    };
    let with_bytes = rows.iter().filter(|row| row.sh_type(LE).0 != NO_BYTES);
    let section = |row: &SectionHeader64<LE>| Section {
        name: name(row.sh_name(LE)),
        offset: row.sh_offset(LE),
        size: row.sh_size(LE),
    };
    Ok(Some(with_bytes.map(section).collect()))
}

/// Most bytes of a name: many sections may share one text, which is not copied for each.
const LONGEST_NAME: usize = 64;
