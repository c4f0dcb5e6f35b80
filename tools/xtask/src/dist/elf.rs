//! The requirements of a program or a shared library on its system, and its exports: read from the file itself.
//!
//! A tag on a package is a promise about the oldest sufficient C library, and only the file shows it. Nothing is
//! decided here.

use std::collections::{BTreeMap, BTreeSet};

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, Sym};

/// A version of the GNU C library.
pub type Glibc = (u32, u32);

/// Facts of an ELF file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `EM_X86_64`, `EM_AARCH64` ...
    pub machine: u16,
    /// Whether a dynamic linker starts it.
    pub is_interpreted: bool,
    /// Its `DT_SONAME`.
    pub soname: Option<String>,
    /// The libraries that it names.
    pub needed: BTreeSet<String>,
    /// The newest version of the GNU C library of which it needs a symbol.
    pub glibc: Option<Glibc>,
    /// The functions that it exports, with the version node of each.
    pub exports: BTreeMap<String, String>,
}

/// Reads the facts of a file.
///
/// # Errors
/// The bytes are not a 64-bit ELF file, or a damaged one.
pub fn facts(bytes: &[u8]) -> Result<Facts, String> {
    read(bytes).map_err(|error| error.to_string())
}

fn read(bytes: &[u8]) -> Result<Facts, Box<dyn std::error::Error>> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut facts = Facts { machine: header.e_machine(endian).0, ..Facts::default() };
    facts.is_interpreted =
        header.program_headers(endian, bytes)?.iter().any(|part| part.p_type(endian) == elf::PT_INTERP);
    let sections = header.sections(endian, bytes)?;
    if let Some((entries, strings)) = sections.dynamic(endian, bytes)? {
        let strings = sections.strings(endian, bytes, strings)?;
        for entry in entries {
            let name = || {
                let at = u32::try_from(entry.d_val.get(endian)).unwrap_or(u32::MAX);
                strings.get(at).map(text).map_err(|()| "a name outside of its table")
            };
            match entry.d_tag.get(endian) {
                tag if tag == elf::DT_NEEDED => drop(facts.needed.insert(name()?)),
                tag if tag == elf::DT_SONAME => facts.soname = Some(name()?),
                _ => {}
            }
        }
    }
    if let Some((mut files, strings)) = sections.gnu_verneed(endian, bytes)? {
        let strings = sections.strings(endian, bytes, strings)?;
        while let Some((_, mut versions)) = files.next()? {
            while let Some(version) = versions.next()? {
                facts.glibc = facts.glibc.max(glibc(&text(version.name(endian, strings)?)));
            }
        }
    }
    let symbols = sections.symbols(endian, bytes, elf::SHT_DYNSYM)?;
    if let Some(versions) = sections.versions(endian, bytes)? {
        for (at, symbol) in symbols.enumerate() {
            if symbol.is_undefined(endian) || symbol.st_type() != elf::STT_FUNC {
                continue;
            }
            let version = versions.version(versions.version_index(endian, at).into())?;
            let node = version.map_or_else(String::new, |version| text(version.name()));
            facts.exports.insert(text(symbol.name(endian, symbols.strings())?), node);
        }
    }
    Ok(facts)
}

/// The version of a name such as `GLIBC_2.17` or `GLIBC_2.2.5`; the third component does not matter.
fn glibc(name: &str) -> Option<Glibc> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::{facts, glibc};

    #[test]
    fn versions_of_the_c_library_are_ordered_as_numbers() {
        assert_eq!(glibc("GLIBC_2.2.5"), Some((2, 2)));
        assert!(glibc("GLIBC_2.17") > glibc("GLIBC_2.4"));
        assert_eq!(glibc("GLIBC_PRIVATE"), None);
        assert_eq!(glibc("GCC_3.0"), None);
    }

    #[test]
    fn files_say_what_they_ask_for() {
        let own = std::env::current_exe().expect("a test knows its own program");
        let found =
            facts(&std::fs::read(own).expect("the program is there")).expect("the program is an ELF file");
        assert!(found.is_interpreted && found.needed.contains("libc.so.6"), "{found:?}");
        // Rust's own library requires this much, whatever machine links it.
        assert!(found.glibc >= Some((2, 14)), "{found:?}");
        assert!(facts(b"#!/bin/sh").is_err());
    }
}
