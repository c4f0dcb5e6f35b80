//! Putting the drafted sections into a file: offsets, section headers, program headers and the file header.

use super::{Key, Link, Strings, WriteError, Writer, fits};
use crate::elf::*;
use crate::image::Form;
use crate::rules::Abi;

/// One memory range for the loader: its access, and the sections in it.
type Segment = (u32, fn(Key) -> bool);

impl Writer<'_> {
    fn symbol_table(&self, strings: &mut Strings) -> Vec<u8> {
        let mut out = Bytes(Vec::with_capacity(self.symbols.len() * 24));
        for symbol in &self.symbols {
            let section = match symbol.section {
                None => 0,
                Some(Key::Common) => u32::from(SHN_COMMON),
                Some(key) => self.index_of(key),
            };
            out.u32(strings.add(symbol.name))
                .u8(symbol.binding << 4 | symbol.kind)
                .u8(symbol.other)
                .u16(section as u16)
                .u64(symbol.value)
                .u64(symbol.size);
        }
        out.0
    }

    pub(super) fn assemble(mut self) -> Result<Vec<u8>, WriteError> {
        fits(|| "number of sections".into(), self.sections.len() as u64 + 1, 0xfeff)?;
        self.number_sections();
        let mut strings = Strings::new(self.symbols.len());
        let mut names = Strings::new(self.sections.len());
        let table = self.symbol_table(&mut strings);
        let name_offsets: Vec<u32> = self.sections.iter().map(|section| names.add(section.1.name)).collect();
        let mut prototypes = Bytes::default();
        for (symbol, prototype) in self.prototypes() {
            prototypes.u32(symbol).u32(strings.add(prototype.into()));
        }
        let mut graph = self.callgraph(&mut |prototype| strings.add(prototype.into()));
        let (mut strings, mut names, mut table) = (strings.bytes, names.bytes, table);
        for (key, draft) in &mut self.sections {
            let data = match key {
                Key::Names => &mut names,
                Key::Strings => &mut strings,
                Key::Symbols => &mut table,
                Key::Prototype => &mut prototypes.0,
                Key::Callgraph => &mut graph,
                _ => continue,
            };
            draft.memory_size = data.len() as u64;
            draft.data = std::mem::take(data).into();
        }
        let local_end = self
            .symbols
            .iter()
            .rposition(|symbol| symbol.binding == STB_LOCAL)
            .map_or(0, |last| last as u32 + 1);
        for (key, draft) in &mut self.sections {
            if *key == Key::Symbols {
                draft.entry_size = 24;
                draft.link = Link::Section(Key::Strings);
                draft.info = Link::Number(local_end);
            }
        }

        let size: usize =
            self.sections.iter().map(|(_, draft)| draft.data.len() + draft.alignment as usize + 64).sum();
        let mut file = Bytes(Vec::with_capacity(size + 1024));
        file.raw(&[0; 64]);
        let mut offsets = Vec::with_capacity(self.sections.len());
        for (_, draft) in &self.sections {
            file.align(draft.alignment.max(1) as usize);
            offsets.push(file.len() as u64);
            if draft.kind != SHT_NOBITS {
                draft.data.append_to(&mut file);
            }
        }
        file.align(8);
        let headers_at = file.len() as u64;
        file.raw(&[0; 64]);
        for (position, (_, draft)) in self.sections.iter().enumerate() {
            let number = |link: Link| match link {
                Link::Number(number) => number,
                Link::Section(key) => self.index_of(key),
            };
            file.u32(name_offsets[position])
                .u32(draft.kind)
                .u64(draft.flags)
                .u64(0)
                .u64(offsets[position])
                .u64(draft.memory_size)
                .u32(number(draft.link))
                .u32(number(draft.info))
                .u64(draft.alignment)
                .u64(draft.entry_size);
        }
        let programs_at = file.len() as u64;
        let programs = match self.module.form {
            Form::Whole => self.program_headers(&offsets, programs_at),
            Form::Extensible | Form::Relocatable => Vec::new(),
        };
        file.raw(&programs);
        let header = self.file_header(headers_at, programs_at, programs.len() / 56);
        file.0[..64].copy_from_slice(&header);
        Ok(file.0)
    }

    fn file_header(&self, headers_at: u64, programs_at: u64, programs: usize) -> Vec<u8> {
        let mut out = Bytes::default();
        let sm = u32::from(self.module.sm);
        let (os, abi, version, flags) = match self.rules.family.abi {
            Abi::V7 { toolkit } => {
                let target = u32::from(self.module.virtual_sm) << EF_CUDA_V7_VIRTUAL_SHIFT;
                (EI_OSABI_CUDA_V7, ABI_VERSION_7, u32::from(toolkit), target | EF_CUDA_V7_64_BIT | sm)
            }
            Abi::V8 => {
                let note = self.index_of(Key::CudaNote) << 24;
                (EI_OSABI_CUDA, ABI_VERSION, 1, note | sm << 8 | u32::from(self.rules.family.flags))
            }
        };
        out.raw(&[0x7f, b'E', b'L', b'F', 2, 1, 1, os, abi]).raw(&[0; 7]);
        let (kind, programs_at, entry) = match self.module.form {
            Form::Whole => (ET_EXEC, programs_at, 56),
            Form::Extensible => (ET_CUDA_EXTENSIBLE, 0, 56),
            Form::Relocatable => (ET_REL, 0, 0),
        };
        out.u16(kind).u16(EM_CUDA).u32(version).u64(0).u64(programs_at).u64(headers_at).u32(flags);
        out.u16(64).u16(entry).u16(programs as u16).u16(64).u16(self.sections.len() as u16 + 1).u16(1);
        out.0
    }

    /// The table of program headers: itself, then one range for each kind of memory.
    fn program_headers(&self, offsets: &[u64], table_at: u64) -> Vec<u8> {
        // A range: flags, offset, bytes in the file, bytes in memory.
        let mut ranges: Vec<(u32, u64, u64, u64)> = Vec::new();
        let variables: Segment = (PF_R | PF_W, |key| {
            matches!(key, Key::GlobalInit | Key::Shared(_) | Key::ReservedShared | Key::Global)
        });
        let together = self.rules.family.constants_before_code;
        let groups: Vec<Segment> = if together {
            let code: Segment = (PF_R | PF_X, |key| {
                let constants = matches!(key, Key::Constant4 | Key::Constant3 | Key::Constant2(_));
                constants || matches!(key, Key::Constant0(_) | Key::Text(_))
            });
            vec![code, variables]
        } else {
            vec![
                (PF_R, |key| matches!(key, Key::Constant4 | Key::Constant3 | Key::Constant2(_))),
                (PF_R | PF_X, |key| matches!(key, Key::Text(_))),
                variables,
                (PF_R, |key| matches!(key, Key::Constant0(_))),
            ]
        };
        for (flags, belongs) in groups {
            let members: Vec<usize> =
                (0..self.sections.len()).filter(|&position| belongs(self.sections[position].0)).collect();
            let Some(&first) = members.first() else { continue };
            let start = offsets[first];
            let in_file: Vec<usize> = members
                .iter()
                .copied()
                .filter(|&position| self.sections[position].1.kind != SHT_NOBITS)
                .collect();
            let unstored: u64 = members
                .iter()
                .filter(|&&position| self.sections[position].1.kind == SHT_NOBITS)
                .map(|&position| self.sections[position].1.memory_size)
                .sum();
            let mut end = in_file
                .last()
                .map_or(start, |&position| offsets[position] + self.sections[position].1.memory_size);
            if flags & PF_W != 0 && !in_file.is_empty() {
                // Zeroed memory follows in the image, so that the stored part ends where the next section starts.
                let next = members.get(in_file.len()).map_or(end, |&position| offsets[position]);
                end = end.max(next);
            }
            ranges.push((flags, start, end - start, end - start + unstored));
        }
        let size = (ranges.len() as u64 + 2) * 56;
        let mut out = Bytes::default();
        let mut row = |kind: u32, (flags, offset, stored, memory): (u32, u64, u64, u64)| {
            out.u32(kind).u32(flags).u64(offset).u64(0).u64(0).u64(stored).u64(memory).u64(8);
        };
        let own = (if together { PF_R | PF_X } else { PF_R }, table_at, size, size);
        row(PT_PHDR, own);
        if !together {
            row(PT_LOAD, own);
        }
        for range in ranges {
            row(PT_LOAD, range);
        }
        if together {
            row(PT_LOAD, own);
        }
        out.0
    }
}
