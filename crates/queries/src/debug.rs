//! Sections for debuggers: what the stages know of the origin of each instruction, and what the text says of places in the
//! source, joined.
//!
//! It is here, behind everything, so that no code depends on the number of a line: stages name instructions by ordinals, and
//! the places of these come in last.

use std::collections::BTreeMap;
use std::sync::Arc;

use oriole_cubin::{DebugAddress, DebugSection, DebugTarget, InnerFunction, SymbolRef};
use oriole_debug_info::{Caller, Reference, Row, Section, Sequence, SourceFile as NamedFile, Table};
use oriole_hir::{Inlined, SourceMap};
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_options::Linking;
use oriole_ori::Origin;
use oriole_pipeline::Routine;
use oriole_syntax::UnitKind;

use crate::debugger::{self, CodePlaces, DebugParts};
use crate::failure::{Failed, Staged, guarded};
use crate::graph;
use crate::module::function_unit;
use crate::{relocatable, stage};

/// Where the code of a kernel and of all that is cloned into it stems from. Nothing in it depends on where a unit stands.
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

pub(crate) fn kernel_lines<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
) -> Staged<KernelLines> {
    let image = graph::kernel_image(db, unit, config).as_ref().map_err(Clone::clone)?;
    let words = stage::target_of(db, config)?.words;
    let file = unit.file(db);
    let mut lines = KernelLines::default();
    let own = |function: &InnerFunction| {
        let prefix = function.name.strip_prefix('$')?.strip_prefix(&*image.name)?;
        let name = prefix.strip_prefix('$')?;
        // Routines of the compiler stem from no text: their code goes on under the row before it.
        let unit = Routine::named(name).is_none().then(|| function_unit(db, file, name))??;
        Some((unit, function.offset))
    };
    for (unit, base) in std::iter::once((unit, image.own_start)).chain(image.functions.iter().filter_map(own))
    {
        let encoded = &graph::encoded(db, unit, config).as_ref().map_err(Clone::clone)?.encoded;
        let map = graph::source_map(db, unit);
        let places = add_places(map, &mut lines.places);
        let member = lines.members.len() as u32;
        lines.members.push(unit.name(db).clone());
        let mut last = None;
        for (index, &Origin(ordinal)) in (0..).zip(&encoded.origins) {
            if last.replace(ordinal) == Some(ordinal) {
                continue;
            }
            let Some(span) = map.instructions.get(ordinal as usize) else { continue };
            // The last `.loc` above the instruction.
            let above = map.lines.partition_point(|line| line.instruction <= ordinal);
            let place = above.checked_sub(1).and_then(|line| places.get(line).copied());
            // What the chip asks for at the entry belongs to the first row.
            let address = if lines.rows.is_empty() { 0 } else { base + words.address(index) };
            lines.rows.push(UnitRow { address, member, at: span.start, place });
        }
    }
    Ok(triomphe::Arc::new(lines))
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

pub(crate) fn sections(db: &dyn Db, file: SourceFile, config: Config) -> Staged<DebugParts> {
    let options = graph::debug_options(db, config);
    let index = graph::index(db, file);
    let functions = &index.functions;
    let mut with_code = functions.iter().filter(|unit| unit.has_code(db));
    let for_debuggers = debugger::is_for_debuggers(db, file, config);
    let wanted = options.lines || for_debuggers || with_code.any(|&unit| graph::has_lines(db, unit));
    if options.suppressed || !wanted {
        return Ok(triomphe::Arc::default());
    }
    let words = stage::target_of(db, config)?.words;
    let data = ModuleData::new(db, file);
    let text = TextLines::new(file.cut(db).text());
    let mut sequences = Vec::new();
    let mut kernels = Vec::new();
    let code: Vec<FunctionUnit<'_>> = match graph::lowering(db, file, config).separate() {
        true => relocatable::sections(db, file).collect(),
        false => functions.iter().copied().filter(|unit| unit.kind(db) == UnitKind::Entry).collect(),
    };
    // As the code stands in the file: the last of the source comes first.
    for (at, &unit) in code.iter().enumerate().rev() {
        let lines = graph::kernel_lines(db, unit, config).as_ref().map_err(Clone::clone)?;
        let image = graph::kernel_image(db, unit, config).as_ref().map_err(Clone::clone)?;
        let size = words.size(oriole_cubin::layout::padded_words(words, image.code.len()));
        let start = |name: &Arc<str>| index.definition(name).map_or(0, |unit| unit.start(db));
        let starts: Vec<u32> = lines.members.iter().map(start).collect();
        sequences.push(sequence(lines, &starts, &text, &data, size));
        kernels.push(SymbolRef::Kernel(at));
    }
    let linked = graph::lower_options(db, config).linking == Linking::Relocatable;
    let mut places: Vec<(&str, triomphe::Arc<CodePlaces>)> = Vec::new();
    let mut variables: Vec<&str> = Vec::new();
    if for_debuggers {
        for &unit in &code {
            let place = graph::code_places(db, unit, config).clone()?;
            places.push((unit.name(db), place));
            let linked = graph::encoded(db, unit, config).as_ref().map_err(Clone::clone)?;
            variables.extend(linked.shared.iter().map(|(name, ..)| name.as_str()));
        }
        variables.extend(graph::module_data(db, file).iter().map(|variable| variable.name.as_str()));
    }
    guarded("debug_sections", || {
        let strings = data.sections.get(STRINGS).filter(|strings| !strings.bytes.is_empty());
        let table = |name: &str, table: Result<Table, oriole_debug_info::Error>| -> Result<_, Failed> {
            let table = table.map_err(|error| Failed::internal("debug_sections", error.to_string()))?;
            let address = |offset, target| DebugAddress { offset, target, addend: 0 };
            let starts = table.addresses.iter();
            let starts =
                starts.map(|&(offset, sequence)| address(offset, DebugTarget::Memory(kernels[sequence])));
            // Strings follow the table; a linker puts them behind those of other files.
            let names = table.names.filter(|_| linked && strings.is_some());
            let names = names.map(|offset| address(offset, DebugTarget::Section(1)));
            let addresses = starts.chain(names).collect();
            Ok(DebugSection { name: name.to_owned(), addresses, bytes: table.bytes })
        };
        let plain = |name: &str, bytes| DebugSection { name: name.to_owned(), bytes, addresses: Vec::new() };
        let mut sections =
            vec![table(".debug_line", oriole_debug_info::line_table(&data.files, &sequences))?];
        if let Some(strings) = strings {
            sections.push(plain(STRINGS, strings.bytes.clone()));
        }
        let ptx = oriole_debug_info::ptx_text_section(text.text, linked);
        let named = linked.then_some(ptx.as_str());
        sections.push(table(".nv_debug_line_sass", oriole_debug_info::ptx_line_table(named, &sequences))?);
        sections.push(plain(&ptx, oriole_debug_info::ptx_text(text.text)));
        if !for_debuggers {
            return Ok(DebugParts { sections: triomphe::Arc::new(sections), ..DebugParts::default() });
        }
        debugger::add_sections(&data, &places, &variables, linked, sections)
    })
}

/// The section in which the names of inlined functions stand.
const STRINGS: &str = ".debug_str";

/// A kernel's rows with lines of the file and offsets of names.
fn sequence(
    lines: &KernelLines,
    starts: &[u32],
    text: &TextLines<'_>,
    data: &ModuleData,
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

/// What all units of a module say for debuggers.
#[derive(Default)]
pub(crate) struct ModuleData {
    files: Vec<NamedFile>,
    /// Sections by name. What several units put into one stands one after the other.
    pub sections: BTreeMap<String, Section>,
    /// The names of the sections in the order of the text.
    pub order: Vec<String>,
    /// For each section the ordinals of the units in which its references stand.
    pub reference_units: BTreeMap<String, Vec<usize>>,
    /// Sections of labels, and offsets in them.
    pub labels: BTreeMap<String, (String, u64)>,
}

impl ModuleData {
    fn new(db: &dyn Db, file: SourceFile) -> ModuleData {
        let mut module = ModuleData::default();
        let units = graph::split_file(db, file).iter().enumerate();
        for (ordinal, &unit) in units.filter(|(_, unit)| unit.kind(db) == UnitKind::DebugSection) {
            let data = graph::debug_data(db, unit);
            module.files.extend_from_slice(&data.files);
            for section in &data.sections {
                module.add(ordinal, section);
            }
        }
        module
    }

    fn add(&mut self, unit: usize, section: &Section) {
        let name = &section.name;
        if !self.sections.contains_key(name) {
            self.order.push(name.clone());
        }
        let whole = self.sections.entry(name.clone()).or_default();
        let base = whole.bytes.len() as u64;
        whole.bytes.extend_from_slice(&section.bytes);
        let references = section.references.iter();
        whole.references.extend(references.map(|one| Reference { at: base + one.at, ..one.clone() }));
        self.reference_units.entry(name.clone()).or_default().resize(whole.references.len(), unit);
        for (label, offset) in &section.labels {
            self.labels.insert(label.clone(), (name.clone(), base + offset));
        }
    }

    /// The offset of a label in its section, or 0 for the name of a section.
    fn offset(&self, label: &str) -> u64 {
        self.labels.get(label).map_or(0, |&(_, offset)| offset)
    }
}
