//! The debug sections of the PTX as debuggers read them: whatever they name, in place of its name where it is.
//!
//! It is apart from the line tables since only debug builds have it: labels get the addresses of the code
//! after them, local variables their places in the frame, parameters theirs in the constant bank. Names that
//! only the layout of the module resolves stay open.

use std::collections::BTreeMap;

use oriole_cubin::{DebugAddress, DebugSection, DebugTarget, SymbolRef};
use oriole_debug_info::{HeldRegister, Reference, register_tables, to_frame_place};
use oriole_diagnostics::{Code, Diagnostic, Span};

use super::parts::{DebugParts, OpenReference};
use super::places::CodePlaces;
use super::text::TextSections;
use crate::error::LinkError;

/// How entries of the next section are built.
const ABBREVIATIONS: &str = ".debug_abbrev";
/// The section with the entities of the source: functions, types, variables.
const INFORMATION: &str = ".debug_info";

/// Meaning of a name in a debug section.
#[derive(Clone, Copy)]
enum Place {
    /// The start of a section, and bytes from there.
    Section(usize, u64),
    /// Code: which, and bytes from its start.
    Code(usize, u64),
    /// A local variable, from the end of its frame.
    Local(i64),
    /// A number, whatever is loaded where.
    Known(u64),
    /// A variable of the module, or one of shared memory.
    Variable,
}

/// The names of a module that debug sections may use.
struct Names<'a> {
    places: BTreeMap<&'a str, Place>,
}

impl<'a> Names<'a> {
    /// `code` are the kernels and functions by name, in the order of the container.
    fn new(
        sections: &'a [DebugSection],
        data: &'a TextSections,
        code: &'a [(&'a str, triomphe::Arc<CodePlaces>)],
        variables: impl Iterator<Item = &'a str>,
    ) -> Names<'a> {
        let mut places = BTreeMap::new();
        // The first of a name counts.
        let mut add = |name: &'a str, place| {
            places.entry(name).or_insert(place);
        };
        let index = |name: &str| sections.iter().position(|section| section.name == name);
        for (at, section) in sections.iter().enumerate() {
            add(&section.name, Place::Section(at, 0));
        }
        for (label, (section, offset)) in &data.labels {
            if let Some(section) = index(section) {
                add(label, Place::Section(section, *offset));
            }
        }
        for (at, (name, code)) in code.iter().enumerate() {
            code.labels.iter().for_each(|(label, offset)| add(label, Place::Code(at, *offset)));
            add(name, Place::Code(at, 0));
            code.parameters.iter().for_each(|(name, offset)| add(name, Place::Known(*offset)));
            code.locals.iter().for_each(|(name, offset)| add(name, Place::Local(*offset)));
        }
        variables.for_each(|name| add(name, Place::Variable));
        Names { places }
    }
}

/// Adds the debug sections of the PTX to those that are there, and finds what they name.
pub fn add_sections(
    data: &TextSections,
    code: &[(&str, triomphe::Arc<CodePlaces>)],
    variables: &[&str],
    linked: bool,
    mut sections: Vec<DebugSection>,
) -> Result<DebugParts, LinkError> {
    let there: Vec<String> = sections.iter().map(|section| section.name.clone()).collect();
    let is_new = |name: &str| !there.iter().any(|there| there == name);
    let functions: Vec<(&str, &[HeldRegister])> =
        code.iter().map(|(name, code)| (*name, &*code.registers)).collect();
    let tables = register_tables(&functions)
        .map_err(|error| LinkError::internal("debug_sections", error.to_string()))?;
    for (name, bytes) in [".nv_debug_info_reg_sass", ".nv_debug_info_reg_type"].into_iter().zip(tables) {
        sections.push(DebugSection { name: name.to_owned(), bytes, addresses: Vec::new() });
    }
    let mut parts = DebugParts::default();
    let missing = [ABBREVIATIONS, INFORMATION].map(|name| !data.sections.contains_key(name));
    for (name, _) in [ABBREVIATIONS, INFORMATION].into_iter().zip(missing).filter(|(_, missing)| *missing) {
        let message = format!("`{name}` is missing, and with it what debuggers know of variables and types");
        parts.warnings.push((0, Diagnostic::new(Code::NoDebugSection, Span::point(0), message)));
    }
    // The second cannot be read without the first.
    let is_readable = |name: &str| !(missing[0] && name == INFORMATION);
    let own = data.order.iter().map(String::as_str);
    let mut own: Vec<&str> = own.filter(|name| is_new(name) && is_readable(name)).collect();
    // ptxas puts abbreviations first.
    own.sort_by_key(|&name| name != ABBREVIATIONS);
    for name in own {
        let bytes = data.sections[name].bytes.clone();
        sections.push(DebugSection { name: name.to_owned(), bytes, addresses: Vec::new() });
    }
    let mut filled = sections.clone();
    let names = Names::new(&sections, data, code, variables.iter().copied());
    for (at, section) in filled.iter_mut().enumerate() {
        let Some(of_text) = data.sections.get(&section.name) else { continue };
        for (reference, &unit) in of_text.references.iter().zip(&data.reference_units[&section.name]) {
            if let Err(why) = names.fill(at, section, reference, linked, &mut parts.open) {
                let (start, len) = reference.written;
                let message = format!("`{}` {why}; the value in the debug section is 0", reference.name);
                let diagnostic = Diagnostic::new(Code::DebugInformation, Span::new(start, len), message);
                parts.warnings.push((unit, diagnostic));
            }
        }
    }
    parts.sections = triomphe::Arc::new(filled);
    Ok(parts)
}

const ADDRESS_BYTES: u8 = 8;

impl Names<'_> {
    /// Writes what a reference names, or says what is completed later.
    fn fill(
        &self,
        index: usize,
        section: &mut DebugSection,
        reference: &Reference,
        linked: bool,
        open: &mut Vec<OpenReference>,
    ) -> Result<(), &'static str> {
        let at = reference.at as usize;
        let width = reference.bytes;
        let place = |name: &str| self.places.get(name).copied().ok_or("is no name of the module");
        let mut write = |value: u64| {
            section.bytes[at..at + usize::from(width)]
                .copy_from_slice(&value.to_le_bytes()[..usize::from(width)]);
        };
        let named = place(&reference.name)?;
        if let Some(minus) = &reference.minus {
            let difference = match (named, place(minus)?) {
                (Place::Section(one, from), Place::Section(other, to)) if one == other => {
                    from.wrapping_sub(to)
                }
                (Place::Code(one, from), Place::Code(other, to)) if one == other => from.wrapping_sub(to),
                _ => return Err("and what is subtracted lie in no common section"),
            };
            write(difference);
            return Ok(());
        }
        let target = |target, addend| DebugAddress { offset: reference.at, target, addend };
        match named {
            Place::Section(other, offset) => {
                let offset = offset.wrapping_add_signed(reference.addend);
                match (linked, width) {
                    (false, _) => write(offset),
                    (true, 4) => {
                        section.addresses.push(target(DebugTarget::Section(other), offset as i64));
                    }
                    (true, _) => return Err("is moved by linkers in values of four bytes only"),
                }
            }
            _ if width != ADDRESS_BYTES => return Err("has an address, which takes eight bytes"),
            Place::Code(code, offset) => {
                let address = offset.wrapping_add_signed(reference.addend) as i64;
                section.addresses.push(target(DebugTarget::Memory(SymbolRef::Kernel(code)), address));
            }
            Place::Known(value) => write(value.wrapping_add_signed(reference.addend)),
            Place::Local(offset) => {
                let operation = at.checked_sub(1).map(|at| &mut section.bytes[at..]);
                operation
                    .and_then(|operation| to_frame_place(operation, offset + reference.addend))
                    .ok_or("is in a frame, and stands in no `DW_OP_addr`")?;
            }
            Place::Variable => open.push(OpenReference {
                section: index,
                at: reference.at,
                name: reference.name.clone(),
                addend: reference.addend,
            }),
        }
        Ok(())
    }
}
