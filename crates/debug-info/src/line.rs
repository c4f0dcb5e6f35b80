//! Line tables: rows from addresses to lines, written as line programs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use gimli::constants::{
    DW_LNE_end_sequence, DW_LNE_set_address, DW_LNS_advance_line, DW_LNS_advance_pc, DW_LNS_copy,
    DW_LNS_set_file,
};
use gimli::write::{EndianVec, Error, Writer};
use gimli::{DwLne, DwLns, Format, LittleEndian};

/// A source file, from `.file`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceFile {
    /// The file number that places use.
    pub number: u32,
    /// Its path.
    pub path: String,
    /// When it was last changed; 0 if not known.
    pub time: u64,
    /// Its size in bytes; 0 if not known.
    pub size: u64,
}

/// A source location.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// File number.
    pub file: u32,
    /// Line, from 1; 0 for code without a line.
    pub line: u32,
    /// For inlined code, the call site.
    pub caller: Option<Caller>,
}

/// Call site of inlined code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Caller {
    /// The location of the call: an earlier location of the sequence.
    pub place: usize,
    /// Offset of the inlined function's name in the string section.
    pub name: u64,
}

/// From this address on, up to that of the next row, code comes from here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// Bytes from the start of the code.
    pub address: u64,
    /// Line of the PTX, from 1.
    pub ptx_line: u32,
    /// The source location, by index; `None` where the PTX has none.
    pub place: Option<usize>,
}

/// The rows of one section of code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sequence {
    /// Bytes of the code.
    pub size: u64,
    /// The locations that rows reference. The call site of inlined code comes before it.
    pub places: Vec<Place>,
    /// The rows, by ascending address.
    pub rows: Vec<Row>,
}

/// The bytes of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// The section.
    pub bytes: Vec<u8>,
    /// Offsets of the 8-byte sequence addresses, each with the index of its sequence. They hold zero: the loader of
    /// the code fills them in.
    pub addresses: Vec<(u64, usize)>,
    /// Position of a four-byte field with the offset at which names of inlined functions begin in the string section,
    /// if there are any. It holds zero: a linker that merges such sections fills it in.
    pub names: Option<u64>,
}

/// Lines of the source; `files` in any order.
///
/// # Errors
/// The table is too large for its own lengths.
pub fn line_table(files: &[SourceFile], sequences: &[Sequence]) -> Result<Table, Error> {
    let inlines = |sequence: &Sequence| sequence.places.iter().any(|place| place.caller.is_some());
    let mut program = Program::new(files, sequences.iter().any(inlines))?;
    for (index, sequence) in sequences.iter().enumerate() {
        program.sequence(index, sequence)?;
    }
    program.finish()
}

/// Lines of the PTX, whose text is a section of its own: a file with several texts names them; otherwise the name is
/// absent.
///
/// # Errors
/// The table is too large for its own lengths.
pub fn ptx_line_table(text: Option<&str>, sequences: &[Sequence]) -> Result<Table, Error> {
    let text = text.map(|text| SourceFile { number: 1, path: text.to_owned(), ..SourceFile::default() });
    let file = u32::from(text.is_some());
    let mut program = Program::new(text.as_slice(), false)?;
    for (index, sequence) in sequences.iter().enumerate() {
        let mut last = None;
        for row in &sequence.rows {
            if last.replace(row.ptx_line) == Some(row.ptx_line) {
                continue;
            }
            program.open(index)?;
            program.row(row.address, &Registers { file, line: row.ptx_line, ..Registers::default() })?;
        }
        program.close(sequence.size)?;
    }
    program.finish()
}

const VERSION: u16 = 2;
/// Operands of the standard opcodes 1 to 9: there is no opcode for prologues or instruction sets.
const OPERANDS: [u8; 9] = [0, 1, 1, 1, 1, 0, 0, 0, 1];
const OPCODE_BASE: u8 = OPERANDS.len() as u8 + 1;
/// Minimum line advance of a special opcode.
const LINE_BASE: i8 = -5;
/// Line advances of the special opcodes.
const LINE_RANGE: u8 = 14;
const ADDRESS_BYTES: u8 = 8;

/// Marks the following rows as inlined code: the row index of the call in this sequence, counted from 1, and the
/// offset of the function's name in the string section. An NVIDIA extension.
const INLINED: DwLne = DwLne(0x90);

/// The registers of a row besides its address.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Registers {
    file: u32,
    line: u32,
    /// The row index of the call, 0 for none.
    context: u64,
    name: u64,
}

impl Default for Registers {
    /// Initial values of a sequence.
    fn default() -> Registers {
        Registers { file: 1, line: 1, context: 0, name: 0 }
    }
}

/// A line program under construction.
struct Program {
    out: EndianVec<LittleEndian>,
    length: gimli::write::InitialLengthOffset,
    /// The table index of each file, by file number.
    files: BTreeMap<u32, u32>,
    addresses: Vec<(u64, usize)>,
    /// Position in the header of the names offset.
    names: Option<u64>,
    /// The last row of the open sequence: its address, index and registers.
    last: Option<(u64, u64, Registers)>,
}

impl Program {
    /// Writes the header.
    fn new(files: &[SourceFile], inlines: bool) -> Result<Program, Error> {
        let mut out = EndianVec::new(LittleEndian);
        let length = out.write_initial_length(Format::Dwarf32)?;
        out.write_u16(VERSION)?;
        let header_at = out.len();
        out.write_u32(0)?;
        let behind = out.len();
        let least_instruction = 1;
        let rows_are_statements = 1;
        for byte in [least_instruction, rows_are_statements, LINE_BASE as u8, LINE_RANGE, OPCODE_BASE] {
            out.write_u8(byte)?;
        }
        out.write(&OPERANDS)?;
        let files = file_table(&mut out, files)?;
        let names = inlines.then(|| out.len() as u64);
        if inlines {
            out.write_u32(0)?;
        }
        let header = u32::try_from(out.len() - behind).map_err(|_| Error::ValueTooLarge)?;
        out.write_u32_at(header_at, header)?;
        Ok(Program { out, length, files, addresses: Vec::new(), names, last: None })
    }

    fn finish(mut self) -> Result<Table, Error> {
        let length = self.out.len() - usize::from(Format::Dwarf32.initial_length_size());
        self.out.write_initial_length_at(self.length, length as u64, Format::Dwarf32)?;
        Ok(Table { bytes: self.out.into_vec(), addresses: self.addresses, names: self.names })
    }

    fn sequence(&mut self, index: usize, sequence: &Sequence) -> Result<(), Error> {
        // The row index of each location that was written, for the code that it inlines.
        let mut rows = vec![None; sequence.places.len()];
        for row in &sequence.rows {
            let Some(place) = row.place else { continue };
            // Callers that have no row yet get one here, outermost first.
            let caller = |&at: &usize| Some(sequence.places.get(at)?.caller.as_ref()?.place);
            let mut chain: Vec<usize> = Vec::new();
            let mut next = caller(&place);
            while let Some(at) = next.filter(|&at| rows.get(at).is_some_and(Option::is_none)) {
                chain.push(at);
                next = caller(&at);
            }
            for at in chain.into_iter().rev().chain([place]) {
                let Some(registers) = self.registers(sequence, &rows, at) else { continue };
                self.open(index)?;
                if self.last.is_none_or(|(_, number, last)| number == 0 || last != registers) {
                    self.row(row.address, &registers)?;
                }
                rows[at] = self.last.map(|(_, number, _)| number);
            }
        }
        self.close(sequence.size)
    }

    /// The registers of a location's row; `None` for a location without line or file.
    fn registers(&self, sequence: &Sequence, rows: &[Option<u64>], at: usize) -> Option<Registers> {
        let place = sequence.places.get(at)?;
        let file = *self.files.get(&place.file)?;
        let call =
            place.caller.as_ref().and_then(|caller| Some((rows.get(caller.place).copied()??, caller.name)));
        let (context, name) = call.unwrap_or_default();
        (place.line != 0).then_some(Registers { file, line: place.line, context, name })
    }

    /// Begins a sequence, unless one is open.
    fn open(&mut self, index: usize) -> Result<(), Error> {
        if self.last.is_some() {
            return Ok(());
        }
        self.extended(DW_LNE_set_address, u64::from(ADDRESS_BYTES))?;
        self.addresses.push((self.out.len() as u64, index));
        self.out.write_u64(0)?;
        self.last = Some((0, 0, Registers::default()));
        Ok(())
    }

    /// Ends the sequence that is open, if there is one, at the end of its code.
    fn close(&mut self, size: u64) -> Result<(), Error> {
        let Some((address, ..)) = self.last.take() else { return Ok(()) };
        self.standard(DW_LNS_advance_pc)?;
        self.out.write_uleb128(size.saturating_sub(address))?;
        self.extended(DW_LNE_end_sequence, 0)
    }

    fn row(&mut self, address: u64, to: &Registers) -> Result<(), Error> {
        let (from_address, number, from) = self.last.unwrap_or((0, 0, Registers::default()));
        if to.file != from.file || number == 0 {
            self.standard(DW_LNS_set_file)?;
            self.out.write_uleb128(u64::from(to.file))?;
        }
        if (to.context, to.name) != (from.context, from.name) {
            let mut operands = EndianVec::new(LittleEndian);
            operands.write_uleb128(to.context)?;
            operands.write_uleb128(to.name)?;
            self.extended(INLINED, operands.len() as u64)?;
            self.out.write(operands.slice())?;
        }
        let lines = i64::from(to.line) - i64::from(from.line);
        let bytes = address.saturating_sub(from_address);
        match special(lines, bytes) {
            Some(opcode) => self.out.write_u8(opcode)?,
            None => {
                if lines != 0 {
                    self.standard(DW_LNS_advance_line)?;
                    self.out.write_sleb128(lines)?;
                }
                if bytes != 0 {
                    self.standard(DW_LNS_advance_pc)?;
                    self.out.write_uleb128(bytes)?;
                }
                self.standard(DW_LNS_copy)?;
            }
        }
        self.last = Some((address, number + 1, *to));
        Ok(())
    }

    fn standard(&mut self, opcode: DwLns) -> Result<(), Error> {
        self.out.write_u8(opcode.0)
    }

    /// An extended opcode with this many operand bytes.
    fn extended(&mut self, opcode: DwLne, operands: u64) -> Result<(), Error> {
        self.out.write_u8(0)?;
        self.out.write_uleb128(operands + 1)?;
        self.out.write_u8(opcode.0)
    }
}

/// The single-byte opcode that advances line and address and emits a row.
fn special(lines: i64, bytes: u64) -> Option<u8> {
    let step =
        u64::try_from(lines - i64::from(LINE_BASE)).ok().filter(|&step| step < u64::from(LINE_RANGE))?;
    let opcode = bytes.checked_mul(u64::from(LINE_RANGE))?.checked_add(step + u64::from(OPCODE_BASE))?;
    u8::try_from(opcode).ok()
}

/// Writes the folders and files; returns the table index of each file number. Indices have no gaps, whatever the
/// numbers.
fn file_table(out: &mut EndianVec<LittleEndian>, files: &[SourceFile]) -> Result<BTreeMap<u32, u32>, Error> {
    let mut sorted: BTreeMap<u32, &SourceFile> = BTreeMap::new();
    for file in files {
        sorted.entry(file.number).or_insert(file);
    }
    let split = |path| match str::rsplit_once(path, '/') {
        Some(("", name)) => ("/", name),
        Some((folder, name)) => (folder, name),
        None => ("", path),
    };
    // Folder 0 is that of the compilation.
    let mut folders: BTreeMap<&str, u64> = BTreeMap::from([("", 0)]);
    for file in sorted.values() {
        let next = folders.len() as u64;
        if let Entry::Vacant(entry) = folders.entry(split(&file.path).0) {
            text(out, entry.key())?;
            entry.insert(next);
        }
    }
    out.write_u8(0)?;
    for file in sorted.values() {
        let (folder, name) = split(&file.path);
        // An empty name would end the table.
        text(out, if name.is_empty() { "." } else { name })?;
        out.write_uleb128(folders[folder])?;
        out.write_uleb128(file.time)?;
        out.write_uleb128(file.size)?;
    }
    out.write_u8(0)?;
    Ok(sorted.into_keys().zip(1..).collect())
}

/// Writes a text up to its first zero, and the zero that ends it.
fn text(out: &mut EndianVec<LittleEndian>, text: &str) -> Result<(), Error> {
    out.write(text.split('\0').next().unwrap_or_default().as_bytes())?;
    out.write_u8(0)
}
