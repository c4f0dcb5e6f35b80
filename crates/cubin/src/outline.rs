//! The chip and the names of a cubin, without its code: a list of many cubins, and of those for chips whose code cannot be
//! read, needs no more.

use crate::elf::*;
use crate::read::ReadError;
use crate::{Payload, attribute};
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader, Sym};

/// Chip and names of a cubin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outline {
    /// SM number of the chip.
    pub sm: u16,
    /// Made for the `a` variant of the chip.
    pub accelerated: bool,
    /// Names of kernels in the order of the file.
    pub kernels: Vec<String>,
    /// Names of functions in the order of the file: those of relocatable files and debug builds, and those inside of kernels.
    pub functions: Vec<String>,
}

const LE: LittleEndian = LittleEndian;

/// Reads the chip and the names of a cubin.
///
/// # Errors
/// The bytes are no cubin, or its tables are broken.
pub fn outline(data: &[u8]) -> Result<Outline, ReadError> {
    let malformed = |place: &str| ReadError::Malformed { place: place.to_owned() };
    let header = FileHeader64::<LittleEndian>::parse(data).map_err(|_| ReadError::NotACubin)?;
    let ident = header.e_ident();
    if header.e_machine(LE).0 != EM_CUDA || ident.data.0 != 1 {
        return Err(ReadError::NotACubin);
    }
    let flags = header.e_flags(LE).0;
    let is_new = ident.os_abi.0 == EI_OSABI_CUDA;
    let sections = header.sections(LE, data).map_err(|_| malformed("section headers"))?;
    let mut accelerated = !is_new && flags & 0x800 != 0;
    if let Some((_, section)) = sections.section_by_name(LE, b".nv.compat") {
        let bytes = section.data(LE, data).map_err(|_| malformed("section '.nv.compat'"))?;
        let rows = attribute::decode(bytes).map_err(|_| malformed("section '.nv.compat'"))?;
        accelerated = rows.iter().any(|row| row.code == 0x09 && row.payload == Payload::Byte(1));
    }
    let table = sections
        .symbols(LE, data, object::elf::SectionType(SHT_SYMTAB))
        .map_err(|_| malformed("symbol table"))?;
    let mut outline = Outline {
        sm: if is_new { flags >> 8 & 0xffff } else { flags & 0xff } as u16,
        accelerated,
        kernels: Vec::new(),
        functions: Vec::new(),
    };
    for symbol in table.iter() {
        if symbol.st_type().0 != STT_FUNC || symbol.st_shndx(LE).0 == 0 {
            continue;
        }
        let name = symbol.name(LE, table.strings()).map_err(|_| malformed("name of a symbol"))?;
        let name = String::from_utf8_lossy(name).into_owned();
        let is_kernel = symbol.st_other.0 & STO_ENTRY != 0;
        (if is_kernel { &mut outline.kernels } else { &mut outline.functions }).push(name);
    }
    Ok(outline)
}
