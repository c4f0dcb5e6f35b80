//! Reads line tables of any producer.

use gimli::{AttributeValue, DebugLine, DebugLineOffset, EndianSlice, LineProgramHeader, LittleEndian};

/// A row of a parsed table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceRow {
    /// The code it belongs to, as given to the reader.
    pub code: usize,
    /// Bytes from the start of that code.
    pub address: u64,
    /// Path of the file.
    pub file: String,
    /// Line, 0 for none.
    pub line: u64,
}

/// An address in a table: its offset, its code, and the byte offset from the start of that.
pub type Start = (u64, usize, u64);

/// Addresses of code `n` carry `n + 1` in the bits from here on, to distinguish them.
const CODE_SHIFT: u32 = 40;

/// The rows of all sequences whose start is known, in table order. Inlined code has the rows of the innermost
/// function.
///
/// # Errors
/// The bytes are no line table.
pub fn read_line_table(section: &[u8], starts: &[Start]) -> Result<Vec<SourceRow>, gimli::Error> {
    let mut bytes = section.to_vec();
    for &(at, code, addend) in starts {
        let address = (code as u64 + 1) << CODE_SHIFT | addend;
        let field = usize::try_from(at).ok().and_then(|at| bytes.get_mut(at..at.checked_add(8)?));
        if let Some(field) = field {
            field.copy_from_slice(&address.to_le_bytes());
        }
    }
    let table = DebugLine::new(&bytes, LittleEndian);
    let mut found = Vec::new();
    let mut next = 0;
    while next < bytes.len() {
        let program = table.program(DebugLineOffset(next), 8, None, None)?;
        let initial = usize::from(program.header().format().initial_length_size());
        next += initial + program.header().unit_length();
        let mut rows = program.rows();
        while let Some((header, row)) = rows.next_row()? {
            let code = (row.address() >> CODE_SHIFT) as usize;
            let Some(code) = code.checked_sub(1).filter(|_| !row.end_sequence()) else { continue };
            let address = row.address() & ((1 << CODE_SHIFT) - 1);
            let line = row.line().map_or(0, |line| line.get());
            found.push(SourceRow { code, address, file: path(header, row.file_index()), line });
        }
    }
    Ok(found)
}

fn path(header: &LineProgramHeader<EndianSlice<'_, LittleEndian>>, index: u64) -> String {
    let text = |value: AttributeValue<EndianSlice<'_, LittleEndian>>| match value {
        AttributeValue::String(text) => text.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    let Some(file) = header.file(index) else { return String::new() };
    let name = text(file.path_name());
    match file.directory(header).map(text) {
        Some(folder) if !folder.is_empty() => format!("{folder}/{name}"),
        _ => name,
    }
}
