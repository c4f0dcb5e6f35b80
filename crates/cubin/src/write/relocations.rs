//! Relocations: the section of each, and the kinds for addresses in data, code and debug info.

use super::draft::RelocationDraft;
use super::{Key, Link, Name, WriteError, Writer, code_size, fits};
use crate::elf::*;
use crate::image::{DebugTarget, Pointer, SymbolRef, UndefinedKind, Variable};
use crate::relocation::RelocationKind;
use oriole_chip::texture::OpaqueKind;

impl<'a> Writer<'a> {
    /// The relocation section of code without relocations.
    fn empty_relocations(&mut self, kernel: usize) {
        let name = Name::of(".rela.text.", &self.module.kernels[kernel].name);
        let draft = self.add(Key::Relocations, name, SHT_RELA, SHF_INFO_LINK, 8, Vec::new());
        draft.entry_size = 24;
        draft.link = Link::Section(Key::Symbols);
        draft.info = Link::Section(Key::Text(kernel));
    }

    pub(super) fn relocation_section(
        &mut self,
        target: Key,
        target_name: impl Into<Name<'a>>,
        mut relocations: Vec<RelocationDraft>,
    ) {
        let target_name = target_name.into();
        if relocations.is_empty() {
            return;
        }
        relocations.sort_by_key(|relocation| std::cmp::Reverse(relocation.offset));
        let plain = self.rules.family.plain_relocations;
        let (bare, full): (Vec<_>, Vec<_>) =
            relocations.iter().partition(|relocation| plain && relocation.addend == 0);
        for (list, name, kind, size) in [(bare, ".rel", SHT_REL, 16), (full, ".rela", SHT_RELA, 24)] {
            if list.is_empty() {
                continue;
            }
            let mut out = Bytes::default();
            for relocation in list {
                out.u64(relocation.offset)
                    .u64(u64::from(relocation.symbol) << 32 | u64::from(relocation.kind.number()));
                if kind == SHT_RELA {
                    out.u64(relocation.addend as u64);
                }
            }
            let draft = self.add(Key::Relocations, target_name.after(name), kind, SHF_INFO_LINK, 8, out.0);
            draft.entry_size = size;
            draft.link = Link::Section(Key::Symbols);
            draft.info = Link::Section(target);
        }
    }

    pub(super) fn variable_relocations(
        &self,
        place: &str,
        variables: &[(&Variable, u64)],
    ) -> Result<Vec<RelocationDraft>, WriteError> {
        let mut out = Vec::new();
        for (variable, base) in variables {
            for pointer in &variable.pointers {
                out.push(self.pointer(place, *base, pointer)?);
            }
        }
        Ok(out)
    }

    /// The relocation of an address in data that begins at `base` of its section.
    pub(super) fn pointer(
        &self,
        place: &str,
        base: u64,
        pointer: &Pointer,
    ) -> Result<RelocationDraft, WriteError> {
        Ok(RelocationDraft {
            offset: base + pointer.offset,
            kind: self.pointer_kind(pointer),
            symbol: self.resolve(pointer.target, place)?,
            addend: pointer.addend,
        })
    }

    /// The relocation kind of a pointer in an initial value.
    pub(super) fn pointer_kind(&self, pointer: &Pointer) -> RelocationKind {
        if self.names_kernel(pointer.target) {
            return RelocationKind::Descriptor64;
        }
        // Global memory has the same addresses in the generic space.
        let generic = pointer.generic || self.names_global(pointer.target);
        let whole = match (self.names_function(pointer.target), generic) {
            (true, _) if self.rules.family.function_table && self.is_relocatable() => RelocationKind::Unified,
            (false, true) => RelocationKind::Generic64,
            (true, _) | (false, false) => RelocationKind::Abs64,
        };
        pointer.byte.and_then(|number| whole.of_byte(number)).unwrap_or(whole)
    }

    /// True for a global-memory variable that an initial value references.
    fn names_global(&self, target: SymbolRef) -> bool {
        match target {
            SymbolRef::Global(_) => true,
            SymbolRef::Undefined(index) => {
                let undefined = self.module.undefined.get(index);
                undefined.is_some_and(|undefined| undefined.kind == UndefinedKind::Global)
            }
            _ => false,
        }
    }

    pub(super) fn add_relocations(
        &mut self,
        frame_relocations: Vec<RelocationDraft>,
    ) -> Result<(), WriteError> {
        let module = self.module;
        for kernel in self.order.clone() {
            let image = &module.kernels[kernel];
            if image.relocations.is_empty() {
                // Addresses of shared variables were relocations before they were resolved in the code; the section
                // stays.
                if image.addresses_shared && !self.is_relocatable() && self.rules.family.shared_cap.is_some()
                {
                    self.empty_relocations(kernel);
                }
                continue;
            }
            let place = format!(".text.{}", image.name);
            let mut drafts = Vec::new();
            for relocation in &image.relocations {
                fits(
                    || place.clone(),
                    u64::from(relocation.offset) + self.rules.words.end(0) as u64,
                    code_size(&self.rules, image),
                )?;
                drafts.push(RelocationDraft {
                    offset: u64::from(relocation.offset),
                    kind: relocation.kind,
                    symbol: self.resolve_in(kernel, relocation.target, &place)?,
                    addend: relocation.addend,
                });
            }
            self.relocation_section(Key::Text(kernel), Name::of(".text.", &image.name), drafts);
        }
        for kernel in self.order.clone() {
            let image = &module.kernels[kernel];
            let place = || format!(".nv.constant0.{}", image.name);
            let mut slots = Vec::new();
            for slot in &image.headers {
                let bad = || WriteError::BadReference { place: place() };
                let (kind, symbol) = self.header(kernel, slot.header).ok_or_else(bad)?;
                slots.push(RelocationDraft {
                    offset: u64::from(slot.offset),
                    kind: match kind {
                        OpaqueKind::Texture => RelocationKind::TextureIndex,
                        OpaqueKind::Sampler => self.rules.family.sampler_header,
                        OpaqueKind::Surface => RelocationKind::SurfaceIndex,
                    },
                    symbol,
                    addend: 0,
                });
            }
            self.relocation_section(Key::Constant0(kernel), Name::of(".nv.constant0.", &image.name), slots);
        }
        self.add_debug_relocations()?;
        let mut slots = Vec::new();
        for (index, slot) in module.slots.iter().enumerate() {
            slots.push(RelocationDraft {
                offset: index as u64 * 8,
                kind: if self.names_kernel(slot.target) {
                    RelocationKind::Descriptor64
                } else {
                    RelocationKind::Abs64
                },
                symbol: self.resolve(slot.target, ".nv.constant4")?,
                addend: slot.addend,
            });
        }
        self.relocation_section(Key::Constant4, ".nv.constant4", slots);
        let constants: Vec<(&Variable, u64)> =
            module.constants.iter().map(|variable| (variable, variable.offset)).collect();
        let relocations = self.variable_relocations(".nv.constant3", &constants)?;
        self.relocation_section(Key::Constant3, ".nv.constant3", relocations);
        let relocations = self.variable_relocations(".nv.global.init", &self.initialized_variables())?;
        self.relocation_section(Key::GlobalInit, ".nv.global.init", relocations);
        self.relocation_section(Key::DebugFrame, ".debug_frame", frame_relocations);
        Ok(())
    }

    pub(super) fn add_debug_relocations(&mut self) -> Result<(), WriteError> {
        let module = self.module;
        for (index, section) in module.debug.iter().enumerate() {
            let mut drafts = Vec::new();
            let bad = || WriteError::BadReference { place: section.name.clone() };
            let symbol = |list: &[u32], index: usize| list.get(index).copied().ok_or_else(bad);
            for address in &section.addresses {
                let (bytes, kind, symbol) = match address.target {
                    DebugTarget::Memory(target) => {
                        let kind = match target {
                            SymbolRef::Constant(_) => RelocationKind::Generic64,
                            _ => RelocationKind::Abs64,
                        };
                        (8, kind, self.resolve(target, &section.name)?)
                    }
                    DebugTarget::Section(index) => {
                        (4, RelocationKind::Data32, symbol(&self.debug_symbols, index)?)
                    }
                    DebugTarget::Shared(index) => {
                        (8, RelocationKind::Abs64, symbol(&self.shared_symbols, index)?)
                    }
                    DebugTarget::OwnShared { code, index } => {
                        let own = self.own_shared_symbols.get(code).map_or(&[][..], |own| own);
                        (8, RelocationKind::Abs64, symbol(own, index)?)
                    }
                };
                let end = address.offset.saturating_add(bytes);
                fits(|| format!("an address in '{}'", section.name), end, section.bytes.len() as u64)?;
                drafts.push(RelocationDraft { offset: address.offset, kind, symbol, addend: address.addend });
            }
            self.relocation_section(Key::Debug(index), section.name.as_str(), drafts);
        }
        Ok(())
    }
}
