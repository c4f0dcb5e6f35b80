//! Reads cubins of any producer. The reader takes untrusted bytes: every inconsistency is an error with a location,
//! and no size in a file makes it allocate more than the file holds.

use crate::attribute::{self, Attribute, Payload, code};
use crate::elf::*;
use crate::image::{Bound, IndirectBranch, Parameter, ParameterSpace};
use crate::relocation::RelocationKind;
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, Sym};
use oriole_chip::Chip;
use oriole_chip::texture::OpaqueKind;
use oriole_sass::{InstructionWord, words_of_bytes};
use rustc_hash::FxHashMap;

/// A parsed cubin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cubin {
    /// SM number of the chip.
    pub sm: u16,
    /// Made for the `a` variant of the chip.
    pub accelerated: bool,
    /// SM number of the PTX target, where the note is there.
    pub virtual_sm: Option<u16>,
    /// All sections; index 0 is the empty one of the format.
    pub sections: Vec<Section>,
    /// The symbol table; index 0 is the empty one of the format.
    pub symbols: Vec<Symbol>,
    /// Attributes of the module.
    pub info: Vec<Attribute>,
    /// Kernels in the order of the file.
    pub kernels: Vec<Kernel>,
    /// Functions with sections of their own, in file order: relocatable files, their linked outputs and debug builds
    /// have them.
    pub functions: Vec<Kernel>,
}

/// A section.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Section {
    /// Name.
    pub name: String,
    /// Type number.
    pub kind: u32,
    /// Flags.
    pub flags: u64,
    /// Link field.
    pub link: u32,
    /// Info field.
    pub info: u32,
    /// Alignment in bytes.
    pub alignment: u64,
    /// Size in memory in bytes.
    pub size: u64,
    /// Bytes in the file; empty for a section without.
    pub data: Vec<u8>,
    /// Relocations that apply to this section, in the order of the file.
    pub relocations: Vec<Relocation>,
}

/// A symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Symbol {
    /// Name.
    pub name: String,
    /// Type number: 1 object, 2 function, 3 section.
    pub kind: u8,
    /// Binding number: 0 local, 1 global, 2 weak.
    pub binding: u8,
    /// The `st_other` byte.
    pub other: u8,
    /// Index of its section, 0 for undefined.
    pub section: usize,
    /// Offset in the section in bytes.
    pub value: u64,
    /// Size in bytes.
    pub size: u64,
}

/// A relocation of a section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Relocation {
    /// Offset in the section in bytes.
    pub offset: u64,
    /// Number of its kind.
    pub number: u32,
    /// Index of the symbol.
    pub symbol: usize,
    /// Bytes added to the symbol's address.
    pub addend: i64,
}

impl Relocation {
    /// Its kind, if that is a known one.
    pub fn kind(&self) -> Option<RelocationKind> {
        RelocationKind::from_number(self.number)
    }
}

/// A kernel of the file, or a function with a section of its own, which has no parameters here.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// Name.
    pub name: String,
    /// Index of its symbol.
    pub symbol: usize,
    /// Index of its text section.
    pub text: usize,
    /// All instruction words of the section, padding included.
    pub code: Vec<InstructionWord>,
    /// Functions inside the text: indices of symbols, by ascending offset.
    pub functions: Vec<usize>,
    /// Attributes of the kernel.
    pub info: Vec<Attribute>,
    /// General registers.
    pub registers: u32,
    /// Bytes of its own stack frame.
    pub frame_size: u32,
    /// Bytes of frame and call chain, if known.
    pub stack_size: Option<u32>,
    /// Named barriers.
    pub barriers: u8,
    /// Bytes of shared memory before any dynamic part, reserved bytes included; 0 if none is used.
    pub shared_size: u64,
    /// Parameters by ordinal.
    pub parameters: Vec<Parameter>,
    /// For texture, sampler and surface parameters: their indices and symbols.
    pub opaque_parameters: Vec<(usize, usize)>,
    /// Offset of the parameters in bank 0.
    pub parameter_base: u32,
    /// Bytes of all parameters.
    pub parameter_size: u32,
    /// Bank 2.
    pub constant2: Vec<u8>,
    /// Stated limit on the block.
    pub bound: Bound,
    /// Cluster size stated by the kernel.
    pub cluster_size: Option<[u32; 3]>,
    /// Indexed branches and their targets.
    pub indirect_branches: Vec<IndirectBranch>,
}

/// Why bytes are not a cubin that can be read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ReadError {
    /// The bytes are not an ELF file for CUDA.
    NotACubin,
    /// A structure of the file is broken.
    Malformed {
        /// Which structure.
        place: String,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadError::NotACubin => write!(f, "not a cubin"),
            ReadError::Malformed { place } => write!(f, "malformed cubin: {place}"),
        }
    }
}

impl std::error::Error for ReadError {}

fn malformed(place: impl Into<String>) -> ReadError {
    ReadError::Malformed { place: place.into() }
}

const LE: LittleEndian = LittleEndian;

/// Sections that a linker lays out in zeroed or shared memory: the file has none of their bytes.
const NO_BYTES: [u32; 3] = [SHT_CUDA_GLOBAL, SHT_CUDA_SHARED, SHT_CUDA_RESERVED_SHARED];

/// Parses a cubin.
pub fn read(data: &[u8]) -> Result<Cubin, ReadError> {
    let header = FileHeader64::<LittleEndian>::parse(data).map_err(|_| ReadError::NotACubin)?;
    let ident = header.e_ident();
    if header.e_machine(LE).0 != EM_CUDA || ident.data.0 != 1 {
        return Err(ReadError::NotACubin);
    }
    let flags = header.e_flags(LE).0;
    // Files up to format version 7 keep the SM number in the low byte of the flags.
    let sm = if ident.os_abi.0 == EI_OSABI_CUDA { flags >> 8 & 0xffff } else { flags & 0xff } as u16;
    let mut sections = read_sections(header, data)?;
    let symbols = read_symbols(header, data, sections.len())?;
    read_relocations(&mut sections, symbols.len())?;
    let mut cubin = Cubin {
        sm,
        accelerated: flags & 0x800 != 0 && ident.os_abi.0 != EI_OSABI_CUDA,
        virtual_sm: (ident.os_abi.0 != EI_OSABI_CUDA)
            .then_some((flags >> EF_CUDA_V7_VIRTUAL_SHIFT) as u16 & 0xff),
        sections,
        symbols,
        info: Vec::new(),
        kernels: Vec::new(),
        functions: Vec::new(),
    };
    if let Some(section) = cubin.section(".nv.compat") {
        let rows = decode(section)?;
        cubin.accelerated = rows.iter().any(|row| row.code == 0x09 && row.payload == Payload::Byte(1));
    }
    if let Some(section) = cubin.section(".note.nv.cuinfo") {
        cubin.virtual_sm = section.data.get(26..28).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    }
    if let Some(section) = cubin.section(".nv.info") {
        cubin.info = decode(section)?;
    }
    let (mut kernels, mut functions) = (Vec::new(), Vec::new());
    let index = Index::of(&cubin);
    for number in 0..cubin.symbols.len() {
        let symbol = &cubin.symbols[number];
        if symbol.kind != STT_FUNC || symbol.section == 0 {
            continue;
        }
        if symbol.other & STO_ENTRY != 0 {
            kernels.push(read_kernel(&cubin, &index, number)?);
        } else if cubin.sections[symbol.section].name.strip_prefix(".text.") == Some(&symbol.name) {
            functions.push(read_kernel(&cubin, &index, number)?);
        }
    }
    (cubin.kernels, cubin.functions) = (kernels, functions);
    Ok(cubin)
}

/// Where things of a cubin are, for files with thousands of kernels.
struct Index<'a> {
    /// The first section of each name.
    sections: FxHashMap<&'a str, &'a Section>,
    /// Functions by section, in the order of the symbols.
    functions: FxHashMap<usize, Vec<usize>>,
    /// Values of the module's attributes, by code and symbol: the first of each.
    values: FxHashMap<(u8, usize), u32>,
}

impl<'a> Index<'a> {
    fn of(cubin: &'a Cubin) -> Index<'a> {
        let mut sections = FxHashMap::default();
        for section in &cubin.sections {
            sections.entry(section.name.as_str()).or_insert(section);
        }
        let mut functions: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (number, symbol) in cubin.symbols.iter().enumerate() {
            if symbol.kind == STT_FUNC {
                functions.entry(symbol.section).or_default().push(number);
            }
        }
        let mut values = FxHashMap::default();
        for row in &cubin.info {
            if let [owner, value] = row.to_words()[..] {
                values.entry((row.code, owner as usize)).or_insert(value);
            }
        }
        Index { sections, functions, values }
    }

    /// The section of a kernel with this start of its name.
    fn of_kernel(&self, start: &str, kernel: &str) -> Option<&'a Section> {
        self.sections.get(format!("{start}{kernel}").as_str()).copied()
    }
}

fn read_sections(header: &FileHeader64<LittleEndian>, data: &[u8]) -> Result<Vec<Section>, ReadError> {
    let table = header.sections(LE, data).map_err(|_| malformed("section headers"))?;
    let mut sections = Vec::with_capacity(table.len());
    for (index, entry) in table.iter().enumerate() {
        let name = if index == 0 {
            &[][..]
        } else {
            table.section_name(LE, entry).map_err(|_| malformed(format!("name of section {index}")))?
        };
        let name =
            String::from_utf8(name.to_vec()).map_err(|_| malformed(format!("name of section {index}")))?;
        let bytes = if index == 0 || NO_BYTES.contains(&entry.sh_type(LE).0) {
            &[][..]
        } else {
            entry.data(LE, data).map_err(|_| malformed(format!("section '{name}'")))?
        };
        sections.push(Section {
            kind: entry.sh_type(LE).0,
            flags: entry.sh_flags(LE).0,
            link: entry.sh_link(LE),
            info: entry.sh_info(LE),
            alignment: entry.sh_addralign(LE),
            size: entry.sh_size(LE),
            data: bytes.to_vec(),
            relocations: Vec::new(),
            name,
        });
    }
    Ok(sections)
}

fn read_symbols(
    header: &FileHeader64<LittleEndian>,
    data: &[u8],
    sections: usize,
) -> Result<Vec<Symbol>, ReadError> {
    let table = header.sections(LE, data).map_err(|_| malformed("section headers"))?;
    let table = table
        .symbols(LE, data, object::elf::SectionType(SHT_SYMTAB))
        .map_err(|_| malformed("symbol table"))?;
    let mut symbols = Vec::with_capacity(table.len());
    for (index, entry) in table.iter().enumerate() {
        let name = if index == 0 {
            &[][..]
        } else {
            entry.name(LE, table.strings()).map_err(|_| malformed(format!("name of symbol {index}")))?
        };
        let section = usize::from(entry.st_shndx(LE).0);
        if section >= sections && section < 0xff00 {
            return Err(malformed(format!("section of symbol {index}")));
        }
        symbols.push(Symbol {
            name: String::from_utf8_lossy(name).into_owned(),
            kind: entry.st_type().0,
            binding: entry.st_bind().0,
            other: entry.st_other.0,
            section: if section < sections { section } else { 0 },
            value: entry.st_value(LE),
            size: entry.st_size(LE),
        });
    }
    Ok(symbols)
}

fn read_relocations(sections: &mut [Section], symbols: usize) -> Result<(), ReadError> {
    for index in 0..sections.len() {
        let section = &sections[index];
        let target = section.info as usize;
        let mut rows = Vec::new();
        let endian = LE;
        match section.kind {
            SHT_RELA => {
                let (entries, _) = object::pod::slice_from_bytes::<object::elf::Rela64<LittleEndian>>(
                    &section.data,
                    section.data.len() / 24,
                )
                .map_err(|()| malformed(format!("section '{}'", section.name)))?;
                for entry in entries {
                    rows.push(Relocation {
                        offset: entry.r_offset(endian),
                        number: entry.r_type(endian, false).0,
                        symbol: entry.r_sym(endian, false) as usize,
                        addend: entry.r_addend(endian),
                    });
                }
            }
            SHT_REL => {
                let (entries, _) = object::pod::slice_from_bytes::<object::elf::Rel64<LittleEndian>>(
                    &section.data,
                    section.data.len() / 16,
                )
                .map_err(|()| malformed(format!("section '{}'", section.name)))?;
                for entry in entries {
                    rows.push(Relocation {
                        offset: entry.r_offset(endian),
                        number: entry.r_type(endian).0,
                        symbol: entry.r_sym(endian) as usize,
                        addend: 0,
                    });
                }
            }
            _ => continue,
        }
        if rows.iter().any(|row| row.symbol >= symbols) {
            return Err(malformed(format!("symbol of a relocation in '{}'", section.name)));
        }
        let name = section.name.clone();
        let target = sections.get_mut(target).ok_or_else(|| malformed(format!("target of '{name}'")))?;
        if rows.iter().any(|row| row.offset >= target.size.max(1)) {
            return Err(malformed(format!("offset of a relocation in '{name}'")));
        }
        target.relocations.extend(rows);
    }
    Ok(())
}

fn decode(section: &Section) -> Result<Vec<Attribute>, ReadError> {
    attribute::decode(&section.data).map_err(|at| malformed(format!("'{}' at offset {at:#x}", section.name)))
}

impl Cubin {
    /// The first section of this name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// All code sections: kernels, then functions.
    pub fn codes(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().chain(&self.functions)
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

fn three(row: &Attribute) -> Option<[u32; 3]> {
    row.to_words().try_into().ok()
}

fn read_kernel(cubin: &Cubin, index: &Index<'_>, symbol: usize) -> Result<Kernel, ReadError> {
    let own = &cubin.symbols[symbol];
    let name = own.name.clone();
    let text = &cubin.sections[own.section];
    let chip = u8::try_from(cubin.sm).ok().and_then(Chip::of_number);
    let shape = chip.ok_or_else(|| malformed(format!("there is no chip sm_{}", cubin.sm)))?.words();
    let code =
        words_of_bytes(shape, &text.data).ok_or_else(|| malformed(format!("size of '{}'", text.name)))?;
    let others = index.functions.get(&own.section).into_iter().flatten().copied();
    let mut functions: Vec<usize> = others.filter(|&other| other != symbol).collect();
    functions.sort_by_key(|&number| cubin.symbols[number].value);
    let value = |code: u8| index.values.get(&(code, symbol)).copied();
    let info = match index.of_kernel(".nv.info.", &name) {
        Some(section) => decode(section)?,
        None => Vec::new(),
    };
    let mut kernel = Kernel {
        symbol,
        text: own.section,
        code,
        functions,
        registers: value(code::REGCOUNT).unwrap_or(text.info >> 24),
        frame_size: value(code::FRAME_SIZE).unwrap_or(0),
        // With recursion the depth is unknown.
        stack_size: value(code::MIN_STACK_SIZE).filter(|&size| size != u32::MAX),
        // In older files; newer ones have an attribute.
        barriers: (text.flags >> SHF_CUDA_V7_BARRIERS_SHIFT & 0x7f) as u8,
        shared_size: index.of_kernel(".nv.shared.", &name).map_or(0, |section| section.size),
        parameters: Vec::new(),
        opaque_parameters: Vec::new(),
        parameter_base: 0,
        parameter_size: 0,
        constant2: index
            .of_kernel(".nv.constant2.", &name)
            .map_or(Vec::new(), |section| section.data.clone()),
        bound: Bound::None,
        cluster_size: None,
        indirect_branches: Vec::new(),
        info: Vec::new(),
        name,
    };
    let mut parameters: Vec<(u32, u32, Parameter)> = Vec::new();
    for row in &info {
        let words = row.to_words();
        match (row.code, &words[..]) {
            (code::NUM_BARRIERS, [count]) => kernel.barriers = *count as u8,
            (code::CBANK_PARAM_SIZE, [size]) => kernel.parameter_size = *size,
            (code::PARAM_CBANK, [_, place]) => kernel.parameter_base = place & 0xffff,
            (code::MAX_THREADS, _) => kernel.bound = three(row).map_or(Bound::None, Bound::AtMost),
            (code::REQNTID, _) => kernel.bound = three(row).map_or(Bound::None, Bound::Exactly),
            (code::CTA_PER_CLUSTER, _) => kernel.cluster_size = three(row),
            (code::KPARAM_INFO, &[symbol, place, word]) => {
                let bits = ParameterBits { size: word >> 18, logarithm: word & 0xff, space: word >> 8 & 0xf };
                parameters.push((place & 0xffff, symbol, parameter(place, bits)));
            }
            (code::KPARAM_INFO_V2, &[symbol, place, word]) => {
                let bits = ParameterBits {
                    size: word & 0xffff,
                    logarithm: word >> 16 & 0xff,
                    space: word >> 24 & 0xf,
                };
                parameters.push((place & 0xffff, symbol, parameter(place, bits)));
            }
            (code::INDIRECT_BRANCH_TARGETS, words) => {
                kernel.indirect_branches.extend(
                    branches(words)
                        .ok_or_else(|| malformed(format!("branch targets of '{}'", kernel.name)))?,
                );
            }
            _ => {}
        }
    }
    parameters.sort_by_key(|entry| entry.0);
    for (number, &(_, symbol, parameter)) in parameters.iter().enumerate() {
        if matches!(parameter.space, ParameterSpace::Opaque(_)) {
            let symbol = symbol as usize;
            if symbol >= cubin.symbols.len() {
                return Err(malformed(format!("the symbol of a parameter of '{}'", kernel.name)));
            }
            kernel.opaque_parameters.push((number, symbol));
        }
    }
    kernel.parameters = parameters.into_iter().map(|entry| entry.2).collect();
    kernel.info = info;
    Ok(kernel)
}

/// The fields of the last word about a parameter.
struct ParameterBits {
    size: u32,
    /// Logarithm of the alignment of the pointee.
    logarithm: u32,
    space: u32,
}

/// A parameter from the word with its offset and the fields of the other one.
fn parameter(place: u32, bits: ParameterBits) -> Parameter {
    let ParameterBits { size, logarithm, space } = bits;
    let space = match space {
        1 => ParameterSpace::Local,
        2 => ParameterSpace::Shared,
        3 => ParameterSpace::Const,
        4 => ParameterSpace::Global,
        5 => ParameterSpace::Generic,
        6 => ParameterSpace::Opaque(OpaqueKind::Texture),
        7 => ParameterSpace::Opaque(OpaqueKind::Surface),
        8 => ParameterSpace::Opaque(OpaqueKind::Sampler),
        _ => ParameterSpace::None,
    };
    let pointee_alignment = if logarithm == 0 { 0 } else { 1u32.checked_shl(logarithm).unwrap_or(0) };
    Parameter { offset: place >> 16, size, pointee_alignment, space }
}

fn branches(mut words: &[u32]) -> Option<Vec<IndirectBranch>> {
    let mut out = Vec::new();
    while !words.is_empty() {
        let (head, rest) = words.split_at_checked(3)?;
        let (targets, rest) = rest.split_at_checked(head[2] as usize)?;
        out.push(IndirectBranch { offset: head[0], targets: targets.to_vec() });
        words = rest;
    }
    Some(out)
}
