//! What an image leaves to a linker: names that other sections of code or other files define.

use super::ImageError;
use super::linker::Linker;
use super::members::{Member, symbol_ref};
use oriole_cubin::{KernelImage, RelocationKind, SymbolRef, TextRelocation};
use oriole_encode::Relocation;
use oriole_ori::{AddressPart, ConstBase, Fixup, SymbolKind};

impl Linker<'_> {
    /// Whether a linker completes what a relocation of an extensible kernel names: what other files may define, where calls of
    /// that go back to, global memory, and what a launch of another kernel is told of that.
    pub(super) fn is_open(&self, member: &Member, relocation: &Relocation) -> Result<bool, ImageError> {
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
    pub(super) fn leave(
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
                    SymbolKind::ConstantSize => {
                        (SymbolRef::ConstantSize, i64::from(offset), &[RelocationKind::Abs32])
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
    pub(super) fn named(&self, name: &str, image: &mut KernelImage) -> SymbolRef {
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
    pub(super) fn calls_through_pointers(&self, member: &Member, image: &mut KernelImage) {
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
