//! The kernel image: what a kernel needs to run, laid out. Places the kernel and a clone of every function and routine
//! it reaches one after the other, lays out shared memory, jump tables and literals, fills in what was symbolic, and
//! aggregates registers, stack and barriers.
//!
//! It is here because it is the only place that sees several functions at once. It reads encoded functions and module
//! variables; it knows no Ori instruction and no file format.

use crate::{Target, unwinding};
use oriole_chip::WordShape;
use oriole_chip::texture::DescriptorTable;
use oriole_cubin::{
    Binding, CalleeSaved, CodeKind, FrameRow, FrameRule, Header, HeaderSlot, IndirectBranch, InnerFunction,
    KernelImage, Mbarrier, RelocationKind, SymbolRef, TextRelocation, Variable,
};
use oriole_encode::{EncodedFunction, Relocation};
use oriole_ori::{AddressPart, ConstBase, Fixup, ObjectOperation, SymbolId, SymbolKind, Table};
use oriole_sass::{OperandKind, register};
use std::collections::{BTreeMap, BTreeSet};
use typed_index_collections::TiVec;

/// A function as far as layout needs it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct LinkedFunction {
    /// Words, symbolic places and facts.
    pub encoded: EncodedFunction,
    /// What its symbols name.
    pub symbols: TiVec<SymbolId, oriole_ori::SymbolRef>,
    /// Jump tables and literals.
    pub tables: Vec<Table>,
    /// Shared variables declared inside it: name, size and alignment in bytes.
    pub shared: Vec<(String, u64, u64)>,
    /// Its source names a shared variable, whatever became of that.
    pub names_shared: bool,
    /// Named barriers used, highest plus one.
    pub barriers: u8,
    /// Bytes of its frame.
    pub frame_bytes: u32,
    /// Offset in the frame of each of its `.local` variables.
    pub local_offsets: Vec<u32>,
    /// Where registers of the PTX are, of a function for debuggers.
    pub held: Vec<crate::holders::Held>,
    /// What of its frame is true where, of a function for debuggers.
    pub frame_rows: Vec<crate::unwinding::Row>,
    /// Bytes that all instructions that spill a register store, each counted once.
    pub spill_stores: u32,
    /// Bytes that all instructions that reload a spilled register load, each counted once.
    pub spill_loads: u32,
    /// Bytes of its parameters, of a kernel.
    pub parameter_bytes: u32,
    /// Most registers that the source's bounds leave a thread, if they limit it.
    pub register_limit: Option<u16>,
    /// It has a section of its own, and a linker joins it with others.
    pub is_separate: bool,
}

impl LinkedFunction {
    /// Names of the functions that it calls directly, one for each call; those that the driver provides are not among
    /// them.
    pub fn called(&self) -> impl Iterator<Item = &str> {
        self.called_symbols(&[SymbolKind::Function]).map(|(_, name)| name)
    }

    /// Names of the routines of the compiler that it calls, one for each call.
    pub fn called_routines(&self) -> impl Iterator<Item = &str> {
        self.called_symbols(&[SymbolKind::Helper]).map(|(_, name)| name)
    }

    /// Functions and routines that it calls, with the index of the word that calls.
    pub fn calls(&self) -> impl Iterator<Item = (u32, &str)> {
        self.called_symbols(&[SymbolKind::Function, SymbolKind::Helper])
    }

    fn called_symbols<'a>(&'a self, kinds: &'a [SymbolKind]) -> impl Iterator<Item = (u32, &'a str)> {
        self.encoded.relocations.iter().filter_map(move |relocation| {
            let Fixup::Call(symbol) = relocation.fixup else { return None };
            let symbol = self.symbols.get(symbol)?;
            kinds.contains(&symbol.kind).then_some((relocation.at, symbol.name.as_str()))
        })
    }

    /// Names of the functions whose addresses it takes, one for each use.
    pub fn addressed(&self) -> impl Iterator<Item = &str> {
        self.encoded.relocations.iter().filter_map(|relocation| match relocation.fixup {
            Fixup::Address { symbol, .. } | Fixup::Const { base: ConstBase::AddressSlot(symbol), .. } => {
                let symbol = self.symbols.get(symbol)?;
                (symbol.kind == SymbolKind::Function).then_some(symbol.name.as_str())
            }
            _ => None,
        })
    }

    /// Whether it looks up where a pointer to a function leads.
    pub fn calls_through_pointers(&self) -> bool {
        self.tables.contains(&Table::Functions)
    }
}

/// A variable of the module, as far as code may refer to it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ModuleVariable {
    /// Name.
    pub name: String,
    /// Where it lives.
    pub space: VariableSpace,
    /// Size in bytes, 0 for a dynamic shared array.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
}

/// Spaces of module variables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VariableSpace {
    /// `.shared`: laid out anew for each kernel.
    Shared,
    /// `.const`, with its offset in bank 3.
    Constant(u64),
    /// `.global`, with its index in the module's list of globals.
    Global(usize),
}

/// What the names of the module mean to a kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ModuleSymbols {
    /// Module variables in order of declaration.
    pub variables: Vec<ModuleVariable>,
    /// Functions that the driver provides, in order of declaration.
    pub externs: Vec<String>,
    /// Textures, samplers and surfaces, in order of declaration.
    pub opaque: Vec<String>,
    /// How many global variables there are; slots of bank 4 are the globals, then the externs, then the launched kernels.
    pub globals: usize,
    /// Functions that a pointer may name, in order of declaration: all of the module whose address is taken, whether by
    /// code or by an initial value. See [`function_value`].
    pub functions: Vec<String>,
    /// What the other names of functions (`.alias`) stand for.
    pub aliases: BTreeMap<String, String>,
    /// The kernels among the functions whose addresses code takes.
    pub kernels: BTreeSet<String>,
    /// The kernels of the module whose addresses any code takes, in order of declaration: those that have a slot.
    pub launched: Vec<String>,
    /// Other files may define what the module names: a linker completes the kernel.
    pub extensible: bool,
}

impl ModuleSymbols {
    /// The function that a name stands for.
    fn meant<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }
}

/// The address of a function as a value: the offset, in bytes, of its entry in the table of functions that each kernel
/// has in constant bank 2. `index` is its place in [`ModuleSymbols::functions`]. No text offset would do, because each
/// kernel has a clone of the function, and a pointer may lie in memory that kernels share. Never 0.
pub fn function_value(index: usize) -> u64 {
    FUNCTION_ENTRY as u64 * (index as u64 + 1)
}

/// The least alignment of arrays in shared memory whose size the launch gives.
pub const DYNAMIC_ALIGNMENT: u64 = 16;

/// Bytes of an entry in the table of functions: a text offset of 64 bits.
const FUNCTION_ENTRY: usize = 8;

/// Why a kernel could not be laid out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ImageError {
    /// A function is called that the module neither defines nor declares.
    MissingFunction(String),
    /// A variable is named that does not exist.
    MissingVariable(String),
    /// Code takes the address of a function that cannot be called through a pointer: a kernel, for one.
    NoAddress(String),
    /// Too much static shared memory: bytes, and the limit in bytes.
    SharedTooLarge(u64, u64),
    /// Code that a linker is to complete names something in a way that no relocation of the chip is for.
    NoRelocation(String),
    /// Code takes the address of a variable that stands behind so many others that the table of addresses has no place
    /// for it.
    TooManySlots(String),
    /// Something that should not happen.
    Internal(String),
}

/// Addresses in the table that instructions can read.
const SLOTS: usize = 8192;

impl std::fmt::Display for ImageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ImageError::MissingFunction(name) => write!(f, "unresolved extern function `{name}`"),
            ImageError::MissingVariable(name) => write!(f, "unresolved variable `{name}`"),
            ImageError::NoAddress(name) => {
                write!(f, "code takes the address of `{name}`, which is no `.func` here")
            }
            ImageError::SharedTooLarge(bytes, limit) => {
                write!(f, "uses too much shared data ({bytes:#x} bytes, {limit:#x} at most)")
            }
            ImageError::NoRelocation(name) => {
                write!(f, "`{name}` cannot be named in relocatable code of this chip yet")
            }
            ImageError::TooManySlots(name) => {
                write!(
                    f,
                    "takes the address of `{name}`, which comes after {SLOTS} other `.global` variables and functions of the module: no more addresses can be read"
                )
            }
            ImageError::Internal(what) => write!(f, "internal error: {what}"),
        }
    }
}

impl std::error::Error for ImageError {}

/// Lays out a kernel. `find` gives any function or routine by name, `None` if the module does not define it. The facts
/// that only the source knows (parameters, bounds, binding) are for the caller to fill in.
///
/// # Errors
/// See [`ImageError`].
pub fn kernel_image<'a>(
    target: &Target,
    entry: &str,
    symbols: &ModuleSymbols,
    find: &dyn Fn(&str) -> Option<&'a LinkedFunction>,
) -> Result<KernelImage, ImageError> {
    let members = closure(target.words, target.container.entry, entry, symbols, find)?;
    let named = symbols.variables.iter().rev();
    let variables: Variables = named.map(|variable| (variable.name.as_str(), variable)).collect();
    let shared = SharedLayout::new(&members, &variables, &target.limits)?;
    let (constant2, table_offsets) = tables(target.words, &members, symbols)?;
    let linker = Linker {
        target,
        members: &members,
        symbols,
        variables: &variables,
        shared: &shared,
        table_offsets: &table_offsets,
    };
    let mut image = KernelImage {
        name: entry.to_owned(),
        shared_size: shared.static_size,
        shared_alignment: shared.alignment,
        constant2,
        code: target.container.entry.to_vec(),
        own_start: members.first().map_or(0, |kernel| kernel.base),
        ..KernelImage::default()
    };
    for (index, member) in members.iter().enumerate() {
        linker.place(index, member, &mut image)?;
    }
    finish_facts(&members, &mut image);
    if symbols.extensible {
        // Nothing of the driver is called through the table of addresses, and the linker adds up stacks.
        image.syscalls.clear();
        let calls = |member: &Member| !member.function.encoded.absolute_calls.is_empty();
        if members.iter().any(calls) {
            image.registers = image.registers.max(LEAST_FOR_CALLS);
        }
    }
    Ok(image)
}

/// Lays out a section of code that a linker joins with others: one kernel or function, and the routines that it calls. What
/// it names beyond that is left to relocations, so that nothing of the rest of the module is asked for but what its aliases
/// mean.
///
/// # Errors
/// See [`ImageError`].
pub fn section_image<'a>(
    target: &Target,
    (name, kind): (&str, CodeKind),
    symbols: &ModuleSymbols,
    find: &dyn Fn(&str) -> Option<&'a LinkedFunction>,
) -> Result<KernelImage, ImageError> {
    // What stands at the entry of kernels is for those alone.
    let entry = if kind == CodeKind::Kernel { target.container.entry } else { &[] };
    let members = closure(target.words, entry, name, symbols, find)?;
    let (constant2, table_offsets) = tables(target.words, &members, symbols)?;
    let linker = Linker {
        target,
        members: &members,
        symbols,
        variables: &Variables::new(),
        shared: &SharedLayout::default(),
        table_offsets: &table_offsets,
    };
    let own = members.first().map(|member| member.function);
    let own_shared =
        own.iter().flat_map(|function| &function.shared).map(|(variable, size, align)| Variable {
            name: format!("${name}${variable}"),
            binding: Binding::Local,
            size: *size,
            alignment: *align,
            ..Variable::default()
        });
    let mut image = KernelImage {
        name: name.to_owned(),
        kind,
        constant2,
        code: entry.to_vec(),
        own_start: members.first().map_or(0, |member| member.base),
        own_shared: own_shared.collect(),
        ..KernelImage::default()
    };
    for (index, member) in members.iter().enumerate() {
        linker.place(index, member, &mut image)?;
    }
    finish_facts(&members, &mut image);
    let calls = own.is_some_and(|function| !function.encoded.absolute_calls.is_empty());
    if kind == CodeKind::Function || calls {
        image.registers = image.registers.max(LEAST_FOR_CALLS);
    }
    image.syscalls.clear();
    image.stack_size = None;
    Ok(image)
}

/// What the calling convention says that a function keeps for its caller.
pub fn callee_saved() -> CalleeSaved {
    let (general, first_uniform) =
        (oriole_regalloc::abi::saved().words(), oriole_regalloc::abi::FIRST_SAVED_UNIFORM);
    CalleeSaved { general, first_uniform }
}

fn frame_rule(rule: unwinding::Rule) -> FrameRule {
    match rule {
        unwinding::Rule::Frame { register, bytes } => FrameRule::Frame { register, bytes },
        unwinding::Rule::Caller { register, place } => match place {
            unwinding::Place::Same => FrameRule::Restored(register),
            unwinding::Place::Frame(below) => FrameRule::Saved { register, below },
            unwinding::Place::Register(by) => FrameRule::Held { register, by },
            unwinding::Place::Lost => FrameRule::Lost(register),
        },
    }
}

/// The first of the registers in which a function has its return address.
const FUNCTION_RETURN: u8 = oriole_regalloc::abi::RETURN_ADDRESS;
/// The same of a routine.
const ROUTINE_RETURN: u8 = oriole_regalloc::abi::ROUTINE_RETURN;

struct Member<'a> {
    name: String,
    /// A routine of the compiler, which keeps another convention than functions.
    is_routine: bool,
    function: &'a LinkedFunction,
    /// Bytes from the start of the kernel's text.
    base: u32,
    /// Members it calls or may call, by index.
    callees: Vec<usize>,
}

/// Variables of the module by name.
type Variables<'a> = BTreeMap<&'a str, &'a ModuleVariable>;

/// The kernel and everything it reaches, in order of first reference, behind the words that stand before it.
fn closure<'a>(
    shape: WordShape,
    before: &[oriole_sass::InstructionWord],
    entry: &str,
    symbols: &ModuleSymbols,
    find: &dyn Fn(&str) -> Option<&'a LinkedFunction>,
) -> Result<Vec<Member<'a>>, ImageError> {
    let mut members: Vec<Member<'a>> = Vec::new();
    let mut indices: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = vec![(entry.to_owned(), false)];
    indices.insert(entry.to_owned(), 0);
    let mut base = shape.address(before.len() as u32);
    let mut next = 0;
    while next < names.len() {
        let (name, is_routine) = names[next].clone();
        let function = find(&name).ok_or_else(|| ImageError::MissingFunction(name.clone()))?;
        let mut callees = Vec::new();
        let direct = function.called().filter(|_| !function.is_separate).map(|name| symbols.meant(name));
        let pointed: &[String] = if function.calls_through_pointers() { &symbols.functions } else { &[] };
        let mut seen = BTreeSet::new();
        let functions = direct.chain(pointed.iter().map(String::as_str)).map(|name| (name, false));
        for (callee, is_routine) in functions.chain(function.called_routines().map(|name| (name, true))) {
            let index = *indices.entry(callee.to_owned()).or_insert_with(|| {
                names.push((callee.to_owned(), is_routine));
                names.len() - 1
            });
            if seen.insert(index) {
                callees.push(index);
            }
        }
        members.push(Member { name, is_routine, function, base, callees });
        base += shape.address(function.encoded.words.len() as u32);
        next += 1;
    }
    Ok(members)
}

fn symbol_ref(function: &LinkedFunction, symbol: SymbolId) -> Result<&oriole_ori::SymbolRef, ImageError> {
    function.symbols.get(symbol).ok_or_else(|| ImageError::Internal(format!("no symbol {}", symbol.0)))
}

#[derive(Default)]
struct SharedLayout {
    /// Offsets in the shared window: of module variables by name, of local ones by member and name.
    offsets: BTreeMap<(Option<usize>, String), u64>,
    static_size: Option<u32>,
    alignment: u32,
}

impl SharedLayout {
    fn new(
        members: &[Member],
        variables: &Variables,
        limits: &oriole_chip::Limits,
    ) -> Result<SharedLayout, ImageError> {
        // Variables of the module that the code names, and all local ones, which hide them.
        let mut wanted: Vec<((Option<usize>, String), u64, u64)> = Vec::new();
        let mut known: BTreeSet<(Option<usize>, String)> = BTreeSet::new();
        for (index, member) in members.iter().enumerate() {
            let own: BTreeMap<&str, &(String, u64, u64)> =
                member.function.shared.iter().rev().map(|own| (own.0.as_str(), own)).collect();
            for symbol in member.function.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Shared) {
                let local = own.get(symbol.name.as_str()).copied();
                let (key, size, align) = match local {
                    Some((name, size, align)) => ((Some(index), name.clone()), *size, *align),
                    None => {
                        let variable = variables
                            .get(symbol.name.as_str())
                            .filter(|variable| variable.space == VariableSpace::Shared)
                            .ok_or_else(|| ImageError::MissingVariable(symbol.name.clone()))?;
                        ((None, variable.name.clone()), variable.size, variable.align)
                    }
                };
                if known.insert(key.clone()) {
                    wanted.push((key, size, align));
                }
            }
        }
        // A launch gives memory to what functions declare, whether the code names it or not.
        for (index, member) in members.iter().enumerate() {
            for (name, size, align) in member.function.shared.iter().filter(|(_, size, _)| *size > 0) {
                let key = (Some(index), name.clone());
                if known.insert(key.clone()) {
                    wanted.push((key, *size, *align));
                }
            }
        }
        let mut layout = SharedLayout { offsets: BTreeMap::new(), static_size: None, alignment: 1 };
        if wanted.is_empty() {
            return Ok(layout);
        }
        let reserved = u64::from(limits.static_shared_start);
        let mut end = 0u64;
        for (key, size, align) in wanted.iter().filter(|(_, size, _)| *size > 0) {
            let align = (*align).max(1);
            layout.alignment = layout.alignment.max(align as u32);
            end = end.next_multiple_of(align);
            layout.offsets.insert(key.clone(), reserved + end);
            end = end.saturating_add(*size);
        }
        // Dynamic arrays all start where the static part ends, which is rounded up so that the system puts the dynamic
        // part just there.
        let dynamic: Vec<_> = wanted.iter().filter(|(_, size, _)| *size == 0).collect();
        if let Some(align) = dynamic.iter().map(|(.., align)| (*align).max(DYNAMIC_ALIGNMENT)).max() {
            layout.alignment = layout.alignment.max(align as u32);
            end = end.next_multiple_of(align);
            for (key, ..) in dynamic {
                layout.offsets.insert(key.clone(), reserved + end);
            }
        }
        let limit = u64::from(limits.static_shared_per_block);
        if end > limit {
            return Err(ImageError::SharedTooLarge(end, limit));
        }
        layout.static_size = Some(end as u32);
        Ok(layout)
    }

    fn offset(&self, member: usize, name: &str) -> Option<u64> {
        let local = self.offsets.get(&(Some(member), name.to_owned()));
        local.or_else(|| self.offsets.get(&(None, name.to_owned()))).copied()
    }
}

/// Constant bank 2: the tables of all members one after the other, but that of functions once; each table's offset by
/// member.
fn tables(
    shape: WordShape,
    members: &[Member],
    symbols: &ModuleSymbols,
) -> Result<(Vec<u8>, Vec<Vec<u32>>), ImageError> {
    let mut bytes = Vec::new();
    let mut offsets = Vec::new();
    let mut functions = None;
    for member in members {
        let mut own = Vec::new();
        for table in &member.function.tables {
            if let (Table::Functions, Some(known)) = (table, functions) {
                own.push(known);
                continue;
            }
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let start = bytes.len() as u32;
            own.push(start);
            match table {
                Table::Targets(blocks) => {
                    for block in blocks {
                        let start = member.function.encoded.block_starts.get(*block).copied().unwrap_or(0);
                        bytes.extend_from_slice(&(member.base + shape.address(start)).to_le_bytes());
                    }
                }
                Table::Words(words) => {
                    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()))
                }
                Table::Functions => {
                    functions = Some(start);
                    let bases: BTreeMap<&str, u32> =
                        members.iter().map(|member| (member.name.as_str(), member.base)).collect();
                    bytes.extend_from_slice(&[0; FUNCTION_ENTRY]);
                    for name in &symbols.functions {
                        let base = bases
                            .get(name.as_str())
                            .ok_or_else(|| ImageError::MissingFunction(name.clone()))?;
                        bytes.extend_from_slice(&u64::from(*base).to_le_bytes());
                    }
                }
            }
        }
        offsets.push(own);
    }
    Ok((bytes, offsets))
}

struct Linker<'a> {
    target: &'a Target,
    members: &'a [Member<'a>],
    symbols: &'a ModuleSymbols,
    variables: &'a Variables<'a>,
    shared: &'a SharedLayout,
    table_offsets: &'a [Vec<u32>],
}

impl Linker<'_> {
    fn place(&self, index: usize, member: &Member, image: &mut KernelImage) -> Result<(), ImageError> {
        let encoded = &member.function.encoded;
        image.names_shared |= member.function.names_shared;
        let first = image.code.len();
        image.code.extend_from_slice(&encoded.words);
        for relocation in &encoded.relocations {
            let by_linker = member.function.is_separate || self.is_open(member, relocation)?;
            if by_linker && self.leave(index, member, relocation, image)? {
                continue;
            }
            if let Some(word) = self.resolve(index, member, relocation, image)? {
                image.code[first + relocation.at as usize] = word;
            }
        }
        let words = self.target.words;
        let at = |position: u32| member.base + words.address(position);
        image.warp_wide.extend(encoded.entry_marks.iter().map(|&mark| at(mark)));
        image.exits.extend(encoded.exits.iter().map(|&exit| at(exit)));
        image.coop_groups.extend(encoded.warp_wide.iter().map(|&(position, mask)| {
            (at(position), mask.map_or(u32::MAX, |register| 0x0500_0000 | u32::from(register)))
        }));
        for &(position, operation) in &encoded.objects {
            let word = image.code[first + position as usize];
            image.mbarriers.push(self.barrier_object(at(position), operation, word)?);
        }
        for (&branch, table) in encoded.indexed_branches.iter().zip(member.function.tables.iter().filter_map(
            |table| match table {
                Table::Targets(blocks) => Some(blocks),
                Table::Words(_) | Table::Functions => None,
            },
        )) {
            let targets = table.iter().filter_map(|block| encoded.block_starts.get(*block));
            image.indirect_branches.push(IndirectBranch {
                offset: at(branch),
                targets: targets.map(|&start| at(start)).collect(),
            });
        }
        if member.function.is_separate {
            self.calls_through_pointers(member, image);
        }
        image.has_call |= encoded.needs_call_stack;
        image.syscalls.extend(encoded.absolute_calls.iter().map(|&call| at(call)));
        image.barriers = image.barriers.max(member.function.barriers);
        image.registers = image.registers.max(u32::from(encoded.general_registers));
        if index == 0 {
            image.max_registers = member.function.register_limit;
            image.frame_size = member.function.frame_bytes;
            image.frame_rows.extend(
                member
                    .function
                    .frame_rows
                    .iter()
                    .map(|row| FrameRow { offset: at(row.at), rule: frame_rule(row.rule) }),
            );
        } else {
            image.functions.push(InnerFunction {
                name: format!("${}${}", image.name, member.name),
                offset: member.base,
                size: words.address(encoded.words.len() as u32),
                frame_size: member.function.frame_bytes,
                return_register: Some(if member.is_routine { ROUTINE_RETURN } else { FUNCTION_RETURN }),
            });
        }
        Ok(())
    }

    /// The finished word, or `None` where the loader finishes it.
    /// What the container tells of an access to a barrier object: where the finished word says that the object is.
    fn barrier_object(
        &self,
        offset: u32,
        operation: ObjectOperation,
        word: oriole_sass::InstructionWord,
    ) -> Result<Mbarrier, ImageError> {
        let internal = |reason: String| ImageError::Internal(reason);
        let access =
            oriole_sass::decode(self.target.chip, word).map_err(|error| internal(error.to_string()))?;
        let place = access.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Memory { base, uniform, offset, .. } => Some((base, uniform, offset)),
            _ => None,
        });
        let (base, uniform, displacement) =
            place.ok_or_else(|| internal("an access to a barrier object has no address".to_owned()))?;
        let neutral = self.target.chip.register_files().uniform.neutral_number();
        Ok(Mbarrier {
            offset,
            register: u32::from(base.unwrap_or(register::RZ)),
            displacement: displacement as u32,
            kind: barrier_object_kind(operation),
            uniform: uniform.filter(|&uniform| uniform != register::URZ).unwrap_or(neutral),
        })
    }

    fn resolve(
        &self,
        index: usize,
        member: &Member,
        relocation: &Relocation,
        image: &mut KernelImage,
    ) -> Result<Option<oriole_sass::InstructionWord>, ImageError> {
        let words = self.target.words;
        let end_of_instruction = i64::from(member.base) + words.end(relocation.at);
        let value = match relocation.fixup {
            Fixup::Block(_) => return Err(ImageError::Internal("a block outlived encoding".to_owned())),
            Fixup::KernelStart => -end_of_instruction,
            Fixup::ReturnAddress(AddressPart::Low) => {
                i64::from(member.base + words.address(relocation.anchor))
            }
            Fixup::ReturnAddress(AddressPart::High) => 0,
            Fixup::ReturnDistance(Some(from)) => {
                i64::from(words.address(relocation.anchor)) - i64::from(words.address(from))
            }
            Fixup::ReturnDistance(None) => {
                return Err(ImageError::Internal("a distance from nowhere".to_owned()));
            }
            Fixup::Call(symbol) => {
                i64::from(self.code_base(&symbol_ref(member.function, symbol)?.name)?) - end_of_instruction
            }
            Fixup::Const { base, offset } => {
                i64::from(offset) + self.constant_base(index, member, base, image)?
            }
            Fixup::SharedOffset { symbol, offset } => {
                image.addresses_shared = true;
                i64::from(offset) + self.shared_offset(index, &symbol_ref(member.function, symbol)?.name)?
            }
            Fixup::Address { symbol, part, offset } => {
                let symbol = symbol_ref(member.function, symbol)?;
                let address = match symbol.kind {
                    SymbolKind::Shared => {
                        image.addresses_shared = true;
                        self.shared_offset(index, &symbol.name)?
                    }
                    SymbolKind::Function => self.function_value(&symbol.name)?,
                    SymbolKind::Constant => self.constant_variable(&symbol.name)?,
                    SymbolKind::Global => {
                        let kind = match part {
                            AddressPart::Low => RelocationKind::Abs32Lo,
                            AddressPart::High => RelocationKind::Abs32Hi,
                        };
                        image.relocations.push(TextRelocation {
                            offset: member.base + words.address(relocation.at),
                            kind,
                            target: SymbolRef::Global(self.global_index(&symbol.name)?),
                            addend: i64::from(offset),
                        });
                        return Ok(None);
                    }
                    SymbolKind::DescriptorSize => {
                        let mut tables = DescriptorTable::ALL.into_iter();
                        let table = tables.find(|table| table.size_symbol() == symbol.name);
                        let table = table.ok_or_else(|| {
                            ImageError::Internal(format!("`{}` is no size of a descriptor", symbol.name))
                        })?;
                        image.relocations.push(TextRelocation {
                            offset: member.base + words.address(relocation.at),
                            kind: RelocationKind::Abs32,
                            target: SymbolRef::DescriptorSize(table),
                            addend: i64::from(offset),
                        });
                        return Ok(None);
                    }
                    SymbolKind::Local(_)
                    | SymbolKind::Arguments
                    | SymbolKind::Helper
                    | SymbolKind::Extern
                    | SymbolKind::Outside
                    | SymbolKind::Opaque
                    | SymbolKind::OpaqueParameter(_) => {
                        return Err(ImageError::Internal(format!(
                            "the address of `{}` is no link-time number",
                            symbol.name
                        )));
                    }
                };
                let address = (address + i64::from(offset)) as u64;
                match part {
                    AddressPart::Low => i64::from(address as u32),
                    AddressPart::High => i64::from((address >> 32) as u32),
                }
            }
        };
        oriole_encode::patch(self.target.chip, relocation, value)
            .map(Some)
            .map_err(|failure| ImageError::Internal(failure.to_string()))
    }

    /// Whether a linker completes what a relocation of an extensible kernel names: what other files may define, where calls of
    /// that go back to, global memory, and what a launch of another kernel is told of that.
    fn is_open(&self, member: &Member, relocation: &Relocation) -> Result<bool, ImageError> {
        if !self.symbols.extensible {
            return Ok(false);
        }
        let symbol = match relocation.fixup {
            Fixup::ReturnAddress(_) => return Ok(true),
            Fixup::Call(symbol)
            | Fixup::Address { symbol, .. }
            | Fixup::Const { base: ConstBase::Variable(symbol), .. } => symbol_ref(member.function, symbol)?,
            _ => return Ok(false),
        };
        Ok(match symbol.kind {
            SymbolKind::Outside | SymbolKind::Global => true,
            SymbolKind::Constant => !self.variables.contains_key(symbol.name.as_str()),
            SymbolKind::Function => self.symbols.kernels.contains(&symbol.name),
            _ => false,
        })
    }

    /// Leaves what a relocation of a function with a section of its own names to the linker; false where the section itself
    /// tells. Relocations patch fields in one way each, so that the field of the word says which it must be.
    fn leave(
        &self,
        index: usize,
        member: &Member,
        relocation: &Relocation,
        image: &mut KernelImage,
    ) -> Result<bool, ImageError> {
        let encoded = &member.function.encoded;
        let table = self.target.container.calls_by_table();
        let (target, addend, kinds): (SymbolRef, i64, &[RelocationKind]) = match relocation.fixup {
            Fixup::Block(_) | Fixup::KernelStart | Fixup::ReturnDistance(_) => return Ok(false),
            Fixup::ReturnAddress(part) => {
                let call = relocation.anchor.checked_sub(1);
                if !call.is_some_and(|call| encoded.absolute_calls.contains(&call)) {
                    return Ok(false);
                }
                let behind = member.base + self.target.words.address(relocation.anchor);
                (SymbolRef::Own, i64::from(behind), half(part, false))
            }
            Fixup::Call(symbol) => {
                let symbol = symbol_ref(member.function, symbol)?;
                if symbol.kind == SymbolKind::Helper {
                    return Ok(false);
                }
                let named = self.named(&symbol.name, image);
                (named, 0, &[RelocationKind::Branch, RelocationKind::BranchAbs])
            }
            Fixup::Const { base: ConstBase::Bank, .. } => return Ok(false),
            Fixup::Const { base: ConstBase::Table(table), offset } => {
                let start = self.table_offsets[index].get(table as usize);
                let start = start.ok_or_else(|| ImageError::Internal("no such table".to_owned()))?;
                (SymbolRef::OwnConstants, i64::from(*start) + i64::from(offset), &CONSTANT_FIELDS)
            }
            Fixup::Const { base: ConstBase::Variable(symbol) | ConstBase::HeaderSlot(symbol), offset } => {
                let symbol = symbol_ref(member.function, symbol)?;
                let named = match symbol.kind {
                    SymbolKind::OpaqueParameter(number) => SymbolRef::OwnParameter(number as usize),
                    _ => self.named(&symbol.name, image),
                };
                (named, i64::from(offset), &CONSTANT_FIELDS)
            }
            Fixup::Const { base: ConstBase::AddressSlot(symbol), .. } => {
                let name = &symbol_ref(member.function, symbol)?.name;
                return Err(ImageError::Internal(format!("a slot for the address of `{name}`")));
            }
            Fixup::SharedOffset { symbol, offset } => {
                let symbol = &symbol_ref(member.function, symbol)?.name;
                (self.shared(symbol, image), self.behind_reserved(offset), &[RelocationKind::Abs24])
            }
            Fixup::Address { symbol, part, offset } => {
                let symbol = symbol_ref(member.function, symbol)?;
                match symbol.kind {
                    SymbolKind::Shared => {
                        let shared = self.shared(&symbol.name, image);
                        (shared, self.behind_reserved(offset), &[RelocationKind::Abs32])
                    }
                    SymbolKind::Constant => {
                        (self.named(&symbol.name, image), i64::from(offset), &[RelocationKind::Abs16])
                    }
                    SymbolKind::Global => {
                        (self.named(&symbol.name, image), i64::from(offset), half(part, false))
                    }
                    SymbolKind::Function => {
                        let kinds = match self.symbols.kernels.contains(&symbol.name) {
                            true => descriptor_half(part),
                            false => half(part, table),
                        };
                        (self.named(&symbol.name, image), i64::from(offset), kinds)
                    }
                    _ => return Ok(false),
                }
            }
        };
        let (word, kind) = self.unresolved(relocation, kinds)?.ok_or_else(|| {
            let name = match target {
                SymbolRef::Named(name) => image.names[name].clone(),
                _ => member.name.clone(),
            };
            ImageError::NoRelocation(name)
        })?;
        let first = self.target.words.index(member.base) as usize;
        image.code[first + relocation.at as usize] = kind.without_bank(word);
        let offset = member.base + self.target.words.address(relocation.at);
        image.relocations.push(TextRelocation { offset, kind, target, addend });
        Ok(true)
    }

    /// The word with an empty field, and which of the kinds patches just that field.
    fn unresolved(
        &self,
        relocation: &Relocation,
        kinds: &[RelocationKind],
    ) -> Result<Option<(oriole_sass::InstructionWord, RelocationKind)>, ImageError> {
        let filled = |value: u32| {
            oriole_encode::patch(self.target.chip, relocation, i64::from(value))
                .map_err(|failure| ImageError::Internal(failure.to_string()))
        };
        let empty = filled(0)?;
        let probes = PROBES.map(|probe| filled(probe).map(|word| (probe, word)));
        let probes = probes.into_iter().collect::<Result<Vec<_>, ImageError>>()?;
        // An offset in constant memory that is no multiple of four fits into the field of a load only.
        let fine = oriole_encode::patch(self.target.chip, relocation, ODD_PROBE.into()).ok();
        let takes_bytes = |kind: RelocationKind| {
            !matches!(kind, RelocationKind::ConstField | RelocationKind::ConstUniform)
                || fine == Some(kind.patch(empty, ODD_PROBE.into()))
        };
        let patches = |kind: &&RelocationKind| {
            // The high half of an address is patched as the low one is.
            let shift = if kind.is_high_half() { 32 } else { 0 };
            takes_bytes(**kind)
                && probes.iter().all(|&(probe, word)| kind.patch(empty, u64::from(probe) << shift) == word)
        };
        Ok(kinds.iter().find(patches).map(|&kind| (empty, kind)))
    }

    /// What code of another section names.
    fn named(&self, name: &str, image: &mut KernelImage) -> SymbolRef {
        let name = self.symbols.meant(name);
        let known = image.names.iter().position(|known| known == name);
        SymbolRef::Named(known.unwrap_or_else(|| {
            image.names.push(name.to_owned());
            image.names.len() - 1
        }))
    }

    /// A shared variable: of the function, or of whatever module defines it.
    fn shared(&self, name: &str, image: &mut KernelImage) -> SymbolRef {
        let own = self
            .members
            .first()
            .and_then(|member| member.function.shared.iter().position(|(variable, ..)| variable == name));
        own.map_or_else(|| self.named(name, image), SymbolRef::OwnShared)
    }

    /// Linkers count shared variables from the end of the system's part.
    fn behind_reserved(&self, offset: i32) -> i64 {
        i64::from(offset) + i64::from(self.target.limits.static_shared_start)
    }

    /// Calls through pointers name what the loader adds to the addresses of functions, where it does.
    fn calls_through_pointers(&self, member: &Member, image: &mut KernelImage) {
        if !self.target.container.calls_by_table() {
            return;
        }
        let encoded = &member.function.encoded;
        let direct = |call: u32| {
            let named = |it: &Relocation| it.at == call && matches!(it.fixup, Fixup::Call(_));
            encoded.relocations.iter().any(named)
        };
        for &call in encoded.absolute_calls.iter().filter(|&&call| !direct(call)) {
            image.relocations.push(TextRelocation {
                offset: member.base + self.target.words.address(call),
                kind: RelocationKind::CallOffset,
                target: SymbolRef::FunctionTable,
                addend: 0,
            });
        }
    }

    fn function_value(&self, name: &str) -> Result<i64, ImageError> {
        let meant = self.symbols.meant(name);
        let index = self.symbols.functions.iter().position(|function| function == meant);
        index.map(|index| function_value(index) as i64).ok_or_else(|| ImageError::NoAddress(name.to_owned()))
    }

    fn code_base(&self, name: &str) -> Result<u32, ImageError> {
        let name = self.symbols.meant(name);
        let member = self.members.iter().find(|member| member.name == name);
        member.map(|member| member.base).ok_or_else(|| ImageError::MissingFunction(name.to_owned()))
    }

    fn shared_offset(&self, index: usize, name: &str) -> Result<i64, ImageError> {
        let offset =
            self.shared.offset(index, name).ok_or_else(|| ImageError::MissingVariable(name.to_owned()))?;
        Ok(offset as i64)
    }

    fn variable(&self, name: &str) -> Result<&ModuleVariable, ImageError> {
        self.variables.get(name).copied().ok_or_else(|| ImageError::MissingVariable(name.to_owned()))
    }

    fn constant_variable(&self, name: &str) -> Result<i64, ImageError> {
        match self.variable(name)?.space {
            VariableSpace::Constant(offset) => Ok(offset as i64),
            _ => Err(ImageError::MissingVariable(name.to_owned())),
        }
    }

    fn global_index(&self, name: &str) -> Result<usize, ImageError> {
        match self.variable(name)?.space {
            VariableSpace::Global(index) => Ok(index),
            _ => Err(ImageError::MissingVariable(name.to_owned())),
        }
    }

    fn constant_base(
        &self,
        index: usize,
        member: &Member,
        base: ConstBase,
        image: &mut KernelImage,
    ) -> Result<i64, ImageError> {
        match base {
            ConstBase::Bank => Ok(0),
            ConstBase::Variable(symbol) => self.constant_variable(&symbol_ref(member.function, symbol)?.name),
            ConstBase::Table(table) => {
                let offset = self.table_offsets[index].get(table as usize);
                offset
                    .map(|&offset| i64::from(offset))
                    .ok_or_else(|| ImageError::Internal("no such table".to_owned()))
            }
            ConstBase::HeaderSlot(symbol) => {
                let symbol = symbol_ref(member.function, symbol)?;
                let header = match symbol.kind {
                    SymbolKind::OpaqueParameter(number) => Header::Parameter(number as usize),
                    _ => {
                        let opaque = self.symbols.opaque.iter().position(|opaque| *opaque == symbol.name);
                        Header::Module(
                            opaque.ok_or_else(|| ImageError::MissingVariable(symbol.name.clone()))?,
                        )
                    }
                };
                let bank = self.target.chip.constant_bank();
                let bank = bank.ok_or_else(|| ImageError::Internal("no constant bank".to_owned()))?;
                let parameters = self.members.first().map_or(0, |kernel| kernel.function.parameter_bytes);
                let found = image.headers.iter().find(|slot| slot.header == header);
                let slot = found.copied().unwrap_or_else(|| {
                    let offset = bank.header_slot(parameters, image.headers.len() as u32);
                    let slot = HeaderSlot { offset, header };
                    image.headers.push(slot);
                    slot
                });
                Ok(i64::from(slot.offset))
            }
            ConstBase::AddressSlot(symbol) => {
                let symbol = symbol_ref(member.function, symbol)?;
                let external = self.symbols.externs.iter().position(|name| *name == symbol.name);
                let slot = match external {
                    _ if symbol.kind == SymbolKind::Function => {
                        let kernel = self.symbols.meant(&symbol.name);
                        let at = self.symbols.launched.iter().position(|name| name == kernel);
                        let at = at.ok_or_else(|| ImageError::NoAddress(symbol.name.clone()))?;
                        let kernel = self.named(kernel, image);
                        if !image.launched.contains(&kernel) {
                            image.launched.push(kernel);
                        }
                        self.symbols.globals + self.symbols.externs.len() + at
                    }
                    Some(external) => {
                        if !image.externs.contains(&external) {
                            image.externs.push(external);
                        }
                        self.symbols.globals + external
                    }
                    None => self.global_index(&symbol.name)?,
                };
                // The offset of a constant operand has sixteen bits.
                match slot {
                    ..SLOTS => Ok(8 * slot as i64),
                    _ => Err(ImageError::TooManySlots(symbol.name.clone())),
                }
            }
        }
    }
}

/// What fits each field that a relocation patches, multiples of four, and one that is none.
const PROBES: [u32; 2] = [0x1234, 0x0edc];
const ODD_PROBE: u32 = 0x1235;

/// The relocations of operands in constant memory.
const CONSTANT_FIELDS: [RelocationKind; 3] =
    [RelocationKind::ConstField, RelocationKind::ConstOperand, RelocationKind::ConstUniform];

/// The relocation of one half of an address; of a function perhaps in the table that the loader knows.
fn half(part: AddressPart, in_table: bool) -> &'static [RelocationKind] {
    match (part, in_table) {
        (AddressPart::Low, false) => &[RelocationKind::Abs32Lo],
        (AddressPart::High, false) => &[RelocationKind::Abs32Hi],
        (AddressPart::Low, true) => &[RelocationKind::UnifiedLo],
        (AddressPart::High, true) => &[RelocationKind::UnifiedHi],
    }
}

/// The same of what a kernel is launched by.
fn descriptor_half(part: AddressPart) -> &'static [RelocationKind] {
    match part {
        AddressPart::Low => &[RelocationKind::DescriptorLo],
        AddressPart::High => &[RelocationKind::DescriptorHi],
    }
}

/// The number of the operation in the attribute.
fn barrier_object_kind(operation: ObjectOperation) -> u8 {
    match operation {
        ObjectOperation::Initialize => 0,
        ObjectOperation::Arrive => 1,
        ObjectOperation::ArriveIncomplete => 2,
        ObjectOperation::Drop => 3,
        ObjectOperation::DropIncomplete => 4,
        ObjectOperation::TestState => 5,
        ObjectOperation::TestParity => 6,
        ObjectOperation::CopiesArrive => 7,
        ObjectOperation::Invalidate => 8,
        ObjectOperation::TryState => 9,
        ObjectOperation::TryParity => 10,
        ObjectOperation::ExpectBytes => 11,
        ObjectOperation::CompleteBytes => 12,
    }
}

/// Fewest registers of a thread whose code calls by the convention, or is called so.
const LEAST_FOR_CALLS: u32 = 24;

/// Registers, stack and order of what was collected over all members.
fn finish_facts(members: &[Member], image: &mut KernelImage) {
    if members.iter().skip(1).any(|member| !member.is_routine) || !image.externs.is_empty() {
        image.registers = image.registers.max(LEAST_FOR_CALLS);
    }
    image.has_call |= members.len() > 1 || !image.externs.is_empty();
    image.exits.sort_unstable();
    image.coop_groups.sort_unstable();
    image.mbarriers.sort_unstable_by_key(|record| record.offset);
    let initializes = |record: &&Mbarrier| record.kind == barrier_object_kind(ObjectOperation::Initialize);
    image.mbarrier_count = image.mbarriers.iter().filter(initializes).count() as u16;
    image.stack_size = Some(deepest_stack(members));
}

/// Bytes of the deepest call chain without repetition. Recursion and indirect calls may need more: for those the
/// driver's own stack limit counts, as with the reference.
fn deepest_stack(members: &[Member]) -> u32 {
    // 0 = not seen, 1 = on the path, 2 = done; an explicit stack keeps deep chains harmless.
    let mut state = vec![0u8; members.len()];
    let mut depth = vec![0u32; members.len()];
    let mut path = vec![(0usize, 0usize)];
    state[0] = 1;
    while let Some((member, child)) = path.pop() {
        if let Some(&callee) = members[member].callees.get(child) {
            path.push((member, child + 1));
            // Otherwise it is a call back into the path, or of a function already measured.
            if state[callee] == 0 {
                state[callee] = 1;
                path.push((callee, 0));
            }
        } else {
            let below = members[member].callees.iter().map(|&callee| depth[callee]).max().unwrap_or(0);
            depth[member] = members[member].function.frame_bytes + below;
            state[member] = 2;
        }
    }
    depth[0]
}
