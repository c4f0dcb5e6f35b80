//! The debug sections of the PTX as debuggers read them: whatever they name, in place of its name where it is.
//!
//! It is apart from the line tables since only modules for debuggers have it: labels get the addresses of the code behind them,
//! local variables their places in the frame, parameters theirs in the constant bank. What only the layout of the module knows
//! is left open, and `separate.rs` and `relocatable.rs` close it. No code may depend on anything here.

use std::collections::BTreeMap;

use oriole_cubin::{DebugAddress, DebugSection, DebugTarget, Module, SymbolRef};
use oriole_debug_info::{HeldRegister, MachineRegister, Reference, register_tables, to_frame_place};
use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_hir::{HeaderQuestion, Statement, VariableKind, from_raw_index};
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_ori::{Origin, SymbolKind};
use oriole_pipeline::holders::{Held, HolderFile};
use oriole_ptx::Type;

use crate::debug::ModuleData;
use crate::failure::{Failed, Staged};
use crate::{graph, stage};

/// Where a kernel or function has what debug sections name. Nothing in it depends on where a unit stands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CodePlaces {
    /// Labels, in the order of the text, with the bytes from the start of the code to what they stand above.
    pub labels: Vec<(String, u64)>,
    /// Local variables with the bytes from the end of the frame, which is the address that unwinding calls the canonical one.
    pub locals: Vec<(String, i64)>,
    /// Parameters of a kernel with their offsets in constant bank 0.
    pub parameters: Vec<(String, u64)>,
    /// Where registers of the PTX are, by register of the machine and then by place.
    pub registers: Vec<HeldRegister>,
}

/// The sections for debuggers, as far as the layout of the module has no say in them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DebugParts {
    /// The sections.
    pub sections: triomphe::Arc<Vec<DebugSection>>,
    /// Names of variables that have places when the module is laid out.
    pub open: Vec<OpenReference>,
    /// What has no place, by the ordinal of the unit that names it.
    pub warnings: Vec<(usize, Diagnostic)>,
}

/// A value of a debug section that is the address of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenReference {
    /// Index of the section in [`DebugParts::sections`].
    pub section: usize,
    /// Offset in the section; the value has eight bytes.
    pub at: u64,
    /// The variable.
    pub name: String,
    /// Bytes that are added.
    pub addend: i64,
}

/// Whether the container is to have all that debuggers read. At other levels than 0 there is none but line tables.
pub(crate) fn is_for_debuggers(db: &dyn Db, file: SourceFile, config: Config) -> bool {
    let options = graph::debug_options(db, config);
    let header = || graph::header_answer(db, file, HeaderQuestion::Debug);
    !options.suppressed && graph::lower_options(db, config).unoptimized && (options.full || header())
}

/// What debuggers will miss: there is nothing for them in optimized code.
pub fn optimized_diagnostic(db: &dyn Db, file: SourceFile, config: Config) -> Option<Diagnostic> {
    let options = graph::debug_options(db, config);
    let asks = !options.suppressed && (options.full || graph::module_header(db, file).debug);
    let misses = asks && !graph::lower_options(db, config).unoptimized;
    let message = "the module is for debuggers, and optimized code has line tables at most: compile with -O0";
    misses.then(|| Diagnostic::new(Code::DebugInformation, Span::point(0), message.to_owned()))
}

pub(crate) fn code_places<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
) -> Staged<CodePlaces> {
    let body = graph::body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    let image = graph::kernel_image(db, unit, config).as_ref().map_err(Clone::clone)?;
    let linked = graph::encoded(db, unit, config).as_ref().map_err(Clone::clone)?;
    let target = stage::target_of(db, config)?;
    let words = target.words;
    let origins = &linked.encoded.origins;
    // The first word of each instruction of the text, or of the next one that has any.
    let count = body.statements.iter().filter(|it| matches!(it, Statement::Instruction(_))).count();
    let mut first = vec![None; count + 1];
    for (at, &Origin(ordinal)) in (0u32..).zip(origins) {
        if let Some(first) = first.get_mut(ordinal as usize) {
            first.get_or_insert(at);
        }
    }
    first[count] = Some(origins.len() as u32);
    let mut next = first[count];
    for word in first.iter_mut().rev() {
        next = word.or(next);
        *word = next;
    }
    // What is set up for all of the code stands before its first instruction, and labels there are above that, too.
    let above_all = first[0];
    let address = |ordinal: usize| match first[ordinal] {
        word if word == above_all => 0,
        word => u64::from(image.own_start + words.address(word.unwrap_or_default())),
    };
    let map = graph::source_map(db, unit);
    let mut labels = Vec::new();
    let mut ordinal = 0;
    for statement in &body.statements {
        match statement {
            Statement::Label(label) => labels.push((map.labels[*label].0.clone(), address(ordinal))),
            Statement::Instruction(_) => ordinal += 1,
            Statement::Pragma(_) => {}
        }
    }
    // The last label of all is the end of the section, padding included.
    if let (Some(Statement::Label(_)), Some((_, last))) = (body.statements.last(), labels.last_mut()) {
        *last = words.size(oriole_cubin::layout::padded_words(words, image.code.len()));
    }
    let end = i64::from(linked.frame_bytes);
    let mut locals = Vec::new();
    for symbol in &linked.symbols {
        if let SymbolKind::Local(index) = symbol.kind
            && let Some(&offset) = linked.local_offsets.get(index as usize)
        {
            locals.push((symbol.name.clone(), i64::from(offset) - end));
        }
    }
    let mut parameters = Vec::new();
    if let Some(bank) = target.chip.constant_bank().filter(|_| body.is_entry) {
        for variable in body.variables.values() {
            if let VariableKind::Parameter(index) = variable.kind {
                let offset =
                    bank.parameters_start(image.parameter_size) + image.parameters[index as usize].offset;
                parameters.push((variable.name.clone(), offset.into()));
            }
        }
    }
    let held = |one: &Held| {
        let machine = match one.file {
            HolderFile::General => MachineRegister::general,
            HolderFile::Uniform => MachineRegister::uniform,
            HolderFile::Predicate => MachineRegister::predicate,
            HolderFile::UniformPredicate => MachineRegister::uniform_predicate,
        };
        let [first, end] = [one.first, one.end].map(|word| image.own_start + words.address(word));
        let register = from_raw_index(one.register);
        HeldRegister {
            machine: machine(one.number),
            first,
            end,
            name: map.registers[register].0.clone(),
            component: one.component.into(),
            kind: type_number(body.registers[register].ty),
        }
    };
    let mut registers: Vec<HeldRegister> = linked.held.iter().map(held).collect();
    registers.sort_unstable();
    Ok(triomphe::Arc::new(CodePlaces { labels, locals, parameters, registers }))
}

/// The numbers of types in the table of registers. Types that it does not know are bits of their size.
fn type_number(ty: Type) -> u8 {
    match ty {
        Type::U8 => 4,
        Type::U16 => 5,
        Type::U32 => 6,
        Type::U64 => 7,
        Type::S8 => 8,
        Type::S16 => 9,
        Type::S32 => 10,
        Type::S64 => 11,
        Type::F16 => 12,
        Type::F16x2 => 13,
        Type::F32 => 14,
        Type::F64 => 15,
        Type::Pred => 16,
        _ => match ty.bits() {
            0..=8 => 0,
            9..=16 => 1,
            17..=32 => 2,
            33..=64 => 3,
            _ => 17,
        },
    }
}

/// How entries of the next section are built.
const ABBREVIATIONS: &str = ".debug_abbrev";
/// What there is in the source: functions, types, variables.
const INFORMATION: &str = ".debug_info";

/// What a name of a debug section stands for.
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
        data: &'a ModuleData,
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
pub(crate) fn add_sections(
    data: &ModuleData,
    code: &[(&str, triomphe::Arc<CodePlaces>)],
    variables: &[&str],
    linked: bool,
    mut sections: Vec<DebugSection>,
) -> Result<DebugParts, Failed> {
    let there: Vec<String> = sections.iter().map(|section| section.name.clone()).collect();
    let is_new = |name: &str| !there.iter().any(|there| there == name);
    let functions: Vec<(&str, &[HeldRegister])> =
        code.iter().map(|(name, code)| (*name, &*code.registers)).collect();
    let tables =
        register_tables(&functions).map_err(|error| Failed::internal("debug_sections", error.to_string()))?;
    for (name, bytes) in [".nv_debug_info_reg_sass", ".nv_debug_info_reg_type"].into_iter().zip(tables) {
        sections.push(DebugSection { name: name.to_owned(), bytes, addresses: Vec::new() });
    }
    let mut parts = DebugParts::default();
    let missing = [ABBREVIATIONS, INFORMATION].map(|name| !data.sections.contains_key(name));
    for (name, _) in [ABBREVIATIONS, INFORMATION].into_iter().zip(missing).filter(|(_, missing)| *missing) {
        let message = format!("`{name}` is missing, and with it what debuggers know of variables and types");
        parts.warnings.push((0, Diagnostic::new(Code::NoDebugSection, Span::point(0), message)));
    }
    // Nobody can read the one without the other.
    let is_readable = |name: &str| !(missing[0] && name == INFORMATION);
    let own = data.order.iter().map(String::as_str);
    let mut own: Vec<&str> = own.filter(|name| is_new(name) && is_readable(name)).collect();
    // The reference puts abbreviations first.
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

/// The variables of a module that have their addresses when they are loaded.
pub(crate) fn loaded_variables(module: &Module) -> BTreeMap<String, SymbolRef> {
    let globals = module.globals.iter().enumerate().map(|(at, one)| (one, SymbolRef::Global(at)));
    let constants = module.constants.iter().enumerate().map(|(at, one)| (one, SymbolRef::Constant(at)));
    let undefined = module.undefined.iter().enumerate();
    let undefined = undefined.map(|(at, other)| (other.name.clone(), SymbolRef::Undefined(at)));
    globals.chain(constants).map(|(one, at)| (one.name.clone(), at)).chain(undefined).collect()
}
