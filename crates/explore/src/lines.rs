//! The line tables of a cubin as places of code: lines of the source, and lines of the PTX with their text.
//!
//! It is here so that a listing names sources without knowing DWARF. Only the places are read.

use std::collections::BTreeMap;

use oriole_cubin::read::{Cubin, Relocation};
use oriole_debug_info::SourceRow;

/// A line table that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the line table cannot be read: {0}")]
pub struct LinesError(Box<dyn std::error::Error + Send + Sync>);

/// The places in the source at which code of kernels begins, by address.
#[derive(Clone, Default, Debug)]
pub struct SourceLines(Vec<BTreeMap<u64, String>>);

/// The rows of a line table of a cubin, whose codes are numbered in the order of the cubin; none if it has no such table.
fn rows(cubin: &Cubin, name: &str) -> Result<Vec<SourceRow>, LinesError> {
    let Some(table) = cubin.section(name) else { return Ok(Vec::new()) };
    // Of codes that share a section the first counts.
    let mut codes = BTreeMap::new();
    for (number, code) in cubin.codes().enumerate() {
        codes.entry(code.text).or_insert(number);
    }
    let start = |relocation: &Relocation| {
        let symbol = cubin.symbols.get(relocation.symbol)?;
        let &kernel = codes.get(&symbol.section)?;
        Some((relocation.offset, kernel, symbol.value.wrapping_add_signed(relocation.addend)))
    };
    let starts: Vec<_> = table.relocations.iter().filter_map(start).collect();
    oriole_debug_info::read_line_table(&table.data, &starts).map_err(|error| LinesError(error.into()))
}

impl SourceLines {
    /// Reads the line table of a cubin; no places if it has none.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn of(cubin: &Cubin) -> Result<SourceLines, LinesError> {
        let mut places = SourceLines(vec![BTreeMap::new(); cubin.codes().count()]);
        for row in rows(cubin, ".debug_line")? {
            if let Some(kernel) = places.0.get_mut(row.code) {
                kernel.insert(row.address, format!("{}:{}", row.file, row.line));
            }
        }
        Ok(places)
    }

    /// Those of a kernel or function, by its number in the order of the cubin.
    pub fn of_kernel(&self, index: usize) -> &BTreeMap<u64, String> {
        static NONE: BTreeMap<u64, String> = BTreeMap::new();
        self.0.get(index).unwrap_or(&NONE)
    }
}

/// A line of the PTX that code was made from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PtxLine {
    /// Its number, from 1.
    pub line: u64,
    /// Its text, if the cubin holds it.
    pub text: String,
}

/// The lines of the PTX at which code of kernels begins, by address.
#[derive(Clone, Default, Debug)]
pub struct PtxLines(Vec<BTreeMap<u64, PtxLine>>);

/// The section with the text of the PTX: lines that end with zero. Linked files have one for each file, whose name is in the
/// line table.
const PTX_TEXT: &str = ".nv_debug_ptx_txt";

impl PtxLines {
    /// Reads the lines of the PTX of a cubin; none if it has none.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn of(cubin: &Cubin) -> Result<PtxLines, LinesError> {
        let texts: BTreeMap<&str, Vec<&[u8]>> = cubin
            .sections
            .iter()
            .filter(|section| section.name.starts_with(PTX_TEXT))
            .map(|section| (section.name.as_str(), section.data.split(|&byte| byte == 0).collect()))
            .collect();
        let mut lines = PtxLines(vec![BTreeMap::new(); cubin.codes().count()]);
        for row in rows(cubin, ".nv_debug_line_sass")? {
            let named = row.file.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(PTX_TEXT);
            let index = usize::try_from(row.line).ok().and_then(|line| line.checked_sub(1));
            let text = texts.get(named).zip(index).and_then(|(text, index)| text.get(index));
            let text = text.map(|text| String::from_utf8_lossy(text).trim().to_owned());
            if let Some(kernel) = lines.0.get_mut(row.code) {
                kernel.insert(row.address, PtxLine { line: row.line, text: text.unwrap_or_default() });
            }
        }
        Ok(lines)
    }

    /// Those of a kernel or function, by its number in the order of the cubin.
    pub fn of_kernel(&self, index: usize) -> &BTreeMap<u64, PtxLine> {
        static NONE: BTreeMap<u64, PtxLine> = BTreeMap::new();
        self.0.get(index).unwrap_or(&NONE)
    }
}
