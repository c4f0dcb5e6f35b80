//! Puts other instructions into a finished cubin of any producer: the code of its kernels and functions, and what the
//! file says of places in it.
//!
//! It is here because offsets of instructions stand in many structures of the file: relocations, attributes, symbols,
//! program headers. Texts of instructions must never enter; code is words, and where each old one is now.

use crate::attribute::code;
use crate::elf::{SHF_EXECINSTR, SHT_REL, SHT_RELA, STT_FUNC};
use crate::read::{Cubin, ReadError, read};

/// Other code for a kernel or function that has a section of its own.
#[derive(Clone, Debug)]
pub struct Edit {
    /// Index of the section of the old code.
    pub text: usize,
    /// The new code, a multiple of the section's alignment.
    pub code: Vec<u8>,
    /// Bytes of an instruction word.
    pub word: u32,
    /// Where each instruction of the old code is now, in bytes from the start; `None` for one that is gone.
    pub moved: Vec<Option<u32>>,
    /// Where the new code ends threads, in bytes, ascending.
    pub exits: Vec<u32>,
    /// General registers of a thread, where their number changes.
    pub registers: Option<u32>,
}

/// Why code cannot be put into a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EditError {
    /// The file, or the new one, cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is no such section with code.
    #[error("section {0} holds no code")]
    NoCode(usize),
    /// The length of the code is not a multiple of the alignment of its section.
    #[error("{0} bytes of code do not fit the alignment of the section")]
    Length(usize),
    /// A relocation of an instruction that is gone.
    #[error("the instruction at {offset:#x} is gone, whose address of `{symbol}` the loader fills in")]
    Relocated {
        /// Its offset in the old code in bytes.
        offset: u64,
        /// The symbol.
        symbol: String,
    },
    /// A function inside the code whose place is not that of an instruction any more.
    #[error("the function `{0}` begins or ends at an instruction that is gone")]
    Inner(String),
    /// An attribute whose form is not known.
    #[error("attribute {0:#04x} of the code cannot be read")]
    Attribute(u8),
}

/// Attributes that are lists of records with an offset of an instruction: words of a record, position of the offset.
const OFFSETS: [(u8, usize, usize); 10] = [
    (code::S2RCTAID_INSTR_OFFSETS, 1, 0),
    (code::LD_CACHEMOD_INSTR_OFFSETS, 1, 0),
    (code::ATOM_SYS_INSTR_OFFSETS, 1, 0),
    (code::COOP_GROUP_INSTR_OFFSETS, 1, 0),
    (code::INT_WARP_WIDE_INSTR_OFFSETS, 1, 0),
    (code::SYSCALL_OFFSETS, 1, 0),
    (code::STACK_CANARY_TRAP_OFFSETS, 1, 0),
    (code::MBARRIER_INSTR_OFFSETS, 4, 0),
    (code::INSTR_REG_MAP, 3, 0),
    (code::ANNOTATIONS, 2, 1),
];

impl Edit {
    /// Where an old offset is now. The end of the code stays its end.
    fn place(&self, offset: u64) -> Option<u64> {
        let index = usize::try_from(offset / u64::from(self.word)).ok()?;
        if index == self.moved.len() {
            return Some(self.code.len() as u64);
        }
        Some(u64::from((*self.moved.get(index)?)?) + offset % u64::from(self.word))
    }
}

/// A copy of the file with other code in it. Sections after one that grows or shrinks move; nothing else changes.
///
/// # Errors
/// The file cannot be read, or says something of an instruction that is gone.
pub fn edit(data: &[u8], edits: &[Edit]) -> Result<Vec<u8>, EditError> {
    let cubin = read(data)?;
    let mut file = File::of(data, &cubin)?;
    for edit in edits {
        let section = cubin.sections.get(edit.text).filter(|section| section.flags & SHF_EXECINSTR != 0);
        let section = section.ok_or(EditError::NoCode(edit.text))?;
        let alignment = usize::try_from(section.alignment).unwrap_or(0).max(ALIGNMENT);
        if !edit.code.len().is_multiple_of(alignment) {
            return Err(EditError::Length(edit.code.len()));
        }
        file.contents[edit.text] = Some(edit.code.clone());
        relocations(&cubin, &mut file, edit)?;
        symbols(&cubin, &mut file, edit)?;
        attributes(&cubin, &mut file, edit)?;
        frames(&cubin, &mut file, edit);
        if let Some(registers) = edit.registers {
            registers_of(&cubin, &mut file, edit, registers);
        }
    }
    let edited = file.write()?;
    read(&edited)?;
    Ok(edited)
}

/// The unit of moves in the file, in bytes: no section has a larger alignment, so that none loses it.
const ALIGNMENT: usize = 128;

/// The bytes of a file, and of sections that have others.
struct File<'a> {
    data: &'a [u8],
    /// The bytes of a section header in the file.
    headers: Vec<Header>,
    /// New bytes of sections.
    contents: Vec<Option<Vec<u8>>>,
    /// New words of a section header, the field `info`.
    info: Vec<Option<u32>>,
    /// Of the file header.
    section_table: u64,
    program_table: u64,
    programs: usize,
}

/// Where a section is in the file.
struct Header {
    at: usize,
    offset: u64,
    size: u64,
}

impl<'a> File<'a> {
    /// `data` is what `cubin` was read from.
    fn of(data: &'a [u8], cubin: &Cubin) -> Result<File<'a>, EditError> {
        let broken = || ReadError::Malformed { place: "file header".into() };
        let section_table = u64_at(data, 40).ok_or_else(broken)?;
        let program_table = u64_at(data, 32).ok_or_else(broken)?;
        let programs = usize::from(u16_at(data, 56).ok_or_else(broken)?);
        let mut headers = Vec::with_capacity(cubin.sections.len());
        for index in 0..cubin.sections.len() {
            let broken = || ReadError::Malformed { place: format!("header of section {index}") };
            let at = usize::try_from(section_table).ok().and_then(|table| table.checked_add(index * 64));
            let at = at.ok_or_else(broken)?;
            let offset = u64_at(data, at + 24).ok_or_else(broken)?;
            // Sections in memory only have a size that is not in the file.
            let size = cubin.sections[index].data.len() as u64;
            headers.push(Header { at, offset, size });
        }
        let count = headers.len();
        Ok(File {
            data,
            headers,
            contents: vec![None; count],
            info: vec![None; count],
            section_table,
            program_table,
            programs,
        })
    }

    /// The bytes of a section to change.
    fn change(&mut self, cubin: &Cubin, section: usize) -> &mut Vec<u8> {
        self.contents[section].get_or_insert_with(|| cubin.sections[section].data.clone())
    }

    /// The file, with everything after a changed section moved by multiples of [`ALIGNMENT`].
    fn write(&self) -> Result<Vec<u8>, ReadError> {
        let mut changes: Vec<(u64, u64, &[u8])> = Vec::new();
        for (header, bytes) in self.headers.iter().zip(&self.contents) {
            if let Some(bytes) = bytes {
                changes.push((header.offset, header.offset + header.size, bytes));
            }
        }
        changes.sort_by_key(|change| change.0);
        let mut out = Vec::with_capacity(self.data.len());
        let mut at = 0;
        // Old ends of changed sections, and how far what follows has moved.
        let mut moves: Vec<(u64, i64)> = Vec::new();
        let mut distance = 0i64;
        for (start, end, bytes) in changes {
            if start < at as u64 || end > self.data.len() as u64 {
                return Err(ReadError::Malformed { place: "overlapping sections".into() });
            }
            out.extend_from_slice(&self.data[at..start as usize]);
            out.extend_from_slice(bytes);
            let grown = bytes.len() as i64 - (end - start) as i64;
            // The next multiple: what shrinks by less leaves a gap.
            let step = -(-grown).div_euclid(ALIGNMENT as i64) * ALIGNMENT as i64;
            out.resize(out.len() + (step - grown) as usize, 0);
            distance += step;
            moves.push((end, distance));
            at = end as usize;
        }
        out.extend_from_slice(&self.data[at..]);
        let moved = |offset: u64| {
            let passed = moves.partition_point(|&(end, _)| end <= offset);
            let distance = if passed == 0 { 0 } else { moves[passed - 1].1 };
            offset.wrapping_add_signed(distance)
        };
        self.write_headers(&mut out, moved);
        Ok(out)
    }

    fn write_headers(&self, out: &mut [u8], moved: impl Fn(u64) -> u64) {
        let mut put = |at: u64, bytes: &[u8]| {
            if let Some(place) = out.get_mut(at as usize..).and_then(|rest| rest.get_mut(..bytes.len())) {
                place.copy_from_slice(bytes);
            }
        };
        put(40, &moved(self.section_table).to_le_bytes());
        if self.programs != 0 {
            put(32, &moved(self.program_table).to_le_bytes());
        }
        for (index, header) in self.headers.iter().enumerate().skip(1) {
            let at = moved(header.at as u64);
            put(at + 24, &moved(header.offset).to_le_bytes());
            if let Some(bytes) = &self.contents[index] {
                put(at + 32, &(bytes.len() as u64).to_le_bytes());
            }
            if let Some(info) = self.info[index] {
                put(at + 44, &info.to_le_bytes());
            }
        }
        for number in 0..self.programs {
            let old = (self.program_table as usize).wrapping_add(number * 56);
            let field = |at: usize| u64_at(self.data, old.wrapping_add(at)).unwrap_or(0);
            let (start, size, memory) = (field(8), field(32), field(40));
            let (start, end) = (moved(start), moved(start.wrapping_add(size)));
            let now = end.wrapping_sub(start);
            let at = moved(self.program_table).wrapping_add(number as u64 * 56);
            put(at + 8, &start.to_le_bytes());
            put(at + 32, &now.to_le_bytes());
            put(at + 40, &memory.wrapping_sub(size).wrapping_add(now).to_le_bytes());
        }
    }
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(data.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(data.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(data.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// Relocations follow their instructions.
fn relocations(cubin: &Cubin, file: &mut File<'_>, edit: &Edit) -> Result<(), EditError> {
    for (index, section) in cubin.sections.iter().enumerate() {
        let size = match section.kind {
            SHT_RELA => 24,
            SHT_REL => 16,
            _ => continue,
        };
        if section.info as usize != edit.text {
            continue;
        }
        let bytes = file.change(cubin, index);
        for row in bytes.chunks_exact_mut(size) {
            let offset = u64_at(row, 0).unwrap_or(0);
            let symbol = u32_at(row, 12).unwrap_or(0) as usize;
            let symbol = || cubin.symbols.get(symbol).map(|symbol| symbol.name.clone()).unwrap_or_default();
            let place = edit.place(offset);
            let place = place.ok_or_else(|| EditError::Relocated { offset, symbol: symbol() })?;
            row[..8].copy_from_slice(&place.to_le_bytes());
        }
    }
    Ok(())
}

/// Functions begin and end where their first instruction and the one after them are now.
fn symbols(cubin: &Cubin, file: &mut File<'_>, edit: &Edit) -> Result<(), EditError> {
    let table = cubin.sections.iter().position(|section| section.name == ".symtab");
    let Some(table) = table else { return Ok(()) };
    for (number, symbol) in cubin.symbols.iter().enumerate() {
        if symbol.section != edit.text || symbol.kind != STT_FUNC {
            continue;
        }
        let lost = || EditError::Inner(symbol.name.clone());
        // New lines before the first instruction belong to the function.
        let start = if symbol.value == 0 { 0 } else { edit.place(symbol.value).ok_or_else(lost)? };
        let end = edit.place(symbol.value.saturating_add(symbol.size)).ok_or_else(lost)?;
        let size = end.checked_sub(start).ok_or_else(lost)?;
        if let Some(row) = file.change(cubin, table).get_mut(number * 24..number * 24 + 24) {
            row[8..16].copy_from_slice(&start.to_le_bytes());
            row[16..24].copy_from_slice(&size.to_le_bytes());
        }
    }
    Ok(())
}

/// The attributes of the kernel, with the places of instructions as they are now. Places of instructions that are gone
/// are left out.
fn attributes(cubin: &Cubin, file: &mut File<'_>, edit: &Edit) -> Result<(), EditError> {
    let Some(name) = cubin.sections[edit.text].name.strip_prefix(".text.") else { return Ok(()) };
    let name = format!(".nv.info.{name}");
    let Some(index) = cubin.sections.iter().position(|section| section.name == name) else { return Ok(()) };
    let old = file.change(cubin, index);
    let lost = lost_groups(old, edit);
    let mut new = Vec::with_capacity(old.len());
    let mut at = 0;
    while let Some(&[format, number, low, high]) = old.get(at..at + 4) {
        let length = if format == 4 { usize::from(u16::from_le_bytes([low, high])) } else { 0 };
        let payload = old.get(at + 4..at + 4 + length).ok_or(EditError::Attribute(number))?;
        at += 4 + length;
        let Some(records) = (format == 4).then(|| records(number, payload, edit, &lost)).flatten() else {
            new.extend_from_slice(&[format, number, low, high]);
            new.extend_from_slice(payload);
            continue;
        };
        let records = records?;
        // A list that has become empty is none.
        if !records.is_empty() {
            let length = u16::try_from(records.len()).map_err(|_| EditError::Attribute(number))?;
            new.extend_from_slice(&[format, number]);
            new.extend_from_slice(&length.to_le_bytes());
            new.extend_from_slice(&records);
        }
    }
    *old = new;
    Ok(())
}

/// The new payload of an attribute that names places of instructions; `None` for one that does not.
fn records(number: u8, payload: &[u8], edit: &Edit, lost: &[usize]) -> Option<Result<Vec<u8>, EditError>> {
    if number == code::INDIRECT_BRANCH_TARGETS {
        return Some(branches(payload, edit).ok_or(EditError::Attribute(number)));
    }
    if number == code::COOP_GROUP_MASK_REGIDS {
        let kept = payload.chunks_exact(4).enumerate().filter(|(index, _)| !lost.contains(index));
        return Some(Ok(kept.flat_map(|(_, word)| word.iter().copied()).collect()));
    }
    if number == code::EXIT_INSTR_OFFSETS {
        return Some(Ok(edit.exits.iter().flat_map(|offset| offset.to_le_bytes()).collect()));
    }
    let &(_, words, position) = OFFSETS.iter().find(|row| row.0 == number)?;
    let records = placed(payload, words, position, edit);
    Some(Ok(records.concat()))
}

/// Which of the instructions that communicate in groups are gone: the list of their masks has no offsets.
fn lost_groups(attributes: &[u8], edit: &Edit) -> Vec<usize> {
    let mut lost = Vec::new();
    for row in crate::attribute::decode(attributes).unwrap_or_default() {
        if row.code == code::COOP_GROUP_INSTR_OFFSETS {
            let places = row.to_words().into_iter().map(|offset| edit.place(u64::from(offset)));
            lost.extend((0..).zip(places).filter(|(_, place)| place.is_none()).map(|(index, _)| index));
        }
    }
    lost
}

/// Records of `words` words, each with an offset at a position.
fn placed(payload: &[u8], words: usize, position: usize, edit: &Edit) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = Vec::new();
    for record in payload.chunks_exact(words * 4) {
        let offset = u32_at(record, position * 4).unwrap_or(0);
        if let Some(place) = edit.place(u64::from(offset)) {
            let mut record = record.to_vec();
            record[position * 4..position * 4 + 4].copy_from_slice(&(place as u32).to_le_bytes());
            records.push(record);
        }
    }
    records
}

/// Indexed branches: an offset, an unknown word, the number of targets, and these.
fn branches(payload: &[u8], edit: &Edit) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(payload.len());
    let mut at = 0;
    while at < payload.len() {
        let count = u32_at(payload, at + 8)? as usize;
        let place = edit.place(u64::from(u32_at(payload, at)?))?;
        out.extend_from_slice(&(place as u32).to_le_bytes());
        out.extend_from_slice(payload.get(at + 4..at + 12)?);
        for target in 0..count {
            let place = edit.place(u64::from(u32_at(payload, at + 12 + target * 4)?))?;
            out.extend_from_slice(&(place as u32).to_le_bytes());
        }
        at += 12 + count * 4;
    }
    Some(out)
}

/// Frame descriptions of functions that become longer or shorter: the length stands after the address that the loader
/// fills in.
fn frames(cubin: &Cubin, file: &mut File<'_>, edit: &Edit) {
    let sections = cubin.sections.iter().enumerate();
    for (index, section) in sections.filter(|(_, section)| section.name == ".debug_frame") {
        for row in &section.relocations {
            if cubin.symbols[row.symbol].section != edit.text {
                continue;
            }
            let Some(at) = usize::try_from(row.offset).ok().and_then(|at| at.checked_add(8)) else {
                continue;
            };
            let place = u64_at(&section.data, at).and_then(|length| edit.place(length));
            let bytes = file.change(cubin, index);
            if let (Some(place), Some(length)) =
                (place, bytes.get_mut(at..).and_then(|rest| rest.get_mut(..8)))
            {
                length.copy_from_slice(&place.to_le_bytes());
            }
        }
    }
}

/// Another number of registers: in the header of the code, and in the attributes of the module.
fn registers_of(cubin: &Cubin, file: &mut File<'_>, edit: &Edit, registers: u32) {
    let old = cubin.sections[edit.text].info;
    // Files of later formats have it in the attribute only.
    if old >> 24 != 0 {
        file.info[edit.text] = Some(old & 0x00ff_ffff | registers << 24);
    }
    let Some(index) = cubin.sections.iter().position(|section| section.name == ".nv.info") else { return };
    let bytes = file.change(cubin, index);
    let mut at = 0;
    while let Some(&[format, number, low, high]) = bytes.get(at..at + 4) {
        let length = if format == 4 { usize::from(u16::from_le_bytes([low, high])) } else { 0 };
        let symbol = u32_at(bytes, at + 4).unwrap_or(0) as usize;
        let owner = cubin.symbols.get(symbol).map(|symbol| symbol.section);
        if number == code::REGCOUNT && length == 8 && owner == Some(edit.text) {
            bytes[at + 8..at + 12].copy_from_slice(&registers.to_le_bytes());
        }
        at += 4 + length;
    }
}
