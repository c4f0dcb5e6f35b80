//! From a file to the images in it: by its format, by the sections that are for device code, and where there are none by a
//! search for the bytes that a fatbin or a cubin begins with.

use crate::found::Found;
use crate::image::{Image, Kind, Origin};
use crate::source::{Source, Window};
use crate::{ARCHIVE_MAGICS, FATBIN_MAGIC, Fault, FaultKind, archive, elf, entries};
use memchr::memmem::Finder;
use std::io;
use std::sync::Arc;

/// Sections that hold fatbins: of what is linked, and of what is not.
const SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];

/// Bytes at the start of a file by which text is known.
const TEXT: usize = 64 << 10;

/// Bytes that are searched at once.
const CHUNK: usize = 1 << 20;

/// The format of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// Machine code alone.
    Cubin,
    /// PTX text.
    Ptx,
    /// One fatbin or several.
    Fatbin,
    /// A host object.
    Object,
    /// A shared library.
    SharedLibrary,
    /// A program.
    Executable,
    /// An archive of objects.
    Archive,
    /// A program or library of another system.
    Foreign,
    /// Anything else.
    Other,
}

impl Format {
    /// How messages name such a file.
    pub fn described(self) -> &'static str {
        match self {
            Format::Cubin => "a cubin",
            Format::Ptx => "PTX",
            Format::Fatbin => "a fatbin",
            Format::Object => "an ELF host object",
            Format::SharedLibrary => "an ELF shared library",
            Format::Executable => "an ELF program",
            Format::Archive => "an archive",
            Format::Foreign => "a program or library of another system",
            Format::Other => "a file of unknown format",
        }
    }
}

/// The device code of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contents {
    /// The format of the file.
    pub format: Format,
    /// The images in the order of the file.
    pub images: Vec<Image>,
    /// The damaged places.
    pub faults: Vec<Fault>,
}

/// Finds the device code of a file.
///
/// # Errors
/// The file cannot be read. Damage is not an error: it is among the contents.
pub fn scan(source: &dyn Source) -> io::Result<Contents> {
    let mut window = Window::new(source);
    let mut found = Found::default();
    let format = file(&mut window, &mut found)?;
    let (images, faults) = found.bounded();
    Ok(Contents { format, images, faults })
}

fn file(window: &mut Window<'_>, found: &mut Found) -> io::Result<Format> {
    let size = window.size();
    let origin = Arc::new(Origin::default());
    let start = window.up_to(0, elf::HEADER)?;
    if ARCHIVE_MAGICS.iter().any(|magic| start.starts_with(magic)) {
        let thin = start.starts_with(ARCHIVE_MAGICS[1]);
        archive(window, thin, found)?;
        return Ok(Format::Archive);
    }
    let foreign = [&b"MZ"[..], b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];
    let foreign = foreign.iter().any(|magic| start.starts_with(magic));
    let format = whole(window, 0, size, &origin, found)?;
    let hidden = !matches!(format, Some(Format::Cubin | Format::Ptx | Format::Fatbin));
    if hidden && found.is_empty() {
        search(window, (0, size), Gaps::Allowed, &origin, found)?;
    }
    Ok(format.unwrap_or(if foreign { Format::Foreign } else { Format::Other }))
}

/// The members of an archive.
fn archive(window: &mut Window<'_>, thin: bool, found: &mut Found) -> io::Result<()> {
    if thin {
        found.fault(0, FaultKind::Thin);
        return Ok(());
    }
    for member in archive::members(window, found)? {
        if found.is_full() {
            break;
        }
        let origin = Arc::new(Origin { member: Some(member.name), section: None });
        whole(window, member.offset, member.size, &origin, found)?;
    }
    Ok(())
}

/// A file, or a member of an archive, by its format; none if that is not known.
fn whole(
    window: &mut Window<'_>,
    base: u64,
    size: u64,
    origin: &Arc<Origin>,
    found: &mut Found,
) -> io::Result<Option<Format>> {
    let start = window.up_to(base, size.min(elf::HEADER as u64) as usize)?;
    if elf::is_cubin(start) {
        found.image(Image::plain(Kind::Cubin, base, size, origin));
        return Ok(Some(Format::Cubin));
    }
    if let Some(header) = elf::header(start) {
        let kind = header.e_type.get(object::LittleEndian);
        return host(window, base, size, kind.0, origin, found).map(Some);
    }
    if entries::fatbin_size(start).is_some() {
        search(window, (base, base + size), Gaps::Faults, origin, found)?;
        return Ok(Some(Format::Fatbin));
    }
    let text = window.up_to(base, size.min(TEXT as u64) as usize)?;
    // It begins with a directive or a comment.
    let begins = text.trim_ascii_start().first().is_some_and(|byte| b"./".contains(byte));
    let is_ptx = begins && !text.contains(&0) && memchr::memmem::find(text, b".version").is_some();
    if is_ptx {
        found.image(Image::plain(Kind::Ptx, base, size, origin));
        return Ok(Some(Format::Ptx));
    }
    Ok(None)
}

/// The sections of a host file that hold device code.
fn host(
    window: &mut Window<'_>,
    base: u64,
    size: u64,
    kind: u16,
    origin: &Origin,
    found: &mut Found,
) -> io::Result<Format> {
    let mut format = match kind {
        elf::RELOCATABLE => Format::Object,
        elf::EXECUTABLE => Format::Executable,
        _ => Format::SharedLibrary,
    };
    let Some(sections) = elf::sections(window, base, size)? else {
        found.fault(base, FaultKind::Sections);
        return Ok(format);
    };
    for section in sections {
        // A program may be loaded anywhere, as a library is.
        if section.name == ".interp" {
            format = Format::Executable;
        }
        if !SECTIONS.contains(&section.name.as_str()) {
            continue;
        }
        let end = section.offset.checked_add(section.size).filter(|&end| end <= size);
        if end.is_none() {
            found.fault(base.saturating_add(section.offset), FaultKind::SectionEnd(section.name.clone()));
        }
        let from = section.offset.min(size);
        let origin = Arc::new(Origin { section: Some(section.name), ..origin.clone() });
        search(window, (base + from, base + end.unwrap_or(size)), Gaps::Faults, &origin, found)?;
    }
    Ok(format)
}

/// Whether bytes between fatbins are damage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gaps {
    /// The place is one for fatbins only; zeros between them are for alignment.
    Faults,
    /// The place is one for anything.
    Allowed,
}

/// The fatbins between two offsets, and where anything may be also the cubins.
fn search(
    window: &mut Window<'_>,
    (mut at, end): (u64, u64),
    gaps: Gaps,
    origin: &Arc<Origin>,
    found: &mut Found,
) -> io::Result<()> {
    let finders = [Finder::new(&FATBIN_MAGIC[..]), Finder::new(b"\x7fELF\x02\x01\x01")];
    let finders = &finders[..if gaps == Gaps::Allowed { 2 } else { 1 }];
    // Where the last image ended, and whether other bytes than zero were passed since.
    let (mut last, mut filled) = (at, true);
    while at < end && !found.is_full() {
        // Most fatbins begin where the last one ends.
        let length = (end - at).min(if at == last { elf::HEADER } else { CHUNK } as u64) as usize;
        let bytes = window.up_to(at, length)?;
        let place = finders.iter().filter_map(|finder| finder.find(bytes)).min();
        let passed = place.unwrap_or(if at + length as u64 >= end { length } else { length.max(8) - 7 });
        filled &= bytes[..passed].iter().all(|&byte| byte == 0);
        at += passed as u64;
        if place.is_none() {
            continue;
        }
        match image_at(window, at, end, gaps, origin, found)? {
            Some(next) => {
                if gaps == Gaps::Faults && !filled {
                    found.fault(last, FaultKind::NotFatbin(at - last));
                }
                (at, last, filled) = (next, next, true);
            }
            None => (at, filled) = (at + 1, false),
        }
    }
    if gaps == Gaps::Faults && !filled && !found.is_full() {
        found.fault(last, FaultKind::NotFatbin(end - last));
    }
    Ok(())
}

/// The fatbin or the cubin that begins here, if one does: the offset of its end.
fn image_at(
    window: &mut Window<'_>,
    at: u64,
    end: u64,
    gaps: Gaps,
    origin: &Arc<Origin>,
    found: &mut Found,
) -> io::Result<Option<u64>> {
    let bytes = window.up_to(at, (end - at).min(elf::HEADER as u64) as usize)?;
    if elf::is_cubin(bytes) {
        let size = elf::end(bytes).filter(|&size| size <= end - at);
        return Ok(size.map(|size| {
            found.image(Image::plain(Kind::Cubin, at, size, origin));
            at + size
        }));
    }
    let Some((header, stated)) = entries::fatbin_size(bytes) else { return Ok(None) };
    let there = (end - at).saturating_sub(header);
    if stated > there {
        // Anywhere else it is not a fatbin, but bytes that look like the start of one.
        if gaps == Gaps::Allowed || header > end - at {
            return Ok(None);
        }
        found.fault(at, FaultKind::FatbinEnd { stated, there });
    }
    let from = at + header.min(end - at);
    entries::walk(window, from, from + stated.min(there), origin, found)?;
    Ok(Some(from + stated.min(there)))
}
