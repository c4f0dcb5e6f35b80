//! Writes fatbins and the files around them, for tests. It shares nothing with the reader.

use std::io::Cursor;

/// How an entry is packed.
#[derive(Clone, Copy)]
pub enum Packing {
    None,
    Lz4,
    Zstd,
}

/// An entry of a fatbin.
#[derive(Clone)]
pub struct Entry {
    kind: u16,
    chip: u32,
    flags: u64,
    name: String,
    options: String,
    bytes: Vec<u8>,
    packing: Packing,
    /// Rows of images that are packed together.
    list: Vec<u8>,
}

impl Entry {
    pub fn of_kind(kind: u16, chip: u32, bytes: &[u8]) -> Entry {
        Entry {
            kind,
            chip,
            flags: 0x11,
            name: String::new(),
            options: String::new(),
            bytes: bytes.to_vec(),
            packing: Packing::None,
            list: Vec::new(),
        }
    }

    pub fn ptx(chip: u32, bytes: &[u8]) -> Entry {
        Entry::of_kind(1, chip, bytes)
    }

    pub fn cubin(chip: u32, bytes: &[u8]) -> Entry {
        Entry::of_kind(2, chip, bytes)
    }

    pub fn named(self, name: &str) -> Entry {
        Entry { name: name.to_owned(), ..self }
    }

    pub fn with_options(self, options: &str) -> Entry {
        Entry { options: options.to_owned(), ..self }
    }

    pub fn letter(self, letter: char) -> Entry {
        Entry { flags: self.flags | if letter == 'a' { 1 << 20 } else { 1 << 21 }, ..self }
    }

    pub fn packed(self, packing: Packing) -> Entry {
        Entry { packing, ..self }
    }

    /// The header with name and options: the second field and the sizes are given.
    fn header(&self, second: Option<u32>, size: u64, packed: u32, expanded: u64) -> Vec<u8> {
        let packing = match self.packing {
            Packing::None => 0,
            Packing::Lz4 => 1 << 13,
            Packing::Zstd => 1 << 15,
        };
        let mut rest = filled(self.name.as_bytes());
        let name = if self.name.is_empty() { 0 } else { 64 };
        let mut extra = 0;
        if !self.options.is_empty() {
            extra = 64 + rest.len() as u32;
            rest.extend((extra + 8).to_le_bytes());
            rest.extend((self.options.len() as u32).to_le_bytes());
            rest.extend(filled(self.options.as_bytes()));
        }
        if !self.list.is_empty() {
            extra = 64 + rest.len() as u32;
            rest.extend(&self.list);
        }
        let mut bytes = Vec::new();
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend(0x101_u16.to_le_bytes());
        bytes.extend(second.unwrap_or(64 + rest.len() as u32).to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(packed.to_le_bytes());
        bytes.extend(extra.to_le_bytes());
        // The version 8.1.
        bytes.extend(1_u16.to_le_bytes());
        bytes.extend(8_u16.to_le_bytes());
        bytes.extend(self.chip.to_le_bytes());
        bytes.extend((name as u32).to_le_bytes());
        bytes.extend((self.name.len() as u32).to_le_bytes());
        bytes.extend((self.flags | packing).to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(expanded.to_le_bytes());
        bytes.extend(rest);
        bytes
    }

    fn written(&self) -> Vec<u8> {
        let (packed, size, expanded) = match self.packing {
            Packing::None => (self.bytes.clone(), 0, 0),
            Packing::Lz4 => {
                let packed = lz4(&self.bytes);
                let size = packed.len();
                (packed, size, self.bytes.len())
            }
            Packing::Zstd => {
                let level = ruzstd::encoding::CompressionLevel::Fastest;
                let packed = ruzstd::encoding::compress_to_vec(Cursor::new(&self.bytes), level);
                let size = packed.len();
                (packed, size, self.bytes.len())
            }
        };
        let packed = filled(&packed);
        let mut bytes = self.header(None, packed.len() as u64, size as u32, expanded as u64);
        bytes.extend(packed);
        bytes
    }
}

/// A block of LZ4 with literals alone.
fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![(bytes.len().min(15) as u8) << 4];
    if let Some(mut more) = bytes.len().checked_sub(15) {
        while more >= 255 {
            packed.push(255);
            more -= 255;
        }
        packed.push(more as u8);
    }
    packed.extend(bytes);
    packed
}

/// Bytes with zeros up to a multiple of eight.
fn filled(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// An entry that others are packed into together.
pub fn together(images: &[Entry], packing: Packing) -> Entry {
    let (mut rows, mut bytes) = (Vec::new(), Vec::new());
    for image in images {
        let row = image.header(Some(bytes.len() as u32), image.bytes.len() as u64, 0, 0);
        rows.extend(row);
        bytes.extend(filled(&image.bytes));
    }
    let mut list = (images.len() as u32).to_le_bytes().to_vec();
    list.extend((rows.len() as u32 + 8).to_le_bytes());
    list.extend(rows);
    Entry { list, ..Entry::of_kind(0x100, 0, &bytes).packed(packing) }
}

/// A fatbin.
pub fn fatbin(entries: &[Entry]) -> Vec<u8> {
    let entries: Vec<u8> = entries.iter().flat_map(Entry::written).collect();
    let mut bytes = 0xba55_ed50_u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend((entries.len() as u64).to_le_bytes());
    bytes.extend(entries);
    bytes
}

/// The header of an ELF file whose section headers are at its end.
fn elf_header(kind: u16, machine: u16, table: u64, count: u16, flags: u32) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend(kind.to_le_bytes());
    bytes.extend(machine.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend(table.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    for field in [64, 56, 0, 64, count, count.saturating_sub(1)] {
        bytes.extend(field.to_le_bytes());
    }
    bytes
}

/// A file with the header of a cubin, and this number of bytes more.
pub fn cubin(chip: u32, more: usize) -> Vec<u8> {
    let mut bytes = elf_header(2, 190, 64 + more as u64, 0, chip);
    bytes.resize(64 + more, 1);
    bytes
}

/// A host file with these sections.
pub fn elf(kind: u16, sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = vec![0];
    let mut rows = vec![0; 64];
    let mut body = Vec::new();
    let mut row = |name: &str, kind: u32, offset: usize, size: usize| {
        rows.extend((names.len() as u32).to_le_bytes());
        rows.extend(kind.to_le_bytes());
        rows.extend([0; 16]);
        rows.extend((offset as u64).to_le_bytes());
        rows.extend((size as u64).to_le_bytes());
        rows.extend([0; 24]);
        names.extend(name.as_bytes());
        names.push(0);
    };
    for (name, bytes) in sections {
        row(name, 1, 64 + body.len(), bytes.len());
        body.extend(filled(bytes));
    }
    let length: usize = sections.iter().map(|section| section.0.len() + 1).sum();
    row(".shstrtab", 3, 64 + body.len(), length + 11);
    body.extend(filled(&names));
    let mut bytes = elf_header(kind, 62, 64 + body.len() as u64, sections.len() as u16 + 2, 0);
    bytes.extend(body);
    bytes.extend(rows);
    bytes
}

/// An archive, with a table of long names.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = String::new();
    let mut bytes = b"!<arch>\n".to_vec();
    let mut rest = Vec::new();
    let member = |name: &str, content: &[u8], into: &mut Vec<u8>| {
        into.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len()).bytes());
        into.extend(content);
        into.resize(into.len().next_multiple_of(2), b'\n');
    };
    for (name, content) in members {
        let short = if name.len() < 16 {
            format!("{name}/")
        } else {
            let place = format!("/{}", names.len());
            names.push_str(&format!("{name}/\n"));
            place
        };
        member(&short, content, &mut rest);
    }
    member("/", b"\0\0\0\0", &mut bytes);
    member("//", names.as_bytes(), &mut bytes);
    bytes.extend(rest);
    bytes
}
