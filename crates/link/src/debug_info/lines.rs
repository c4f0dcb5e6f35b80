//! Line tables: where the code of an image stems from, in places of units first, and then in lines of the text.
//!
//! It is in two steps so that no code and no row depends on the number of a line: [`KernelLines`] counts from the starts of units,
//! [`line_sections`] reads the text. Nothing else of the crate reads a text.

use std::collections::BTreeMap;
use std::sync::Arc;

use oriole_chip::WordShape;
use oriole_cubin::{DebugAddress, DebugSection, DebugTarget, InnerFunction, KernelImage, SymbolRef};
use oriole_debug_info::{Caller, Row, Sequence, Table};
use oriole_hir::{Inlined, SourceMap};
use oriole_ori::Origin;
use oriole_pipeline::Routine;

use super::text::TextSections;
use crate::error::LinkError;

/// Where the code of a kernel and of all that is cloned into it stems from. Nothing in it depends on where a unit is in the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelLines {
    /// The kernel and its functions, by name.
    pub members: Vec<Arc<str>>,
    /// The rows, by ascending address.
    pub rows: Vec<UnitRow>,
    /// Places in the source that rows name.
    pub places: Vec<UnitPlace>,
}

/// From this address on code stems from here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitRow {
    /// Bytes from the start of the kernel's code.
    pub address: u32,
    /// Index of the function in [`KernelLines::members`].
    pub member: u32,
    /// First byte of the PTX instruction, from the start of the function's unit.
    pub at: u32,
    /// Index of the place in the source.
    pub place: Option<usize>,
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitPlace {
    /// Number of the file.
    pub file: u32,
    /// Line.
    pub line: u32,
    /// The place of the call of an inlined function, by its index, and the label of that function's name with an offset.
    pub caller: Option<(usize, Option<(String, u32)>)>,
}

/// A function in an image, as far as its rows go.
pub struct LinedMember<'a> {
    /// Its name in the module.
    pub name: Arc<str>,
    /// Bytes from the start of the image to its code.
    pub base: u32,
    /// Of each word the statement that it stems from.
    pub origins: &'a [Origin],
    /// Where its statements are.
    pub map: &'a SourceMap,
}

/// The name in the module of a function in an image. Routines of the compiler stem from no text: their code goes on under the row
/// before it.
pub fn name_in_module<'a>(image: &KernelImage, function: &'a InnerFunction) -> Option<&'a str> {
    let name = function.name.strip_prefix('$')?.strip_prefix(&*image.name)?.strip_prefix('$')?;
    Routine::named(name).is_none().then_some(name)
}

impl KernelLines {
    /// The rows of an image's members, in the order of their code.
    pub fn new<'a>(words: WordShape, members: impl IntoIterator<Item = LinedMember<'a>>) -> KernelLines {
        let mut lines = KernelLines::default();
        for member in members {
            lines.add(words, member);
        }
        lines
    }

    fn add(&mut self, words: WordShape, LinedMember { name, base, origins, map }: LinedMember<'_>) {
        let places = add_places(map, &mut self.places);
        let member = self.members.len() as u32;
        self.members.push(name);
        let mut last = None;
        for (index, &Origin(ordinal)) in (0..).zip(origins) {
            if last.replace(ordinal) == Some(ordinal) {
                continue;
            }
            let Some(span) = map.instructions.get(ordinal as usize) else { continue };
            // The last `.loc` above the instruction.
            let above = map.lines.partition_point(|line| line.instruction <= ordinal);
            let place = above.checked_sub(1).and_then(|line| places.get(line).copied());
            // The words that the chip needs at the entry belong to the first row.
            let address = if self.rows.is_empty() { 0 } else { base + words.address(index) };
            self.rows.push(UnitRow { address, member, at: span.start, place });
        }
    }
}

/// Adds the places of a function; gives the index of each of its `.loc`. Of an inlined one the place of the call comes first:
/// it is the last `.loc` of the same position above it.
fn add_places(map: &SourceMap, places: &mut Vec<UnitPlace>) -> Vec<usize> {
    let mut known: BTreeMap<(u32, u32, u32), usize> = BTreeMap::new();
    let mut indices = Vec::with_capacity(map.lines.len());
    let mut add = |place: UnitPlace| {
        places.push(place);
        places.len() - 1
    };
    for entry in &map.lines {
        let caller = entry.inlined.as_ref().and_then(|Inlined { function_name, at }| {
            let (file, line, column) = (*at)?;
            let call = *known
                .entry((file, line, column))
                .or_insert_with(|| add(UnitPlace { file, line, caller: None }));
            Some((call, function_name.clone()))
        });
        let index = add(UnitPlace { file: entry.file, line: entry.line, caller });
        known.insert((entry.file, entry.line, entry.column), index);
        indices.push(index);
    }
    indices
}

/// The rows of a section of code, with what ties them to the text.
pub struct LinedCode<'a> {
    /// Which section of code of the container it is.
    pub code: SymbolRef,
    /// Its rows.
    pub lines: &'a KernelLines,
    /// Where the unit of each member of the rows begins in the text.
    pub starts: Vec<u32>,
    /// Bytes of the section.
    pub size: u64,
}

/// The line tables of a module and the text that they number, with the code in the order of the tables. `linked` says that a linker
/// joins them with those of other files.
///
/// # Errors
/// A table cannot be written.
pub fn line_sections(
    text: &str,
    data: &TextSections,
    code: &[LinedCode<'_>],
    linked: bool,
) -> Result<Vec<DebugSection>, LinkError> {
    let text = TextLines::new(text);
    let sequence = |code: &LinedCode<'_>| sequence(code.lines, &code.starts, &text, data, code.size);
    let sequences: Vec<Sequence> = code.iter().map(sequence).collect();
    let strings = data.sections.get(STRINGS).filter(|strings| !strings.bytes.is_empty());
    let table = |name: &str, table: Result<Table, oriole_debug_info::Error>| -> Result<_, LinkError> {
        let table = table.map_err(|error| LinkError::internal("debug_sections", error.to_string()))?;
        let address = |offset, target| DebugAddress { offset, target, addend: 0 };
        let starts = table.addresses.iter();
        let starts =
            starts.map(|&(offset, sequence)| address(offset, DebugTarget::Memory(code[sequence].code)));
        // Strings follow the table; a linker puts them after those of other files.
        let names = table.names.filter(|_| linked && strings.is_some());
        let names = names.map(|offset| address(offset, DebugTarget::Section(1)));
        let addresses = starts.chain(names).collect();
        Ok(DebugSection { name: name.to_owned(), addresses, bytes: table.bytes })
    };
    let plain = |name: &str, bytes| DebugSection { name: name.to_owned(), bytes, addresses: Vec::new() };
    let mut sections = vec![table(".debug_line", oriole_debug_info::line_table(&data.files, &sequences))?];
    if let Some(strings) = strings {
        sections.push(plain(STRINGS, strings.bytes.clone()));
    }
    let ptx = oriole_debug_info::ptx_text_section(text.text, linked);
    let named = linked.then_some(ptx.as_str());
    sections.push(table(".nv_debug_line_sass", oriole_debug_info::ptx_line_table(named, &sequences))?);
    sections.push(plain(&ptx, oriole_debug_info::ptx_text(text.text)));
    Ok(sections)
}

/// The section with the names of inlined functions.
const STRINGS: &str = ".debug_str";

/// A kernel's rows with lines of the file and offsets of names.
fn sequence(
    lines: &KernelLines,
    starts: &[u32],
    text: &TextLines<'_>,
    data: &TextSections,
    size: u64,
) -> Sequence {
    let place = |place: &UnitPlace| {
        let caller = place.caller.as_ref().map(|(place, name)| {
            let name = name.as_ref().map_or(0, |(label, offset)| data.offset(label) + u64::from(*offset));
            Caller { place: *place, name }
        });
        oriole_debug_info::Place { file: place.file, line: place.line, caller }
    };
    let row = |row: &UnitRow| Row {
        address: u64::from(row.address),
        ptx_line: text.line(starts[row.member as usize] + row.at),
        place: row.place,
    };
    Sequence {
        size,
        places: lines.places.iter().map(place).collect(),
        rows: lines.rows.iter().map(row).collect(),
    }
}

/// Where the lines of a text begin.
struct TextLines<'a> {
    text: &'a str,
    starts: Vec<u32>,
}

impl TextLines<'_> {
    fn new(text: &str) -> TextLines<'_> {
        let behind = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32 + 1);
        TextLines { text, starts: std::iter::once(0).chain(behind).collect() }
    }

    /// The line, from 1, of a byte.
    fn line(&self, at: u32) -> u32 {
        self.starts.partition_point(|&start| start <= at) as u32
    }
}
